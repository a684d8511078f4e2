"""A charge pays for the snapshot that it names: refreshes, crashes and slow processes, in orders that once did harm."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app, present
from discreet.errors import BudgetExceeded, EngineError, Refreshed, TableError, VaultError
from discreet.ledger.journal import ORIGIN, canonical, chained
from discreet.ledger.ledger import Ledger
from discreet.ledger.places import header_of
from discreet.ledger.sqlite import SQLiteJournal
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.release import archive
from discreet.release.gate import Gate
from discreet.release.taking import Taking
from discreet.table import snapshot as snapshots
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault

DOMAIN = """\
name = "people"
[attributes.town]
kind = "category"
values = ["Arden", "Belmont"]
source = "a map"
"""
ARDEN = "SELECT COUNT(*) FROM people WHERE town = 'Arden'"
BELMONT = "SELECT COUNT(*) FROM people WHERE town = 'Belmont'"


def write_people(arden, belmont):
    pq.write_table(pa.table({"town": ["Arden"] * arden + ["Belmont"] * belmont}), "people.parquet")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(present.out, "_width", 200)
    (tmp_path / "people.toml").write_text(DOMAIN)
    write_people(600, 400)
    return tmp_path


@pytest.fixture
def vault(place):
    return Vault.init(place / "vault", table="people.parquet", domain="people.toml", neighbours="add-remove", epsilon=1)


def run(line):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 0, result.output + repr(result.exception)
    return " ".join(result.stdout.split())


def in_between(monkeypatch, owner, name, then):
    """Once, as soon as a function has returned, something else happens."""
    real, done = getattr(owner, name), []

    def wrapped(*args, **named):
        found = real(*args, **named)
        if not done:
            done.append(True)
            then()
        return found

    monkeypatch.setattr(owner, name, wrapped)


def before(monkeypatch, owner, name, then):
    """The same, when it is called."""
    real, done = getattr(owner, name), []

    def wrapped(*args, **named):
        if not done:
            done.append(True)
            then()
        return real(*args, **named)

    monkeypatch.setattr(owner, name, wrapped)


def refreshed(vault):
    """Another process takes a new snapshot."""
    return lambda: Vault.open(vault.path).refresh()


def cut_off(vault, monkeypatch, query, scale=1):
    """A process that dies after its charge."""

    def die(*_):
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr(Snapshot, "evaluate", die)
        with pytest.raises(EngineError, match="stands"):
            Vault.open(vault.path).measure(query, scale=scale)


def folders(vault):
    return sorted(path.name.partition("-")[0] for path in (vault.path / "snapshots").iterdir())


class TestUnansweredCharges:
    def test_a_charge_that_was_cut_off_before_a_refresh_is_closed_and_never_answered_from_the_next_table(
        self, vault, monkeypatch
    ):
        """One person moved from Arden, where all of ε was spent, to Belmont: to answer would be 2ε for them."""
        vault.measure(vault.count(town="Arden"), scale=1)
        cut_off(vault, monkeypatch, vault.count(town="Belmont"))
        write_people(599, 401)
        vault.refresh()
        with monkeypatch.context() as watched:
            watched.setattr(Snapshot, "evaluate", lambda *_: pytest.fail("was read"))
            assert vault.complete() == []
        assert (vault.ledger.closed(), vault.ledger.pending()) == ([4], [])
        assert vault.budget().spent == 1
        with pytest.raises(VaultError, match="charge 4 was closed without an answer"):
            vault.release(4)
        with pytest.raises(BudgetExceeded):
            vault.measure(vault.count(town="Belmont"), scale=1)
        assert vault.complete() == []
        audit = audit_vault(vault)
        assert audit.holds
        assert audit["snapshots"].detail == "2 snapshots; 1 charge closed unanswered"
        assert audit["pending"].detail == "1 charge of 2 answered, 1 closed"

    def test_the_command_line_says_what_was_completed_and_what_was_closed(self, vault, monkeypatch):
        cut_off(vault, monkeypatch, vault.count(town="Arden"), scale=4)
        vault.refresh()
        cut_off(vault, monkeypatch, vault.count(town="Belmont"), scale=4)
        said = run("ledger complete vault")
        assert "charge 2 is closed without an answer: it paid for an earlier snapshot, and what it spent stays" in said
        assert "charge 4 is complete; receipt" in said
        shown = run("ledger show vault")
        assert "charge 2 was closed without an answer: it paid for an earlier snapshot" in shown
        assert "snapshot 2 of the table was taken" in shown
        assert run("ledger complete vault") == "Nothing was left unfinished."
        assert json.loads(run("ledger complete vault --json")) == {"completed": [], "closed": []}

    def test_a_refresh_while_charges_are_completed_closes_them(self, vault, monkeypatch):
        cut_off(vault, monkeypatch, vault.count(town="Arden"))
        before(monkeypatch, Gate, "complete", refreshed(vault))
        assert vault.complete() == []
        assert vault.ledger.closed() == [2]

    def test_a_charge_is_not_closed_while_it_can_be_answered(self, vault, monkeypatch):
        cut_off(vault, monkeypatch, vault.count(town="Arden"))
        assert not vault.ledger.close_charge(2)
        [release] = vault.complete()
        assert release.charge == 2


class TestRefreshedMeanwhile:
    def test_a_refresh_between_the_check_of_the_table_and_the_charge_costs_nothing_and_is_told(
        self, vault, monkeypatch
    ):
        in_between(monkeypatch, Gate, "_ready", refreshed(vault))
        with pytest.raises(Refreshed, match=r"another snapshot in the meantime; nothing was spent: ask again"):
            vault.measure(vault.count(town="Arden"), scale=1)
        assert (vault.budget().spent, vault.ledger.pending()) == (0, [])
        release = vault.measure(vault.count(town="Arden"), scale=1)
        assert vault.ledger.charge_at(release.charge).snapshot.number == 2

    def test_a_slow_process_is_answered_from_the_snapshot_that_it_paid_for(self, vault, monkeypatch):
        """Its record stands behind the refresh, and says nothing about the table since."""

        def change():
            write_people(3, 4)
            refreshed(vault)()

        before(monkeypatch, Snapshot, "evaluate", change)
        monkeypatch.setattr(Laplace, "sample", lambda _law, size, _bits: np.zeros(size, np.int64))
        slow = vault.measure(vault.count(town="Arden"), scale=2)
        assert int(slow.only.values) == 600
        assert [entry.kind for entry in vault.ledger.entries()] == ["init", "charge", "refresh", "record"]
        assert [release.charge for release in vault.releases()] == [slow.charge]
        answer = vault.ask(ARDEN, scale=4)
        assert (answer.value, answer.rows[0].kind) == (3, "measured")
        assert vault.budget().spent == Fraction(3, 4)
        assert audit_vault(vault).holds

    def test_a_slow_process_whose_charge_was_closed_is_told_and_leaves_no_draw_behind(self, vault, monkeypatch):
        def overtaken():
            other = Vault.open(vault.path)
            other.refresh()
            assert other.complete() == []

        monkeypatch.setattr(archive, "JOURNAL_CELLS", 0)
        in_between(monkeypatch, archive.Archive, "save", overtaken)
        with pytest.raises(Refreshed, match=r"charge 2 paid for a table .*: it was closed unanswered"):
            vault.measure(vault.count(by="town"), scale=2)
        assert list((vault.path / "releases").iterdir()) == []

    def test_draws_of_a_charge_that_was_closed_are_removed(self, vault, monkeypatch):
        monkeypatch.setattr(archive, "JOURNAL_CELLS", 0)
        with monkeypatch.context() as killed:
            killed.setattr(Ledger, "record", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                Vault.open(vault.path).measure(vault.count(by="town"), scale=2)
        assert len(list((vault.path / "releases").iterdir())) == 1
        vault.refresh()
        vault.complete()
        assert list((vault.path / "releases").iterdir()) == []

    def test_what_was_decided_on_one_snapshot_is_not_measured_on_another(self, vault):
        plan = Plan((Measurement(vault.count(town="Arden"), Laplace(Fraction(1))),))
        decided_on = vault.ledger.snapshot
        Vault.open(vault.path).refresh()
        with pytest.raises(Refreshed, match="another snapshot in the meantime; nothing was spent on this: ask again"):
            vault.gate.measure(plan, decided_on)
        assert vault.budget().charges == 0
        assert vault.gate.measure(plan, vault.ledger.snapshot).charge == 3

    def test_a_refresh_after_a_patch_was_bought_is_told_with_what_was_spent(self, vault, monkeypatch):
        """Everybody is Arden, where all is spent, and a patch for Belmont, which is of another table when it comes."""
        vault.measure(vault.count(town="Arden"), scale=1)
        vault.policy = replace(vault.policy, patches=True)
        in_between(monkeypatch, Ledger, "record", refreshed(vault))
        with pytest.raises(
            Refreshed, match=r"ask again; before that this question spent ε.*table before: .* all of it is needed"
        ):
            vault.ask("SELECT COUNT(*) FROM people", scale=2)

    @pytest.mark.parametrize("step", ["open_snapshot", "require"])
    def test_who_is_asked_while_the_old_snapshot_is_removed_answers_from_the_new_one(self, vault, monkeypatch, step):
        opened = Vault.open(vault.path)
        before(monkeypatch, snapshots if step == "open_snapshot" else Snapshot, step, refreshed(vault))
        release = opened.measure(opened.count(town="Arden"), scale=1)
        assert opened.ledger.charge_at(release.charge).snapshot.number == 2

    def test_a_snapshot_that_is_gone_without_a_refresh_is_told(self, vault):
        shutil.rmtree(vault.path / "snapshots")
        with pytest.raises(TableError, match=r"is not there; .*restore it from a backup, or take a new one"):
            Vault.open(vault.path).measure(vault.count(), scale=1)
        assert vault.budget().charges == 0
        assert "snapshot 2" in run("refresh vault")

    def test_what_was_released_of_the_new_snapshot_before_its_refresh_was_heard_of_is_known(self, vault, monkeypatch):
        """A look that began before a refresh passed over what was recorded after it."""

        def others():
            other = Vault.open(vault.path)
            other.refresh()
            other.ask(ARDEN, scale=4)

        vault._memory.known.refresh()
        Vault.open(vault.path).ask(BELMONT, scale=4)
        in_between(monkeypatch, Ledger, "answered", others)
        vault._memory.known.refresh()
        vault._memory.known.refresh()
        assert vault.ask(ARDEN, scale=4).rows[0].kind == "repeated"


class TestRefreshesAtOnce:
    @pytest.mark.parametrize("changed", [False, True], ids=["the same table", "another"])
    def test_one_wins_and_the_other_is_told_and_leaves_nothing_behind(self, vault, monkeypatch, changed):
        def other():
            if changed:
                write_people(5, 5)
            refreshed(vault)()

        in_between(monkeypatch, Taking, "take", other)
        with pytest.raises(Refreshed, match=r"another snapshot was taken in between, .*: do it again"):
            vault.refresh()
        assert vault.ledger.snapshot.number == 2
        assert folders(vault) == ["000002"]
        vault.refresh()
        assert folders(vault) == ["000003"]
        assert audit_vault(vault).holds

    def test_one_that_wins_leaves_the_next_one_that_is_about_to_be_named(self, vault, monkeypatch):
        second, about_to = Vault.open(vault.path), []

        def stop(*snapshot):
            about_to.append(snapshot)
            raise KeyboardInterrupt

        def take_the_next():
            with monkeypatch.context() as stopped:
                stopped.setattr(second.ledger, "note_refresh", stop)
                with pytest.raises(KeyboardInterrupt):
                    second.refresh()

        in_between(monkeypatch, Ledger, "note_refresh", take_the_next)
        vault.refresh()
        second.ledger.note_refresh(*about_to[0])
        assert vault.ledger.snapshot.number == 3
        assert second.measure(second.count(), scale=1).charge == 4

    def test_a_crash_before_the_journal_names_a_snapshot_leaves_the_old_one_and_the_next_refresh_clears_up(
        self, vault, monkeypatch
    ):
        def die(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as killed:
            killed.setattr(Ledger, "note_refresh", die)
            with pytest.raises(KeyboardInterrupt):
                Vault.open(vault.path).refresh()
        assert folders(vault) == ["000001", "000002"]
        assert vault.measure(vault.count(), scale=2).charge == 2
        vault.refresh()
        assert folders(vault) == ["000002"]
        assert vault.measure(vault.count(), scale=2).charge == 5

    def test_two_snapshots_of_one_table_have_two_digests(self, vault, place):
        other = Vault.init(
            place / "other", table="people.parquet", domain="people.toml", neighbours="add-remove", epsilon=1
        )
        first = vault.ledger.snapshot
        vault.refresh()
        assert len({first.digest, vault.ledger.snapshot.digest, other.ledger.snapshot.digest}) == 3


def in_former_format(vault):
    """The vault as an earlier version would have left it: over a table that it knows by a fingerprint, no snapshots;
    Arden measured, then the table changed, then Belmont measured, and a charge that was cut off."""
    home, header = vault.path, header_of(vault.path / "journal.sqlite")
    vault.ledger.close()
    shutil.rmtree(home / "snapshots")
    for name in ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"):
        (home / name).unlink(missing_ok=True)
    domain, limit = vault.domain, vault.ledger.budget.limit
    assert limit == 720_720_000_000

    def charge(town):
        plan = Plan((Measurement(vault.count(town=town), Laplace(Fraction(4))),))
        cost = plan.cost(domain, vault.ledger.budget)
        return ("charge", None, {"content": plan.condensed(), "cost": cost.to_json()})

    former = {key: value for key, value in header.items() if key != "snapshot"} | {"fingerprint": "f" * 64}
    entries = [
        ("init", None, {"content": former}),
        charge("Arden"),
        ("record", 2, {"content": {"values": [[601]]}}),
        ("refresh", None, {"content": {"fingerprint": "e" * 64}}),
        charge("Belmont"),
        ("record", 5, {"content": {"values": [[398]]}}),
        charge("Belmont"),
    ]
    journal, last = SQLiteJournal.create(home / "journal.sqlite"), ORIGIN
    with journal.turn():
        for kind, number, body in entries:
            body = canonical({"v": 1, "at": "2026-11-01T09:00:00+00:00", **body})
            entry = chained(last, kind, number, body)
            journal.append(entry)
            last = entry.receipt
    journal.close()


class TestFormerVaults:
    @pytest.fixture
    def former(self, vault, monkeypatch, tmp_path):
        in_former_format(vault)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another state"))
        return vault.path

    def test_everything_public_works(self, former):
        vault = Vault.open(former)
        assert vault.describe()["snapshot"] is None
        assert vault.budget().spent == Fraction(3, 4)
        assert [release.charge for release in vault.releases()] == [2, 5]
        assert "a changed table was accepted" in run("ledger show vault")
        assert "spent ε 0.75 of 1 · 75%" in run("budget vault")
        assert vault.explain(ARDEN, scale=100).cost > 0
        assert audit_vault(former).holds

    def test_what_was_released_of_the_table_as_it_is_now_is_repeated_and_of_an_earlier_one_is_not(self, former):
        vault = Vault.open(former)
        assert (vault.ask(BELMONT, scale=4).value, vault.budget().charges) == (398, 3)
        with pytest.raises(VaultError):
            vault.ask(ARDEN, scale=4)

    def test_asking_is_refused_with_the_command_that_helps(self, former):
        vault = Vault.open(former)
        for attempt in (lambda: vault.measure(vault.count(), scale=100), vault.complete):
            with pytest.raises(
                VaultError, match=r"made by an earlier version, .*nothing was spent: `discreet refresh`"
            ):
                attempt()
        assert vault.budget().charges == 3

    def test_a_refresh_migrates_it_with_all_spending_kept(self, former):
        said = run("refresh vault")
        assert "The vault is now over snapshot 1" in said
        assert "all spending is kept" in said
        vault = Vault.open(former)
        assert (vault.ledger.snapshot.number, vault.budget().spent) == (1, Fraction(3, 4))
        with pytest.raises(BudgetExceeded):
            vault.measure(vault.count(town="Arden"), scale=2)
        assert vault.complete() == []
        assert vault.ledger.closed() == [7]
        assert vault.measure(vault.count(town="Arden"), scale=8).charge == 10
        assert vault.budget().spent == Fraction(7, 8)
        audit = audit_vault(former)
        assert audit.holds
        assert audit["snapshots"].detail == "1 snapshot; 1 charge closed unanswered"

    def test_nothing_that_was_released_before_answers_about_the_snapshot(self, former):
        vault = Vault.open(former)
        vault.refresh()
        assert vault.ask(BELMONT, scale=8).rows[0].kind == "measured"
