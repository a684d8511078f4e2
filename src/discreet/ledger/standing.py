"""What a vault promises by now. Every guarantee of a vault is made here, from what its journal says.

A vault is made to keep a total, and its spend map keeps it. Other entries may leave less than that:

- *Facts* put neighbours further apart, and then what was spent costs a person more: `Budget.under`.
- *Accepted rollbacks.* An older journal was put back, and a custodian went on with it. What the lost entries spent is
  not known, but the journal that held them kept the limit that the vault was made with, as facts only ever lower it. So
  each lost branch costs a person at most that limit, at what a unit costs by now, on top of what this journal spends;
  what is common to both counts for both, as it must: a charge without an answer may have been answered twice. Of T
  queries with one noise, n branches move log-odds by more than n·δ with at most n times the probability [sulq.md, Two
  databases], and are (n·δ, n·δ')-differentially private [Dwork, Roth 2014, Theorem 3.16].
- *Refreshes* share one total: it covers a person in all versions. But of T queries, all statements at once are then
  about a row in each of them.
- *Rows in buckets* and *live tables* change no number, as none covers them. They are said in words.

docs/explain/privacy.md has the proofs.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from discreet.errors import JournalCorrupt
from discreet.ledger.budget import Budget, Induced, QueryBudget
from discreet.ledger.conversion import epsilon_for
from discreet.ledger.guarantee import GDP, ZCDP, ApproxDP, DeltaT, FPrivacy, Guarantee, PureDP
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget

NAMED = 3
"""A guarantee names so many facts, and counts the others."""
FINEST = 10**4
"""An ε that is solved for is a multiple of 1 over this, rounded up."""
MANY = 10**15
EACH_PERIOD = "it is about a person's rows of one period: who has rows in several is protected in each by itself"
LIVE = "the table is live: a change in it that its engine does not tell of is not accounted for"


@dataclass(frozen=True, slots=True)
class FactNote:
    """The number of a fact's entry, that of the entry that accepted the table it is about (0 for the first table), and
    its content."""

    number: int
    table: int
    content: Any

    @property
    def of(self) -> str | None:
        """Which of several tables it is about."""
        return self.content.get("table") if isinstance(self.content, dict) else None

    @property
    def words(self) -> str:
        """What a guarantee calls it."""
        try:
            fact = self.content["fact"]
            return str(fact["text"]) or f"cuboid {', '.join(fact['by'])}"
        except (LookupError, TypeError):
            return f"fact {self.number}"

    def lowered(self, own: Budget, before: Budget) -> Budget:
        """The vault's own budget once the fact is public: the limit is never above the one before it."""
        try:
            people, squares = self.content["induced"]
            induced = Induced(int(people), int(squares))
        except (LookupError, TypeError, ValueError):
            raise JournalCorrupt(f"entry {self.number} of the journal is no fact", "restore it from a backup") from None
        return own.under(induced.or_more(before.induced))


def is_each_period(header: Mapping[str, Any]) -> bool:
    """Whether a vault was made to bound a person's rows period by period."""
    return bool((header.get("unit") or {}).get("each_period"))


