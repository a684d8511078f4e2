"""A table that grows: an append brings new periods in, and leaves all else as it was."""

import json
import threading
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app, present
from discreet.errors import (
    BudgetExceeded,
    DomainError,
    EngineError,
    Refreshed,
    TableError,
    UnsupportedQuery,
    VaultError,
)
from discreet.ledger.spend import UNITS
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count
from discreet.table.layout import ERASED, PEOPLE, PERSON
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.patience import PATIENCE

DOMAIN = """\
name = "register"
[attributes.month]
kind = "date"
low = 2026-01-01
high = 2027-12-31
period = "month"
grows = true
source = "the calendar"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "the form"
[attributes.age]
kind = "integer"
low = 0
high = 9
source = "the form"
"""
ALL = "SELECT COUNT(*) FROM register"
BY_MONTH = "SELECT month, COUNT(*) FROM register GROUP BY month"
JANUARY = "SELECT COUNT(*) FROM register WHERE month = '2026-01'"
UNITS_OF_PEOPLE = {
    "a row": {},
    "a person": {"id": "id", "max_rows": 3},
    "a person in each period": {"id": "id", "max_rows": 2, "each_period": True},
}


def rows_of(months, rows=300, seed=0, people=60):
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "id": [f"p{person}" for person in draw.integers(0, people, rows)],
            "month": [f"{months[place % len(months)]}-{1 + int(draw.integers(28)):02d}" for place in range(rows)],
            "sex": [("F", "M")[code] for code in draw.integers(0, 2, rows)],
            "age": draw.integers(0, 10, rows),
        }
    )


FIRST, NEXT = rows_of(["2026-01", "2026-02"]), rows_of(["2026-03"], 100, seed=1)


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(present.out, "_width", 200)

    def make(name="vault", table=FIRST, domain=DOMAIN, **settings):
        (tmp_path / "register.toml").write_text(domain)
        settings = {"epsilon": 1, "neighbours": "add-remove", "through": "2026-02", **settings}
        return Vault.init(tmp_path / name, table=table, domain="register.toml", **settings)

    return make


@pytest.fixture
def vault(make):
    return make()


def rows_in(snapshot):
    """The rows as they are kept: each with its person's key, where people are told apart."""
    names = [name for name in snapshot.manifest["columns"] if name not in (PERSON, PEOPLE, ERASED)]
    columns = [snapshot.column(name).tolist() for name in sorted(names)]
    if PERSON in snapshot.manifest["columns"]:
        columns.append(snapshot.column(PEOPLE)[snapshot.column(PERSON)].tolist())
    return list(zip(*columns, strict=True))


def counts(vault):
    """The exact number of rows of each month that may be asked about."""
    return vault._own.snapshot().evaluate([Count(vault.domain.everything, ("month",))])[0].tolist()


def run(line):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 0, result.output
    return result.stdout


