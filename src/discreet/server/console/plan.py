"""Plan: drag ε, and see every cuboid's error before anything is published. Custodians publish from here, by the API."""

from fractions import Fraction
from math import comb
from typing import Any

from fastapi.responses import Response

from discreet.errors import DiscreetError, DomainError
from discreet.exact import number_text
from discreet.query.lattice import MAX_DIMENSIONS
from discreet.server.console.lattice_drawing import CONFIDENCE, MOST_LISTED, draw_lattice
from discreet.server.console.visit import Visit
from discreet.vault.vault import Vault

SHARES = tuple(
    Fraction(part, 1000) for part in (1, 2, 5, 10, 20, 30, 50, 70, 100, 150, 200, 250, 300, 400, 500, 700, 1000)
)
"""The parts of the whole budget that the slider stops at."""
USUAL = 8
PLANNERS = {
    "optimal": "as exact as can be",
    "model": "what a model is best fitted to",
    "adaptive": "for a model, chosen as one goes",
    "base": "the finest cuboid only",
    "all": "every cuboid alike",
    "bmax": "BMax: the largest error small",
    "bmaxg": "BMax, shares of any size",
    "pmost": "PMost: most cuboids precise",
    "pmostg": "PMost, shares of any size",
}
MOST_DIMENSIONS = dict.fromkeys(PLANNERS, 12) | {"base": 8, "bmax": 10, "pmost": 10, "pmostg": 10}
"""A lattice of more takes seconds to plan or to draw: it is for the command line, which waits."""
WIDE = ("optimal", "all")
"""These plan cuboids of a few dimensions out of very many as fast."""
MOST_CUBOIDS = 4096
UP_TO = ("all", "1", "2", "3", "4")
"""Cuboids of up to so many dimensions."""


def show(visit: Visit) -> Response:
    domain, budget = visit.over.domain, visit.vault.ledger.budget
    names = [attribute.name for attribute in domain.attributes if attribute.size > 1]
    chosen = tuple(name for name in names if name in visit.all("dimensions")) or _usual(visit.over, names)
    planner = visit.first("planner") if visit.first("planner") in PLANNERS else "optimal"
    up_to = visit.first("cuboids") if visit.first("cuboids") in UP_TO else "all"
    step = visit.number("step", USUAL, len(SHARES) - 1)
    amounts = [share * budget.total for share in SHARES]
    shown: dict[str, Any] = {
        "names": names,
        "table": domain.name,
        "chosen": chosen,
        "planner": planner,
        "planners": PLANNERS,
        "up_to": up_to,
        "ups": UP_TO,
        "step": step,
        "amounts": [number_text(amount) for amount in amounts],
        "amount": amounts[step],
        "symbol": budget.symbol,
        "currency": budget.option,
        "of_promise": budget.in_words(amounts[step]) if budget.currency != budget.symbol else "",
        "left": budget.amount_of(visit.over.ledger.left(domain.everything)),
        "confidence": CONFIDENCE,
        "mistake": None,
        "drawing": None,
    }
    try:
        shown |= _drawn(visit, chosen, planner, up_to, amounts[step])
    except DiscreetError as error:
        shown["mistake"] = visit.public(error)
    return visit.page("plan.html", **shown)


def _drawn(visit: Visit, chosen: tuple[str, ...], planner: str, up_to: str, amount: Fraction) -> dict[str, Any]:
    require_quick(len(chosen), planner, up_to)
    plan = visit.drafts.plan(visit.over, chosen, planner, "all" if up_to == "all" else int(up_to), amount)
    drawing = draw_lattice(plan)
    return {
        "drawing": drawing,
        "listed": sorted(drawing.nodes, key=lambda node: (len(node.names), node.mask))[:MOST_LISTED],
        "hidden": max(len(drawing.nodes) - MOST_LISTED, 0),
        "plan": plan,
        "cells": sum(node.cells for node in drawing.nodes),
        "worst": max(node.halfwidth for node in drawing.nodes),
        "affordable": visit.over.cubes.affordable(plan),
    }


def require_quick(dimensions: int, planner: str, up_to: str) -> None:
    """Refuse a lattice that would keep somebody waiting who drags a slider."""
    levels = range(1 + (dimensions if up_to == "all" else min(int(up_to), dimensions)))
    most, wide = MOST_DIMENSIONS[planner], dimensions > MAX_DIMENSIONS and planner in WIDE
    if dimensions <= most or (wide and sum(comb(dimensions, level) for level in levels) <= MOST_CUBOIDS):
        return
    raise DomainError(
        f"{dimensions} dimensions take long to plan this way: choose up to {most} here, or another way to measure; "
        "`discreet cube plan` waits for any number"
    )


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
