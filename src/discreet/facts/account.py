"""Facts in a vault: journalled, accounted for, and listed with what they do to privacy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.domain.domain import Domain
from discreet.errors import ArchiveError, InvalidBudget, InvalidFact
from discreet.exact import equals_text, number_text
from discreet.facts.contradiction import name_of, require_possible
from discreet.facts.facts import CuboidFact, Fact, fact_from_json, numbered
from discreet.facts.generic import FactsOfTable, induced_by, induced_together, sensitivity
from discreet.facts.plausible import Doubt, doubts
from discreet.ledger.books import Books
from discreet.ledger.budget import Induced
from discreet.ledger.declared import tables_in
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.ledger import Ledger
from discreet.ledger.standing import FactNote
from discreet.notebook import FieldsView
from discreet.release.archive import Archive
from discreet.release.release import Release

if TYPE_CHECKING:
    from discreet.replies import FactsJson


@dataclass(frozen=True)
class AddedFact:
    """A fact that is accounted for from now on.

    `sensitivity` is S_Q of all facts together, or a bound on it where it is not `exact`; `spent` is what was spent
    before, to whoever knows them. Where that is `exceeded`, more than the vault was to promise, nothing more is
    charged.
    """

    fact: Fact
    sensitivity: int
    exact: bool
    guarantee: Guarantee
    spent: Fraction
    exceeded: bool
    doubts: tuple[Doubt, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "fact": described(self.fact),
            "sensitivity": self.sensitivity,
            "exact": self.exact,
            "guarantee": self.guarantee.to_json(),
            "spent": self.spent,
            "exceeded": self.exceeded,
            "warnings": [str(doubt) for doubt in self.doubts],
        }


@dataclass(frozen=True)
class FactPreview:
    """What a fact would do, before it is final: nothing is journalled.

    `sensitivity` would be S_Q of all facts, or a bound on it where it is not `exact`.
    `spent` and `left` are where most is spent, as they would be to whoever knows the fact; `spent_before` and
    `left_before` as they are. `costs`: how many times as much the same noise would cost from then on; for the same cost
    noise is so many times as wide, or as large in variance where the budget is one of ρ. `stops`: more is spent than
    would be left, and nothing more would be measured. `about`: the rows that the value must be the count of.
    """

    fact: Fact
    sensitivity: int
    exact: bool
    sensitivity_before: int
    guarantee: Guarantee
    spent_before: Fraction
    spent: Fraction
    left_before: Fraction
    left: Fraction
    costs: Fraction
    stops: bool
    about: str
    doubts: tuple[Doubt, ...]

    def to_json(self) -> dict[str, Any]:
        told = {name: value for name, value in vars(self).items() if name != "doubts"}
        return {
            **told,
            "fact": described(self.fact),
            "guarantee": self.guarantee.to_json(),
            "warnings": [str(doubt) for doubt in self.doubts],
        }


@dataclass(frozen=True, repr=False)
class FactLine(FieldsView):
    """A fact with what it does by itself: whether its value can differ between the vault's own neighbours, S_Q, and
    `if_known`: what noise for the vault's whole budget would really promise to whoever knows it. (That is for any
    release. Definition 5's ρ is of one refinement of one set of responses, and may be less: `discreet.rho`.) `current`:
    it is about the table as it is now, not about one before a refresh."""

    fact: Fact
    differs: bool
    sensitivity: int
    if_known: Fraction
    current: bool

    def to_json(self) -> dict[str, Any]:
        return {
            **described(self.fact),
            "differs": self.differs,
            "sensitivity": self.sensitivity,
            "if_known": self.if_known,
            "current": self.current,
        }


@dataclass(frozen=True, repr=False)
class FactsReport(FieldsView):
    """Every fact of a vault, S_Q of all of them together, and what is spent and left with them."""

    facts: tuple[FactLine, ...]
    sensitivity: int
    guarantee: Guarantee
    spent: Fraction
    left: Fraction

    def to_json(self) -> "FactsJson":
        return {
            "facts": [line.to_json() for line in self.facts],
            "sensitivity": self.sensitivity,
            "guarantee": self.guarantee.to_json(),
            "spent": number_text(self.spent),
            "left": number_text(self.left),
        }


def described(fact: Fact) -> dict[str, Any]:
    """A fact for a list of them: large tables by their shape only."""
    value = list(fact.values.shape) if isinstance(fact, CuboidFact) else fact.value
    return {
        "number": fact.number,
        "kind": fact.kind,
        "what": fact.text or name_of(fact),
        "shape" if isinstance(fact, CuboidFact) else "value": value,
    }


def facts_of(ledger: Books, domain: Domain, archive: Archive) -> tuple[Fact, ...]:
    """Every fact about a table in the journal, in order."""
    return tuple(_recalled(note, domain, archive) for note in ledger.facts)


@dataclass(frozen=True)
class _Weighed:
    """A fact that can be added, with what it induces together with all others and alone."""

    fact: Fact
    together: Induced
    alone: Induced
    known: int
    """How many entries the journal had."""
    doubts: tuple[Doubt, ...]
    of: str | None
    """Which of several tables it is about."""

    def content(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """What the journal keeps of it."""
        return {
            "fact": stored,
            "induced": [self.together.people, self.together.squares],
            "alone": [self.alone.people, self.alone.squares],
            **({} if self.of is None else {"table": self.of}),
        }


def add_fact(
    fact: Fact, ledger: Ledger, domain: Domain, archive: Archive, releases: Iterable[Release], *, accept: bool
) -> AddedFact:
    """Account for a fact, durably. It is compared with the other facts and with `releases` of the same table, never
    with the table. Raises InvalidFact where it contradicts others, or where what it does to privacy is not known; or
    where it would stop the vault, or lower its limit by a bound on S_Q, unless that is to be accepted."""
    weighed = _weigh(fact, ledger, domain, archive, releases)
    would = _preview(weighed, ledger)
    if would.stops and not accept:
        raise InvalidFact(
            f"{name_of(weighed.fact)} would stop the vault: {would.guarantee.symbol} {equals_text(would.spent)} would "
            "be spent to whoever knows it, more than the vault was to promise, and nothing more would be measured; "
            "look at it with --dry-run, and add it with --accept if it is public all the same"
        )
    if not would.exact and not accept:
        raise InvalidFact(
            f"{name_of(weighed.fact)} leaves S_Q of all facts unknown: too many moves keep them to look through. It is "
            f"at most {bound_text(would.sensitivity)}, and the vault's limit would be divided by that; look at it with "
            "--dry-run, and add it with --accept if it is public all the same, or give fewer facts, or coarser ones"
        )
    note = ledger.note_fact(weighed.content(_stored(weighed.fact, archive)), weighed.known, stopping=accept)
    spent = ledger.budget.amount_of(ledger.spent_max)
    return AddedFact(
        numbered(weighed.fact, note.number, note.table),
        weighed.together.people,
        weighed.together.exact,
        ledger.guarantee,
        spent,
        spent > ledger.budget.total,
        weighed.doubts,
    )


def bound_text(people: int) -> str:
    """A number of people in words that stay short, however large it is: rounded up beyond fifteen digits."""
    return f"{people:,}" if people < 10**15 else f"10^{people.bit_length() * 30103 // 100_000 + 1}"


def preview_fact(
    fact: Fact, ledger: Books, domain: Domain, archive: Archive, releases: Iterable[Release]
) -> FactPreview:
    """What adding a fact would do. Raises InvalidFact as that does, but where it would stop the vault."""
    return _preview(_weigh(fact, ledger, domain, archive, releases), ledger)


def _weigh(fact: Fact, ledger: Books, domain: Domain, archive: Archive, releases: Iterable[Release]) -> _Weighed:
    known = ledger.head.seq
    facts, new = facts_of(ledger, domain, archive), numbered(fact, 0, ledger.refreshed)
    for old in facts:
        if _wordless(old) == _wordless(new):
            raise InvalidFact(f"{name_of(old)} says the same already")
    require_possible(new, facts, domain)
    budget = ledger.budget
    whose, dropped = (budget.neighbours, budget.max_rows), rows_are_dropped(ledger)
    alone = sensitivity([new], domain, *whose, dropped=dropped)
    if ledger.table is None:
        together = induced_by([*facts, new], domain, *whose, dropped=dropped)
    else:
        together = induced_together(_of_all_tables(new, ledger, archive), budget.neighbours)
    together = together.or_more(budget.induced)
    try:
        budget.under(together)
    except InvalidBudget:
        raise InvalidFact(
            f"{name_of(new)} would leave a budget of nothing: with it up to {bound_text(together.people)} people can "
            "change together"
        ) from None
    return _Weighed(new, together, alone, known, doubts(new, releases, domain), ledger.table)


def _of_all_tables(new: Fact, ledger: Books, archive: Archive) -> list[FactsOfTable]:
    """The facts about every table, and a new one about that of these books."""
    found = []
    for one in tables_in(ledger.header):
        known = [_recalled(note, one.domain, archive) for note in ledger.all_facts if note.of == one.name]
        own = (*known, new) if one.name == ledger.table else tuple(known)
        found.append(FactsOfTable(one.domain, one.max_rows, own))
    return found


def _preview(weighed: _Weighed, ledger: Books) -> FactPreview:
    budget, units = ledger.budget, ledger.spent_max
    text = name_of(weighed.fact)
    lowered, guarantee = ledger.with_fact(weighed.content({"text": text}))
    before = budget.induced.people or sensitivity([], ledger.domain, budget.neighbours).people
    return FactPreview(
        fact=weighed.fact,
        sensitivity=weighed.together.people,
        exact=weighed.together.exact,
        sensitivity_before=before,
        guarantee=guarantee,
        spent_before=budget.amount_of(units),
        spent=lowered.amount_of(units),
        left_before=budget.amount_of(max(budget.limit - units, 0)),
        left=lowered.amount_of(max(lowered.limit - units, 0)),
        costs=Fraction(lowered.factor, budget.factor),
        stops=units > lowered.limit,
        about=rows_in_words(ledger),
        doubts=weighed.doubts,
    )


def rows_in_words(ledger: Books) -> str:
    """Which rows every count of the vault is about, and so the value of a fact."""
    unit, total = ledger.header.get("unit"), all(attribute.total for attribute in ledger.domain.attributes)
    coded = "" if total else " whose values all have a code in the domain"
    if ledger.table is not None:
        most = ledger.budget.max_rows
        kept = "the one row" if most == 1 else f"the at most {most:,} rows"
        return (
            f"{kept} of each person that the vault keeps in {ledger.table}, of those{coded} whose parents it keeps: "
            "the count of the whole table may be another number"
        )
    if unit is None:
        return f"the rows of the table{coded}"
    kept = "the one row" if unit["max_rows"] == 1 else f"the at most {unit['max_rows']:,} rows"
    return (
        f"{kept} of each person ({unit['id']}) that the vault keeps, of those{coded or ' in the table'}: where "
        "somebody has more, the count of the whole table is another number"
    )


def report_facts(ledger: Books, domain: Domain, archive: Archive) -> FactsReport:
    """What `fact list` says."""
    facts, budget, now = facts_of(ledger, domain, archive), ledger.budget, ledger.refreshed
    own = budget.under(Induced()) if facts else budget
    lines = []
    for fact, note in zip(facts, ledger.facts, strict=True):
        alone = Induced(*note.content["alone"])
        if_known = budget.total * own.under(alone).factor / own.factor
        lines.append(FactLine(fact, _differs(fact, ledger), alone.people, if_known, fact.table == now))
    spent = ledger.spent_max
    return FactsReport(
        tuple(lines),
        budget.induced.people or sensitivity([], domain, budget.neighbours).people,
        ledger.guarantee,
        budget.amount_of(spent),
        budget.amount_of(max(budget.limit - spent, 0)),
    )


def _wordless(fact: Fact) -> Fact:
    return replace(fact, number=0, text="")


def rows_are_dropped(ledger: Books) -> bool:
    """Whether somebody's row may be left out of the population: for a value without a code, or for want of an id or of
    a parent."""
    total = all(attribute.total for attribute in ledger.domain.attributes)
    return not total or ledger.header.get("unit") is not None or ledger.table is not None


def _differs(fact: Fact, ledger: Books) -> bool:
    """Whether two of the vault's neighbours can differ in it: all but n, where rows are replaced one for one."""
    if isinstance(fact, CuboidFact):
        whole = not fact.by
    else:
        whole = [region for _, region in fact.terms] == [ledger.domain.everything]
    return not (whole and ledger.budget.neighbours == "replace" and not rows_are_dropped(ledger))


def _stored(fact: Fact, archive: Archive) -> dict[str, Any]:
    """A fact as the journal keeps it: a large cuboid's values are in a file beside the releases."""
    body = fact.to_json()
    if isinstance(fact, CuboidFact):
        try:
            body["values"] = archive.save("fact", [fact.values])
        except ArchiveError:
            raise ArchiveError(f"the fact could not be written to {archive.folder}; free some space") from None
    return body


def _recalled(note: FactNote, domain: Domain, archive: Archive) -> Fact:
    body: Mapping[str, Any] = note.content["fact"]
    if body["kind"] == CuboidFact.kind:
        shape = tuple(domain[name].size for name in body["by"])
        body = {**body, "values": archive.load(body["values"], [shape])[0]}
    return fact_from_json(body, note.number, note.table)
