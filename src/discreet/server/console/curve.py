"""What an accuracy costs: the price of a question for several widths of its interval, as a curve to drag along."""

from dataclasses import dataclass
from fractions import Fraction
from math import log10
from typing import Any

from fastapi.responses import Response

from discreet.answer.reply import Explanation
from discreet.errors import DiscreetError
from discreet.exact import number_text
from discreet.server.console.ask import cost_words, question_of, wish_of
from discreet.server.console.visit import Visit

FACTORS = tuple(Fraction(factor) for factor in ("1/8", "1/4", "1/2", "1", "2", "4", "8"))
WIDTH, HEIGHT, EDGE = 300.0, 110.0, 14.0
LOWEST = 1e-3
"""On the curve, of the price: what costs less than this part of the most is drawn as if it cost that."""


@dataclass(frozen=True)
class Priced:
    """An accuracy, and what it costs; `fits` says whether that much is left."""

    within: str
    cost: Fraction
    words: str
    fits: bool
    x: float = 0.0
    y: float = 0.0


def show(visit: Visit) -> Response:
    """The part with the curve. It spends nothing, and is a part of what was explained."""
    shown: dict[str, Any] = {"points": (), "at": 0, "width": WIDTH, "height": HEIGHT, "sql": "", "mistake": None}
    try:
        sql = question_of(visit)
        points = _priced(visit, sql) if sql else ()
        shown |= {"points": _drawn(points), "at": len(FACTORS) // 2, "sql": sql}
    except DiscreetError as error:
        shown["mistake"] = visit.public(error)
    return visit.page("curve.html", **shown)


def _priced(visit: Visit, sql: str) -> tuple[Priced, ...]:
    wish, vault = wish_of(visit), visit.desk.seen_by(visit.user)
    if "estimate" in wish:
        return ()
    halves = [aggregate.halfwidth for aggregate in vault.explain(sql, **wish).forecasts]
    base = next((half for half in halves if half), None)
    if base is None or len(halves) > 1:
        return ()
    found = {}
    for factor in FACTORS:
        within = f"{float(factor) * base:.2g}"
        within = number_text(Fraction(within))
        found[within] = _at(vault.explain(sql, **{**wish, "within": within}), within)
    return tuple(found.values())


def _at(told: Explanation, within: str) -> Priced:
    kinds = {kind for aggregate in told.forecasts for kind in aggregate.kinds}
    fits = not kinds & {"relaxed", "unanswered"}
    return Priced(within, told.cost, cost_words(told) if fits else "more than is left", fits)


def _drawn(points: tuple[Priced, ...]) -> tuple[Priced, ...]:
    """Their places: accuracies side by side, prices upwards by their logarithm; at the top what no longer fits."""
    most = max((float(point.cost) for point in points), default=0.0)
    if not most:
        return ()
    step = (WIDTH - 2 * EDGE) / max(len(points) - 1, 1)
    places = []
    for place, point in enumerate(points):
        part = max(float(point.cost) / most, LOWEST) if point.fits else 1.0
        y = EDGE + (HEIGHT - 2 * EDGE) * log10(part) / log10(LOWEST)
        places.append(Priced(point.within, point.cost, point.words, point.fits, EDGE + place * step, y))
    return tuple(places)
