"""What of a table an answer is about, where that is less than a reader expects: told from the domain alone."""

from collections.abc import Iterator
from fractions import Fraction

from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.exact import number_text
from discreet.query.cells import Amount, CellTable
from discreet.query.query import Combination, Mean, People, ProfileSum, Sum
from discreet.sql.question import Measure, Question


def what_counts(question: Question, domain: Domain) -> list[str]:
    """Notes on rows beyond a person's bound, and on values beyond the range of what is summed. Public."""
    notes = []
    measures = [column.query for column in question.aggregates]
    if domain.person is not None and any(not isinstance(measure, People) for measure in measures):
        rows = "one row counts" if domain.max_rows == 1 else f"{domain.max_rows:,} rows count"
        each = f" of each {domain.growing.period}" if domain.each_period and domain.growing is not None else ""
        notes.append(f"of each {domain.person} at most {rows}{each}")
    summed = dict.fromkeys(name for measure in measures for name in _clamped(measure, domain))
    return [*notes, *(f"{name}: values beyond {_range(domain[name])} count as the ends" for name in summed)]


def _clamped(measure: Measure, domain: Domain) -> Iterator[str]:
    """The attributes in a sum or an average whose values are clamped to their range."""
    if isinstance(measure, Combination):
        for _, term in measure.terms:
            yield from _clamped(term, domain)
    elif isinstance(measure, ProfileSum):
        summed = () if measure.of is None else measure.of.attributes
        added = [one.of for one in measure.profiles.traits if one.fold == "sum" or one.attribute.name in summed]
        moved = [name for table in added for name in _moved_by(table, domain)]
        yield from (name for name in moved if domain[name].outside == "clamp")
    elif isinstance(measure, Sum | Mean):
        names = (measure.of,) if isinstance(measure.of, str) else _moved_at_ends(measure.of, domain)
        yield from (name for name in names if domain[name].outside == "clamp")


def _moved_at_ends(amount: Amount, domain: Domain) -> Iterator[str]:
    """The attributes whose last values add another amount than those before them: so would values beyond."""
    yield from amount.in_grains
    for table in (amount.table, *amount.ends):
        yield from _moved_by(table, domain)


def _moved_by(table: CellTable, domain: Domain) -> Iterator[str]:
    """The attributes whose last codes are told apart from those before them."""
    for name, classes in zip(table.attributes, table.classes, strict=True):
        cells = domain[name].cells
        if cells > 1 and (classes[0] != classes[1] or classes[cells - 2] != classes[cells - 1]):
            yield name


def _range(attribute: Attribute) -> str:
    match attribute:
        case Integer(low=low, high=high):
            return f"{low:,} … {high:,}"
        case Bins(edges=(Fraction() as first, *_, Fraction() as last)):
            return f"{_number(first)} … {_number(last)}"
    return f"{attribute.label(0)} … {attribute.label(attribute.cells - 1)}"


def _number(edge: Fraction) -> str:
    return f"{edge.numerator:,}" if edge.denominator == 1 else number_text(edge)
