"""People with every kind of trouble in their rows, an oracle in plain Python, and one table for each kind of source."""

import csv
import gzip
import io
import math
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain.attribute import Category, Integer
from discreet.domain.read import parse_domain

DOMAIN = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 9
outside = "clamp"
null = true
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
outside = "other"
source = "a test"
[attributes.income]
kind = "bins"
edges = [-10, 0, 10, 25, 50]
grain = 0.5
null = true
source = "a test"
"""

AGES = [0, 1, 5, 9, 10, -3, 2**62, -(2**62), None, 7]
SEXES = ["F", "M", "X", None, "f", "", "F' OR 1=1 --", "ü", "F"]
INCOMES = [0.0, -10.0, 9.999, 10.0, 24.75, 49.9, 50.0, -10.5, math.nan, math.inf, -math.inf, None, 1e300, -0.0, 0.25]


@pytest.fixture(scope="session")
def domain():
    return parse_domain(DOMAIN)


@pytest.fixture(scope="session")
def people():
    """990 rows: every age with every sex and income in turn, in an order without a pattern."""
    return [
        {"age": AGES[i % 10], "sex": SEXES[i % 9], "income": INCOMES[(i + i // 90) % 15]}
        for i in np.random.default_rng(1).permutation(990).tolist()
    ]


def to_arrow(rows):
    schema = pa.schema([("age", pa.int64()), ("sex", pa.string()), ("income", pa.float64())])
    return pa.Table.from_pylist(rows, schema=schema)


def to_csv(rows, delimiter=","):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(("age", "sex", "income"))
    writer.writerows((row["age"], row["sex"], row["income"]) for row in rows)
    return text.getvalue().encode()


def parquet(rows, folder):
    pq.write_table(to_arrow(rows), folder / "people.parquet", row_group_size=100)
    return folder / "people.parquet"


def several_parquet(rows, folder):
    for part in range(3):
        pq.write_table(to_arrow(rows[part::3]), folder / f"people-{part}.parquet")
    return str(folder / "people-*.parquet")


def plain_csv(rows, folder):
    (folder / "people.csv").write_bytes(to_csv(rows))
    return folder / "people.csv"


def semicolons(rows, folder):
    (folder / "people.csv").write_bytes(to_csv(rows, ";"))
    return folder / "people.csv"


def tabs(rows, folder):
    (folder / "people.tsv").write_bytes(to_csv(rows, "\t"))
    return folder / "people.tsv"


def zipped_csv(rows, folder):
    (folder / "people.csv.gz").write_bytes(gzip.compress(to_csv(rows)))
    return folder / "people.csv.gz"


def duckdb_file(rows, folder):
    frame = to_arrow(rows)
    with duckdb.connect(folder / "base.duckdb") as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
        connection.execute("CREATE TABLE others AS SELECT 1 AS one")
    return f"{folder / 'base.duckdb'}?table=people"


def arrow_frame(rows, folder):  # noqa: ARG001
    return to_arrow(rows)


def pandas_frame(rows, folder):  # noqa: ARG001
    return to_arrow(rows).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


def polars_frame(rows, folder):  # noqa: ARG001
    return pl.from_arrow(to_arrow(rows))


ENGINES = (
    parquet,
    several_parquet,
    plain_csv,
    semicolons,
    tabs,
    zipped_csv,
    duckdb_file,
    arrow_frame,
    pandas_frame,
    polars_frame,
)


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.__name__)
def engine(request):
    """Puts rows where one of the engines reads them, and says where that is."""
    return request.param


@pytest.fixture(scope="session")
def make():
    """Engines by name, for tests that need one in particular."""
    return SimpleNamespace(**{engine.__name__: engine for engine in ENGINES}, to_csv=to_csv, to_arrow=to_arrow)


def code_of(attribute, value):
    """The code of a value, None where its row is not in the population."""
    missing = attribute.null_code if attribute.null else attribute.other_code
    if isinstance(attribute, Category):
        if value is None:
            return missing
        spellings = [text.encode() for text in attribute.values]
        text = text_of(value)
        return spellings.index(text) if text in spellings else attribute.other_code
    number = number_of(value)
    if number is None:
        return missing
    clamp = attribute.outside == "clamp"
    if isinstance(attribute, Integer):
        if attribute.low <= number <= attribute.high:
            whole = math.floor(number)
            return whole - attribute.low if whole == number or clamp else attribute.other_code
        return (0 if number < attribute.low else attribute.cells - 1) if clamp else attribute.other_code
    starts = [-math.inf if edge is None else float(edge) for edge in attribute.edges[:-1]]
    end = attribute.edges[-1]
    number = float(number)
    if number < starts[0]:
        return 0 if clamp else attribute.other_code
    if end is not None and number >= float(end):
        return attribute.cells - 1 if clamp else attribute.other_code
    return sum(number >= start for start in starts) - 1


def text_of(value):
    """The one spelling of a value that can be a category, as bytes."""
    if isinstance(value, bytes):
        return value
    return (str(value).lower() if isinstance(value, bool) else str(value)).encode()


def number_of(value):
    """A value as a number: a whole one, or a double; None where it is missing, or text that is no number."""
    if isinstance(value, str | bytes):
        return number_in(value if isinstance(value, bytes) else value.encode())
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return None if math.isnan(value) else float(value)


def number_in(text):
    """The double nearest to what is written, by hand: no digits but 0 to 9, and an exponent of at most four of them."""
    body = text.strip(b" ").lower()
    negative, body = body.startswith(b"-"), body[1:] if body[:1] in (b"+", b"-") else body
    if len(text) > 1000:
        return None
    if body in (b"inf", b"infinity"):
        return -math.inf if negative else math.inf
    mantissa, e, exponent = body.partition(b"e")
    whole, _, part = mantissa.partition(b".")
    shift = exponent[1:] if exponent[:1] in (b"+", b"-") else exponent
    if not (whole + part).isdigit() or (e and not (shift.isdigit() and len(shift) <= 4)):
        return None
    power = (-1 if exponent.startswith(b"-") else 1) * int(shift or b"0") - len(part)
    exact = int(whole + part) * Fraction(10) ** power
    try:
        size = float(exact)
    except OverflowError:
        size = math.inf
    return -size if negative else size


def units_of(attribute, value, code):
    """What a row with this value adds to a sum, in grains: rounded, halves away from zero."""
    if code >= attribute.cells:
        return 0
    if isinstance(attribute, Integer):
        return attribute.low + code
    number = min(max(float(number_of(value)), float(attribute.edges[0])), float(attribute.edges[-1]))
    grains = Fraction(number / float(attribute.grain))
    magnitude = math.floor(abs(grains) + Fraction(1, 2))
    return -magnitude if grains < 0 else magnitude


class Oracle:
    """The population of a list of rows, counted one by one."""

    code_of, units_of, text_of = map(staticmethod, (code_of, units_of, text_of))

    def __init__(self, rows, domain):
        self.domain = domain
        self.points = []
        self.rows = []
        for row in rows:
            point = tuple(code_of(attribute, row[attribute.name]) for attribute in domain.attributes)
            if None not in point:
                self.points.append(point)
                self.rows.append(row)

    def answer(self, query):
        """A dictionary from groups to whole numbers; groups that are not in it are 0."""
        axes = [self.domain.axis(name) for name in query.by]
        totals = Counter()
        for point, row in zip(self.points, self.rows, strict=True):
            if point in query.where:
                totals[tuple(point[axis] for axis in axes)] += self.amount(query, point, row)
        return {group: total for group, total in totals.items() if total}

    def amount(self, query, point, row):
        if not hasattr(query, "of"):
            return 1
        axis = self.domain.axis(query.of)
        return units_of(self.domain.attributes[axis], row[query.of], point[axis])


@pytest.fixture(scope="session")
def oracle():
    return Oracle


@pytest.fixture(scope="session")
def as_groups():
    """An answer as the oracle writes it: the groups that are not 0."""

    def convert(array):
        return {tuple(int(i) for i in cell): int(array[tuple(cell)]) for cell in np.argwhere(array)}

    return convert
