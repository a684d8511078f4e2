"""What a vault states is what holds, by all that is in its journal; and nothing else states anything."""

import ast
import shutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.audit.terms import mu_keeps, rho_keeps
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.errors import BudgetExceeded, JournalCorrupt, JournalRolledBack
from discreet.ledger.budget import Budget, PureBudget, QueryBudget
from discreet.ledger.conversion import rho_for
from discreet.ledger.guarantee import GDP, ZCDP, ApproxDP, DeltaT, PureDP, guarantee_from_json
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt, last_receipt, lost_receipts, receipt_path
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import UNITS, Cost
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget
from discreet.ledger.standing import LIVE, Standing
from discreet.mining.sulq import loss_of, query_budget

ONE, DELTA = Fraction(1), Fraction(1, 10**6)
PURE = PureBudget(ONE, "add-remove")
RHO = ConcentratedBudget(Fraction(1, 3), "replace", 2)
APPROXIMATE = ConcentratedBudget(rho_for(ONE, DELTA), "replace", 1, ONE, DELTA)
MU, BY_MU = GaussianBudget(Fraction(1, 3), "replace", 2), GaussianBudget.of(ONE, DELTA, "replace")


def seen(number: int) -> dict[str, str]:
    return {"seen": f"{number}:{number:064x}"}


def accepted(budget: Budget, times: int) -> Standing:
    standing = Standing.of(budget)
    for number in range(1, times + 1):
        standing = standing.after("rollback-accepted", number, seen(number))
    return standing


@pytest.mark.parametrize("times", range(4))
class TestAcceptedRollbacks:
    def test_of_epsilon_and_of_rho_there_is_one_more_budget_for_each(self, times: int) -> None:
        n = 1 + times
        assert replace(accepted(PURE, times).guarantee(), remarks=()) == PureDP(n * ONE, "add-remove")
        assert replace(accepted(RHO, times).guarantee(), remarks=()) == ZCDP(n * RHO.total, "replace", 2)
        assert replace(accepted(MU, times).guarantee(), remarks=()) == GDP(n * MU.total, "replace", 2)

    def test_of_epsilon_and_delta_the_epsilon_grows_as_far_as_its_rho_needs_and_no_further(self, times: int) -> None:
        stated = accepted(APPROXIMATE, times).guarantee()
        assert isinstance(stated, ApproxDP)
        assert (stated.rho, stated.delta) == ((1 + times) * APPROXIMATE.total, DELTA)
        assert rho_keeps(stated.rho, stated.epsilon, DELTA)
        assert not rho_keeps(stated.rho, stated.epsilon * Fraction(999, 1000), DELTA)
        assert (stated.epsilon == 1) == (times == 0)
        assert guarantee_from_json(stated.to_json()) == stated

    def test_of_epsilon_and_delta_the_epsilon_grows_as_far_as_its_mu_needs_and_no_further(self, times: int) -> None:
        stated = accepted(BY_MU, times).guarantee()
        assert isinstance(stated, GDP)
        assert (stated.mu_squared, stated.delta) == ((1 + times) * BY_MU.total, DELTA)
        assert stated.epsilon is not None
        assert mu_keeps(stated.mu_squared, stated.epsilon, DELTA)
        assert not mu_keeps(stated.mu_squared, stated.epsilon * Fraction(999, 1000), DELTA)
        assert (stated.epsilon == 1) == (times == 0)
        assert guarantee_from_json(stated.to_json()) == stated

    def test_of_queries_every_bound_is_that_of_so_many_databases(self, times: int) -> None:
        budget = query_budget(40, "0.5", 1000, 9, "exact", "1e-6")
        n, stated = 1 + times, accepted(budget, times).guarantee()
        assert isinstance(stated, DeltaT)
        assert (stated.queries, stated.delta) == (n * 40, n * budget.delta)
        assert (stated.failure, stated.dp_delta) == (n * budget.failure, n * budget.dp_delta)
        # All n·40 answers, composed as one database: what is stated is never less.
        composed = loss_of(budget.trials, n * 40, stated.delta)
        assert composed.failure <= stated.failure
        assert composed.dp_delta <= stated.dp_delta

    def test_a_release_promises_what_it_spent_and_names_the_whole(self, times: int) -> None:
        promise = accepted(PURE, times).promise(UNITS // 10)
        assert promise.amount == Fraction(1, 10)
        named = f"everything that was ever released is bounded by ε = {1 + times}"
        assert (named in str(promise)) == (times > 0)
        assert isinstance(accepted(APPROXIMATE, times).promise(1), ZCDP)
        assert isinstance(accepted(BY_MU, times).promise(1), GDP)

    def test_a_release_of_queries_is_some_of_all_that_were_answered(self, times: int) -> None:
        budget = QueryBudget(10, ONE, 100, "exact", DELTA, DELTA, 3)
        promise = accepted(budget, times).promise(3)
        assert isinstance(promise, DeltaT)
        assert (promise.asked, promise.queries, promise.delta) == (3, 10 * (1 + times), 1 + times)


@pytest.mark.parametrize(
    ("points", "refreshes", "counted"), [(7, 0, 7), (7, 1, 49), (7, 2, 343), (7, 100, 10**15), (10**16, 3, 10**16)]
)
def test_of_queries_all_statements_are_about_a_row_in_each_version(points: int, refreshes: int, counted: int) -> None:
    standing = Standing.of(QueryBudget(10, ONE, 100, "exact", DELTA, DELTA, points))
    for number in range(refreshes):
        standing = standing.after("refresh", number, {})
    stated = standing.guarantee()
    assert isinstance(stated, DeltaT)
    assert stated.points == counted
    assert ("all statements at once" in str(stated)) == (counted * DELTA < 1)


def test_probabilities_stop_at_one() -> None:
    budget = QueryBudget(10, ONE, 100, "paper", Fraction(2, 5), Fraction(1, 2), 3)
    stated = accepted(budget, 3).guarantee()
    assert isinstance(stated, DeltaT)
    assert (stated.failure, stated.dp_delta) == (1, 1)


def test_the_same_lost_branch_counts_once_and_those_lost_with_it_count_too() -> None:
    standing = Standing.of(PURE)
    for content in (seen(1), seen(1), {**seen(2), "also": [seen(3)["seen"], seen(1)["seen"]]}):
        standing = standing.after("rollback-accepted", 9, content)
    assert standing.guarantee().amount == 4


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("rollback-accepted", {}),
        ("rollback-accepted", 7),
        ("buckets", []),
        ("buckets", {"state": "published"}),
        ("buckets", {"state": "withdrawn", "begun": "x"}),
        ("refresh", None),
    ],
)
def test_whatever_is_no_entry_of_its_kind_is_refused(kind: str, content: Any) -> None:
    with pytest.raises(JournalCorrupt, match="entry 7 of the journal is no"):
        Standing.of(PURE).after(kind, 7, content)