class TestAppending:
    def test_brings_the_next_period_in_and_leaves_all_others_out(self, vault):
        assert (vault.ledger.closed_period, vault.domain.shape, vault.ledger.horizon.shape[0]) == (
            "2026-02",
            (2, 2, 10),
            24,
        )
        vault.append(rows_of(["2026-01", "2026-03", "2026-03", "2026-04", "2031-01"], 500))
        assert (vault.ledger.closed_period, counts(vault)) == ("2026-03", [150, 150, 200])

    def test_closes_all_periods_up_to_one_where_it_is_said(self, vault):
        vault.append(rows_of(["2026-03", "2026-05"], 90), through="2026-05")
        assert counts(vault) == [150, 150, 45, 0, 45]

    def test_may_bring_nobody(self, vault):
        vault.append(NEXT.slice(0, 0))
        assert counts(vault) == [150, 150, 0]

    @pytest.mark.parametrize("settings", UNITS_OF_PEOPLE.values(), ids=UNITS_OF_PEOPLE)
    def test_leaves_every_row_that_is_there_as_it_was(self, make, settings):
        vault = make(**settings)
        for month in ("2026-03", "2026-04", "2026-05"):
            before = rows_in(vault._own.snapshot())
            vault.append(rows_of(["2026-01", month], 200, seed=int(month[-1])))
            assert rows_in(vault._own.snapshot())[: len(before)] == before

    @pytest.mark.parametrize("settings", UNITS_OF_PEOPLE.values(), ids=UNITS_OF_PEOPLE)
    def test_levels_nothing_and_a_new_period_has_spent_nothing(self, make, settings):
        vault = make(**settings)
        vault.ask(JANUARY, scale=40)
        vault.ask("SELECT SUM(age) FROM register WHERE sex = 'F'", scale=400)
        spent = vault.ledger.left_by([0, 1]).tolist()
        vault.append(NEXT)
        assert vault.ledger.left_by([0, 1]).tolist() == spent
        assert vault.ledger.left(vault.domain.slab("month", 2, 2)) == vault.ledger.budget.limit

    def test_lets_what_was_released_be_repeated_for_nothing_also_by_another_process(self, vault):
        first, by_sex = (
            vault.ask(JANUARY, scale=40),
            "SELECT sex, AVG(age) FROM register WHERE month < '2026-03' GROUP BY 1",
        )
        means = vault.ask(by_sex, scale=40)
        vault.append(NEXT)
        spent = vault.ledger.spent_max
        for seen in (vault, Vault.open(vault.path)):
            assert seen.ask(JANUARY, scale=40).value == first.value
            assert [row.value for row in seen.ask(by_sex, scale=40).rows] == [row.value for row in means.rows]
        assert vault.ledger.spent_max == spent

    def test_is_seen_by_a_process_that_had_the_vault_open(self, vault):
        other = Vault.open(vault.path)
        other.ask(BY_MONTH, scale=40)
        vault.append(NEXT)
        assert [row.labels for row in other.ask(BY_MONTH, scale=40).rows] == [("2026-01",), ("2026-02",), ("2026-03",)]

    def test_makes_a_group_by_of_months_buy_the_new_one_alone(self, vault):
        vault.ask(BY_MONTH, scale=40)
        before = vault.ledger.left_by([0]).tolist()
        vault.append(NEXT)
        vault.ask(BY_MONTH, scale=40)
        assert [a - b for a, b in zip(before, vault.ledger.left_by([0]).tolist(), strict=True)][:4] == [
            0,
            0,
            UNITS // 40,
            0,
        ]

    def test_leaves_a_period_to_come_its_whole_budget_whatever_is_asked_before(self, vault):
        vault.measure(Plan((Measurement(Count(vault.domain.everything), Laplace(Fraction(1))),)))
        with pytest.raises(BudgetExceeded):
            vault.ask("SELECT SUM(age) FROM register", scale=10)
        vault.append(NEXT)
        vault.ask("SELECT COUNT(*) FROM register WHERE month = '2026-03'", scale=1)

    def test_a_cube_of_rounds_adds_up_what_they_cost_and_keeps_its_periods(self, make):
        vault = make(epsilon=10)
        plan = vault.cubes.plan(planner="adaptive", epsilon=2)
        cube = vault.cubes.publish(plan)
        assert plan.noise.limit * 0.999 < vault.ledger.spent_max <= plan.noise.limit
        assert cube.guarantee == vault.ledger.promise(vault.ledger.spent_max)
        vault.append(NEXT)
        again = vault.cubes.publish(cube.origin.charge)
        assert cube.cuboids.keys() == again.cuboids.keys() != set()  # which are chosen depends on the noise
        assert all(np.array_equal(again.cells_of(mask), cube.cells_of(mask)) for mask in cube.cuboids)
        assert (again.dimensions, again.guarantee) == (cube.dimensions, cube.guarantee)
        assert audit_vault(vault.path).holds

    def test_keeps_old_cubes_and_publishes_new_ones_of_closed_periods(self, vault):
        old = vault.cubes.plan(dimensions=("month", "sex"), epsilon="0.1")
        cube = vault.cubes.publish(old)
        vault.append(NEXT)
        new = vault.cubes.publish(vault.cubes.plan(dimensions=("month", "sex"), epsilon="0.1"))
        assert (cube["month"].values.shape, new["month"].values.shape) == ((2,), (3,))
        again = vault.cubes.publish(cube.origin.charge)
        assert np.array_equal(again["month", "sex"].values, cube["month", "sex"].values)
        with pytest.raises(UnsupportedQuery, match="other dimensions"):
            vault.cubes.publish(old)

    @pytest.mark.parametrize("settings", UNITS_OF_PEOPLE.values(), ids=UNITS_OF_PEOPLE)
    def test_passes_the_audit(self, make, settings):
        vault = make(**settings)
        for closed in (None, "2026-05"):
            vault.ask(BY_MONTH, scale=40)
            vault.ask("SELECT SUM(age) FROM register WHERE sex = 'F'", scale=400)
            vault.cubes.publish(vault.cubes.plan(dimensions=("month", "sex"), epsilon="0.1"))
            vault.append(rows_of(["2026-03", "2026-04", "2026-05"], 90), through=closed)
        vault.ask(ALL, scale=40)
        vault.ask(ALL, estimate="modelled")
        assert [check.findings for check in audit_vault(vault.path).checks if check.outcome != "passed"] == []

    def test_stays_in_a_journal_that_is_read_from_a_checkpoint(self, vault, monkeypatch):
        from discreet.ledger import checkpoint

        monkeypatch.setattr(checkpoint, "EVERY", 4)
        for month in (3, 4, 5, 6):
            vault.append(rows_of([f"2026-{month:02d}"], 30))
            vault.ask(ALL, scale=100)
        again = Vault.open(vault.path)
        assert again.ledger._followed.state.begun_at.seq > 1
        assert (again.ledger.closed_period, again.ledger.snapshot) == (
            vault.ledger.closed_period,
            vault.ledger.snapshot,
        )
        assert [again.ledger.domain_of(charge.snapshot).shape[0] for charge, _ in again.ledger.answered()] == [
            3,
            4,
            5,
            6,
        ]