@dataclass(frozen=True)
class Standing:
    """All that bears on a guarantee, up to some entry of the journal. `own` is the budget that the vault was made with,
    and `budget` the same under the facts so far."""

    own: Budget
    budget: Budget
    live: bool = False
    rows_in: tuple[tuple[str, int], ...] = ()
    """How many rows a person has at most in each table, where there are several."""
    each_period: bool = False
    """Of a table that grows: whether it protects a person's rows of one period, and not all of them together."""
    versions: int = 1
    facts: tuple[str, ...] = ()
    lost: frozenset[str] = frozenset()
    """For each branch of the journal that was given up, the last receipt that anybody saw of it."""
    begun: frozenset[int] = frozenset()
    published: frozenset[int] = frozenset()
    """Publications of rows, by the entries that began them."""

    @classmethod
    def of(cls, budget: Budget) -> "Standing":
        """A vault that was just made."""
        return cls(budget, budget)

    def after(self, kind: str, number: int, content: Any) -> "Standing":
        """The same after one more entry. Raises JournalCorrupt where it is none of its kind."""
        try:
            match kind:
                case "init":
                    rows = tuple((str(table), int(most)) for table, most in content.get("rows", ()))
                    live, each_period = bool(content.get("live")), is_each_period(content)
                    return replace(self, live=live, rows_in=rows, each_period=each_period)
                case "refresh":
                    return replace(self, versions=self.versions + 1, live=self.live or bool(content.get("live")))
                case "rollback-accepted":
                    return replace(self, lost=self.lost | {str(content["seen"]), *map(str, content.get("also", ()))})
                case "buckets":
                    return self._publication(number, content)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise JournalCorrupt(f"entry {number} of the journal is no {kind}", "restore it from a backup") from None
        return self

    def after_fact(self, fact: FactNote) -> "Standing":
        """The same once a fact is public."""
        return replace(self, budget=fact.lowered(self.own, self.budget), facts=(*self.facts, fact.words))

    def _publication(self, number: int, content: Any) -> "Standing":
        """Begun, and then published or withdrawn. What is out cannot be taken back."""
        if content["state"] == "begun":
            return replace(self, begun=self.begun | {number})
        begun = int(content["begun"])
        published = self.published | {begun} if content["state"] == "published" else self.published
        return replace(self, begun=self.begun - {begun}, published=published)

    def by_rollbacks(self) -> Iterator["Standing"]:
        """The same with none of the branches given up, with one, and so on; as it is at last."""
        lost = sorted(self.lost)
        return (replace(self, lost=frozenset(lost[:many])) for many in range(len(lost) + 1))

    @property
    def rows(self) -> tuple[int, ...]:
        """The entries that began a publication of rows which was not withdrawn: finished, under way or cut off."""
        return tuple(sorted(self.begun | self.published))

    def guarantee(self, spent: int = 0) -> Guarantee:
        """What holds for everything that was ever released, together, where the map's maximum is `spent`."""
        return replace(self._whole(spent), remarks=self._remarks(spent))

    def promise(self, units: int, spent: Callable[[], int] = lambda: 0) -> Guarantee:
        """What a release promises by itself that spends at most so many units at any point. Of T queries, all together
        are promised for, and a release is some of them. The map's maximum is asked for only where it is told."""
        remarks = self._remarks(spent()) if self.lost else self._circumstances
        if isinstance(self.budget, QueryBudget):
            return replace(self._queries(self.budget), asked=units, remarks=remarks)
        if isinstance(self.budget, GaussianBudget) and self.budget.discovering:
            remarks = (
                f"the values that it names were found for {self.budget.discovering}, once, beside this",
                *remarks,
            )
        return self._stated(self.budget.amount_of(units), remarks)

    def f_privacy(self) -> FPrivacy:
        """What rows in buckets promise. Limits hold for one publication."""
        several = len(self.rows) > 1
        return FPrivacy((f"rows were published {len(self.rows)} times, and limits do not hold together",) * several)

    def _whole(self, spent: int) -> Guarantee:
        budget = self.budget
        if isinstance(budget, QueryBudget):
            return self._queries(budget)
        # Where facts came late, more is spent here than the limit that they leave.
        here = budget.amount_of(spent) if spent > budget.limit else budget.total
        elsewhere = len(self.lost) * self.own.total * budget.factor / self.own.factor
        whole = here + elsewhere
        if isinstance(budget, ConcentratedBudget) and budget.epsilon is not None and budget.delta is not None:
            epsilon = budget.epsilon if whole == budget.total else _epsilon_at(whole, budget.delta)
            return ApproxDP(epsilon, budget.delta, whole, budget.neighbours, budget.max_rows)
        if isinstance(budget, GaussianBudget) and budget.epsilon is not None and budget.delta is not None:
            kept, found = whole == budget.total, budget.discovering
            epsilon = budget.epsilon if kept else found.with_later(whole, budget.delta, FINEST)
            return GDP(whole, budget.neighbours, budget.max_rows, (), epsilon, budget.delta, found)
        return self._stated(whole)

    def _queries(self, budget: QueryBudget) -> DeltaT:
        branches = 1 + len(self.lost)
        return DeltaT(
            branches * budget.queries,
            branches * budget.delta,
            min(branches * budget.failure, Fraction(1)),
            min(branches * budget.dp_delta, Fraction(1)),
            budget.trials,
            _statements(budget.points, self.versions),
        )

    def _stated(self, amount: Fraction, remarks: tuple[str, ...] = ()) -> Guarantee:
        budget = self.budget
        whom = budget.neighbours, budget.max_rows, remarks
        match budget:
            case ConcentratedBudget():
                return ZCDP(amount, *whom)
            case GaussianBudget():
                return GDP(amount, *whom)
        return PureDP(amount, *whom)

    def _remarks(self, spent: int) -> tuple[str, ...]:
        """What every guarantee of the vault says besides its number."""
        return (*self._circumstances, self._lost_in_words(self._whole(spent))) if self.lost else self._circumstances

    @cached_property
    def _circumstances(self) -> tuple[str, ...]:
        said = [self._tables_in_words()] if self.rows_in else []
        if self.each_period:
            said.append(EACH_PERIOD)
        if self.facts:
            said.append(self._facts_in_words())
        if self.rows:
            said.append(self._rows_in_words())
        if self.versions > 1:
            said.append(f"one budget for all {self.versions} versions of the table")
        if self.live:
            said.append(LIVE)
        return tuple(said)

    def _tables_in_words(self) -> str:
        rows = [f"{most:,} row{'s' * (most > 1)} of {table}" for table, most in self.rows_in]
        return f"of one person at most {', '.join(rows)}, and one budget for what all tables together tell"

    def _facts_in_words(self) -> str:
        many = len(self.facts)
        more = [f"{many - NAMED} more"] if many > NAMED else []
        return (
            f"subject to {many} public fact{'s' if many > 1 else ''}, S_Q = {self.budget.induced.people}: "
            f"{', '.join([*self.facts[:NAMED], *more])}"
        )

    def _rows_in_words(self) -> str:
        many = len(self.rows)
        often, together = (f" {many} times", ", with limits that do not hold together") if many > 1 else ("", "")
        return f"microdata was published in buckets{often}: F'-privacy, not differential privacy{together}"

    def _lost_in_words(self, whole: Guarantee) -> str:
        times = "once" if len(self.lost) == 1 else f"{len(self.lost)} times"
        rows = "" if isinstance(whole, DeltaT) else ", but for rows that may have been published in them"
        return (
            f"an older journal was accepted {times}: with what the lost entries may have spent, everything that was "
            f"ever released is bounded by {whole.brief}{rows}"
        )


def _statements(points: int, versions: int) -> int:
    """How many rows a person can have in all versions of a table, each one of `points`. Beyond MANY it says nothing: no
    probability that is stated is so small."""
    return points if versions == 1 else max(points, min(points ** min(versions, 50), MANY))


@lru_cache(maxsize=64)
def _epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """An ε for which ρ-zCDP implies (ε, δ)-differential privacy, hardly above the least."""
    return Fraction(math.ceil(epsilon_for(rho, delta) * FINEST), FINEST)
