"""What a vault tells of itself: its description, its budget, its journal in words. Public, and free."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.attribute import Attribute
from discreet.domain.domain import Domain
from discreet.domain.tables import LinkedTables
from discreet.errors import DomainError
from discreet.exact import equals_text, number_text
from discreet.ledger import checkpoint
from discreet.ledger.books import Books
from discreet.ledger.budget import QueryBudget
from discreet.ledger.declared import tables_in
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.journal import Entry
from discreet.noise.law import law_text
from discreet.notebook import NotebookView, Pairs
from discreet.query.plan import Plan
from discreet.sql.describe import query_text

if TYPE_CHECKING:
    from discreet.replies import BudgetJson, DescriptionJson, EntryJson

MOST_CODES = 1 << 20
"""What is left is looked at by the values of an attribute that has so many at most."""


@dataclass(frozen=True, repr=False)
class BudgetReport(NotebookView):
    """What a vault may spend, the most that anyone's row has spent, and what is left where most is spent."""

    guarantee: Guarantee
    spent: Fraction
    left: Fraction
    elsewhere: Fraction
    """What is left where least is spent, as far as the values of single attributes tell; as `left` where that is it."""
    charges: int
    pending: tuple[int, ...]
    by_user: dict[str, Fraction]
    """The most that each user's questions spent at any point; of those that were asked through a server."""

    def _shown(self) -> tuple[str, Pairs]:
        symbol = self.guarantee.symbol
        pending = [("unfinished", ", ".join(map(str, self.pending)))] if self.pending else []
        return "Budget of a vault", [
            ("promise", self.guarantee),
            ("spent", f"{symbol} {equals_text(self.spent)} where most is spent"),
            ("left", f"{symbol} {equals_text(self.left)} there, {equals_text(self.elsewhere)} where least is spent"),
            ("charges", f"{self.charges:,}"),
            *((f"by {name}", f"{symbol} {equals_text(spent)}") for name, spent in list(self.by_user.items())[:10]),
            *pending,
        ]

    def to_json(self) -> "BudgetJson":
        return {
            "guarantee": self.guarantee.to_json(),
            "spent": number_text(self.spent),
            "left": number_text(self.left),
            "elsewhere": number_text(self.elsewhere),
            "charges": self.charges,
            "pending": list(self.pending),
            "by_user": {name: number_text(spent) for name, spent in self.by_user.items()},
        }


def budget_report(ledger: Books) -> BudgetReport:
    """The account of a vault; of several tables, of all of them."""
    ledger = ledger.whole
    budget, spent = ledger.budget, ledger.spent_max
    return BudgetReport(
        guarantee=ledger.guarantee,
        spent=budget.amount_of(spent),
        left=budget.amount_of(left := max(budget.limit - spent, 0)),
        elsewhere=budget.amount_of(max(left, _most_left(ledger))),
        charges=ledger.charges,
        pending=tuple(charge.id for charge in ledger.pending()),
        by_user={name: budget.amount_of(units) for name, units in sorted(ledger.spent_by().items())},
    )


def _most_left(ledger: Books) -> int:
    """The most units that are left for all with some value of an attribute."""
    if ledger.budget.by_queries:
        return 0  # everybody spends alike
    few = [axis for axis, size in enumerate(ledger.domain.shape) if size <= MOST_CODES]
    return max((int(_left_by(ledger, [axis]).max()) for axis in few), default=0)


def _left_by(ledger: Books, axes: Sequence[int]) -> NDArray[np.int64]:
    """The least units left for each combination of codes that may be asked about."""
    shape = ledger.domain.shape
    return ledger.left_by(axes)[tuple(slice(shape[axis]) for axis in axes)]


def budget_map(ledger: Books, rows: str, columns: str) -> NDArray[np.float64]:
    """The least ε left for each pair of codes of two attributes, over all codes of the others."""
    if rows == columns:
        raise DomainError("a map needs two different attributes")
    units = _left_by(ledger, [ledger.domain.axis(rows), ledger.domain.axis(columns)])
    return units.astype(np.float64) * float(ledger.budget.amount_of(1))


def plot_budget(ledger: Books, attributes: Sequence[str], path: str | Path) -> None:
    """Draw what is left, by region: a heat map over two attributes."""
    from discreet.picture.heat import heat_map  # matplotlib takes longer to import than all the rest
    from discreet.picture.save import save_picture

    if len(attributes) != 2:
        raise DomainError("a map is drawn over two attributes, as in age,income")
    rows, columns = (ledger.domain[name.strip()] for name in attributes)
    budget = ledger.budget
    picture = heat_map(
        budget_map(ledger, rows.name, columns.name),
        (rows.name, rows.labels),
        (columns.name, columns.labels),
        f"What is left of {budget.symbol} {equals_text(budget.total)} in {ledger.domain.name}",
        f"{budget.symbol} left, at least",
        limits=(0.0, float(budget.total)),
    )
    save_picture(picture, path)


