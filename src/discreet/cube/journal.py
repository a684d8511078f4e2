"""Cube plans in the journal. A plan is noted before it is charged, so that an interrupted publish can go on.

A charge keeps the queries and their scales; the note beside it says which cuboids were to be published, and by which
planner. It promises nothing and spends nothing.
"""

from discreet.cube.plan import CubePlan
from discreet.cube.publish import measurements_of
from discreet.cube.record import plan_of, plan_record
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery, VaultError
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge
from discreet.ledger.ledger import Ledger
from discreet.query.plan import Plan

NOTE = "cube"


def require_plan_for(plan: CubePlan, domain: Domain, ledger: Ledger) -> None:
    """Raise UnsupportedQuery unless a plan was made for this vault's dimensions and neighbours."""
    budget = ledger.budget
    sizes = tuple(domain[str(name)].size for name in plan.lattice.names)
    own = plan.noise.budget
    made_for = (plan.lattice.sizes, own.neighbours, own.max_rows, own.of_person)
    if made_for != (sizes, budget.neighbours, budget.max_rows, budget.of_person):
        raise UnsupportedQuery("this plan was made for other dimensions or neighbours; plan it with this vault")
    now = {fact.number for fact in ledger.facts if fact.table == ledger.refreshed}
    if plan.noise.budget.induced != budget.induced or not now.issuperset(number for _, number in plan.known):
        raise UnsupportedQuery("facts or the table have changed since this plan was made; plan it again")


def note_plan(plan: CubePlan, domain: Domain, ledger: Ledger) -> None:
    """Note a plan that is about to be charged. One that cannot be charged leaves no note."""
    if ledger.refusal(measurements_of(plan, domain).cost(domain, ledger.budget)) is None:
        ledger.note(NOTE, plan_record(plan), of_table=True)


def noted_plan(charge: Charge, domain: Domain, ledger: Books) -> CubePlan:
    """The cube plan that a charge was made for."""
    found, measured = None, Plan.from_json(charge.plan)
    for entry in ledger.notes(NOTE):
        if entry.seq > charge.id:
            break
        plan = plan_of(entry.parsed()["content"])
        if not plan.candidates and measurements_of(plan, domain) == measured:
            found = plan
    if found is None:
        raise VaultError(f"charge {charge.id} is not a cube's; `discreet release list` shows what it is")
    return found
