"""What the vault tells of itself: its description, budget, ledger, releases, facts; and who asked what."""

from fractions import Fraction
from itertools import islice
from math import prod
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Path, Query

from discreet import replies
from discreet.account import description
from discreet.errors import InvalidFact, NotFound, UnsupportedQuery
from discreet.exact import number_text
from discreet.ledger.charge import Charge, Record
from discreet.query.plan import Plan
from discreet.query.query import answer_shape
from discreet.server import schema
from discreet.server.auth import User, require_custodian
from discreet.server.desk import FrontDesk, over_table
from discreet.server.door import JsonReply, api_router, user_of
from discreet.server.log import last_asked
from discreet.server.names import budget_for, entry_for, name_for
from discreet.server.routes.users import require_overseeing
from discreet.vault.vault import Vault

MOST_TEXTS = 4
"""A release of more queries than this shows the first ones: a cube has hundreds."""
MOST_NUMBERS = 100_000
"""A release with more numbers than this is a cube's: it is browsed or downloaded as such."""
LARGEST = 2**53
Caller = Annotated[User, Depends(user_of)]
After = Annotated[int, Query(ge=0, le=LARGEST, description="only what comes after this entry")]
Limit = Annotated[int, Query(ge=1, le=1000)]
OfTable = Annotated[str | None, Query(max_length=200, description="of a vault over several tables, which")]


def routes(desk: FrontDesk) -> APIRouter:
    router, vault = api_router("account"), desk.vault

    @router.get("/describe", response_model=replies.DescriptionJson)
    def describe(table: OfTable = None) -> JsonReply:
        """What may be asked: the table's name, its attributes and codes, the promise. Not where the table is. Of
        several tables, the first where none is named; `tables` lists all."""
        return JsonReply(description(over_table(vault, table).ledger))

    @router.get("/me", response_model=replies.MeJson)
    def me(user: Caller) -> JsonReply:
        """Whose token this is, and what their questions have spent."""
        spent = vault.budget().by_user.get(user.name, Fraction())
        return JsonReply(replies.MeJson(**user.to_json(), spent=number_text(spent)))

    @router.get("/budget", response_model=replies.BudgetJson)
    def budget(user: Caller) -> JsonReply:
        """What is spent and what is left, and what each user's questions spent; to an analyst their own."""
        return JsonReply(budget_for(user, vault.budget()))

    @router.get("/budget/map", response_model=replies.BudgetMapJson)
    def budget_map(
        rows: Annotated[str, Query(max_length=200)],
        columns: Annotated[str, Query(max_length=200)],
        table: OfTable = None,
    ) -> JsonReply:
        """The least that is left for each pair of codes of two attributes of a table, over all codes of the others, and
        of the other tables."""
        over = over_table(vault, table)
        left, domain = over.budget_map(rows, columns), over.domain
        return JsonReply(
            replies.BudgetMapJson(
                rows=rows,
                columns=columns,
                row_labels=list(domain[rows].labels),
                column_labels=list(domain[columns].labels),
                left=left.tolist(),
            )
        )

    @router.get("/ledger", response_model=replies.LedgerJson)
    def ledger(user: Caller, after: After = 0, limit: Limit = 100) -> JsonReply:
        """The journal, entry by entry; `next` is where the next page begins. An analyst sees no other's name."""
        found = [entry_for(user, entry) for entry in islice(vault.entries(after), limit)]
        more = found[-1]["seq"] if len(found) == limit else None
        return JsonReply(replies.LedgerJson(entries=found, receipt=str(vault.ledger.head), next=more))

    @router.get("/log", response_model=replies.LogJson)
    def log(caller: Caller, user: Annotated[str | None, Query(max_length=64)] = None, limit: Limit = 100) -> JsonReply:
        """The last lines of who asked what. For custodians and auditors."""
        require_overseeing(caller, "the log")
        return JsonReply(replies.LogJson(asked=last_asked(vault.path, limit, user)))

    @router.get("/running", response_model=replies.AllRunningTotalsJson)
    def running(confidence: Annotated[float, Query(gt=0, lt=1)] = 0.95, table: OfTable = None) -> JsonReply:
        """Running totals of a table, as far as they were published, with intervals. Reads no rows, and is free."""
        over = over_table(vault, table)
        found = [over.running.show(number) for number in over.running.declared()]
        numbers = sum(one.measured.size for one in found)
        if numbers > MOST_NUMBERS:
            raise UnsupportedQuery(
                f"there are {numbers:,} running totals, and at most {MOST_NUMBERS:,} are shown here; `discreet running "
                "show` has all"
            )
        return JsonReply({"running": [one.to_json(confidence) for one in found]})

    _releases(router, vault)
    _facts(router, desk)
    return router