def description(ledger: Books) -> "DescriptionJson":
    """The vault's domain and promise."""
    found: DescriptionJson = {
        "vault_id": ledger.vault_id,
        "name": ledger.domain.name,
        "guarantee": str(ledger.guarantee),
        "snapshot": None if ledger.snapshot is None else ledger.snapshot.number,
        "points": ledger.domain.points,
        "attributes": [
            {
                "name": attribute.name,
                "kind": attribute.kind,
                "codes": attribute.size,
                "values": _values_in_words(attribute),
                "outside": attribute.outside,
                "null": attribute.null,
                "source": attribute.source,
            }
            for attribute in ledger.domain.attributes
        ],
    }
    if ledger.table is not None:
        found["tables"] = [
            {
                "name": one.name,
                "max_rows": one.max_rows,
                "id": one.id,
                "parent": one.parent,
                "key": one.key,
                "attributes": list(one.domain.names),
            }
            for one in tables_in(ledger.header)
        ]
    if isinstance(budget := ledger.budget, QueryBudget):  # what a SuLQ database answers about, and with how much noise
        found["people"], found["roster"] = ledger.header["roster"]["people"], ledger.header["roster"]["fingerprint"]
        found["noise"] = f"R = {budget.trials:,} coins, σ = {budget.law.scale:,.1f} (calibration: {budget.calibration})"
    return found


def entries_in_words(ledger: Books, after: int = 0) -> "Iterator[EntryJson]":
    """The journal, entry by entry, with what each one says in words."""
    tables = tables_in(ledger.header)
    for entry in ledger.entries(after):
        body = entry.parsed()
        yield {
            "seq": entry.seq,
            "at": body["at"],
            "kind": entry.kind,
            "what": _in_words(entry, body, ledger, tables),
            "hash": entry.hash.hex(),
            "body": _shown(entry, body),
        }


def _shown(entry: Entry, body: dict[str, Any]) -> dict[str, Any]:
    """A body as people read it. Of a checkpoint without its arrays, and without what each user spent."""
    if entry.kind != checkpoint.KIND or not isinstance(body["content"], dict):
        return body
    return {**body, "content": {key: body["content"].get(key) for key in ("form", "charges", "versions", "facts")}}


def plan_text(plan: Plan, domain: Domain) -> list[str]:
    """Each measurement of a plan, as SQL with its noise."""
    return [f"{query_text(m.query, domain)}, {law_text(m.law)}" for m in plan.measurements]


def _in_words(entry: Entry, body: dict[str, Any], ledger: Books, tables: LinkedTables) -> str:
    content, of = body["content"], f" of {body['table']}" if "table" in body else ""
    match entry.kind:
        case "init":
            found = [f"found of {name}: {told}" for name, told in tables.found_in_words.items()]
            return "; ".join([f"a vault over {', '.join(tables.names)}: {ledger.made_to_promise}", *found])
        case "charge":
            domain = tables[body["table"]].domain if "table" in body else ledger.domain
            first, *more = plan_text(Plan.from_json(content), domain)
            asker = f", asked by {body['by']}" if "by" in body else ""
            return (f"{first}; and {len(more)} more" if more else first) + asker
        case "record":
            return f"the answer of {entry.charge}"
        case "close":
            return f"charge {entry.charge} was closed without an answer: it paid for an earlier snapshot"
        case "refresh":
            taken = content.get("snapshot")
            return f"snapshot {taken['number']} of the table was taken" if taken else "a changed table was accepted"
        case "append":
            return f"rows up to {content['closed']} were appended: snapshot {content['snapshot']['number']}"
        case "erase":
            return f"snapshot {content['snapshot']['number']} is the one before without those who asked to be out"
        case "fact":
            about = f" of {content['table']}" if "table" in content else ""
            return f"a fact{about}: {content['fact']['text']}; S_Q = {content['induced'][0]} with all before it"
        case "buckets":
            return f"microdata in buckets: {content['state']}"
        case "rollback-accepted":
            last = str(content["seen"]).partition(":")[0]
            return f"an older journal was accepted: entry {last}, as it was seen, is lost"
        case "lookups":
            return f"public look-up tables: {', '.join(content)}"
        case checkpoint.KIND:
            return "a checkpoint: what the entries before it add up to"
        case "reserve":
            within = content["within"]
            what = f"{'cubes' if 'cube' in content else 'running totals'}{of}"
            return f"what {what} from {within['label']} cost was set aside"
        case "cube":
            sources = sum(len(source.get("cuboids", (source,))) for source in content["sources"])
            then = f", then some of {len(content['candidates']):,}" if "candidates" in content else ""
            return f"the plan of a cube{of}: {content['planner']}, {sources:,} cuboids to measure{then}"
        case "round":
            return f"a step of the run that began with {content['run']}"
        case "model":
            return f"a model of what charge {content['charge']} released was published"
        case "rows":
            earlier = len(content.get("earlier", ()))
            others = f" and {earlier:,} before it" if earlier else ""
            released = f"charge {content['charge']}{others} released"
            return f"{content['rows']:,} synthetic rows{of} were drawn from what {released}"
        case "statistics":
            return f"the plan of statistics: {content['queries']:,} counts, conjunctions of {content['arity']}"
    return entry.kind.replace("-", " ")


def _values_in_words(attribute: Attribute) -> str:
    codes = range(attribute.size)
    shown = codes if len(codes) <= 8 else (*codes[:3], None, *codes[-3:])
    return ", ".join("…" if code is None else attribute.label(code) for code in shown)
