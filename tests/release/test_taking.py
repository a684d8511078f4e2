"""A vault's snapshots: written whole or not at all, replaced by a refresh, and the only thing that is read."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain.read import parse_domain
from discreet.errors import DiscreetError, DomainError, Refreshed, TableError, VaultError
from discreet.ledger.ledger import Ledger
from discreet.ledger.snapshot import SNAPSHOTS, snapshot_folder
from discreet.query.query import Count
from discreet.release.taking import Taking
from discreet.table import take as take_module
from discreet.table.live import LiveTable
from discreet.table.open import open_source
from discreet.vault import Vault, succession
from tests.patience import PATIENCE
from tests.populations import KEY
from tests.power_cut import power_may_go

DOMAIN = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a test"
"""
ROWS = 20_000


def people(count=ROWS, shift=0):
    return pa.table(
        {"age": [(i + shift) % 100 for i in range(count)], "sex": [("F", "M")[i % 2] for i in range(count)]}
    )


@pytest.fixture
def home(tmp_path):
    (tmp_path / "people.toml").write_text(DOMAIN)
    pq.write_table(people(), tmp_path / "people.parquet")
    return tmp_path


@pytest.fixture
def vault(home):
    return make(home)


def make(home, **more):
    given = {"table": home / "people.parquet", "domain": home / "people.toml", "epsilon": 100, "neighbours": "replace"}
    return Vault.init(home / "vault", **{**given, **more})


def near(vault, rows):
    return abs(int(vault.measure(vault.count(), scale=1).value) - rows) < 100  # scale 1: e^-100


def snapshots(vault):
    return sorted(path.name for path in (vault.path / SNAPSHOTS).iterdir())


def test_every_answer_is_of_the_snapshot_whatever_becomes_of_the_source(vault, home):
    pq.write_table(people(7), home / "people.parquet")
    assert near(vault, ROWS)
    (home / "people.parquet").unlink()
    assert near(Vault.open(home / "vault"), ROWS)


def test_a_refresh_takes_the_source_in_and_the_old_snapshot_is_gone(vault, home):
    [old] = snapshots(vault)
    pq.write_table(people(5000), home / "people.parquet")
    assert near(vault, ROWS)
    vault.refresh()
    [new] = snapshots(vault)
    assert (old[:7], new[:7]) == ("000001-", "000002-")
    assert near(vault, 5000)
    assert near(Vault.open(home / "vault"), 5000)


def test_a_snapshot_that_is_journalled_survives_a_power_cut(vault, home, monkeypatch):
    pq.write_table(people(shift=1), home / "people.parquet")
    journalled = []

    def watched(ledger, snapshot, live):
        journalled.extend(map(disk.keeps, snapshot_folder(vault.path, snapshot).iterdir()))
        return note_refresh(ledger, snapshot, live)

    note_refresh = Ledger.note_refresh
    monkeypatch.setattr(Ledger, "note_refresh", watched)
    with power_may_go(vault.path) as disk:
        vault.refresh()
    assert journalled
    assert all(journalled)


def test_an_open_vault_follows_a_refresh_of_another_process(vault, home):
    other = Vault.open(home / "vault")
    assert near(other, ROWS)
    pq.write_table(people(5000), home / "people.parquet")
    vault.refresh()
    assert near(other, 5000)


