"""Cubes of some periods: which rows they are of."""

from dataclasses import dataclass, replace
from typing import Any

from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery


@dataclass(frozen=True)
class Within:
    """Periods of a date attribute in a row, by their codes, both included; `label` is what they are called."""

    of: str
    first: int
    last: int
    label: str

    @property
    def periods(self) -> int:
        return self.last - self.first + 1

    def region(self, domain: Domain) -> Region:
        """The rows of these periods."""
        axis, whole = domain.axis(self.of), domain.everything.boxes[0]
        low, high = list(whole.low), list(whole.high)
        low[axis], high[axis] = self.first, self.last
        return Region((Box(tuple(low), tuple(high)),))

    def only(self, code: int, domain: Domain) -> "Within":
        """One of them."""
        return replace(self, first=code, last=code, label=domain[self.of].label(code))

    def labels(self, domain: Domain) -> tuple[str, ...]:
        return tuple(domain[self.of].label(code) for code in range(self.first, self.last + 1))

    def place(self, period: str, domain: Domain) -> int:
        """Which of them a period is, from 0 on. Raises UnsupportedQuery where it is none."""
        place = period_code(period, date_called(self.of, domain)) - self.first
        if not 0 <= place < self.periods:
            raise UnsupportedQuery(f"{period!r:.40} is not one of the {self.periods:,} periods {self.label}")
        return place

    def to_json(self) -> dict[str, Any]:
        return {"of": self.of, "first": self.first, "last": self.last, "label": self.label}


def within_periods(each: str, first: str | None, last: str | None, domain: Domain) -> Within:
    """The periods from `first` to `last` of a date attribute; all that there are where nothing is said."""
    attribute, growing = date_called(each, domain), domain.growing
    if growing is not None and attribute.name != growing.name:
        raise UnsupportedQuery(
            f"the table grows by {growing.name}: no {attribute.period} of {attribute.name} has ended, as rows of it "
            f"can be appended; take each {growing.name}"
        )
    start = 0 if first is None else period_code(first, attribute)
    end = attribute.cells - 1 if last is None else period_code(last, attribute)
    if end < start:
        raise UnsupportedQuery(f"{last} is before {first}: say the first period and then the last")
    return Within(attribute.name, start, end, f"{attribute.label(start)} to {attribute.label(end)}")


def date_called(each: str, domain: Domain) -> Date:
    """A date attribute by its name; or by what its periods are called, month say, where there is one of these alone."""
    dates = [one for one in domain.attributes if isinstance(one, Date)]
    found = [one for one in dates if one.name == each] or [one for one in dates if one.period == each]
    if len(found) == 1:
        return found[0]
    named = ", ".join(f"{one.name} (by {one.period})" for one in dates) or "none"
    which = "more than one attribute has" if found else "no date attribute is called, or has,"
    raise UnsupportedQuery(f"{which} periods {each!r:.40}; the date attributes of {domain.name}: {named}")


def period_code(name: str, attribute: Date) -> int:
    code = attribute.code(name)
    if code is None or code >= attribute.cells:
        first, last = attribute.label(0), attribute.label(attribute.cells - 1)
        raise UnsupportedQuery(
            f"{name!r:.40} is no {attribute.period} of {attribute.name}, which goes from {first} to {last}"
        )
    return code
