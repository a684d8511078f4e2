"""Statements over the domain of tests/fixtures/sql/people.toml: mostly such as are answered, some a little beyond."""

from random import Random

COLUMNS = {
    "age": "0 1 17 18 30 64 65 99 100 101 20.5 -1",
    "sex": "'F' 'M'",
    "education": "'none' 'school' 'bachelor' 'master' 'x'",
    "income": "0 1 24999 25000 30000.5 50000 99999 100000 1e6",
    "wealth": "-1e9 -400 0 1 999 1000 1e30",
    "children": "0 1 2 20 21 30",
    "born": "1899 1900 1950 2000 2026 2027",
    "district": "1 2 3 '2' 4",
    "married": "TRUE FALSE 'true'",
}
SUMMABLE = ("age", "income", "children", "born")
LISTED = {name: values.split() for name, values in COLUMNS.items()}
ORDERED = ("age", "income", "wealth", "children", "born")


def statement(draw: Random) -> str:
    """One SELECT."""
    by = draw.sample(tuple(COLUMNS), draw.choice((0, 0, 0, 0, 1, 1, 1, 2)))
    outputs = [*by, *(_aggregate(draw) + draw.choice(("", "", f" AS n{i}")) for i in range(draw.choice((1, 1, 2, 3))))]
    if draw.random() < 0.2:
        draw.shuffle(outputs)
    parts = [f"SELECT {', '.join(outputs)} FROM {draw.choice(('people', 'people', 'PEOPLE', 'people p'))}"]
    if draw.random() < 0.8:
        parts.append(f"WHERE {condition(draw, draw.randrange(4))}")
    if by:
        parts.append(f"GROUP BY {', '.join(by if draw.random() < 0.9 else map(str, range(1, len(by) + 1)))}")
    if draw.random() < 0.2:
        parts.append(f"ORDER BY {draw.choice((*outputs, '1', '2'))}{draw.choice(('', ' DESC'))}")
    if draw.random() < 0.1:
        parts.append(f"LIMIT {draw.choice(('1', '5', '0', '9e9', '-1'))} OFFSET {draw.randrange(3)}")
    return " ".join(parts)


def per_person(draw: Random) -> str:
    """A question about people by what their rows come to, of a table in which they are told apart by `person`."""
    if draw.random() < 0.2:
        return _first_rows(draw)
    by = draw.sample(tuple(COLUMNS), draw.choice((0, 0, 1)))
    own = ", ".join(["person", *by])
    inner = f"SELECT {own}, COUNT(*) AS n, {_trait(draw)} AS v FROM people"
    if draw.random() < 0.7:
        inner += f" WHERE {condition(draw, 1)}"
    inner += f" GROUP BY {own}" + draw.choice(
        ("", "", f" HAVING {draw.choice(('COUNT(*) > 1', _trait(draw) + ' > 1'))}")
    )
    outer = draw.choice(
        ("n, COUNT(*) AS c", "v, COUNT(*) AS c", "AVG(n) AS m", "SUM(v) AS s, COUNT(*) AS c", "AVG(v) AS m",
         "COUNT(v) AS c", "COUNT(*) FILTER (WHERE v > n) AS c", "MAX(n) AS m", "person, n")
    )  # fmt: skip
    asked = f"SELECT {outer} FROM ({inner}) AS t" + draw.choice(("", "", " WHERE n < 3", " WHERE v IS NOT NULL"))
    return asked + (f" GROUP BY {outer[0]}" if outer[1:2] == "," else "")


def _first_rows(draw: Random) -> str:
    """A question about the first rows of each person."""
    number = f"ROW_NUMBER() OVER (PARTITION BY person ORDER BY {draw.choice(ORDERED)}{draw.choice(('', ' DESC'))})"
    column, few = draw.choice(tuple(COLUMNS)), draw.choice(("r = 1", "r <= 2", "r < 3", "r > 1"))
    inner = f"SELECT *, {number} AS r FROM people"
    if draw.random() < 0.5:
        inner += f" WHERE {condition(draw, 1)}"
    further = draw.choice(("", f" AND {condition(draw, 1)}"))
    outer = draw.choice((f"{column}, COUNT(*) AS c", "COUNT(*) AS c", f"SUM({draw.choice(SUMMABLE)}) AS s"))
    asked = f"SELECT {outer} FROM ({inner}) AS t WHERE {few}{further}"
    return asked + (f" GROUP BY {column}" if outer.startswith(column) else "")


def _trait(draw: Random) -> str:
    """What a person's rows come to."""
    column, other = draw.choice(tuple(COLUMNS)), draw.choice(ORDERED)
    only = f" FILTER (WHERE {condition(draw, 1)})" if draw.random() < 0.3 else ""
    kind = draw.choice(
        ("MIN", "MAX", "COUNT", "SUM", "AVG", "COUNT(DISTINCT", "BOOL_OR", "ARG_MIN", "ARG_MAX", "MEDIAN")
    )
    match kind:
        case "SUM" | "AVG":
            return f"{kind}({draw.choice(SUMMABLE)}){only}"
        case "COUNT(DISTINCT":
            return f"{kind} {column}){only}"
        case "BOOL_OR":
            return f"{kind}({condition(draw, 0)}){only}"
        case "ARG_MIN" | "ARG_MAX":
            return f"{kind}({column}, {other}){only}"
    return f"{kind}({column}){only}"


def _aggregate(draw: Random) -> str:
    column, only = draw.choice(SUMMABLE), ""
    if draw.random() < 0.1:
        only = f" FILTER (WHERE {condition(draw, 1)})"
    match draw.randrange(10):
        case 0 | 1 | 2 | 3:
            return f"COUNT(*){only}"
        case 4:
            return f"COUNT({draw.choice(tuple(COLUMNS))}){only}"
        case 5 | 6:
            return f"SUM({column}){only}"
        case 7:
            return f"AVG({column}){only}"
        case 8:
            return draw.choice((f"MIN({column})", f"MEDIAN({column})", f"QUANTILE({column}, 0.{draw.randrange(100)})"))
    return f"{draw.randrange(1, 4)} * COUNT(*){only} {draw.choice('+-')} COUNT({column})"


def condition(draw: Random, depth: int) -> str:
    """What may stand after WHERE."""
    if depth and draw.random() < 0.7:
        parts = [condition(draw, depth - 1) for _ in range(draw.randrange(2, 4))]
        return draw.choice(("({})", "NOT ({})", "{}")).format(draw.choice((" AND ", " OR ")).join(parts))
    column = draw.choice(tuple(COLUMNS))
    values = LISTED[column]
    match draw.randrange(6):
        case 0:
            return f"{column} {draw.choice(('', 'NOT '))}IN ({', '.join(draw.choices(values, k=draw.randrange(1, 5)))})"
        case 1:
            return f"{column} IS {draw.choice(('', 'NOT '))}NULL"
        case 2 | 3 if column in ORDERED:
            return f"{column} {draw.choice(('<', '<=', '>', '>='))} {draw.choice(values)}"
        case 4 if column in ORDERED:
            low, high = draw.choices(values, k=2)
            return f"{column} {draw.choice(('', '', 'NOT '))}BETWEEN {low} AND {high}"
    return f"{column} {draw.choice(('=', '=', '<>'))} {draw.choice(values)}"