def _releases(router: APIRouter, vault: Vault) -> None:
    @router.get("/releases", response_model=replies.ReleasesJson)
    def releases(user: Caller, after: After = 0, limit: Limit = 100, table: OfTable = None) -> JsonReply:
        """Everything that was released, in order, without its numbers; `next` is where the next page begins. Of several
        tables, of all of them where none is named."""
        books = vault.ledger.whole if table is None else vault.table(table).ledger
        found = list(islice(books.answered(after), limit))
        more = found[-1][1].receipt.seq if len(found) == limit else None
        lines = [_line(charge, record, vault.of_charge(charge), user) for charge, record in found]
        return JsonReply(replies.ReleasesJson(releases=lines, next=more))

    @router.get("/releases/{charge}", response_model=replies.ReleaseJson)
    def release(charge: Annotated[int, Path(ge=1, le=LARGEST)]) -> JsonReply:
        """One release: values, variances, guarantee, receipt."""
        found = vault.ledger.charge_at(charge)
        if found is None or vault.ledger.recorded(charge) is None:
            raise NotFound(f"there is no release {charge}; see GET /api/v1/releases")
        if (numbers := _numbers(Plan.from_json(found.plan), vault.of_charge(found))) > MOST_NUMBERS:
            raise UnsupportedQuery(
                f"release {charge} has {numbers:,} numbers, and at most {MOST_NUMBERS:,} are shown; browse its cube"
            )
        return JsonReply(vault.release(charge))


def _line(charge: Charge, record: Record, vault: Vault, user: User) -> replies.ReleaseLineJson:
    plan = Plan.from_json(charge.plan)
    texts, more = vault.plan_text(Plan(plan.measurements[:MOST_TEXTS])), len(plan.measurements) - MOST_TEXTS
    line: replies.ReleaseLineJson = {
        "charge": charge.id,
        "what": [*texts, f"and {more:,} more"] if more > 0 else texts,
        "numbers": _numbers(plan, vault),
        "amount": number_text(vault.ledger.budget.amount_of(charge.cost.peak)),
        "by": name_for(user, charge.by),
        "receipt": str(record.receipt),
    }
    if charge.table is not None:
        line["table"] = charge.table
    return line


def _numbers(plan: Plan, vault: Vault) -> int:
    return sum(prod(answer_shape(measurement.query, vault.domain)) for measurement in plan.measurements)


def _facts(router: APIRouter, desk: FrontDesk) -> None:
    @router.get("/facts", response_model=replies.FactsJson)
    def facts(table: OfTable = None) -> JsonReply:
        """Every fact about a table, with what it does to privacy by itself, and all together."""
        return JsonReply(over_table(desk.vault, table).facts.report())

    @router.post("/facts", status_code=201, responses={200: {"description": "With `dry_run`: what it would do"}})
    async def add_fact(fact: schema.NewFact, user: Caller) -> JsonReply:
        """Account for a statistic that is public anyway. It lowers the limit, and cannot be taken back. With `dry_run`
        only what it would do is told, and the status is 200."""
        require_custodian(user, "add facts")
        values = None if fact.values is None else _whole_numbers(fact.values)

        def work(vault: Vault) -> JsonReply:
            facts = over_table(vault, fact.table).facts
            if fact.dry_run:
                return JsonReply(facts.preview(fact.sql, fact.value, cuboid=fact.cuboid, values=values))
            return JsonReply(
                facts.add(fact.sql, fact.value, cuboid=fact.cuboid, values=values, accept=fact.accept), 201
            )

        what = {"sql": fact.sql, "value": fact.value, "cuboid": fact.cuboid}
        return await desk.answer(user, "fact preview" if fact.dry_run else "fact add", what, work)


def _whole_numbers(values: list[object]) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    try:
        array = np.array(values)
        if array.dtype.kind not in "iu":
            raise ValueError
        return array.astype(np.int64)
    except (ValueError, OverflowError):
        raise InvalidFact("a cuboid's values are whole numbers in lists of equal lengths, one in another") from None
