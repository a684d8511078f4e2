"""Plan: drag ε, and see every cuboid's error before anything is published. Custodians publish from here, by the API."""

from fractions import Fraction
from typing import Any

from fastapi.responses import Response

from discreet.domain.attribute import number_text
from discreet.errors import DiscreetError, DomainError
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import Cost
from discreet.server.console.lattice import CONFIDENCE, MOST_DRAWN, MOST_LISTED, draw_lattice
from discreet.server.console.visit import Visit
from discreet.vault import Vault

SHARES = tuple(
    Fraction(part, 1000) for part in (1, 2, 5, 10, 20, 30, 50, 70, 100, 150, 200, 250, 300, 400, 500, 700, 1000)
)
"""The parts of the whole budget that the slider stops at."""
USUAL = 8
PLANNERS = {"optimal": "as exact as can be", "base": "the finest cuboid only", "all": "every cuboid alike"}
MOST_DIMENSIONS = 8
"""A lattice of more is for the command line, which waits."""


def show(visit: Visit) -> Response:
    domain, budget = visit.vault.domain, visit.vault.ledger.budget
    names = [attribute.name for attribute in domain.attributes if attribute.size > 1]
    chosen = tuple(name for name in names if name in visit.all("dimensions")) or _usual(visit.vault, names)
    planner = visit.first("planner") if visit.first("planner") in PLANNERS else "optimal"
    step = visit.number("step", USUAL, len(SHARES) - 1)
    amounts = [share * budget.total for share in SHARES]
    shown: dict[str, Any] = {
        "names": names,
        "chosen": chosen,
        "planner": planner,
        "planners": PLANNERS,
        "step": step,
        "amounts": [number_text(amount) for amount in amounts],
        "amount": amounts[step],
        "symbol": budget.symbol,
        "currency": "epsilon" if isinstance(budget, PureBudget) else "rho",
        "left": budget.amount_of(visit.vault.ledger.left(domain.everything)),
        "confidence": CONFIDENCE,
        "mistake": None,
        "drawing": None,
    }
    try:
        shown |= _drawn(visit, chosen, planner, amounts[step])
    except DiscreetError as error:
        shown["mistake"] = visit.public(error)
    return visit.page("plan.html", **shown)


def _drawn(visit: Visit, chosen: tuple[str, ...], planner: str, amount: Fraction) -> dict[str, Any]:
    if len(chosen) > MOST_DIMENSIONS:
        raise DomainError(
            f"a lattice of {len(chosen)} dimensions is planned by `discreet cube plan`; choose up to 8 here"
        )
    plan = visit.drafts.plan(chosen, planner, amount)
    drawing = draw_lattice(plan)
    return {
        "drawing": drawing,
        "drawn": len(drawing.nodes) <= MOST_DRAWN,
        "listed": sorted(drawing.nodes, key=lambda node: (len(node.names), node.mask))[:MOST_LISTED],
        "plan": plan,
        "cells": sum(node.cells for node in drawing.nodes),
        "worst": max(node.halfwidth for node in drawing.nodes),
        "fits": visit.vault.ledger.refusal(Cost(everywhere=plan.noise.limit)) is None,
    }


def _usual(vault: Vault, names: list[str]) -> tuple[str, ...]:
    """The first few dimensions, as long as the cube of them stays one that is quick to look at."""
    chosen: list[str] = []
    points = 1
    for name in names:
        points *= vault.domain[name].size + 1
        if chosen and (points > 100_000 or len(chosen) == 4):
            break
        chosen.append(name)
    return tuple(chosen)
