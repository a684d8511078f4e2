"""The same questions over neighbouring tables: whatever is not a noisy answer itself must be the same.

The noise is coupled: it is what makes the answers equal. Every answer is possible over either table, so one that is
equal may come with nothing that tells the tables apart: no other error or word of one, no other cost, denial, note,
column or order, no other entry of the journal, and no file of another size.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from discreet.errors import DiscreetError
from discreet.ledger.snapshot import SNAPSHOTS
from discreet.noise.bits import SeededBits
from discreet.plain import plain
from discreet.release import gate as gating
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.trust.sql_grammar import condition, per_person, statement

DOMAIN = """\
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 20
null = true
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a test"
[attributes.education]
kind = "category"
values = ["none", "school", "bachelor", "master"]
outside = "other"
null = true
source = "a test"
[attributes.income]
kind = "bins"
edges = [0, 25000, 50000, 100000]
grain = 100
source = "a test"
[attributes.wealth]
kind = "bins"
edges = [-inf, 0, 1000, inf]
null = true
source = "a test"
[attributes.children]
kind = "integer"
low = 0
high = 3
outside = "clamp"
source = "a test"
[attributes.born]
kind = "integer"
low = 1950
high = 1953
outside = "other"
source = "a test"
[attributes.district]
kind = "category"
values = [1, 2]
outside = "other"
source = "a test"
[attributes.married]
kind = "category"
values = [true, false]
null = true
source = "a test"
"""
SCHEMA = pa.schema(
    {
        "person": pa.int64(), "age": pa.int64(), "sex": pa.string(), "education": pa.string(), "income": pa.float64(),
        "wealth": pa.float64(), "children": pa.int64(), "born": pa.int64(), "district": pa.int64(),
        "married": pa.bool_(),
    }
)  # fmt: skip
Row = tuple[Any, ...]
Action = Callable[[Vault], object]


def ordinary(draw: Random, person: int) -> Row:
    return (
        person, draw.choice((None, *range(21))), draw.choice("FM"), draw.choice(("none", "school", "master", None)),
        draw.uniform(0, 1e5), draw.choice((None, -5.0, 0.0, 1e6)), draw.randrange(5), draw.randrange(1945, 1956),
        draw.randrange(1, 4), draw.random() < 0.5,
    )  # fmt: skip


_chance = Random(11)
PEOPLE = [ordinary(_chance, person) for person in range(120)]
NOBODY = (None,) * len(SCHEMA)
OUTSIDE = (500, 10**6, "X", "phd", -1e9, 5e9, -3, 1, 99, None)
HUGE = (2**63 - 1, 2**63 - 1, "", "", float("inf"), float("-inf"), -(2**63), 2**63 - 1, -(2**63), None)
NO_NUMBER = (-(2**63), -(2**63), "f", "NaN", float("nan"), float("nan"), 2**63 - 1, -1, 0, True)
STRANGE = (501, 20, "F\u202e", "\ud7ff" * 5000, -0.0, 5e-324, 0, 1950, 1, False)
FILLING = (502, 20, "F", "master", 99_999.99, 1e308, 3, 1953, 2, True)
NEIGHBOURS: dict[str, list[Row]] = {
    "one is gone": PEOPLE[1:],
    "one is another": [*PEOPLE[:-1], FILLING],
    "nobody at all": [],
    "everything missing": [*PEOPLE, NOBODY],
    "everything outside": [OUTSIDE, *PEOPLE],
    "as large as may be": [*PEOPLE, HUGE],
    "no numbers": [*PEOPLE, NO_NUMBER],
    "strange texts": [STRANGE, *PEOPLE],
    "one with many rows": [*PEOPLE, *[FILLING] * 400],
    "in another order": PEOPLE[::-1],
}
"""Each is a few rows away from PEOPLE, hence not to be told from it, by whatever number of steps."""
BUDGETS: dict[str, dict[str, Any]] = {
    "epsilon, add-remove": {"epsilon": "1/2", "neighbours": "add-remove"},
    "epsilon, replace": {"epsilon": 2, "neighbours": "replace"},
    "rho": {"rho": "1/10", "neighbours": "add-remove"},
    "epsilon and delta": {"epsilon": "2", "delta": "1e-6", "neighbours": "replace"},
    "people with several rows": {"epsilon": 1, "neighbours": "add-remove", "id": "person", "max_rows": 3},
}
PLACES = ("parquet", "csv", "duckdb", "frame")


def located(rows: Sequence[Row], place: str, folder: Path) -> object:
    """A table of these rows in a file, or in memory."""
    table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)
    path = folder / f"people.{place}"
    match place:
        case "parquet":
            pq.write_table(table, path)
        case "csv":
            pyarrow.csv.write_csv(table, path)
        case "duckdb":
            with duckdb.connect(path) as connection:
                connection.register("rows", table)
                connection.execute("CREATE TABLE people AS SELECT * FROM rows")
        case _:
            return table
    return path


MASKS = [
    (r"\b\d+:[0-9a-f]{64}\b", "RECEIPT"),
    (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", "TIME"),
    (r"\b([0-9a-f]{64}|[0-9a-f]{32})\b", "RANDOM"),
]


def masked(text: str, folder: Path) -> str:
    """Without what differs between any two vaults: places, times, names, and the hashes of a chain of them."""
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return text.replace(str(folder), "FOLDER")


def told(vault: Vault, actions: Sequence[Action], folder: Path) -> list[str]:
    """What a vault says to each of a row of actions, and what it leaves behind."""
    lines = []
    for action in actions:
        try:
            said = json.dumps(action(vault), default=plain, sort_keys=True)
        except DiscreetError as error:
            said = f"{type(error).__name__}: {error}"
        lines.append(masked(said, folder))
    lines += [f"{e.kind} {e.charge} {masked(e.body, folder)}" for e in vault.ledger.entries() if e.kind != "init"]
    # The snapshot is the owner's own copy of the rows: nobody else is let near it.
    files = sorted(path for path in vault.path.rglob("*") if path.is_file() and SNAPSHOTS not in path.parts)
    return [*lines, *(f"{path.relative_to(vault.path)}: {path.stat().st_size} bytes" for path in files)]


def asked(draw: Random) -> Action:
    """A question in one of the ways that there are."""
    sql = per_person(draw) if draw.random() < 0.15 else statement(draw)
    wish: dict[str, Any] = draw.choice(
        ({}, {"scale": draw.choice((2, 20, "2.5"))}, {"within": draw.choice((3, 100, 5000))}, {"confidence": "0.8"})
    )
    match draw.randrange(6):
        case 0:
            return lambda vault: vault.explain(sql, **wish)
        case 1:
            return lambda vault: vault.ask(sql, within=10**6)
    return lambda vault: vault.ask(sql, **wish)


def published(draw: Random, number: int) -> Action:
    """A cube of a few dimensions: its numbers, and the sizes of its files."""
    dimensions = draw.sample(("age", "sex", "education", "income", "children"), draw.randrange(1, 4))
    share, planner = draw.choice(("1/20", "1/7")), draw.choice(("optimal", "bmaxg", "base"))
    measure = draw.choice(("count", "count", "sum(income)"))
    consistent = draw.random() < 0.7

    def publish(vault: Vault) -> object:
        plan = vault.cubes.plan(
            **{vault.ledger.budget.option: share}, dimensions=dimensions, planner=planner, measure=measure
        )
        cube = vault.cubes.publish(plan, consistent=consistent)
        folder = vault.path.parent / f"cube-{number}"
        cube.save(folder)
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
        return {"sources": {str(mask): cells for mask, cells in cube.sources.items()}, "total": cube.cells(), **sizes}

    return publish


def known(draw: Random) -> Action:
    sql, value = f"SELECT COUNT(*) FROM people WHERE {condition(draw, 1)}", draw.choice((0, 60, 119, 120, 10**9))
    return lambda vault: vault.facts.add(sql, value)


def looks() -> list[Action]:
    return [
        lambda vault: vault.budget(),
        lambda vault: vault.budget_map("age", "sex"),
        lambda vault: vault.facts.report(),
        lambda vault: [release.to_json() for release in vault.releases()],
        lambda vault: list(vault.entries()) and None,
        lambda vault: vault.complete(),
        lambda vault: vault.describe(),
    ]


def sequence(seed: int, length: int) -> Iterator[Action]:
    """Questions, with a cube or a fact in between; at the end a look at everything."""
    draw = Random(seed)
    for number in range(length):
        match draw.randrange(10):
            case 0 | 1:
                yield published(draw, number)
            case 2:
                yield known(draw)
            case _:
                yield asked(draw)
    yield from looks()


def made(rows: Sequence[Row], place: str, folder: Path, **budget: Any) -> Vault:
    """A vault over these rows."""
    folder.mkdir(parents=True)
    (folder / "people.toml").write_text(DOMAIN)
    return Vault.init(folder / "vault", table=located(rows, place, folder), domain=folder / "people.toml", **budget)


def some(names: Sequence[str], first: int, number: int) -> list[str]:
    """So many of the names, from one of them on."""
    return [names[(first + place) % len(names)] for place in range(number)]


def require_equal(traces: Mapping[str, Sequence[object]]) -> None:
    """Raise, with the table and what was told otherwise, unless all tables told what the first one told."""
    (_, first), *others = traces.items()
    for name, trace in others:
        unlike = [pair for pair in zip(first, trace, strict=True) if pair[0] != pair[1]]
        assert not unlike, f"{name}: {unlike[0]}"


@pytest.mark.usefixtures("coupled")
@pytest.mark.parametrize(("number", "budget"), list(enumerate(BUDGETS)))
def test_neighbouring_tables_tell_the_same(number, budget, tmp_path, amount, counted):
    sequences, length, tables = amount(1, 8), amount(7, 15), amount(3, len(NEIGHBOURS))
    for seed in range(sequences):
        place, names = PLACES[(number + seed) % len(PLACES)], some(tuple(NEIGHBOURS), 3 * number + seed, tables)
        traces = {}
        for name, rows in {"as they are": PEOPLE, **{name: NEIGHBOURS[name] for name in names}}.items():
            folder = tmp_path / f"{seed:04d}" / f"{len(traces):02d}"
            vault = made(rows, place, folder, **BUDGETS[budget])
            traces[name] = told(vault, list(sequence(100 * number + seed, length)), folder)
            vault.ledger.close()
        require_equal(traces)
    counted(sequences=sequences, actions=sequences * length * (tables + 1), differences=0)


@pytest.mark.usefixtures("coupled")
def test_a_leak_that_is_planted_is_found(tmp_path, monkeypatch):
    """An engine that fails on an empty group, as a division by its count would."""
    evaluate = Snapshot.evaluate

    def fails(table, queries):
        exact = evaluate(table, queries)
        if not exact[0].any():
            raise ZeroDivisionError
        return exact

    monkeypatch.setattr(Snapshot, "evaluate", fails)
    traces = {}
    for name, rows in (("one", PEOPLE), ("two", NEIGHBOURS["nobody at all"])):
        vault = made(rows, "parquet", tmp_path / name, epsilon=1, neighbours="replace")
        traces[name] = told(vault, [lambda vault: vault.ask("SELECT COUNT(*) FROM people", scale=9)], tmp_path / name)
    with pytest.raises(AssertionError, match="EngineError: the answer could not be computed; charge 2 stands"):
        require_equal({name: trace[:1] for name, trace in traces.items()})


REQUESTS = [
    ("ask", {"sql": "SELECT sex, COUNT(*), AVG(income) FROM people GROUP BY sex", "scale": 5}),
    ("ask", {"sql": "SELECT MEDIAN(age), MAX(age), SUM(income) FROM people WHERE age < 9", "scale": 9}),
    ("ask", {"sql": "SELECT AVG(income) FROM people", "within": 500}),
    ("explain", {"sql": "SELECT COUNT(*) FROM people WHERE age < 5", "within": 3}),
    ("ask", {"sql": "SELECT COUNT(*) FROM people WHERE age < 5", "within": 1000}),
    ("facts", {"sql": "SELECT COUNT(*) FROM people", "value": 120}),
    ("cubes/plan", {"epsilon": "1/5", "dimensions": ["age", "sex"]}),
    ("ask", {"sql": "SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex", "scale": 3}),
    ("ask", {"sql": "SELECT COUNT(*) FROM people WHERE children > 1", "scale": "1/100"}),
]
LOOKS = ("describe", "budget", "ledger", "releases", "releases/2", "facts", "log", "budget/map?rows=age&columns=sex")


@pytest.mark.usefixtures("coupled")
def test_neighbouring_tables_tell_the_same_over_http(tmp_path, amount):
    replies = {}
    names = some(tuple(NEIGHBOURS), 2, amount(2, len(NEIGHBOURS)))
    for name, rows in {"as they are": PEOPLE, **{name: NEIGHBOURS[name] for name in names}}.items():
        folder = tmp_path / f"{len(replies):02d}"
        vault = made(rows, "parquet", folder, epsilon=2, neighbours="add-remove")
        token = add_user(vault.path, "ada", "custodian")
        client = TestClient(
            create_app(vault, slot=0, rate=0, deadline=None), headers={"Authorization": f"Bearer {token}"}
        )
        got = [client.post(f"/api/v1/{path}", json=body) for path, body in REQUESTS]
        got += [client.get(f"/api/v1/{path}") for path in LOOKS]
        replies[name] = [(r.status_code, sorted(r.headers.items()), masked(r.text, folder)) for r in got]
    require_equal(replies)
    assert all(status < 400 for status, _, _ in replies["as they are"])


ROSTER = range(100, 200)
SMOKERS = [(person, person % 2, person % 100) for person in ROSTER]
SULQ_ROWS: dict[str, list[Row]] = {
    "as they are": SMOKERS,
    "one smokes": [(100, 1, 30), *SMOKERS[1:]],
    "one is not there": SMOKERS[1:],
    "nobody is there": [],
    "one is there twice": [*SMOKERS, (150, 1, 1), (150, None, None)],
    "one has no id": [*SMOKERS, (None, 1, 1)],
    "one is on no roster": [*SMOKERS, (2**63 - 1, 7, -5)],
}
SULQ_DOMAIN = """\
name = "hospital"
[attributes.smoker]
kind = "integer"
low = 0
high = 1
source = "a test"
[attributes.age]
kind = "integer"
low = 0
high = 99
null = true
source = "a test"
"""
SULQ_ACTIONS: list[Action] = [
    lambda vault: vault.sulq.ask("everyone", "smoker = 1"),
    lambda vault: vault.sulq.ask_all([(7, "1/2"), [150, 151, "x"], (8, "1/3")], "age > 30 OR age IS NULL"),
    lambda vault: vault.sulq.ask((9, "1/2"), "agee > 3"),
    lambda vault: vault.sulq.publish(vault.sulq.plan(["smoker: smoker = 1"], arity=1, subsets=16)).counts,
    lambda vault: vault.sulq.ask_all([(seed, "1/2") for seed in range(60)], "smoker = 0"),
    lambda vault: vault.ask("SELECT COUNT(*) FROM hospital"),
    lambda vault: vault.budget(),
]


@pytest.mark.usefixtures("coupled")
def test_neighbouring_tables_with_a_roster_tell_the_same(tmp_path):
    traces = {}
    for name, rows in SULQ_ROWS.items():
        folder = tmp_path / f"{len(traces):02d}"
        folder.mkdir()
        (folder / "hospital.toml").write_text(SULQ_DOMAIN)
        schema = pa.schema({"person": pa.int64(), "smoker": pa.int64(), "age": pa.int64()})
        table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        pq.write_table(table, folder / "hospital.parquet")
        vault = Vault.init(folder / "vault", table=folder / "hospital.parquet", domain=folder / "hospital.toml",
                           id="person", delta=10, queries=90, roster=pa.table({"person": list(ROSTER)}))  # fmt: skip
        traces[name] = told(vault, SULQ_ACTIONS, folder)
    require_equal(traces)
    assert [line.split(":")[0] for line in traces["as they are"][:7] if line[0].isupper()] == [
        "DomainError",
        "BudgetExceeded",
        "UnsupportedQuery",
    ]


def test_with_the_same_random_bits_journals_differ_in_answers_alone(tmp_path, monkeypatch, amount):
    """Noise as it is, from the same bits. What is asked does not depend on an answer, so nothing may but the answer."""
    monkeypatch.setattr(gating, "require_production", lambda _: None)
    kept: dict[str, list[object]] = {}
    names = some(tuple(NEIGHBOURS), 5, amount(3, len(NEIGHBOURS)))
    for name, rows in {"as they are": PEOPLE, **{name: NEIGHBOURS[name] for name in names}}.items():
        folder = tmp_path / f"{len(kept):02d}"
        vault = made(rows, "parquet", folder, epsilon=1, neighbours="replace")
        vault._gate = replace(vault._gate, bits=SeededBits(5))
        draw = Random(3)
        kept[name] = [_outline(vault, statement(draw), draw.choice((3, 20))) for _ in range(amount(8, 40))]
        kept[name] += [
            (entry.kind, entry.charge, masked(entry.body, folder) if entry.kind == "charge" else "")
            for entry in vault.ledger.entries()
        ]
    require_equal(kept)


def _outline(vault: Vault, sql: str, scale: int) -> object:
    """What an answer says besides its numbers, and the order that they put its rows in."""
    try:
        answer = vault.ask(sql, scale=scale)
    except DiscreetError as error:
        return type(error).__name__, str(error)
    return answer.columns, answer.cost, answer.notes, sorted(row.kind for row in answer.rows)
