"""What a machine can do to a vault short of killing it: full and read-only disks, torn pages, clocks, servers.

Each accident is an error that says what to do, spends nothing that was not charged, and loses nothing.
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import psycopg
import pytest

import discreet.table.snapshot  # noqa: F401 (children inherit what is imported here)
from bench.postgres import Postgres
from discreet.errors import AccessDenied, DiscreetError, JournalError
from discreet.ledger import ledger as ledger_module
from discreet.ledger.ledger import Ledger
from discreet.server import auth
from discreet.vault import Vault
from tests.patience import wait_until
from tests.trust.doomed import Never, Tell, begin, in_threads
from tests.trust.publications import WORKS, prepare
from tests.trust.town import Town, ask_one, check, make_town, write_people


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 6 MB, that can be full and read-only."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk is mounted by root only")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path, free: int) -> None:
    """Leave so many bytes free."""
    ballast = disk / "ballast"
    ballast.unlink(missing_ok=True)
    space = os.statvfs(disk)
    with open(ballast, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - free)


def ask_and_tell(town: Town, first: int, tell: Tell) -> None:
    """Three questions; what was answered, and the errors in words."""
    try:
        vault = Vault.open(town.path)
        for number in range(first, first + 3):
            try:
                tell(ask_one(vault, number))
            except DiscreetError as error:
                tell({"error": type(error).__name__, "words": str(error)})
    except DiscreetError as error:
        tell({"error": type(error).__name__, "words": str(error)})


class TestDisk:
    def test_a_disk_that_fills_up_at_any_page_loses_nothing_and_charges_nothing_twice(
        self,
        tmp_path: Path,
        disk: Path,
        monkeypatch: pytest.MonkeyPatch,
        amount: Callable[[int, int], int],
        counted: Callable[..., None],
    ) -> None:
        write_people(tmp_path)
        monkeypatch.setenv("XDG_STATE_HOME", str(disk / "state"))
        town = make_town(tmp_path, "disk/vault")
        acks, errors = [], []
        for step in range(amount(10, 120)):
            fill(disk, free=4096 * (step * 7 % 61))
            lines, _ = begin(partial(ask_and_tell, town, 3 * step), Never()).told()
            (disk / "ballast").unlink()
            errors += [line for line in lines if "error" in line]
            acks += [line for line in lines if "error" not in line]
            check(town, acks)
        assert errors
        assert acks
        assert {error["error"] for error in errors} <= {"JournalError", "ArchiveError"}
        assert all("disk is full" in error["words"] or "free some space" in error["words"] for error in errors)
        counted(full_disks=step + 1, errors=len(errors), answers=len(acks), lost=0)

    @pytest.mark.parametrize("what", WORKS)
    def test_a_publication_that_meets_a_full_disk_leaves_nothing_and_is_finished_later(
        self,
        disk: Path,
        monkeypatch: pytest.MonkeyPatch,
        what: str,
        amount: Callable[[int, int], int],
    ) -> None:
        work, steps = WORKS[what], amount(2, 20)
        for step in range(steps):
            folder = disk / str(step)
            monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
            prepare(what, folder)
            fill(disk, free=step * 65536 // steps)
            before = {path.name for path in folder.iterdir()}
            lines, _ = begin(partial(do_and_tell, work.do, folder), Never()).told()
            assert all("space" in line["words"] or "disk is full" in line["words"] for line in lines), lines
            if lines:  # a publication may be there that could not be noted any more
                assert {path.name for path in folder.iterdir()} - before <= {"state", work.place}
            (disk / "ballast").unlink()
            if not (folder / work.place).exists():
                work.do(folder)
            work.require_whole(folder)
            shutil.rmtree(folder)

    def test_a_read_only_disk_answers_nothing_new_and_says_so(self, tmp_path: Path, disk: Path) -> None:
        write_people(tmp_path)
        town = make_town(tmp_path, "disk/vault")
        vault = Vault.open(town.path)
        acks = [ask_one(vault, number) for number in range(3)]
        before = town.book()
        vault.ledger.close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        lines, _ = begin(partial(ask_and_tell, town, 3), Never()).told()
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        assert {line["error"] for line in lines} == {"JournalError"}
        assert all("read-only" in line["words"] for line in lines), lines
        assert town.book().receipts == before.receipts
        check(town, acks)


def do_and_tell(do: Callable[[Path], None], folder: Path, tell: Tell) -> None:
    try:
        do(folder)
    except DiscreetError as error:
        tell({"error": type(error).__name__, "words": str(error)})


class Clock(datetime):
    """A clock that somebody sets, further and further off."""

    offset = timedelta()

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + cls.offset


@pytest.mark.parametrize("days", [-20_000, -1, 1, 2_000_000], ids="{:+} days".format)
def test_a_clock_that_steps_changes_times_in_the_journal_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    write_people(tmp_path)
    town = make_town(tmp_path, "vault")
    vault = Vault.open(town.path)
    acks = [ask_one(vault, number) for number in range(3)]
    monkeypatch.setattr(ledger_module, "datetime", Clock)
    monkeypatch.setattr(Clock, "offset", timedelta(days=days))
    acks += [ask_one(vault, number) for number in range(3, 6)]
    monkeypatch.setattr(Clock, "offset", timedelta(days=-days / 3))
    acks += [ask_one(Vault.open(town.path), number) for number in range(6, 9)]
    check(town, acks)
    assert len(list(vault.entries())) == 19
    monkeypatch.undo()
    vault.check_receipt(vault.ledger.head)


def test_a_token_ends_by_the_clock_and_no_clock_brings_a_revoked_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_people(tmp_path)
    home = make_town(tmp_path, "vault").path
    token = auth.add_user(home, "ada", "analyst", expires="12h")
    monkeypatch.setattr(auth, "datetime", Clock)
    for hours, opens in ((11, True), (13, False), (-1000, True)):
        monkeypatch.setattr(Clock, "offset", timedelta(hours=hours))
        with nullcontext() if opens else pytest.raises(AccessDenied, match="expired"):
            auth.authenticate(home, token)
    auth.revoke_user(home, "ada")
    for hours in (-1000, 0, 1000):
        monkeypatch.setattr(Clock, "offset", timedelta(hours=hours))
        with pytest.raises(AccessDenied, match="not known here"):
            auth.authenticate(home, token)


PAGE = 4096
DAMAGES = ("zeroed", "garbled", "torn in half", "one bit flipped", "cut off")


def damaged(content: bytes, damage: str, chance: random.Random) -> bytes:
    """A file with one of its pages damaged."""
    at = chance.randrange(0, len(content), PAGE)
    before, page, after = content[:at], content[at : at + PAGE], content[at + PAGE :]
    match damage:
        case "zeroed":
            page = bytes(len(page))
        case "garbled":
            page = chance.randbytes(len(page))
        case "torn in half":
            page = page[: PAGE // 2] + chance.randbytes(len(page[PAGE // 2 :]))
        case "one bit flipped":
            place = chance.randrange(len(page))
            page = page[:place] + bytes([page[place] ^ 1 << chance.randrange(8)]) + page[place + 1 :]
        case _:
            page = after = b""
    return before + page + after


@pytest.mark.parametrize("logged", [True, False], ids=["half of it in the log", "all of it in the file"])
def test_a_torn_page_of_the_journal_is_refused_or_changes_nothing(
    tmp_path: Path,
    logged: bool,
    amount: Callable[[int, int], int],
    counted: Callable[..., None],
) -> None:
    write_people(tmp_path)
    town = make_town(tmp_path, "vault")
    vault = Vault.open(town.path)
    for number in range(12):
        ask_one(vault, number)
        if number == (6 if logged else 11):
            with closing(sqlite3.connect(town.path / "journal.sqlite")) as other:
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    names = ("journal.sqlite", "journal.sqlite-wal")[: 1 + logged]
    files = {name: (town.path / name).read_bytes() for name in names}
    truth, answers = list(vault.ledger.entries()), list(vault.ledger.answered())
    chance, refused, unharmed = random.Random(11), 0, 0
    for number in range(amount(100, 2500)):
        struck = chance.choice(names)
        scratch = tmp_path / f"scratch{number}"
        scratch.mkdir()
        for name, content in files.items():
            harm = chance.choice(DAMAGES)
            (scratch / name).write_bytes(damaged(content, harm, chance) if name == struck else content)
        try:
            with closing(Ledger.open(scratch / "journal.sqlite", vault.domain, vault.ledger.budget)) as ledger:
                assert list(ledger.entries()) == truth
                assert [(charge, ledger.recorded(charge.id)) for charge, _ in answers] == answers
            unharmed += 1
        except JournalError:  # damaged, or behind the last receipt
            refused += 1
        shutil.rmtree(scratch, ignore_errors=True)
    vault.ledger.close()
    assert refused
    counted(damages=refused + unharmed, refused=refused, without_effect=unharmed, accepted_wrongly=0)


@pytest.mark.xdist_group("postgres")
def test_a_server_that_is_killed_under_load_loses_nothing_that_was_returned(
    tmp_path: Path,
    mortal_postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    amount: Callable[[int, int], int],
    counted: Callable[..., None],
) -> None:
    write_people(tmp_path)
    monkeypatch.setenv("PGPASSWORD", mortal_postgres.password)
    town, crashes = make_town(tmp_path, "vault", mortal_postgres), amount(2, 40)
    over = tmp_path / "over"
    children = [begin(partial(ask_until, over, town, 3000 * place), Never()) for place in range(2)]
    try:
        for crash in range(crashes):
            wait_for_more(town)
            if crash % 2:
                mortal_postgres.restart()
            else:
                kill_and_start(mortal_postgres)
    finally:
        over.touch()
    lines = [line for child in children for line in child.told()[0]]
    acks, errors = [line for line in lines if "error" not in line], [line for line in lines if "error" in line]
    assert acks
    assert {error["error"] for error in errors} == {"JournalError"}
    check(town, acks)
    counted(crashes=crashes, errors=len(errors), answers=len(acks), lost=0)


def ask_until(over: Path, town: Town, first: int, tell: Tell) -> None:
    """Ask in threads, over and over, whatever fails."""

    def ask(thread: int) -> None:
        for number in range(first + 1500 * thread, first + 1500 * (thread + 1)):
            if over.exists():
                return
            try:
                tell(ask_one(vault, number))
            except DiscreetError as error:
                tell({"error": type(error).__name__, "words": str(error)})
                time.sleep(0.02)

    vault = None
    while vault is None:
        try:
            vault = Vault.open(town.path)
        except DiscreetError as error:
            tell({"error": type(error).__name__, "words": str(error)})
            time.sleep(0.1)
    in_threads(2, ask)


def wait_for_more(town: Town) -> None:
    """Until some more was asked and answered, however slow the machine is today."""
    counts: list[int] = []

    def more() -> bool:
        with suppress(psycopg.Error):
            counts.append(len(town.lines()))
        return bool(counts) and counts[-1] >= counts[0] + 6

    wait_until(more)


def kill_and_start(server: Postgres) -> None:
    """kill -9 the server's first process; the others end when they notice."""
    data = Path(server.control[server.control.index("-D") + 1])
    pid = int((data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)

    def started() -> bool:
        with suppress(subprocess.CalledProcessError):  # until the last of the others has gone
            server.restart()
            return True
        return False

    wait_until(started)