class TestWhoseRowsAreKept:
    @pytest.mark.parametrize("settings", list(UNITS_OF_PEOPLE.values())[1:], ids=list(UNITS_OF_PEOPLE)[1:])
    def test_a_person_has_as_many_as_are_promised_and_each_by_their_own_rows_alone(self, make, settings):
        """What is kept of one person is kept of them where nobody else is there, too."""
        tables = [FIRST, *(rows_of([f"2026-{month:02d}"], 150, seed=month) for month in (3, 4))]
        whole = make(**settings)
        own = [table.filter(pa.compute.equal(table["id"], "p7")) for table in tables]
        alone = make("alone", own[0], **settings)
        (alone.path / "key").write_bytes((whole.path / "key").read_bytes())
        alone.refresh(own[0])
        for table, of_one in zip(tables[1:], own[1:], strict=True):
            whole.append(table)
            alone.append(of_one)
        kept = rows_in(whole._own.snapshot())
        [mine] = {row[-1] for row in rows_in(alone._own.snapshot())}
        assert Counter(row for row in kept if row[-1] == mine) == Counter(rows_in(alone._own.snapshot()))
        each = settings.get("each_period")
        many = Counter((row[-1], row[0]) if each else row[-1] for row in kept)
        assert max(many.values()) == settings["max_rows"]

    def test_who_has_used_up_their_rows_is_not_seen_later_unless_each_period_has_its_own(self, make):
        early, late = pa.concat_tables([FIRST] * 3), pa.concat_tables([rows_of(["2026-03"], 300, seed=5)] * 3)
        of_all = make("all", early, id="id", max_rows=3)
        of_each = make("each", early, id="id", max_rows=3, each_period=True)
        for vault in (of_all, of_each):
            vault.append(late)
        assert (counts(of_all)[2], counts(of_each)[2]) == (0, 60 * 3)

    def test_a_promise_about_one_period_says_so_everywhere(self, make):
        vault = make(id="id", max_rows=2, each_period=True)
        words = "a person's rows of one period"
        assert words in str(vault.ledger.guarantee)
        assert words in str(vault.measure(vault.count(), 50).guarantee)
        assert words in str(Vault.open(vault.path).budget().guarantee)
        assert "of each id at most 2 rows count of each month" in vault.ask(ALL, scale=50).notes
        whole = make("all", id="id", max_rows=2)
        assert words not in str(whole.ledger.guarantee)
        assert "of each id at most 2 rows count" in whole.ask(ALL, scale=50).notes

    def test_rows_per_person_are_not_asked_where_each_period_is_bounded(self, make):
        vault = make(id="id", max_rows=2, each_period=True)
        people = "SELECT n, COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM register GROUP BY id) GROUP BY n"
        with pytest.raises(UnsupportedQuery, match="bounded period by period"):
            vault.ask(people, scale=50)
        assert vault.ask("SELECT COUNT(DISTINCT id) FROM register", scale=50).value


