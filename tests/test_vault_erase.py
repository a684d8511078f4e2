"""Erasure: people ask to be taken out. Nobody else moves, nothing is levelled, and nothing tells who it was."""

import json
import os
import signal
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app, present
from discreet.errors import DiscreetError, EngineError, Refreshed, TableError, UnsupportedQuery, VaultError
from discreet.home import left_behind
from discreet.ledger.ledger import Ledger
from discreet.query.query import SubsetCount
from discreet.query.subset import Everyone, Listed
from discreet.table import erase as erase_module
from discreet.table.erase import erased_in
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.patience import PATIENCE

DOMAIN = """\
name = "visits"
[attributes.ward]
kind = "category"
values = ["A", "B"]
source = "a test"
"""
PEOPLE = 400
A, B = ("SELECT COUNT(*) FROM visits WHERE ward = 'A'", "SELECT COUNT(*) FROM visits WHERE ward = 'B'")


def visits(people=range(PEOPLE)):
    """Two rows of everybody: even people in A, odd ones in B."""
    ids = [person for person in people for _ in range(2)]
    return pa.table({"person": pa.array(ids, pa.int64()), "ward": ["AB"[person % 2] for person in ids]})


def gone(*ids):
    return pa.table({"person": pa.array([str(each) for each in ids], pa.string())})


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(present.out, "_width", 200)
    (tmp_path / "visits.toml").write_text(DOMAIN)
    pq.write_table(visits(), "visits.parquet")
    return tmp_path


def made(**more):
    given = {"table": "visits.parquet", "id": "person", "max_rows": 2, "neighbours": "add-remove", "epsilon": 1000}
    return Vault.init("vault", domain="visits.toml", **{**given, **more})


@pytest.fixture
def vault(place):
    assert place
    return made()


def exactly(vault, **where):
    """How many rows there are, by the snapshot itself."""
    return int(vault._own.snapshot().evaluate([vault.count(**where)])[0])


def run(*line, fails=False):
    result = CliRunner().invoke(app, line)
    assert (result.exit_code != 0) == fails, result.output + repr(result.exception)
    return " ".join(result.output.split())


def shapes(vault):
    """The journal without what differs between any two: times, digests, hashes."""
    said = []
    for entry in vault.ledger.entries():
        body = entry.parsed()
        body["at"] = ""
        if isinstance(body["content"], dict) and "snapshot" in body["content"]:
            body["content"]["snapshot"]["digest"] = len(body["content"]["snapshot"]["digest"])
        said.append((entry.kind, entry.charge, body))
    return said[1:]


class TestWhatIsThereThen:
    def test_their_rows_are_gone_and_all_others_stay(self, vault):
        vault.erase(gone(0, 1, 2, 3, 5, "nobody"))
        assert (exactly(vault, ward="A"), exactly(vault, ward="B")) == (PEOPLE - 4, PEOPLE - 6)
        assert [path.name[:6] for path in (vault.path / "snapshots").iterdir()] == ["000002"]

    def test_the_source_need_not_be_there_any_more(self, vault, place):
        (place / "visits.parquet").unlink()
        vault.erase(gone(0))
        assert exactly(vault) == 2 * PEOPLE - 2

    def test_everybody_may_go(self, vault):
        vault.erase(gone(*range(PEOPLE)))
        assert exactly(vault) == 0
        assert vault.ask(A, scale=10).rows

    def test_no_file_of_the_vault_holds_what_the_old_snapshot_held(self, vault):
        [old] = (vault.path / "snapshots").iterdir()
        columns = {path.read_bytes() for path in old.iterdir()}
        vault.ask(A, scale=10)
        vault.erase(gone(0))
        kept = {path.read_bytes() for path in vault.path.rglob("*") if path.is_file()}
        assert not columns & kept

    def test_a_process_that_has_the_old_snapshot_open_goes_over_to_the_new_one(self, vault):
        other = Vault.open("vault")
        other.ask(A, scale=10)
        vault.erase(gone(0))
        release = other.measure(other.count(ward="A"), scale=10)
        assert other.ledger.charge_at(release.charge).snapshot.number == 2
        assert exactly(other) == 2 * PEOPLE - 2