class TestWords:
    def test_a_live_table_is_said_from_the_header_on_or_from_a_refresh_on(self) -> None:
        assert Standing.of(PURE).after("init", 1, {"live": True}).guarantee().remarks == (LIVE,)
        assert Standing.of(PURE).after("init", 1, {}).guarantee().remarks == ()
        live = Standing.of(PURE).after("refresh", 2, {"live": True}).after("refresh", 3, {})
        assert live.promise(1).remarks == ("one budget for all 3 versions of the table", LIVE)

    def test_rows_are_said_of_until_they_are_withdrawn_and_what_is_out_is_never_taken_back(self) -> None:
        begun = Standing.of(PURE).after("buckets", 4, {"state": "begun"})
        assert "microdata was published in buckets: F'-privacy" in str(begun.guarantee())
        assert begun.after("buckets", 5, {"state": "withdrawn", "begun": 4}).guarantee().remarks == ()
        out = begun.after("buckets", 5, {"state": "published", "begun": 4})
        for later in (out, out.after("buckets", 6, {"state": "withdrawn", "begun": 4})):
            assert later.rows == (4,)
            assert "not differential privacy" in str(later.promise(1))

    def test_limits_of_several_publications_are_said_not_to_hold_together(self) -> None:
        once = Standing.of(PURE).after("buckets", 4, {"state": "begun"})
        assert str(once.f_privacy()) == "F'-privacy; not differential privacy"
        twice = once.after("buckets", 6, {"state": "begun"})
        assert "rows were published 2 times, and limits do not hold together" in str(twice.f_privacy())
        assert "2 times" in str(twice.guarantee())


