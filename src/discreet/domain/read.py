"""TOML text → Domain, with errors that name the line, the key and what is allowed."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from discreet.domain.attribute import (
    TRUTHS,
    Attribute,
    Bins,
    Category,
    Discoverable,
    Hierarchy,
    Integer,
    Outside,
)
from discreet.domain.codebook import (
    CATALOGUE,
    LABELLED,
    WORDS,
    XML,
    Codebook,
    catalogue_text,
    labels_text,
    read_codebook,
)
from discreet.domain.date import ISO, Date, Late, Period, begins
from discreet.domain.domain import Domain, NullIds
from discreet.domain.lines import place_of
from discreet.domain.notation import NOTATION_KEYS, PLAIN, Notation, read_notation
from discreet.domain.write import quoted
from discreet.errors import DomainError
from discreet.exact import number_text

TOP_KEYS = ("name", "null_ids", "notation", "codebooks", "found", "attributes")
COMMON_KEYS = ("kind", "source", "outside", "null")
OWN_KEYS = {
    "integer": ("low", "high"),
    "category": ("values", "values_from", "hierarchy", "prefix", "most", "longest"),
    "bins": ("edges", "grain"),
    "date": ("low", "high", "period", "zone", "format", "grows", "late"),
}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LARGEST_INTEGER = 2**53  # codes and values stay exact in every engine, in doubles too
MOST_DIGITS = 30  # before and after the point: a number like 1e999999999 would fill the memory
MOST_PERIODS = 1_000_000  # of a date: the calendar has 3,652,059 days
LEAST_DAYS = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}
MOST_LEVELS = 64  # of a hierarchy: whoever walks it has one frame a level
DISCOVER = "discover"
MOST_FOUND, LONGEST_FOUND = 1000, 100  # values that are found, and bytes of each, where a domain does not say
MOST_NAMED, LONGEST_NAMED = 100_000, 1000  # what it may say
SHOWN_CHARACTERS = 60  # of a name in a message


def read_domain(path: str | Path) -> Domain:
    """Read a domain's TOML file."""
    return parse_domain(domain_text(path), path)


def domain_text(path: str | Path) -> str:
    """What a domain's file says, and behind it the codebooks that it names: all that there is to the domain."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise DomainError(f"cannot read {path}; a domain is a UTF-8 TOML file, see `discreet domain propose`") from None
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text  # whoever parses it says what is wrong
    names = codebooks_named(document)
    if not names or "codebooks" in document:
        return text
    held = [f"{quoted(name)} = {quoted(codebook_text(Path(path).parent / name))}" for name in names]
    return "\n".join([text.rstrip("\n"), "", "[codebooks]", *held, ""])


def codebooks_named(document: Mapping[str, Any]) -> list[str]:
    """The codebooks that a domain's attributes take their values from."""
    several = document.get("tables")
    parts = [document, *(several.values() if isinstance(several, dict) else ())]
    tables = [part.get("attributes") for part in parts if isinstance(part, dict)]
    attributes = [table for held in tables if isinstance(held, dict) for table in held.values()]
    named = [table.get("values_from") for table in attributes if isinstance(table, dict)]
    files = [said.get("file") if isinstance(said, dict) else said for said in named]
    return list(dict.fromkeys(file for file in files if isinstance(file, str)))


