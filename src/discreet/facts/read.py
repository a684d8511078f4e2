"""Facts as people give them: SQL with its answer, or a published table as CSV."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from discreet.domain.domain import Domain
from discreet.errors import InvalidFact
from discreet.facts.facts import CountFact, CuboidFact, Fact, count_fact, cuboid_fact
from discreet.query.query import Combination, Count
from discreet.sql.parse import parse

MOST_CELLS = 1 << 24


def fact_given(
    sql: str | None, value: object, cuboid: Sequence[str] | None, values: ArrayLike | Path | None, domain: Domain
) -> Fact:
    """The fact that is meant: SQL with a value, or a cuboid with values."""
    if cuboid is None:
        if sql is None or value is None or values is not None:
            raise InvalidFact("a fact is SQL with the value it has, or a cuboid with its values")
        return fact_of_sql(sql, value, domain)
    if sql is not None or value is not None or values is None:
        raise InvalidFact("a cuboid comes with its values, and with nothing else")
    names = (cuboid,) if isinstance(cuboid, str) else tuple(cuboid)
    if isinstance(values, str | Path):
        return fact_of_csv(names, values, domain)
    return cuboid_fact(names, values, domain, f"cuboid {', '.join(names)}".strip())


def fact_of_sql(sql: str, value: object, domain: Domain) -> CountFact:
    """The fact that a SELECT of one COUNT, or of a sum of counts, has this answer. Raises InvalidFact, and whatever the
    SQL is refused for."""
    question = parse(sql, domain)
    [column, *more] = question.columns
    query = getattr(column, "query", None)
    if more or question.by or not isinstance(query, Count | Combination):
        raise InvalidFact(
            "a fact is one number: SELECT COUNT(*) … or a sum of COUNT(*) FILTER (WHERE …), without GROUP BY; a whole "
            "table is given with --cuboid"
        )
    if question.notes:
        raise InvalidFact(f"the domain cannot tell exactly who is counted: {question.notes[0]}")
    return count_fact(query, value, domain, " ".join(sql.split()))


def fact_of_csv(by: Sequence[str], path: str | Path, domain: Domain) -> CuboidFact:
    """The cuboid in a CSV file: a column for each attribute, with its labels, and one for the counts. Every combination
    of labels has one line. Raises InvalidFact, and DomainError."""
    attributes = [domain[name] for name in by]
    shape = tuple(attribute.size for attribute in attributes)
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise InvalidFact(
            f"cuboid {', '.join(by)} has {np.prod(shape, dtype=float):,.0f} cells; at most {MOST_CELLS:,}"
        )
    codes = [{label: code for code, label in enumerate(attribute.labels)} for attribute in attributes]
    values = np.full(shape, -1, np.int64)
    for line, labels, count in _lines(Path(path), [attribute.name for attribute in attributes]):
        for attribute, known, label in zip(attributes, codes, labels, strict=True):
            if label not in known:
                raise InvalidFact(f"{path}, line {line}: {attribute.name} has no value {label!r} in the domain")
        cell = tuple(known[label] for known, label in zip(codes, labels, strict=True))
        if values[cell] >= 0:
            raise InvalidFact(f"{path}, line {line}: {', '.join(labels)} is there twice")
        if not count.strip().isdecimal() or len(count) > 16:
            raise InvalidFact(f"{path}, line {line}: {count!r} is not a count: whole numbers from 0 are")
        values[cell] = int(count)
    if (values < 0).any():
        cell = np.argwhere(values < 0)[0]
        missing = ", ".join(attribute.label(int(code)) for attribute, code in zip(attributes, cell, strict=True))
        raise InvalidFact(f"{path} has no line for {missing}; every combination has one, with 0 where nobody is")
    return cuboid_fact(tuple(by), values, domain, f"cuboid {', '.join(by)}")


def _lines(path: Path, names: Sequence[str]) -> list[tuple[int, list[str], str]]:
    if not path.is_file():
        raise InvalidFact(f"{path} is not there; a cuboid is given as a CSV file")
    try:
        with open(path, newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidFact(f"{path} cannot be read as CSV") from None
    header = [name.strip() for name in rows[0]] if rows else []
    others = [place for place, name in enumerate(header) if name not in names]
    if len(others) != 1 or sorted(header[: others[0]] + header[others[0] + 1 :]) != sorted(names):
        raise InvalidFact(
            f"{path} needs the columns {', '.join(names)} and one with the counts; it has {', '.join(header)}"
        )
    places = [header.index(name) for name in names]
    lines = []
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            if not row:
                continue
            raise InvalidFact(f"{path}, line {line} has {len(row)} columns, not {len(header)}")
        lines.append((line, [row[place] for place in places], row[others[0]]))
    return lines