class TestWhatItCosts:
    def test_nothing_is_levelled_and_no_guarantee_changes(self, vault):
        vault.ask(A, scale=4)
        left, promise = vault.ledger.left_by((0,)).tolist(), vault.ledger.guarantee
        vault.erase(gone(0, 1))
        for seen in (vault, Vault.open("vault")):
            assert seen.ledger.left_by((0,)).tolist() == left
            assert seen.ledger.guarantee == promise
            assert seen.budget().spent == vault.budget().spent

    def test_what_was_released_is_repeated_as_of_its_snapshot_and_makes_nothing_of_the_next_one(self, vault):
        first = vault.ask(A, scale=4)
        vault.erase(gone(0))
        again = vault.ask(A, scale=4)
        assert (first.rows[0].kind, again.rows[0].kind, again.cost, again.as_of) == ("measured", "repeated", 0, 1)
        assert again.value == first.value == vault.release(2).answers[0].units
        other = vault.ask("SELECT COUNT(*) FROM visits", scale=4)  # not the old A and a new B
        assert (other.rows[0].kind, other.as_of) == ("measured", None)
        assert audit_vault(vault).holds

    def test_a_charge_that_was_cut_off_before_it_is_closed_and_never_answered(self, vault, monkeypatch):
        def die(*_):
            raise RuntimeError

        with monkeypatch.context() as broken:
            broken.setattr(Snapshot, "evaluate", die)
            with pytest.raises(EngineError, match="stands"):
                vault.measure(vault.count(ward="A"), scale=4)
        vault.erase(gone(0))
        with monkeypatch.context() as watched:
            watched.setattr(Snapshot, "evaluate", lambda *_: pytest.fail("was read"))
            assert vault.complete() == []
        assert vault.ledger.closed() == [2]
        assert vault.budget().spent > 0
        assert "it paid for an earlier snapshot" in run("ledger", "show", "vault")
        assert audit_vault(vault).holds

    def test_facts_and_models_of_the_old_table_say_nothing_of_the_new_one(self, vault):
        vault.facts.add("SELECT COUNT(*) FROM visits", 2 * PEOPLE)
        limit = vault.ledger.budget.limit
        assert len(vault.facts.current()) == 1
        vault.erase(gone(0))
        assert vault.facts.current() == ()
        assert vault.ledger.budget.limit == limit  # who knows the fact goes on knowing it
        assert vault.ask("SELECT COUNT(*) FROM visits", scale=4).rows[0].kind == "measured"
        vault.facts.add("SELECT COUNT(*) FROM visits", 2 * PEOPLE - 2)
        assert audit_vault(vault).holds

    def test_a_roster_keeps_its_places_names_them_still_and_no_query_comes_back(self, place):
        (place / "roster.csv").write_text("person\n" + "".join(f"{person}\n" for person in range(PEOPLE)))
        vault = Vault.init(
            "asked", table=visits().take(list(range(0, 2 * PEOPLE, 2))), domain="visits.toml",
            id="person", roster="roster.csv", queries=20, delta=1,
        )  # fmt: skip
        vault.sulq.ask("everyone", "ward = 'A'")
        promise = vault.ledger.guarantee
        erased = vault.erase(gone("0.0", 2, 3, "nobody"))  # spelt as a roster knows them
        assert "the roster, which is public, and names them still" in erased.beyond
        everyone = SubsetCount((Everyone(), Listed(("0", "4", "3"))), vault.count(ward="A").where)
        [counts] = vault._own.snapshot().evaluate([everyone])
        assert counts.tolist() == [PEOPLE // 2 - 2, 1]
        assert vault.ledger.guarantee == promise
        vault.sulq.ask("everyone", "ward = 'A'")
        assert (vault.budget().spent, vault.budget().left) == (2, 18)
        assert audit_vault(vault).holds


class TestWhoComesBack:
    def test_a_refresh_leaves_them_out_and_says_so_to_the_custodian_alone(self, vault):
        vault.erase(gone(0, 1, PEOPLE + 1))
        seen = []
        vault.refresh(visits(range(PEOPLE + 4)), fitted=seen.append)
        assert exactly(vault) == 2 * (PEOPLE + 4) - 6
        [fit] = seen
        assert (fit.erased, fit.kept, fit.nameless, fit.beyond_bound) == (6, 2 * (PEOPLE + 4) - 6, 0, 0)
        assert not fit.loses_more_than(0)
        vault.refresh(visits())
        assert exactly(vault) == 2 * PEOPLE - 4

    def test_a_table_where_only_they_are_gone_is_the_one_that_the_vault_is_over(self, vault):
        vault.erase(gone(0, 1))
        head = vault.ledger.head
        for table in ("visits.parquet", visits(range(2, PEOPLE))):
            assert vault.refresh(table, unless_same=True) == head
        assert vault.ledger.snapshot.number == 2

    def test_they_may_be_taken_back_by_a_refresh_which_levels(self, vault):
        vault.ask(A, scale=4)
        vault.erase(gone(0, 1))
        vault.ask(B, scale=8)
        spent = vault.ledger.spent_max
        vault.refresh(readmit=True)
        assert exactly(vault) == 2 * PEOPLE
        assert vault.ledger.left_by((0,)).tolist() == [vault.ledger.budget.limit - spent] * 2
        assert erased_in(vault._own.snapshot()) is None
        assert vault.refresh(unless_same=True) == vault.ledger.head
        vault.erase(gone(3))
        assert erased_in(vault._own.snapshot()).size == 1

    def test_the_mark_outlives_a_backup(self, vault):
        vault.erase(gone(0))
        vault.backup("backup.tar")
        back = Vault.restore("backup.tar", "back").vault
        again = Vault.open(back)
        again.refresh("visits.parquet")
        assert exactly(again) == 2 * PEOPLE - 2

    def test_where_the_mark_is_lost_nobody_comes_back_unsaid(self, vault):
        vault.erase(gone(0))
        [snapshot] = (vault.path / "snapshots").iterdir()
        (snapshot / "erased").unlink()
        again = Vault.open("vault")
        with pytest.raises(TableError, match="whom to leave out stands in its snapshot, which cannot be read: restore"):
            again.refresh()
        assert again.ledger.head == vault.ledger.head
        assert "--readmit" in run("refresh", "vault", "--quiet", fails=True)
        again.refresh(readmit=True)
        assert exactly(again) == 2 * PEOPLE


class TestWhatItTells:
    @pytest.mark.parametrize("ids", [(0,), (1, 3, 5), ("nobody",), ()], ids=["one", "three", "nobody there", "no id"])
    def test_the_journal_and_the_command_say_the_same_whoever_is_named(self, vault, place, ids):
        (place / "gone.csv").write_text("person\n" + "".join(f"{each}\n" for each in ids))
        said = run("erase", "vault", "--ids", "gone.csv")
        [entry] = list(vault.ledger.entries())[1:]
        body = entry.parsed()
        assert (entry.kind, sorted(body), sorted(body["content"])) == ("erase", ["at", "content", "v"], ["snapshot"])
        assert shapes(vault) == [
            ("erase", None, {"at": "", "v": 1, "content": {"snapshot": {"number": 2, "digest": 64}}})
        ]
        assert said == (
            "The vault is now over snapshot 2, without those whom gone.csv names. They are kept out, and all spending "
            f"is kept. Receipt {vault.ledger.head} Out of its reach: - the table itself, {place}/visits.parquet, and "
            "the file of ids: a refresh leaves out whom the table still names - backups and copies of the vault: "
            "whoever is in one is back with it; make a new backup, and remove the others - processes at work, which "
            "let go of the old snapshot when they are next asked, or end - what was released, and files made of it: "
            "noisy, as of its snapshot, and counted in the budget as before"
        )

    def test_as_json(self, vault, place):
        (place / "gone.csv").write_text("person\n7\n")
        told = json.loads(run("erase", "vault", "--ids", "gone.csv", "--json"))
        assert (sorted(told), told["snapshot"]) == (["beyond", "receipt", "snapshot"], 2)
        assert told["receipt"] == str(vault.ledger.head)
        assert exactly(vault) == 2 * PEOPLE - 2

    def test_rows_that_were_published_are_named(self, vault, monkeypatch):
        monkeypatch.setattr(type(vault.ledger), "publications", property(lambda _: (3, 9)))
        assert (
            "rows that were published in buckets (entry 3, 9): whoever has them, has them"
            in vault.erase(gone(0)).beyond
        )

    def test_the_same_ids_again_are_an_erasure_like_any_other(self, vault):
        first, second = vault.erase(gone(0)), vault.erase(gone(0))
        assert (first.snapshot, second.snapshot, first.beyond) == (2, 3, second.beyond)
        assert exactly(vault) == 2 * PEOPLE - 2

    def test_the_audit_counts_it_and_passes(self, vault):
        vault.ask(A, scale=4)
        vault.erase(gone(0))
        vault.ask(A, scale=3)
        vault.refresh()
        audit = audit_vault(vault)
        assert audit.holds
        assert "1 refresh, 1 erasure" in audit["promise"].detail
        assert audit["snapshots"].detail == "3 snapshots"
        assert [moment.kind for moment in audit.moments] == ["charge", "charge", "refresh"]
        assert "snapshot 2 is the one before without those who asked to be out" in run("ledger", "show", "vault")


class TestWhatIsRefused:
    @pytest.mark.usefixtures("place")
    def test_a_vault_that_does_not_tell_people_apart(self):
        vault = made(id=None, max_rows=None)
        with pytest.raises(
            UnsupportedQuery, match=r"made without --id: nobody can be named in it\. Take them out of the"
        ):
            vault.erase(gone(0))
        assert vault.ledger.head.seq == 1

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "must name the columns"),
            ("who\n7\n", "the table has no column 'person'"),
            ("7\n8\n", "the table has no column 'person'"),
        ],
        ids=["empty", "another column", "no first line"],
    )
    def test_a_file_that_names_nobody_is_an_error_that_changes_nothing(self, vault, place, text, said):
        (place / "gone.csv").write_text(text)
        with pytest.raises(DiscreetError, match=said):
            vault.erase("gone.csv")
        assert (vault.ledger.head.seq, exactly(vault)) == (1, 2 * PEOPLE)

    @pytest.mark.usefixtures("vault")
    def test_a_file_that_is_not_there(self):
        assert "there is no file" in run("erase", "vault", "--ids", "other.csv", fails=True)

    def test_a_disk_that_is_full(self, vault, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(erase_module, "write_manifest", full)
        with pytest.raises(VaultError, match="cannot be written to vault; the one before stays, and they are in it"):
            vault.erase(gone(0))
        assert exactly(Vault.open("vault")) == 2 * PEOPLE
        assert [path.name[:6] for path in (vault.path / "snapshots").iterdir()] == ["000001"]


KILLED = """
import os, signal, sys
from discreet.ledger.ledger import Ledger
from discreet.table import take
from discreet.vault import Vault, succession
import pyarrow as pa

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
match sys.argv[1]:
    case "while it is written":
        take.ColumnFiles.about = die
    case "before it is journalled":
        Ledger.note_erasure = die
    case "before the old one is removed":
        succession.forget_snapshots = die
Vault.open("vault").erase(pa.table({"person": ["0"]}))
"""


@pytest.mark.parametrize(
    ("moment", "done"),
    [("while it is written", False), ("before it is journalled", False), ("before the old one is removed", True)],
)
def test_one_that_was_killed_is_done_or_not_and_the_old_rows_go_when_the_vault_is_next_opened(vault, moment, done):
    killed = subprocess.run([sys.executable, "-c", KILLED, moment], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert bool(left_behind(vault.path, vault.ledger.snapshot)) == done
    again = Vault.open("vault")
    assert exactly(again) == 2 * PEOPLE - 2 * done
    assert (again.ledger.snapshot.number, left_behind(vault.path, again.ledger.snapshot)) == (1 + done, [])
    again.erase(gone(0))
    [left] = [path for path in (vault.path / "snapshots").iterdir() if not path.name.startswith(".taking")]
    assert left.name.startswith(f"00000{2 + done}-")
    assert not [path for path in (vault.path / "snapshots").iterdir() if path != left]
    assert exactly(again) == 2 * PEOPLE - 2


def test_of_two_at_once_one_is_done_again(vault, monkeypatch):
    both, note, results = threading.Barrier(2, timeout=PATIENCE), Ledger.note_erasure, []

    def together(*given):
        both.wait()
        return note(*given)

    def erase(mine, person):
        try:
            results.append(mine.erase(gone(person)))
        except DiscreetError as error:
            results.append(error)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "note_erasure", together)
        opened = [(Vault.open("vault"), person) for person in (0, 1)]
        threads = [threading.Thread(target=erase, args=given) for given in opened]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    [refused] = [result for result in results if isinstance(result, Exception)]
    assert isinstance(refused, Refreshed)
    assert exactly(vault) == 2 * PEOPLE - 2
    vault.erase(gone(0, 1))
    assert exactly(vault) == 2 * PEOPLE - 4


def test_a_refresh_that_began_before_an_erasure_is_done_again_and_leaves_them_out(vault, monkeypatch):
    other, note = Vault.open("vault"), Ledger.note_refresh

    def late(*given):
        monkeypatch.setattr(Ledger, "note_refresh", note)
        other.erase(gone(0))
        return note(*given)

    monkeypatch.setattr(Ledger, "note_refresh", late)
    with pytest.raises(Refreshed, match="another snapshot was taken in between"):
        vault.refresh()
    vault.refresh()
    assert exactly(vault) == 2 * PEOPLE - 2


def test_an_erasure_whose_snapshot_a_refresh_removes_is_made_of_the_next_one(vault, monkeypatch):
    other, opened = Vault.open("vault"), vault._own.snapshot()
    assert opened._columns == {}
    other.refresh()
    calls, current = [], type(vault._own).snapshot

    def first_the_old_one(own):
        calls.append(1)
        return opened if len(calls) == 1 else current(own)

    monkeypatch.setattr(type(vault._own), "snapshot", first_the_old_one)
    vault.erase(gone(0))
    assert (len(calls), vault.ledger.snapshot.number) == (2, 3)


def test_the_mark_is_the_owners_alone(vault):
    before = os.umask(0)
    try:
        vault.erase(gone(0))
    finally:
        os.umask(before)
    [folder] = (vault.path / "snapshots").iterdir()
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
