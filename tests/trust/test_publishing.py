"""kill -9 at every line of publishing, exporting and making a vault: what is there is whole, and a retry works."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import discreet
import discreet.table.snapshot
from discreet.errors import VaultError
from discreet.vault import Vault
from tests.trust.doomed import AtLine, AtStep, AtTime, begin, visited
from tests.trust.publications import BUCKETS, WORKS, prepare, publish_buckets

SOURCE = Path(discreet.__file__).parent
FILES = frozenset(
    str(SOURCE / name)
    for name in (
        *("home.py", "vault/vault.py", "vault/charged.py", "vault/cubes.py", "vault/sulq.py", "vault/buckets.py"),
        *("release/folder_beside.py", "release/archive.py", "release/gate.py", "release/package.py", "release/rows.py"),
        *("cube/export.py", "cube/folder.py", "cube/journal.py", "cube/sdmx.py"),
        *("microdata/folder.py", "microdata/publish.py", "mining/folder.py", "mining/publish.py"),
        *("ledger/sqlite.py", "ledger/journal.py"),
    )
)


AT_THE_NAME = (AtStep(Path, "rename", after=False), AtStep(Path, "rename"), AtStep(Path, "rename", nth=2))
"""Just before and just after something gets its name; rows of SDMX get theirs after their structure."""


@pytest.fixture
def new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes folders to publish in, each with receipts of its own: their vaults are copies of one."""
    start = tmp_path / "start"

    def new(what: str) -> Path:
        if not start.exists():
            prepare(what, start)
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(start, folder)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        return folder

    return new


@pytest.mark.parametrize("what", WORKS)
def test_what_is_published_is_whole_or_absent_and_a_retry_finishes_it(
    new_folder: Callable[[str], Path],
    what: str,
    amount: Callable[[int, int], int],
    counted: Callable[..., None],
) -> None:
    work, chance = WORKS[what], random.Random(what)
    whole = new_folder(what)
    work.do(whole)  # children inherit what is imported and compiled here
    work.require_whole(whole)
    folder = new_folder(what)
    lines = len(visited(lambda _: work.do(folder), FILES))
    some, kills, there = amount(2, 55), 0, 0
    at_lines = [AtLine(FILES, 1 + (step * lines + chance.randrange(lines)) // some) for step in range(some)]
    at_times = [AtTime(chance.uniform(0, 0.3)) for _ in range(amount(1, 15))]
    for doom in (*AT_THE_NAME, *at_lines, *at_times):
        folder = new_folder(what)
        kills += begin(lambda _, folder=folder: work.do(folder), doom).told()[1]
        if (folder / work.place).exists():
            there += 1
        else:
            work.do(folder)
        work.require_whole(folder)
        assert [path for left in folder.glob("*.part") for path in left.rglob("*")] == []
    counted(kills=kills, lines=lines, there_before_the_retry=there, damaged=0)


def test_buckets_that_were_begun_and_cut_off_are_never_silent(new_folder: Callable[[str], Path]) -> None:
    folder = new_folder("buckets")
    begin(lambda _: publish_buckets(folder), AtLine(frozenset({str(SOURCE / "microdata/folder.py")}), 1)).told()
    vault = Vault.open(folder / "vault")
    assert "F'-privacy" in str(vault.ledger.guarantee)
    with pytest.raises(VaultError, match="published before, or begun"):
        vault.buckets.publish(out=folder / "buckets", **BUCKETS)
