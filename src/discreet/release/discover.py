"""Values that nobody declared, found in a table once, while its vault is made.

What is found, and what it cost, stand in the first entry of the journal. Until the vault has its name, which is the
last thing that is done, nobody is told anything: so what leaves was charged, durably, as everywhere.
docs/explain/discovery.md has the proof of what it costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.domain.attribute import Category
from discreet.domain.domain import Domain
from discreet.domain.tables import LinkedTables
from discreet.domain.write import key_text, value_text
from discreet.errors import DomainError, InvalidBudget, UnsupportedQuery
from discreet.exact import Number
from discreet.ledger.budget import Budget, exact_amount
from discreet.ledger.discovering import HALF, NOTHING_FOUND, Discovering
from discreet.ledger.guarantee import SENSES
from discreet.ledger.squared_budget import GaussianBudget
from discreet.noise.bits import Bits, require_production
from discreet.progress import Progress, silent
from discreet.release.selection import SelectionRule, biases, draw_selected, half_found

if TYPE_CHECKING:
    from discreet.table.source import Source
    from discreet.table.unit import Unit

WHY_DELTA = (
    "values are discovered in a vault of ε and δ only: a value that one person alone has may be named with some "
    "probability, or no value ever is, and that probability is a δ; {symbol} allows none. Make the vault with "
    "--epsilon and --delta, or declare the values"
)


@dataclass(frozen=True)
class ValueSearch:
    """How values are looked for: the attributes, and by which rule each; what that costs; what is left for later."""

    attributes: tuple[Category, ...]
    rule: SelectionRule
    each: Discovering
    """What the values of one attribute cost a person."""
    budget: GaussianBudget

    def found_in(
        self, source: "Source", unit: "Unit | None", key: bytes, bits: Bits, progress: Progress = silent
    ) -> dict[str, tuple[str, ...]]:
        """Look through the table, and draw. Of more than there is room for the first, by their bytes, are named."""
        from discreet.table.values_of_people import people_by_value  # reads a source: asking needs none

        require_production(bits)
        found = {}
        for attribute in self.attributes:
            names, people = people_by_value(source, attribute, unit, key, progress)
            heads = draw_selected(people, self.rule, bits)
            named = sorted((name for name, head in zip(names, heads, strict=True) if head), key=str.encode)
            assert attribute.discoverable is not None, "its values are declared"
            found[attribute.name] = tuple(named[: attribute.discoverable.most])
        return found

    def to_json(self) -> dict[str, Any]:
        """What the values of each attribute cost a person, as the journal keeps it."""
        return {attribute.name: self.each.to_json() for attribute in self.attributes}


def search_for(
    domain: Domain, budget: Budget, part: Number | None, delta: Number | None, each_period: bool = False
) -> ValueSearch | None:
    """How to find the values that a domain does not declare, for this part of ε and of δ; None where all are.

    A person may have as many values as rows, and one who is replaced twice as many. So has one whose rows of one period
    come or go: values of their other rows give way to these, or come in for them.
    """
    times = SENSES["replace"] if each_period else SENSES[budget.neighbours]
    return _searches({domain.name: (domain, times * budget.max_rows)}, budget, part, delta).get(domain.name)


def search_tables(
    tables: LinkedTables, budget: Budget, part: Number | None, delta: Number | None
) -> dict[str, ValueSearch]:
    """The same of several tables, by their names. Of each a person has as many values as rows that are kept there."""
    times = SENSES[budget.neighbours]
    domains = {one.name: (one.own_domain, times * one.max_rows) for one in tables}
    return _searches(domains, budget, part, delta)


def _searches(
    domains: Mapping[str, tuple[Domain, int]], budget: Budget, part: Number | None, delta: Number | None
) -> dict[str, ValueSearch]:
    """How to look in each domain that has something to be found; with each, how many values a person changes there."""
    named = [name for domain, _ in domains.values() for name in domain.undiscovered]
    if not named:
        if part is not None or delta is not None:
            raise InvalidBudget('this domain declares all its values; say values = "discover" of those to be found')
        return {}
    if len(named) < sum(len(domain.found) for domain, _ in domains.values()):
        raise DomainError("[found] names values of some attributes, and not of others; leave it out: `init` writes it")
    if not isinstance(budget, GaussianBudget) or budget.epsilon is None or budget.delta is None:
        raise UnsupportedQuery(WHY_DELTA.format(symbol=f"a budget of {budget.symbol}"))
    if part is None:
        raise InvalidBudget(
            f"the values of {', '.join(named)} are to be discovered: say which part of ε that may take, as in "
            "--discover 20%"
        )
    sought = {
        name: (
            [one for one in domain.attributes if isinstance(one, Category) and one.name in domain.undiscovered],
            many,
        )
        for name, (domain, many) in domains.items()
        if domain.undiscovered
    }
    own_delta = HALF * budget.delta if delta is None else _part(delta, budget.delta)
    return _cheapest(sought, budget, _part(part, budget.epsilon), own_delta)


def _part(asked: Number, whole: Fraction) -> Fraction:
    """An amount, or a percentage of the whole."""
    text = str(asked).strip()
    return whole * exact_amount(text[:-1], "a part") / 100 if text.endswith("%") else exact_amount(asked, "a part")


def _cheapest(
    sought: Mapping[str, tuple[Sequence[Category], int]], budget: GaussianBudget, part: Fraction, delta: Fraction
) -> dict[str, ValueSearch]:
    """Both ways to account for finding values leave the same for later: the one that finds a value of fewer people.
    That depends on the budget alone."""
    later, gaussian, pure = budget.setting_aside(part, delta)
    attributes = sum(len(own) for own, _ in sought.values())
    many = Fraction(1, attributes)
    ways = []
    for whole in (gaussian, pure):
        each = Discovering(whole.epsilon * many, whole.mu_squared * many, whole.delta * many)
        left = replace(later, discovering=sum([each] * attributes, NOTHING_FOUND))
        # Of values, ε adds up, and so do μ² and δ.
        rules = {
            name: SelectionRule(each.epsilon / values, each.mu_squared / values, each.delta / values)
            for name, (_, values) in sought.items()
        }
        ways.append({name: ValueSearch(tuple(sought[name][0]), rule, each, left) for name, rule in rules.items()})
    best = min(ways, key=lambda way: sum(half_found(search.rule) for search in way.values()))
    for search in best.values():
        biases(search.rule)
    return best


def with_found(text: str, found: Mapping[str, Sequence[str]], table: str | None = None) -> str:
    """A domain's text, and behind it the values that were found, of several tables in one: all that there is to it."""
    lines = [f"{key_text(name)} = {value_text(list(values))}" for name, values in found.items()]
    return "\n".join([text.rstrip("\n"), "", "[found]" if table is None else f"[tables.{table}.found]", *lines, ""])
