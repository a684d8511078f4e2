"""Regions in words: SQL that the parser reads back as the same region.

Two sets of codes have no SQL of their own and are said in plain words: values outside the declared ones of a numeric
attribute (a bound cannot tell on which side they are), and edges that no decimal writes exactly.
"""

import re

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.sql.codes import Codes, Interval, complement, merged

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def where_text(region: Region, domain: Domain) -> str:
    """The region as a WHERE clause: `age BETWEEN 20 AND 50 AND sex = 'F'`; TRUE is everything, FALSE nothing."""
    if not region:
        return "FALSE"
    products: list[tuple[Codes, ...]] = [
        tuple(((a, b),) for a, b in zip(box.low, box.high, strict=True)) for box in region.boxes
    ]
    for axis in reversed(range(len(domain.attributes))):
        products = _merged_along(axis, products)
    conjunctions = [_conjunction(product, domain) for product in products]
    if len(conjunctions) == 1:
        return " AND ".join(conjunctions[0]) or "TRUE"
    return " OR ".join(f"({' AND '.join(terms)})" if len(terms) > 1 else terms[0] for terms in conjunctions)


def _merged_along(axis: int, products: list[tuple[Codes, ...]]) -> list[tuple[Codes, ...]]:
    """The same points in fewer products: those that differ on one axis only become one."""
    groups: dict[tuple[tuple[Codes, ...], tuple[Codes, ...]], list[Interval]] = {}
    for product in products:
        groups.setdefault((product[:axis], product[axis + 1 :]), []).extend(product[axis])
    return [(*before, merged(codes), *after) for (before, after), codes in groups.items()]


def _conjunction(product: tuple[Codes, ...], domain: Domain) -> list[str]:
    return [
        codes_text(attribute, codes)
        for attribute, codes in zip(domain.attributes, product, strict=True)
        if codes != ((0, attribute.size - 1),)
    ]


def codes_text(attribute: Attribute, codes: Codes) -> str:
    """The condition on one attribute that holds for these codes (some, not all); in parentheses if it has an OR."""
    name = identifier(attribute.name)
    present = (0, attribute.size - 1 - attribute.null)
    if attribute.null and codes == (present,):
        return f"{name} IS NOT NULL"
    choices = []
    known = _clipped(codes, *present)
    if known == (present,):
        choices.append(f"{name} IS NOT NULL")
    elif known and isinstance(attribute, Date):
        choices += _number_texts(attribute.days, known)
    elif known and isinstance(attribute, Category):
        choices.append(_category_text(attribute, known))
    elif known and isinstance(attribute, Integer | Bins):
        choices += _number_texts(attribute, known)
    if attribute.null and codes[-1][1] == attribute.size - 1:
        choices.append(f"{name} IS NULL")
    return choices[0] if len(choices) == 1 else f"({' OR '.join(choices)})"


def _clipped(codes: Codes, first: int, last: int) -> Codes:
    return tuple((max(low, first), min(high, last)) for low, high in codes if low <= last and high >= first)


def _category_text(attribute: Category, known: Codes) -> str:
    name = identifier(attribute.name)
    # Only <> and NOT IN hold for values outside the declared ones.
    if attribute.other_code is not None and known[-1][1] == attribute.other_code:
        return _listed(name, "<>", "NOT IN", attribute, complement(known, attribute.cells))
    return _listed(name, "=", "IN", attribute, known)


def _listed(name: str, one: str, several: str, attribute: Category, codes: Codes) -> str:
    values = [text_literal(attribute.values[code]) for low, high in codes for code in range(low, high + 1)]
    return f"{name} {one} {values[0]}" if len(values) == 1 else f"{name} {several} ({', '.join(values)})"


def _number_texts(attribute: Integer | Bins, known: Codes) -> list[str]:
    ordinary = _clipped(known, 0, attribute.cells - 1)
    texts: list[str] = []
    if isinstance(attribute, Integer):
        lone = [low for low, high in ordinary if low == high]
        if len(lone) > 1:
            ordinary = tuple((low, high) for low, high in ordinary if low < high)
            texts = [f"{identifier(attribute.name)} IN ({', '.join(str(attribute.low + code) for code in lone)})"]
    texts += [range_text(attribute, *interval) for interval in ordinary]
    if attribute.other_code is not None and known[-1][1] == attribute.other_code:
        texts.append(f"{identifier(attribute.name)} is outside its declared values")
    return texts


def range_text(attribute: Integer | Bins, first: int, last: int) -> str:
    """A range of ordinary codes of a numeric attribute. A bound that the domain implies is left out, not both."""
    name = identifier(attribute.name)
    whole = (first, last) == (0, attribute.cells - 1)
    from_low, to_high = first == 0 and not whole, last == attribute.cells - 1 and not whole
    match attribute:
        case Integer(low=low):
            if first == last:
                return f"{name} = {low + first}"
            if not from_low and not to_high:
                return f"{name} BETWEEN {low + first} AND {low + last}"
            return f"{name} <= {low + last}" if from_low else f"{name} >= {low + first}"
        case Bins(edges=edges):
            above, below = edges[first], edges[last + 1]
            bounds = [f"{name} >= {attribute.value_text(above)}"] if above is not None and not from_low else []
            bounds += [f"{name} < {attribute.value_text(below)}"] if below is not None and not to_high else []
            if bounds:
                return " AND ".join(bounds)
            middle = attribute.value_text(next(edge for edge in edges if edge is not None))
            return f"({name} < {middle} OR {name} >= {middle})"


def text_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A column's name as SQL takes it: in double quotes where it is not a plain word."""
    from sqlglot.tokens import Tokenizer  # only where something is written as SQL

    if PLAIN_NAME.fullmatch(name) and name.upper() not in Tokenizer.KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'
