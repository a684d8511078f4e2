"""The two drawings of an audit's page: what was spent over time, and by region."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from discreet.exact import equals_text

if TYPE_CHECKING:
    from discreet.audit.report import AttributeSpend, VaultAudit

WIDTH, HEIGHT = 640, 190
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 18, 30
STRIP_WIDTH, STRIP_HEIGHT = 300.0, 44.0
MOST_BARS = 80
YOUNG = 60
"""Seconds: a journal that is not older is drawn by its entries, not by the clock."""


@dataclass(frozen=True)
class Axes:
    """Where places in time and amounts lie on a drawing."""

    first: float
    last: float
    top: float

    def x(self, place: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (place - self.first) / max(self.last - self.first, 1e-9)

    def y(self, amount: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * amount / self.top

    def level(self, amount: float, kind: str) -> str:
        at = self.y(amount)
        line = f'<line class={kind} x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        return f'{line}<text x="{LEFT - 8}" y="{at + 4:.1f}" class=end>{amount:.3g}</text>'


def draw_over_time(audit: "VaultAudit") -> str:
    """A step line of the most that was spent at any point, below the budget."""
    if not audit.moments:
        return ""
    places, ends = _places(audit)
    total = float(audit.total)
    axes = Axes(places[0], places[-1], max(total, *(float(moment.amount) for moment in audit.moments)) * 1.03)
    line, dots = f"M{axes.x(places[0]):.1f},{axes.y(0):.1f}", ""
    for place, moment in zip(places[1:], audit.moments, strict=True):
        x, y = axes.x(place), axes.y(float(moment.amount))
        line += f"H{x:.1f}V{y:.1f}"
        if moment.kind != "charge":
            said = f"<title>entry {moment.entry}: a {moment.kind}</title>"
            dots += f'<circle class=dot cx="{x:.1f}" cy="{y:.1f}" r="3.5">{said}</circle>'
    about = "<p class=dim>Dots are facts, after which the same spending weighs more, and refreshes.</p>" if dots else ""
    budget = f"budget {audit.symbol} {escape(equals_text(audit.total))}"
    return f"""<section><h2>Spent over time, at the point where most was spent</h2>
<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="the most spent at any point, over time">
<path class=area d="{line}V{axes.y(0):.1f}H{axes.x(places[0]):.1f}Z"/>
{axes.level(0, "grid")}{axes.level(total / 2, "grid")}{axes.level(total, "limit")}
<text x="{WIDTH - RIGHT}" y="{axes.y(total) - 5:.1f}" class=end>{budget}</text>
<path class=line d="{line}"/>{dots}
<text x="{LEFT}" y="{HEIGHT - 10}">{ends[0]}</text>
<text x="{WIDTH - RIGHT}" y="{HEIGHT - 10}" class=end>{ends[1]}</text>
</svg>{about}</section>"""


def _places(audit: "VaultAudit") -> tuple[list[float], tuple[str, str]]:
    """Where the beginning and every moment lie along the drawing, and what its ends are called."""
    texts = [audit.first_at, *(moment.at for moment in audit.moments)]
    times = [datetime.fromisoformat(text).timestamp() for text in texts]
    if times[-1] - times[0] < YOUNG or times != sorted(times):
        last = audit.moments[-1].entry
        return [1.0, *(float(moment.entry) for moment in audit.moments)], ("entry 1", f"entry {last:,}")
    first, last_text = (escape(text[:16].replace("T", " ")) for text in (texts[0], texts[-1]))
    return times, (first, last_text)


def draw_by_region(audit: "VaultAudit") -> str:
    """A strip of bars for each attribute."""
    shown = [spend for spend in audit.by_attribute if len(spend.labels) > 1]
    if not shown or not audit.charges:
        return ""
    strips = "".join(_strip(spend, audit.total, audit.symbol) for spend in shown)
    about = "The most that was spent at any point with each value; a full bar is the whole budget."
    return f"<section><h2>Spent by region</h2><p class=dim>{about}</p><div class=strips>{strips}</div></section>"


def _strip(spend: "AttributeSpend", total: Fraction, symbol: str) -> str:
    """A bar for each code of an attribute, or for each run of them where there are many."""
    run = -(-len(spend.labels) // MOST_BARS)
    starts = range(0, len(spend.labels), run)
    step, bars = STRIP_WIDTH / len(starts), ""
    for place, start in enumerate(starts):
        most, names = max(spend.spent[start : start + run]), spend.labels[start : start + run]
        tall = STRIP_HEIGHT * min(float(most / total), 1.0) if total else 0.0
        label = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        bars += (
            f"<g><title>{escape(label)}: {symbol} {escape(equals_text(most))}</title>"
            f'<rect class=ground x="{place * step:.2f}" y="0" width="{step:.2f}" height="{STRIP_HEIGHT:.0f}"/>'
            f'<rect class="bar{" over" if most > total else ""}" x="{place * step:.2f}" '
            f'y="{STRIP_HEIGHT - tall:.2f}" width="{step * 0.94:.2f}" height="{tall:.2f}"/></g>'
        )
    low, high = (escape(spend.labels[place]) for place in (0, -1))
    return (
        f"<figure><figcaption>{escape(spend.name)}</figcaption>"
        f'<svg viewBox="0 0 {STRIP_WIDTH:.0f} {STRIP_HEIGHT:.0f}" preserveAspectRatio="none" role="img" '
        f'aria-label="spent by {escape(spend.name)}">{bars}</svg>'
        f"<div class=ends><span>{low}</span><span>{high}</span></div></figure>"
    )