class TestTheJournal:
    def test_another_process_is_told_at_once_of_what_this_one_notes(
        self, ledger: Ledger, path: Path, domain: Domain, budget: PureBudget
    ) -> None:
        other = Ledger.open(path, domain, budget)
        assert other.guarantee.remarks == ()
        ledger.note("buckets", {"state": "begun"})
        assert "microdata was published" in str(other.guarantee)
        assert other.publications == (2,)
        ledger.note("rollback-accepted", seen(9))
        assert other.guarantee.amount == 2

    def test_a_release_of_lost_entries_has_no_promise_here(self, ledger: Ledger) -> None:
        charge = ledger.charge(Cost(UNITS // 4), {})
        record = ledger.record(charge.id, {})
        promise = ledger.promise_of(charge.id, record.receipt)
        assert promise is not None
        assert promise.amount == Fraction(1, 4)
        ledger.note_fact({"fact": {"text": "n"}, "induced": [2, 4]}, ledger.head.seq)
        promise = ledger.promise_of(charge.id, record.receipt)
        assert promise is not None
        assert promise.amount == Fraction(1, 2)
        assert ledger.promise_of(charge.id, Receipt(record.receipt.seq, bytes(32))) is None
        assert ledger.promise_of(record.receipt.seq, record.receipt) is None
        assert ledger.f_privacy(Receipt(2, bytes(32))) is None

    def test_what_was_spent_before_facts_and_in_lost_entries_is_counted_at_what_it_costs_by_now(
        self, ledger: Ledger
    ) -> None:
        ledger.charge(Cost(UNITS // 2), {})
        ledger.note("rollback-accepted", seen(9))
        assert ledger.guarantee.amount == 2
        ledger.note_fact({"fact": {"text": "n"}, "induced": [4, 8]}, ledger.head.seq)
        # Here ½ of 4 people; in the lost entries, perhaps all of ε = 1 before anybody knew the fact.
        assert ledger.guarantee.amount == 2 + 4


@pytest.fixture
def open_again(path: Path, domain: Domain, budget: PureBudget) -> Callable[..., Ledger]:
    def make(**how: Any) -> Ledger:
        return Ledger.open(path, domain, budget, **how)

    return make


class TestBranches:
    """Copies of one journal, put back one after the other: each may spend everything."""

    def test_after_an_accepted_rollback_epsilon_is_spent_twice_and_two_are_stated(
        self, path: Path, open_again: Callable[..., Ledger]
    ) -> None:
        backup = shutil.copy(path, path.with_name("backup"))
        self.spend_all(open_again())
        shutil.copy(backup, path)
        ledger = open_again(accept_rollback=True)
        self.spend_all(ledger)
        assert ledger.guarantee.amount == 2
        with pytest.raises(BudgetExceeded):
            ledger.charge(Cost(1), {})

    def test_a_rollback_to_before_an_accepted_one_forgets_neither(
        self, path: Path, open_again: Callable[..., Ledger]
    ) -> None:
        backup = shutil.copy(path, path.with_name("backup"))
        for times in range(4):
            ledger = open_again(accept_rollback=True)
            assert ledger.guarantee.amount == 1 + times
            self.spend_all(ledger)
            shutil.copy(backup, path)
        assert len(lost_receipts("test-vault")) == 3

    def test_a_user_who_only_saw_that_one_was_accepted_remembers_it_as_well(
        self, path: Path, open_again: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        backup = shutil.copy(path, path.with_name("backup"))
        self.spend_all(open_again())
        shutil.copy(backup, path)
        self.spend_all(open_again(accept_rollback=True))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
        open_again().close()
        shutil.copy(backup, path)
        assert open_again(accept_rollback=True).guarantee.amount == 3

    def test_a_receipt_from_elsewhere_is_accepted_as_one_that_was_seen_here(
        self, path: Path, open_again: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        backup = shutil.copy(path, path.with_name("backup"))
        kept = self.spend_all(open_again())
        shutil.copy(backup, path)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "rebuilt"))
        ledger = open_again()
        assert ledger.guarantee.amount == 1
        with pytest.raises(JournalRolledBack):
            ledger.check_receipt(kept)
        for _ in range(2):
            ledger.accept_lost(kept)
            assert ledger.guarantee.amount == 2
            assert lost_receipts("test-vault") == {str(kept)}
        assert [entry.kind for entry in ledger.entries()] == ["init", "rollback-accepted", "rollback-accepted"]

    def test_an_answer_that_was_given_in_both_branches_is_paid_for_in_both(
        self, path: Path, open_again: Callable[..., Ledger]
    ) -> None:
        """Nothing may be taken off for what the branches have in common: a charge in it can be answered twice."""
        ledger = open_again()
        charge = ledger.charge(Cost(UNITS), {})
        ledger.close()
        backup = shutil.copy(path, path.with_name("backup"))
        lost = open_again()
        lost.record(charge.id, {"value": 1})
        lost.close()
        shutil.copy(backup, path)
        ledger = open_again(accept_rollback=True)
        assert ledger.record(charge.id, {"value": 2}).body == {"value": 2}
        assert ledger.guarantee.amount == 2

    def test_nothing_is_noted_where_nothing_was_lost(self, open_again: Callable[..., Ledger]) -> None:
        open_again().close()
        assert open_again(accept_rollback=True).head.seq == 1
        assert not receipt_path("test-vault").with_name("test-vault.lost").exists()

    def test_lines_that_are_no_receipts_are_not_remembered(self, open_again: Callable[..., Ledger]) -> None:
        open_again().close()
        receipt_path("test-vault").with_name("test-vault.lost").write_bytes(b"12:ab\n\xff\xfe\nwhat\n")
        assert lost_receipts("test-vault") == frozenset()
        assert open_again().guarantee.amount == 1

    @staticmethod
    def spend_all(ledger: Ledger) -> Receipt:
        receipt = ledger.charge(Cost(ledger.budget.limit), {}).receipt
        ledger.close()
        return receipt


SHAPE = (3, 2)
DOMAIN = Domain("t", tuple(Integer(name=n, source="test", low=0, high=s - 1) for n, s in zip("ab", SHAPE, strict=True)))
BOXES = st.tuples(*(st.tuples(st.integers(0, s - 1), st.integers(0, s - 1)).map(sorted) for s in SHAPE)).map(
    lambda ends: Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), BOXES, st.integers(1, 6)),
        st.tuples(st.just("fact"), st.integers(1, 5)),
        st.sampled_from([("refresh",), ("back up",), ("put back",)]),
    ),
    max_size=25,
)


@settings(max_examples=60)
@given(st.sampled_from([PURE, PureBudget(ONE, "replace", 2), ConcentratedBudget(ONE, "replace"), MU]), STEPS)
def test_what_is_stated_covers_all_that_was_ever_spent_in_whatever_branch(budget: Budget, steps: list[Any]) -> None:
    """A person is at one point of each version of the table, whichever; and every charge counts, lost or not."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", f"{name}/state")
        path, backup = Path(name, "j"), Path(name, "backup")
        Ledger.create(path, {"vault_id": "test-vault"})
        shutil.copy(path, backup)
        ledger, versions, version, kept = Ledger.open(path, DOMAIN, budget), 0, 0, 0
        spent: dict[int, Any] = defaultdict(lambda: np.zeros(SHAPE, object))
        for step in steps:
            match step:
                case "charge", Box(low, high) as box, sixths:
                    try:
                        cost = Cost(0, ((box, sixths * budget.limit // 6),))
                        ledger.charge(cost, {}, snapshot=ledger.snapshot)
                    except BudgetExceeded:
                        continue
                    spent[version][low[0] : high[0] + 1, low[1] : high[1] + 1] += sixths * budget.limit // 6
                case "fact", people:
                    ledger.note_fact({"fact": {"text": "n"}, "induced": [people, people**2]}, ledger.head.seq)
                case ("refresh",):
                    now = ledger.snapshot
                    ledger.note_refresh(SnapshotId(1 if now is None else now.number + 1, "f"))
                    versions, version = versions + 1, versions + 1
                case ("back up",):
                    ledger.close()
                    shutil.copy(path, backup)
                    kept = version
                case ("put back",):
                    ledger.close()
                    shutil.copy(backup, path)
                    ledger, version = Ledger.open(path, DOMAIN, budget, accept_rollback=True), kept
            units = sum(int(points.max()) for points in spent.values())
            assert ledger.budget.amount_of(units) <= ledger.guarantee.amount
        assert last_receipt("test-vault") == ledger.head
        ledger.close()


def test_guarantees_of_vaults_are_made_in_one_place() -> None:
    """`guarantee.py` reads back what was stated; the audit's catalogue has mechanisms by themselves, in no vault."""
    source, makers = Path(discreet.__file__).parent, {"PureDP", "ZCDP", "ApproxDP", "GDP", "DeltaT", "FPrivacy"}
    made = {
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers
    }
    assert made == {"ledger/standing.py", "ledger/guarantee.py", "empirical/catalogue.py", "microdata/buckets.py"}