class TestWhatIsUnderWay:
    def cut_off(self, vault, monkeypatch):
        """A charge that has no answer: the process died over it."""
        with monkeypatch.context() as patch:
            patch.setattr(Snapshot, "evaluate", lambda *_: 1 / 0)
            with pytest.raises(EngineError):
                vault.measure(vault.count(by="month"), 40)
        [charge] = vault.ledger.pending()
        return charge

    def test_a_charge_from_before_an_append_is_completed_from_the_rows_that_it_paid_for(self, vault, monkeypatch):
        charge, read = self.cut_off(vault, monkeypatch), []
        vault.append(NEXT)
        evaluate = Snapshot.evaluate
        monkeypatch.setattr(
            Snapshot, "evaluate", lambda self, queries: read.append(evaluate(self, queries)) or read[-1]
        )
        [release] = Vault.open(vault.path).complete()
        assert (release.charge, release.only.units.shape) == (charge.id, (2,))
        assert [[exact.tolist() for exact in one] for one in read] == [[[150, 150]]]
        assert [check.findings for check in audit_vault(vault.path).checks if check.outcome != "passed"] == []

    def test_it_is_not_closed_by_an_append_and_is_by_a_refresh(self, vault, monkeypatch):
        charge = self.cut_off(vault, monkeypatch)
        vault.append(NEXT)
        assert not vault.ledger.close_charge(charge.id)
        vault.refresh(FIRST)
        assert vault.complete() == []
        assert vault.ledger.closed() == [charge.id]

    def test_a_question_is_about_one_state_of_the_table(self, vault):
        """Rows that come in between planning and measuring make it fail, and nothing is spent."""
        gate, plan = vault.gate, Plan((Measurement(vault.count(by="month"), Laplace(Fraction(40))),))
        vault.append(NEXT)
        with pytest.raises(Refreshed, match="appended in the meantime; nothing was spent"):
            gate.measure(plan)
        assert vault.ledger.charges == 0

    def test_of_two_appends_at_once_one_comes_in_and_the_other_leaves_nothing(self, vault):
        meet, found = threading.Barrier(2), []

        def append(seed):
            try:
                opened = Vault.open(vault.path)
                opened.append(rows_of(["2026-03"], 50 + seed, seed=seed), fitted=lambda _: meet.wait(PATIENCE))
                found.append(seed)
            except Refreshed as refused:
                found.append(str(refused))

        threads = [threading.Thread(target=append, args=(seed,)) for seed in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        [won] = [one for one in found if isinstance(one, int)]
        [lost] = [one for one in found if isinstance(one, str)]
        assert "another append or refresh came in between" in lost
        assert counts(vault) == [150, 150, 50 + won]
        assert len(list((vault.path / "snapshots").iterdir())) == 1

    def test_one_that_cannot_be_read_leaves_all_as_it_was(self, vault):
        before = vault.ledger.head
        with pytest.raises(DomainError):
            vault.append(NEXT.drop_columns("sex"))
        assert (vault.ledger.head, len(list((vault.path / "snapshots").iterdir()))) == (before, 1)

    def test_a_refresh_levels_as_ever_and_keeps_what_is_closed(self, vault):
        vault.ask(JANUARY, scale=40)
        vault.append(NEXT)
        with pytest.raises(VaultError, match="say where all of them are"):
            vault.refresh()
        vault.refresh(pa.concat_tables([FIRST, NEXT, rows_of(["2026-04"])]))
        assert (vault.ledger.closed_period, counts(vault)) == ("2026-03", [150, 150, 100])
        assert set(vault.ledger.left_by([0]).tolist()) == {UNITS - UNITS // 40}
        vault.append(rows_of(["2026-04"], 20))
        assert counts(vault)[3] == 20
        assert audit_vault(vault.path).holds


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("through", "kind", "words"),
        [
            ("2026-02", VaultError, "2026-02 is closed already: the table goes up to 2026-02.* Append from 2026-03 on"),
            ("2026-01", VaultError, "2026-01 is closed already"),
            ("2028-01", DomainError, "is no month of month; these are called 2026-01 to 2027-12"),
            ("2026-03-15", DomainError, "is no month"),
            ("soon", DomainError, "is no month"),
        ],
    )
    def test_a_period_that_does_not_come_next(self, vault, through, kind, words):
        with pytest.raises(kind, match=words):
            vault.append(NEXT, through=through)
        assert vault.ledger.closed_period == "2026-02"

    def test_rows_of_closed_periods_where_the_domain_says_so(self, make):
        vault = make(domain=DOMAIN.replace("grows = true", 'grows = true\nlate = "refuse"'))
        with pytest.raises(TableError, match="has rows of month up to 2026-02, which are closed"):
            vault.append(rows_of(["2026-02", "2026-03"]))
        vault.append(NEXT)
        assert counts(vault) == [150, 150, 100]

    def test_more_than_the_domain_has(self, make):
        vault = make(through="2027-12")
        with pytest.raises(VaultError, match="goes up to 2027-12, where its domain ends"):
            vault.append(NEXT)

    def test_a_table_that_does_not_grow(self, make):
        fixed = make("fixed", domain=DOMAIN.replace("grows = true\n", ""), through=None)
        with pytest.raises(UnsupportedQuery, match="does not grow"):
            fixed.append(NEXT)

    @pytest.mark.parametrize(
        ("domain", "settings", "words"),
        [
            (DOMAIN, {"through": None}, "say up to which month it is complete"),
            (DOMAIN, {"through": "2025-12"}, "is no month"),
            (DOMAIN, {"each_period": True}, "say --id and --max-rows"),
            (DOMAIN, {"live": True}, "does not grow"),
            (DOMAIN.replace("grows = true\n", ""), {}, "through is about a table that grows"),
            (DOMAIN.replace("grows = true\n", 'late = "drop"\n'), {}, "late: is about appended rows"),
            (DOMAIN.replace("grows = true", "grows = 1"), {}, "grows: must be true or false"),
            (DOMAIN.replace("grows = true", 'grows = true\nlate = "keep"'), {}, "late: must be one of drop, refuse"),
            (DOMAIN.replace("grows = true", "grows = true\nnull = true"), {}, "leave out null"),
            (DOMAIN.replace("grows = true", 'grows = true\noutside = "clamp"'), {}, 'outside is "drop"'),
            (DOMAIN + DOMAIN[DOMAIN.index("[attributes.month]") :].replace("month]", "m]").split("[attributes.sex]")[0],
             {}, "a table grows by one attribute, and here month and m"),
        ],
    )  # fmt: skip
    def test_a_vault_whose_periods_make_no_sense(self, make, domain, settings, words):
        with pytest.raises((DomainError, UnsupportedQuery), match=words):
            make("refused", domain=domain, **settings)

    def test_facts_and_buckets_which_are_of_a_table_that_stays(self, vault):
        for add in (vault.facts.add, vault.facts.preview):
            with pytest.raises(UnsupportedQuery, match="takes no facts"):
                add(ALL, 300)
        with pytest.raises(UnsupportedQuery, match="not published in buckets"):
            vault.buckets.publish(sensitive="sex", limits="0.9", out="buckets")


class TestTheCommand:
    def test_appends_and_says_how_far_the_table_goes(self, make):
        make()
        pq.write_table(NEXT, "march.parquet")
        assert "The table goes up to 2026-03 now, as snapshot 2" in run("append vault march.parquet")
        pq.write_table(rows_of(["2026-04", "2026-05"]), "spring.parquet")
        said = json.loads(run("append vault spring.parquet --through 2026-05 --json"))
        assert (said["closed"], said["snapshot"]) == ("2026-05", 3)
        assert "rows up to 2026-03 were appended: snapshot 2" in run("ledger show vault")

    def test_makes_a_vault_that_grows(self, make, tmp_path):
        make("other")
        pq.write_table(FIRST, "register.parquet")
        line = "init vault --table register.parquet --domain register.toml --epsilon 1 --neighbours add-remove"
        run(f"{line} --accept-loss 1 --through 2026-01 --id id --max-rows 2 --each-period")
        vault = Vault.open(tmp_path / "vault")
        assert (vault.ledger.closed_period, vault.domain.each_period) == ("2026-01", True)
        assert len(counts(vault)) == 1

    def test_stops_where_much_would_be_lost_but_not_for_rows_of_other_periods(self, make):
        make()
        pq.write_table(pa.concat_tables([FIRST, NEXT]), "all.parquet")
        run("append vault all.parquet")
        pq.write_table(rows_of(["2031-01", "2026-04"]), "mistaken.parquet")
        result = CliRunner().invoke(app, ["append", "vault", "mistaken.parquet"])
        assert result.exit_code
        assert "no rows were appended" in result.output


class TestBesideErasure:
    def test_who_was_erased_stays_out_of_what_is_appended_and_nothing_is_levelled(self, make):
        vault = make(id="id", max_rows=50)
        vault.ask(JANUARY, scale=400)
        vault.append(NEXT)
        spent = vault.ledger.left_by([0]).tolist()
        vault.erase(pa.table({"id": ["p7"]}))
        left = counts(vault)
        stay = [pa.compute.sum(pa.compute.not_equal(table["id"], "p7")).as_py() for table in (FIRST, NEXT)]
        assert [sum(left[:2]), left[2]] == stay
        vault.append(rows_of(["2026-04"], 200, seed=9))
        others = pa.compute.not_equal(rows_of(["2026-04"], 200, seed=9)["id"], "p7")
        assert counts(vault) == [*left, pa.compute.sum(others).as_py()]
        assert vault.ledger.left_by([0]).tolist() == spent
        assert [check.findings for check in audit_vault(vault.path).checks if check.outcome != "passed"] == []

    def test_what_is_left_out_of_an_append_is_told_by_its_reason(self, make):
        vault = make(id="id", max_rows=50)
        vault.erase(pa.table({"id": ["p7"]}))
        seen, rows = [], rows_of(["2026-03"], 200, seed=9)
        vault.append(pa.concat_tables([rows, rows_of(["2026-01", "2026-04"], 40, seed=8)]), fitted=seen.append)
        [fit], gone = seen, pa.compute.sum(pa.compute.equal(rows["id"], "p7")).as_py()
        told = (fit.rows, fit.kept, fit.nameless, fit.beyond_bound, fit.erased, fit.late + fit.to_come)
        assert gone
        assert told == (240, 200 - gone, 0, 0, gone, 40)

    def test_a_charge_from_before_an_append_is_completed_without_whoever_was_erased_before(self, make):
        vault = make(id="id", max_rows=50)
        vault.erase(pa.table({"id": ["p7"]}))
        whole, before = vault._own.snapshot(), vault.domain
        vault.append(NEXT)
        then = vault._own.snapshot().until(before)
        assert rows_in(then) == rows_in(whole)