def test_what_reads_the_old_snapshot_during_a_refresh_reads_it_whole(vault, home):
    """Its files are gone by name and stay by what is mapped."""
    opened = vault._own.snapshot()
    query = vault.count(age=(0, 49), by="sex")
    opened.require([query])
    pq.write_table(people(10), home / "people.parquet")
    Vault.open(home / "vault").refresh()
    assert opened.evaluate([query])[0].tolist() == [ROWS // 4, ROWS // 4]


def test_a_snapshot_that_was_touched_spends_nothing_and_a_refresh_puts_it_right(vault, home):
    [name] = snapshots(vault)
    column = home / "vault" / SNAPSHOTS / name / "codes-0"
    column.write_bytes(bytes(len(column.read_bytes())))
    again = Vault.open(home / "vault")
    with pytest.raises(TableError, match=r"was touched: .*nothing was spent.*`discreet refresh`"):
        again.measure(again.count(age=(0, 9)), scale=1)
    assert again.budget().spent == 0
    again.refresh()
    assert near(again, ROWS)


@pytest.mark.parametrize("what", ["manifest.json", "codes-1", ""])
def test_a_snapshot_that_is_gone_spends_nothing_and_a_refresh_puts_it_right(vault, home, what):
    [name] = snapshots(vault)
    place = home / "vault" / SNAPSHOTS / name / what
    place.rename(home / "elsewhere")
    again = Vault.open(home / "vault")
    with pytest.raises(TableError, match="take a new one with `discreet refresh`"):
        again.measure(again.count(sex="F"), scale=1)
    assert again.budget().spent == 0
    again.refresh()
    assert near(again, ROWS)


def test_a_refresh_without_its_source_keeps_the_snapshot(vault, home):
    (home / "people.parquet").unlink()
    with pytest.raises(TableError, match="there is no file"):
        vault.refresh()
    assert near(vault, ROWS)
    assert len(snapshots(vault)) == 1


def fails_half_way(monkeypatch, error):
    """The second column that is added to cannot be written."""
    add, calls = take_module.ColumnFiles.add, []

    def failing(self, arrays):
        calls.append(1)
        if len(calls) == 2:
            raise error
        add(self, arrays)

    monkeypatch.setattr("discreet.table.parquet.BATCH_ROWS", 1000)
    monkeypatch.setattr(take_module.ColumnFiles, "add", failing)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device"), MemoryError()])
def test_whatever_stops_a_refresh_half_way_leaves_the_old_snapshot_whole_and_alone(vault, home, monkeypatch, error):
    before, head = snapshots(vault), vault.ledger.head
    with monkeypatch.context() as patch:
        fails_half_way(patch, error)
        with pytest.raises((KeyboardInterrupt, MemoryError, VaultError)) as stopped:
            vault.refresh()
    if isinstance(error, OSError):
        assert "cannot be written" in str(stopped.value)
        assert "space" in str(stopped.value)
    assert snapshots(vault) == before
    assert vault.ledger.head == head
    assert near(Vault.open(home / "vault"), ROWS)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_whatever_stops_an_init_half_way_leaves_nothing(home, monkeypatch, error):
    before = sorted(path.name for path in home.iterdir())
    fails_half_way(monkeypatch, error)
    with pytest.raises((KeyboardInterrupt, DiscreetError)):
        make(home)
    assert sorted(path.name for path in home.iterdir()) == before


@pytest.fixture
def disk(tmp_path):
    """A real disk of 4 MB, that can be full."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk is mounted by root only")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("free", [0, 4096, 20_000, 50_000])
def test_a_full_disk_is_an_error_in_words_and_the_old_snapshot_stays(home, disk, free):
    (disk / "people.toml").write_text(DOMAIN)
    vault = make(disk, table=home / "people.parquet", domain=home / "people.toml")
    before = snapshots(vault)
    space = os.statvfs(disk)
    with open(disk / "ballast", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - free)
    with pytest.raises(DiscreetError, match="space"):
        vault.refresh(people(100_000))
    (disk / "ballast").unlink()
    assert snapshots(vault) == before
    assert near(Vault.open(disk / "vault"), ROWS)
    with open(disk / "ballast", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, os.statvfs(disk).f_bavail * space.f_frsize - free)
    with pytest.raises(DiscreetError, match="space"):
        Vault.init(disk / "second", table=people(100_000), domain=home / "people.toml", epsilon=1, neighbours="replace")
    assert not (disk / "second").exists()
    assert not list(disk.glob(".*"))


KILLED = """
import os, signal, sys
from discreet.ledger.ledger import Ledger
from discreet.table import take
from discreet.vault import Vault

moment = sys.argv[1]
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if moment == "while it is written":
    take.ColumnFiles.about = die
else:
    Ledger.note_refresh = die
Vault.open("vault").refresh()
"""


@pytest.mark.parametrize("changed", [False, True], ids=["the same rows", "other rows"])
@pytest.mark.parametrize("moment", ["while it is written", "before it is journalled"])
def test_a_refresh_that_was_killed_is_done_again(home, moment, changed):
    make(home)
    if changed:
        pq.write_table(people(shift=1), home / "people.parquet")
    done = subprocess.run([sys.executable, "-c", KILLED, moment], cwd=home, check=False)
    assert done.returncode == -signal.SIGKILL
    again = Vault.open(home / "vault")
    assert near(again, ROWS)
    again.refresh()
    [left] = snapshots(again)
    assert left.startswith("000002-")
    assert near(again, ROWS)


@pytest.mark.parametrize("shift", [0, 1], ids=["the same rows", "other rows"])
def test_two_refreshes_at_once_leave_one_snapshot_that_is_the_journals(vault, home, monkeypatch, shift):
    """Both have written their folder, which is the same one for the same rows, before either is journalled."""
    both, note, results = threading.Barrier(2, timeout=PATIENCE), Ledger.note_refresh, []

    def together(*given):
        both.wait()
        return note(*given)

    monkeypatch.setattr(Ledger, "note_refresh", together)
    opened = [vault, Vault.open(home / "vault")]

    def refresh(mine, table):
        try:
            results.append(mine.refresh(table))
        except DiscreetError as error:
            results.append(error)

    tables = [people(), people(shift=shift)]
    threads = [threading.Thread(target=refresh, args=given) for given in zip(opened, tables, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [result for result in results if isinstance(result, Exception)]
    assert len(errors) == 1, results
    assert isinstance(errors[0], Refreshed)
    again = Vault.open(home / "vault")
    assert snapshots(again) == [snapshot_folder(again.path, again.ledger.snapshot).name]
    assert all(near(mine, ROWS) for mine in (*opened, again))


def test_a_refresh_leaves_the_snapshot_of_somebody_who_has_yet_to_journal_it(vault, home, monkeypatch):
    """Another process takes the next one while this one clears up after its own."""
    other, forget = Vault.open(home / "vault"), succession.forget_snapshots

    def late(path, current):
        monkeypatch.setattr(succession, "forget_snapshots", forget)
        monkeypatch.setattr(Ledger, "note_refresh", lambda *given: forget(path, current) or note(*given))
        other.refresh()

    note = Ledger.note_refresh
    monkeypatch.setattr(succession, "forget_snapshots", late)
    vault.refresh()
    assert [name[:6] for name in snapshots(vault)] == ["000003"]
    assert near(vault, ROWS)


VISITS = """
name = "visits"
{null_ids}
[attributes.ward]
kind = "integer"
low = 0
high = 199
source = "a test"
"""
MOST = 5


def visits(*people):
    return pa.table({"person": pa.array(people, pa.string()), "ward": [7] * len(people)})


def make_visits(folder, table, null_ids, **unit):
    said = f'null_ids = "{null_ids}"' if null_ids else ""
    (folder / "visits.toml").write_text(VISITS.format(null_ids=said))
    given = {"epsilon": 100, "neighbours": "add-remove", **(unit or {"id": "person", "max_rows": MOST})}
    return Vault.init(folder / "visits", table=table, domain=folder / "visits.toml", **given)


@pytest.mark.parametrize(("null_ids", "rows"), [(None, MOST), ("drop", MOST), ("own", MOST + 400)])
def test_the_domain_says_what_rows_without_an_id_are(null_ids, rows, tmp_path):
    vault = make_visits(tmp_path, visits(*[None] * 400, *["a"] * 400), null_ids)
    assert near(vault, rows)
    assert vault.ledger.header["unit"]["null_ids"] == (null_ids or "drop")


def test_a_domain_that_refuses_rows_without_an_id_does_so_before_there_is_a_vault(tmp_path):
    with pytest.raises(TableError, match="has rows without person, and its domain refuses them"):
        make_visits(tmp_path, visits("a", None), "refuse")
    assert not (tmp_path / "visits").exists()
    vault = make_visits(tmp_path, visits(*["a"] * 5), "refuse")
    before = vault.ledger.head
    with pytest.raises(TableError, match="refuses them"):
        vault.refresh(visits("a", None))
    assert vault.ledger.head == before
    assert near(vault, 5)


def test_a_domain_that_speaks_of_ids_needs_the_column(tmp_path):
    with pytest.raises(DomainError, match=r"the domain says null_ids = 'own'; people with several rows need both"):
        make_visits(tmp_path, visits("a"), "own", max_rows=None)


def test_a_vault_over_a_frame_is_refreshed_with_one(tmp_path):
    vault = make_visits(tmp_path, visits(*["a"] * 5), None)
    vault.refresh()
    with pytest.raises(TableError, match="hand it over again"):
        Vault.open(tmp_path / "visits").refresh()
    Vault.open(tmp_path / "visits").refresh(visits(*map(str, range(1000))))
    assert near(vault, 1000)


def test_folders_are_the_owners_alone_also_while_a_snapshot_is_taken(home):
    seen, before = set(), os.umask(0)

    def look(*_):
        for folder in (Path(root) for root, _, _ in os.walk(home)):
            if folder != home:
                seen.add((folder.name.partition(".")[0] or "beside", stat.S_IMODE(folder.stat().st_mode)))

    try:
        make(home, progress=look)
        Vault.open(home / "vault").refresh(progress=look)
    finally:
        os.umask(before)
    assert seen
    assert {mode for _, mode in seen} == {0o700}


def test_a_number_salts_the_digest(home, tmp_path):
    taking = Taking(parse_domain(DOMAIN), None, None, KEY, tmp_path)
    source = open_source(home / "people.parquet")
    first, second = taking.take(source, 1), taking.take(source, 2)
    assert first.digest != second.digest
    assert {path.name for path in (tmp_path / SNAPSHOTS).iterdir()} == {
        f"00000{id.number}-{id.digest[:16]}" for id in (first, second)
    }


class InMemory:
    """A table that is read where it is: in this process."""

    def __init__(self, table):
        self.table = table

    def digest(self, names, key):
        rows = repr(self.table.select(list(names)).to_pylist()).encode()
        return hashlib.blake2b(rows, key=key).hexdigest()

    def parts(self, count, names, key, digest):
        assert self.digest(names, key) == digest
        return (count(batch) for batch in self.table.to_batches())


def test_a_live_table_is_known_by_what_it_holds_and_is_not_copied(tmp_path):
    domain, table = parse_domain(DOMAIN), people(200)
    live = InMemory(table)
    source = replace(open_source(table), live=live)
    id = Taking(domain, None, None, KEY, tmp_path).take(source, 4, live=True)
    assert list(tmp_path.iterdir()) == []
    assert id.number == 4
    asked = [Count(domain.everything, ("sex",)), Count(domain.slab("age", 0, 9))]
    read = LiveTable(id, domain, source, live, KEY)
    read.require(asked)
    assert [answer.tolist() for answer in read.evaluate(asked)] == [[100, 100], 20]
    live.table = people(200, shift=1)
    with pytest.raises(TableError, match="has changed since the vault was made"):
        read.require(asked)


def test_asking_imports_no_reader_of_sources(vault, home):
    assert vault
    code = (
        "import sys\n"
        "from discreet.vault import Vault\n"
        "vault = Vault.open('vault')\n"
        "vault.measure(vault.count(age=(0, 9), by='sex'), scale=10)\n"
        "print(sorted({'psycopg', 'ibis', 'pandas', 'pyspark', 'discreet.table.open'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=home, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_column_that_a_refresh_removed_before_it_was_opened_is_read_of_the_new_snapshot(vault, home):
    other = Vault.open(home / "vault")
    other.gate.warm()  # and no column of it is open yet
    vault.refresh()
    release = other.measure(other.count(), scale=100)
    assert other.ledger.charge_at(release.charge).snapshot.number == 2
