"""From a plan of statistics to the statistics: measured in one release, charged once.

The plan is noted in the journal before it is charged, so that an interrupted publish can go on: the charge keeps
regions and seeds, the note beside it says which attributes they stand for.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from discreet.domain.attribute import Attribute
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery, VaultError
from discreet.ledger.charge import Charge
from discreet.ledger.ledger import Ledger
from discreet.mining.attribute import BooleanAttribute
from discreet.mining.party import Counts, Party
from discreet.mining.statistics import Statistics, StatisticsPlan, subsets_of
from discreet.noise.law import Binomial
from discreet.query.plan import Measurement, Plan
from discreet.query.query import SubsetCount
from discreet.query.subset import Subset
from discreet.release.release import Release
from discreet.sql.parse import parse_predicate
from discreet.sql.where_text import codes_text, identifier, where_text

NOTE = "statistics"


def boolean_attributes(domain: Domain) -> tuple[BooleanAttribute, ...]:
    """The columns with two values, each as the attribute of having the second one; who has neither lacks it."""
    return tuple(_column_attribute(column, domain) for column in domain.attributes if column.cells == 2)


def parse_attributes(texts: Sequence[str], domain: Domain) -> tuple[BooleanAttribute, ...]:
    """Attributes as people write them: the name of a two-valued column, or a name and a condition: `old: age > 50`.

    A condition that the domain's bins cannot tell becomes the one that is counted in its place.
    """
    found: dict[str, BooleanAttribute] = {}
    for text in texts:
        name, colon, condition = (part.strip() for part in text.partition(":"))
        if not name.isidentifier():
            raise UnsupportedQuery("an attribute is a two-valued column, or a name and a condition: 'old: age > 50'")
        if name.lower() in found:
            raise UnsupportedQuery(f"two attributes are called {name}")
        attribute = BooleanAttribute(name, condition) if colon else _column_attribute(domain[name], domain)
        region, notes = parse_predicate(attribute.condition, domain)
        found[name.lower()] = replace(attribute, condition=where_text(region, domain)) if notes else attribute
    return tuple(found.values())


def _column_attribute(column: Attribute, domain: Domain) -> BooleanAttribute:
    """A column by itself, where that is a condition; else its second value."""
    if column.cells != 2:
        raise UnsupportedQuery(
            f"{column.name} has {column.cells} values; say which: '{column.name[0]}: {column.name} = …'"
        )
    try:
        parse_predicate(identifier(column.name), domain)
    except UnsupportedQuery:
        return BooleanAttribute(column.name, codes_text(column, ((1, 1),)))
    return BooleanAttribute(column.name, identifier(column.name))


def measurements_of(plan: StatisticsPlan, domain: Domain) -> Plan:
    """One count on all subsets for every conjunction of ℓ literals."""
    having = [parse_predicate(attribute.condition, domain)[0] for attribute in plan.attributes]
    lacking = [domain.everything.subtract(region) for region in having]
    subsets, law = subsets_of(plan), Binomial(plan.trials)
    return Plan(
        tuple(Measurement(SubsetCount(subsets, region), law) for region in _conjunctions(having, lacking, plan.arity))
    )


def _conjunctions(having: Sequence[Region], lacking: Sequence[Region], arity: int) -> Iterator[Region]:
    """By tuple of attributes, then by pattern: bit i says whether the tuple's i-th attribute is had."""
    for chosen in combinations(range(len(having)), arity):
        for pattern in range(1 << arity):
            first, *others = ((having if pattern >> bit & 1 else lacking)[place] for bit, place in enumerate(chosen))
            for other in others:
                first = first.intersect(other)
            yield first


def note_plan(plan: StatisticsPlan, domain: Domain, ledger: Ledger, party: Party) -> Plan:
    """Note a plan that is about to be charged, and return what to measure. What cannot be charged leaves no note."""
    if (plan.people, plan.trials) != (party.people, party.trials):
        raise UnsupportedQuery("this plan was made for another roster or other noise; plan it with this vault")
    measurements = measurements_of(plan, domain)
    if ledger.refusal(measurements.cost(domain, ledger.budget)) is None:
        ledger.note(NOTE, plan.to_json())
    return measurements


def noted_plan(charge: Charge, domain: Domain, ledger: Ledger) -> StatisticsPlan:
    """The plan of statistics that a charge was made for."""
    found = None
    for entry in ledger.entries():
        if entry.seq > charge.id:
            break
        if entry.kind == NOTE:
            plan = StatisticsPlan.from_json(entry.parsed()["content"])
            if measurements_of(plan, domain).to_json() == charge.plan:
                found = plan
    if found is None:
        raise VaultError(f"charge {charge.id} is not that of statistics; `discreet release list` shows what it is")
    return found


def statistics_of(
    plan: StatisticsPlan, release: Release, sizes: Callable[[Sequence[Subset]], Counts], roster: str
) -> Statistics:
    """The statistics of a release that measured a plan: made from public numbers alone, and free."""
    shape = math.comb(len(plan.attributes), plan.arity), 1 << plan.arity, plan.subsets
    subsets = subsets_of(plan)
    return Statistics(
        attributes=plan.attributes,
        arity=plan.arity,
        seeds=tuple(subset.seed for subset in subsets),
        sizes=sizes(subsets),
        counts=np.stack([noisy.units for noisy in release.answers]).reshape(shape),
        people=plan.people,
        trials=plan.trials,
        roster=roster,
        guarantee=str(release.guarantee),
        charge=release.charge,
        receipt=str(release.receipt),
    )