def codebook_text(path: Path) -> str:
    """What a codebook says, as text; value labels of SPSS, Stata and SAS, and lists of DDI and SDMX, as JSON."""
    if path.suffix.lower() in LABELLED:
        return labels_text(path)
    if path.suffix.lower() == CATALOGUE:
        return catalogue_text(path)
    if path.suffix.lower() == XML:
        from discreet.domain.xml_lists import lists_text

        return lists_text(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DomainError(f"{path}: line {line}: not in UTF-8; save the codebook so") from None
    except OSError:
        raise DomainError(f"cannot read the codebook {path}; a path is taken from where the domain is") from None


def parse_domain(text: str, file: str | Path | None = None) -> Domain:
    """Parse a domain's TOML text; what is wrong is said with the file that it is from."""
    try:
        parts = parts_of(text, parse_document(text))
        attributes = tuple(reader.attribute() for reader in parts.readers)
        growing = [one.name for one in attributes if isinstance(one, Date) and one.grows]
        if len(growing) > 1:
            raise DomainError(f"a table grows by one attribute, and here {' and '.join(growing)} say grows = true")
        return Domain(parts.name, attributes, parts.null_ids)
    except DomainError as error:
        raise (error if file is None else error.in_file(str(file))) from None


def parse_document(text: str) -> dict[str, Any]:
    """The tables of a domain's TOML, with exact numbers."""
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(str(error), text) from None
    except (ValueError, ArithmeticError, RecursionError):
        raise DomainError("not a domain: a number is too long, or brackets are nested too deeply") from None


def _not_toml(error: str, text: str) -> DomainError:
    """Where TOML breaks off, as tomllib says it, or a date that no calendar has."""
    place = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", error, re.DOTALL)
    if place is None:
        return DomainError(f"not TOML: {error}", len(text.rstrip().split("\n")))
    problem, line, column = place[1], int(place[2]), int(place[3])
    if problem == "Invalid date or datetime":
        written = re.match(r"[^\s,#}\]]*", text.split("\n")[line - 1][column - 1 :])
        return DomainError(f"{_shown(written[0]) if written else ''} is no day of the calendar", line, column)
    return DomainError(f"not TOML: {problem}", line, column)


@dataclass(frozen=True)
class Parts:
    """A domain before its attributes are read, each by a reader of its own."""

    name: str
    null_ids: NullIds | None
    readers: "tuple[AttributeReader, ...]"


def parts_of(text: str, document: Mapping[str, Any], under: tuple[str, ...] = ()) -> Parts:
    """What a document says of the whole table, checked, and readers of its attributes. `under` is where in the text it
    stands, of one of several tables."""

    def fail(key: str, problem: str) -> NoReturn:
        where = f"{'.'.join(under)}: " if under else ""
        raise DomainError(where + problem, *place_of(text, (*under, key)))

    if "tables" in document and not under:
        fail("tables", "it declares several tables, and one is read here; `discreet init` makes a vault over several")
    for key in document:
        if key not in TOP_KEYS:
            allowed = ", ".join((*TOP_KEYS[:2], "[notation]", "[attributes.…]"))
            fail(key, f"unknown key {_shown(key)!r}; allowed: {allowed}")
    name = document.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        fail("name", 'name = "…" is required: the table\'s name in SQL (letters, digits, _)')
    null_ids = document.get("null_ids")
    if null_ids is not None and null_ids not in get_args(NullIds):
        fail("null_ids", f"null_ids must be one of {', '.join(get_args(NullIds))}")
    tables = document.get("attributes")
    if not isinstance(tables, dict) or not tables:
        header = ".".join((*under, "attributes"))
        fail("attributes", f"a domain needs at least one [{header}.NAME] table")
    notation = _notation_of_all(text, document.get("notation", {}), under)
    books = document.get("codebooks", {})
    if not isinstance(books, dict) or not all(isinstance(book, str) for book in books.values()):
        fail("codebooks", "codebooks holds the texts of codebooks by their names")
    found = document.get("found", {})
    if not isinstance(found, dict) or not all(isinstance(values, list) for values in found.values()):
        fail("found", "found holds lists of values that were found, by their attributes")
    readers = tuple(
        AttributeReader(text, attribute, table, notation, books, found.get(attribute), under)
        for attribute, table in tables.items()
    )
    for attribute in found:
        if not (isinstance(tables.get(attribute), dict) and tables[attribute].get("values") == DISCOVER):
            fail("found", f"{_shown(attribute)!r} is no attribute whose values are to be discovered")
    first_spelling: dict[str, str] = {}
    for reader in readers:
        spelled = first_spelling.setdefault(reader.name.lower(), reader.name)
        if spelled != reader.name:
            reader.fail(None, f"SQL cannot tell it from {_shown(spelled)}: the names differ in case only")
    return Parts(name, null_ids, readers)


def _notation_of_all(text: str, said: object, under: tuple[str, ...]) -> Notation:
    """What [notation] declares for every attribute that it can be declared of."""

    def fail(key: str, problem: str) -> NoReturn:
        raise DomainError(f"notation.{_shown(key)}: {problem}", *place_of(text, (*under, "notation", key)))

    if not isinstance(said, dict):
        raise DomainError("notation must be a table: [notation]", *place_of(text, (*under, "notation")))
    for key in said:
        if key not in NOTATION_KEYS:
            fail(key, f"unknown key; allowed: {', '.join(NOTATION_KEYS)}")
    notation = read_notation(said, fail)
    if notation.thousands == notation.decimal:
        fail("thousands", f"{notation.decimal!r} is the decimal sign already")
    return notation


@dataclass(frozen=True)
class AttributeReader:
    """Reads one attribute of a domain's text; what is wrong has a line."""

    text: str
    name: str
    table: Mapping[str, Any]
    default: Notation
    books: Mapping[str, str]
    found: list[object] | None = None
    """The values that were found of an attribute that declares none; None where they were not looked for yet."""
    under: tuple[str, ...] = ()
    """Where in the text the attributes stand."""

    def fail(self, key: str | None, problem: str) -> NoReturn:
        path = (*self.under, "attributes", self.name, *(() if key is None else (key,)))
        raise DomainError(f"{'.'.join(map(_shown, path))}: {problem}", *place_of(self.text, path))

    def attribute(self) -> Attribute:
        if not self.name.isprintable() or not self.name.strip():
            self.fail(None, "a column's name needs at least one visible character, and no control characters")
        if not isinstance(self.table, dict):
            self.fail(None, f"must be a table: [attributes.{_shown(self.name)}]")
        kind = self.table.get("kind")
        if not isinstance(kind, str) or kind not in OWN_KEYS:
            self.fail("kind", 'must be "integer", "category", "bins" or "date"')
        written = tuple(key for key, kinds in NOTATION_KEYS.items() if kind in kinds)
        allowed = (*COMMON_KEYS, *OWN_KEYS[kind], *written)
        for key in self.table:
            if key not in allowed:
                self.fail(key, f"unknown key; {kind} allows {', '.join(allowed)}")
        book = self.codebook() if "values_from" in self.table else None
        source = self.table.get("source", book and book.source)
        if not isinstance(source, str) or not source.strip():
            self.fail(
                "source",
                "required: the public document that the values come from (values read off the data leak it)",
            )
        null = self.table.get("null", False)
        if not isinstance(null, bool):
            self.fail("null", "must be true or false")
        common = _Common(self.name, source, self.outside(kind), null, self.notation(kind, written))
        match kind:
            case "integer":
                return self.integer(common)
            case "category":
                return self.category(common, book)
            case "date":
                return self.dated(common)
            case _:
                return self.bins(common)

    def outside(self, kind: str) -> Outside:
        allowed: tuple[Outside, ...] = ("drop", "other") if kind == "category" else ("drop", "clamp", "other")
        outside: Outside = self.table.get("outside", "drop")
        if outside not in allowed:
            self.fail("outside", f"must be one of {', '.join(allowed)} where kind is {kind}")
        return outside

    def notation(self, kind: str, keys: tuple[str, ...]) -> Notation:
        """What is declared here, and else for all attributes, as far as this kind has use for it."""
        every = replace(PLAIN, **{key: getattr(self.default, key) for key in keys})
        notation = read_notation({key: self.table[key] for key in keys if key in self.table}, self.fail, every)
        if kind != "category" and notation.thousands == notation.decimal:
            self.fail("thousands", f"{notation.decimal!r} is the decimal sign already")
        return notation

    def integer(self, common: "_Common") -> Integer:
        for key in ("low", "high"):
            value = self.table.get(key)
            if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST_INTEGER:
                self.fail(key, "required: a whole number within ±2^53")
        low, high = self.table["low"], self.table["high"]
        if low > high:
            self.fail("low", f"low = {low} is above high = {high}")
        return Integer(**vars(common), low=low, high=high)

    def codebook_file(self) -> str | None:
        """The codebook that the attribute takes its values from, if it names one."""
        said = self.table.get("values_from") if isinstance(self.table, dict) else None
        file = said.get("file") if isinstance(said, dict) else said
        return file if isinstance(file, str) else None

    def codebook(self) -> Codebook:
        said, file = self.table["values_from"], self.codebook_file()
        columns = {key: said[key] for key in WORDS if key in said} if isinstance(said, dict) else {}
        if file is None or not all(isinstance(name, str) for name in columns.values()):
            self.fail(
                "values_from",
                'must be a codebook\'s file, "icd9.csv" say, or {file = "icd9.csv", label = "title"}',
            )
        if isinstance(said, dict) and set(said) - {"file", *WORDS}:
            self.fail("values_from", f"allowed: file, {', '.join(WORDS)}")
        for key in ("values", "hierarchy"):
            if key in self.table:
                self.fail(key, "the codebook has the values and their groups; leave out one of the two")
        if file not in self.books:
            self.fail(
                "values_from", f"the codebook {_shown(file)} is not here: it is read from beside the domain's file"
            )
        return read_codebook(file, self.books[file], columns, self.name)

    def category(self, common: "_Common", book: Codebook | None) -> Category:
        prefix = self.table.get("prefix", False)
        if not isinstance(prefix, bool):
            self.fail("prefix", "must be true or false")
        if book is not None:
            missing = tuple(dict.fromkeys((*common.notation.missing, *book.missing)))
            common = replace(common, notation=replace(common.notation, missing=missing))
            category = Category(
                **vars(common), values=book.values, hierarchy=book.hierarchy, titles=book.titles, prefix=prefix
            )
            if len(set(category.labels)) < category.size:
                self.fail("values_from", "two codes are shown alike, with their labels; change a label")
            return self.required_apart(category, "values_from")
        if self.table.get("values") == DISCOVER:
            return self.discovered(common)
        for key in ("most", "longest"):
            if key in self.table:
                self.fail(key, f'is for values that nobody declares: values = "{DISCOVER}"')
        tree = self.table.get("hierarchy")
        if tree is not None and not isinstance(tree, dict):
            self.fail("hierarchy", "must be a table of groups: each a list of values, or a table of groups")
        hierarchy = None if tree is None else self.hierarchy(tree)
        values = self.table.get("values")
        if values is None and hierarchy is None:
            self.fail("values", "required: the list of categories, in order")
        listed = leaves(hierarchy or ())
        if values is not None:
            if not isinstance(values, list):
                self.fail("values", "must be a list of strings, whole numbers or true/false")
            declared = tuple(self.category_text("values", value) for value in values)
            if hierarchy is not None and sorted(declared) != sorted(listed):
                self.fail("hierarchy", "its leaves must be exactly the values")
            listed = listed or declared
        key = "values" if hierarchy is None else "hierarchy"
        if not listed:
            self.fail(key, "at least one category is needed")
        twice = next((value for value, times in Counter(listed).items() if times > 1), None)
        if twice is not None:
            self.fail(key, f"{_shown(twice)!r} is listed twice")
        category = Category(**vars(common), values=listed, hierarchy=hierarchy, prefix=prefix)
        return self.required_apart(category, key)

    def discovered(self, common: "_Common") -> Category:
        """A category whose values are found in the table. What is not found is (other): every row has a code."""
        for key in ("hierarchy", "prefix", "booleans"):
            if key in self.table:
                self.fail(key, "is for declared values, and these are to be discovered")
        if self.table.get("outside", "other") != "other":
            self.fail("outside", "what is not found is (other): leave it out")
        most = self.bounded("most", MOST_FOUND, MOST_NAMED)
        longest = self.bounded("longest", LONGEST_FOUND, LONGEST_NAMED)
        able = Discoverable(most, longest, looked_for=self.found is not None)
        common = replace(common, outside="other", notation=replace(common.notation, booleans=()))
        texts = [value if isinstance(value, str) else "" for value in self.found or ()]
        folded = [common.notation.folded(text.encode()) for text in texts]
        apart = len(set(folded)) == len(texts) <= able.most and folded == [text.encode() for text in texts]
        missing = {common.notation.folded(text.encode()) for text in common.notation.missing}
        if not apart or not all(map(able.can_name, folded)) or missing & set(folded):
            self.fail("values", f"[found] has values that nobody can have found, or more than {able.most:,}")
        return Category(**vars(common), values=tuple(texts), discoverable=able)

    def bounded(self, key: str, default: int, most: int) -> int:
        value = self.table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            self.fail(key, f"must be a whole number from 1 to {most:,}")
        return value

    def required_apart(self, category: Category, key: str) -> Category:
        """No text may be written for two values, or for a value and for a missing one."""
        if "booleans" in self.table and not set(TRUTHS) & set(category.values):
            self.fail("booleans", "is for a category whose values are true and false: values = [false, true]")
        meant: dict[bytes, tuple[str, int | None]] = {}
        for text, code in category.spellings():
            before, other = meant.setdefault(category.notation.folded(text.encode()), (text, code))
            if other == code:
                continue
            if code is None:
                self.fail("missing", f"{_shown(text)!r} is one of its values; say missing = […] here, without it")
            if other is not None and code < len(category.values) and text == category.values[code]:
                self.fail(
                    key, f"{_shown(before)!r} and {_shown(text)!r} cannot be told apart: see trim and ignore_case"
                )
            self.fail("booleans", f"{_shown(text)!r} would be two of its values")
        return category

    def hierarchy(self, tree: Mapping[str, Any], level: int = 1) -> Hierarchy:
        if level > MOST_LEVELS:
            self.fail("hierarchy", f"has more than {MOST_LEVELS} levels")
        nodes: list[str | tuple[str, Hierarchy]] = []
        for group, children in tree.items():
            if isinstance(children, dict) and children:
                nodes.append((group, self.hierarchy(children, level + 1)))
            elif isinstance(children, list) and children:
                nodes.append((group, tuple(self.category_text("hierarchy", value) for value in children)))
            else:
                self.fail(
                    "hierarchy", f"group {_shown(group)!r} must be a non-empty list of values or a table of groups"
                )
        return tuple(nodes)

    def category_text(self, key: str, value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, str | int):
            self.fail(key, "a category is a string, a whole number or true/false")
        if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
            self.fail(key, f"a number that is a category has at most {MOST_DIGITS} digits")
        return str(value)

    def bins(self, common: "_Common") -> Bins:
        edges = self.table.get("edges")
        if not isinstance(edges, list) or len(edges) < 2:
            self.fail("edges", "required: at least two numbers, ascending; -inf or inf at an end opens it")
        exact = [self.number("edges", edge) for edge in edges]
        for low, high in pairwise(exact):
            if not low < high:
                self.fail("edges", f"must ascend, but {_written(low)} is followed by {_written(high)}")
        grain = self.table.get("grain")
        exact_grain = None if grain is None else self.number("grain", grain)
        if exact_grain is not None and not 0 < exact_grain < math.inf:
            self.fail("grain", "must be a positive number: the unit that a row is rounded to before it is summed")
        finite = [abs(edge) for edge in exact if isinstance(edge, Fraction)]
        if max(finite, default=Fraction(0)) > LARGEST_INTEGER * (exact_grain or 1):
            self.fail("edges", "must stay within ±2^53 grains (±2^53 without a grain), so that sums stay exact")
        closed = tuple(edge if isinstance(edge, Fraction) else None for edge in exact)
        if closed == (None, None):
            self.fail("edges", "one edge must be finite")
        return Bins(**vars(common), edges=closed, grain=exact_grain if isinstance(exact_grain, Fraction) else None)

    def dated(self, common: "_Common") -> Date:
        period = self.table.get("period", "day")
        if period not in get_args(Period):
            self.fail("period", f"must be one of {', '.join(get_args(Period))}")
        low, high = self.day("low"), self.day("high")
        if low > high:
            self.fail("low", f"low = {low} is after high = {high}")
        if not begins(low, period):
            self.fail("low", f"{low} is not the first day of a {period}{', a Monday' if period == 'week' else ''}")
        if high < date.max and not begins(high + timedelta(1), period):
            self.fail("high", f"{high} is not the last day of a {period}{', a Sunday' if period == 'week' else ''}")
        if (high - low).days // LEAST_DAYS[period] >= MOST_PERIODS:
            self.fail("high", f"lies more than {MOST_PERIODS:,} {period}s behind low")
        zone, form = self.table.get("zone", "UTC"), self.table.get("format", ISO)
        if not isinstance(zone, str) or not _is_zone(zone):
            self.fail("zone", 'must be a time zone by its name, "Europe/Zurich" say, or "UTC"')
        if not isinstance(form, str) or not _is_format(form):
            self.fail("format", 'must say how text writes a date, by YYYY, MM and DD, each once: "DD.MM.YYYY" say')
        date_of = Date(**vars(common), low=low, high=high, period=period, zone=zone, format=form)
        return self.growing(date_of)

    def growing(self, fixed: Date) -> Date:
        grows, late = self.table.get("grows", False), self.table.get("late")
        if not isinstance(grows, bool):
            self.fail("grows", "must be true or false")
        if late is not None and not grows:
            self.fail("late", "is about appended rows: say grows = true as well")
        if late not in (None, *get_args(Late)):
            self.fail("late", f"must be one of {', '.join(get_args(Late))}")
        if grows and fixed.size > fixed.cells:
            self.fail("grows", 'every row of a table that grows is in a period: leave out null and outside = "other"')
        if grows and fixed.outside == "clamp":
            self.fail("grows", 'periods to come are no part of the table yet: outside is "drop" where it grows')
        return replace(fixed, grows=grows, late=late or "drop")

    def day(self, key: str) -> date:
        value = self.table.get(key)
        if isinstance(value, str):
            with suppress(ValueError):
                value = date.fromisoformat(value)
        if not isinstance(value, date) or isinstance(value, datetime):
            self.fail(key, f"required: a day of the calendar, {key} = 2026-01-31 say")
        return value

    def number(self, key: str, value: object) -> Fraction | float:
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value != value:
            self.fail(key, "must hold numbers")
        if value in (math.inf, -math.inf):
            return float(value)
        bound = 10**MOST_DIGITS
        exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
        if not isinstance(exponent, int) or exponent < -MOST_DIGITS or not -bound < value < bound:
            self.fail(key, f"must hold numbers below 10^{MOST_DIGITS}, with at most {MOST_DIGITS} decimals")
        return Fraction(value)


@dataclass(frozen=True)
class _Common:
    name: str
    source: str
    outside: Outside
    null: bool
    notation: Notation


def _is_zone(name: str) -> bool:
    try:
        return bool(ZoneInfo(name).key)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False


def _is_format(form: str) -> bool:
    """Whether it has a year and no field twice, and none that a larger one is missing for."""
    fields = [form.count(field) for field in ("YYYY", "MM", "DD")]
    return fields in ([1, 0, 0], [1, 1, 0], [1, 1, 1]) and len(form) <= SHOWN_CHARACTERS and form.isprintable()


def _shown(name: str) -> str:
    """A name as a message has it: short."""
    return name if len(name) <= SHOWN_CHARACTERS else name[: SHOWN_CHARACTERS - 1] + "…"


def _written(edge: Fraction | float) -> str:
    return number_text(edge) if isinstance(edge, Fraction) else str(edge)


def leaves(hierarchy: Hierarchy) -> tuple[str, ...]:
    """The values under a hierarchy's nodes, from left to right."""
    return tuple(leaf for node in hierarchy for leaf in ((node,) if isinstance(node, str) else leaves(node[1])))
