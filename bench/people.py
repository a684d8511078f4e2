"""Visits by group where a person is protected with up to 200 of them: how far off a group's count is at ε = 1, beside
Qrlew in the same run; and what a bound of the question's own saves."""

import json
import math
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.figure import Figure
from bench.peers.environment import NotInstalled, Peer, interpreter
from bench.postgres import serving
from discreet.vault.vault import Vault

PEOPLE, GROUPS, MEAN, MOST = 10_000, 16, 1.7, 200
BOUND, ROWS = 4, 8
"""Bounds of questions' own: visits of a person in a group, and in all."""
REPEATS, SECONDS = 20, 600
BAR = 201.0
"""Of the issue: Laplace noise at the bound has 200."""
DOMAIN = f"""\
name = "visits"
null_ids = "drop"
[attributes.ward]
kind = "category"
values = {[str(ward) for ward in range(GROUPS)]}
source = "made up"
[attributes.day]
kind = "integer"
low = 0
high = 364
source = "made up"
"""
PLAIN = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
BOUNDED = (
    f"SELECT ward, SUM(LEAST(n, {BOUND})) AS n "
    "FROM (SELECT person, ward, COUNT(*) AS n FROM visits GROUP BY person, ward) AS v GROUP BY ward"
)
FIRST = (
    "SELECT ward, COUNT(*) AS n "
    "FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS r FROM visits) AS v "
    f"WHERE r <= {ROWS} GROUP BY ward"
)
QRLEW = Peer("qrlew", "Qrlew", ("pyqrlew", "psycopg2-binary"))


def made_up() -> pa.Table:
    draw = np.random.default_rng(1)
    visits = np.minimum(draw.geometric(1 / MEAN, PEOPLE), MOST)
    person = np.repeat(np.arange(PEOPLE), visits)
    return pa.table({"person": person, "ward": draw.integers(0, GROUPS, person.size).astype(str),
                     "day": draw.integers(0, 365, person.size)})  # fmt: skip


def truth(table: pa.Table) -> np.ndarray:
    return np.bincount(table.column("ward").to_numpy().astype(int), minlength=GROUPS)


def asked(table: pa.Table, sql: str, scale: int, folder: Path) -> list[float]:
    """The errors of all groups, in a vault of ε = 1 for each time that it is asked and spends all of it."""
    (folder / "visits.toml").write_text(DOMAIN)
    errors: list[float] = []
    for number in range(REPEATS):
        vault = Vault.init(
            folder / f"{len(sql)}-{number}", table=table, domain=folder / "visits.toml", epsilon=1,
            neighbours="add-remove", id="person", max_rows=MOST,
        )  # fmt: skip
        answer = vault.ask(sql, scale=scale)
        assert answer.cost == 1
        assert f"of each person at most {MOST} rows count" in answer.notes
        found = {row.labels[0]: row.value for row in answer.rows}
        errors += [abs(float(found[str(ward)] or 0) - own) for ward, own in enumerate(truth(table))]
    return errors


def by_qrlew(table: pa.Table) -> str:
    """What Qrlew is off by, in words; or why it is not there."""
    try:
        python = interpreter(QRLEW)
    except NotInstalled as why:
        return f"Qrlew: {why}"
    with serving() as postgres:
        postgres.execute("CREATE TABLE visits (person integer, ward text)")
        with postgres.connect() as session, session.cursor().copy("COPY visits FROM STDIN") as copy:
            for row in zip(*table.select(["person", "ward"]).to_pydict().values(), strict=True):
                copy.write_row(row)
        command = [python, "-m", "bench.sql_peers.visits_by_qrlew", postgres.ledger(), str(MOST), str(REPEATS)]
        here = Path(__file__).parents[1]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=SECONDS, check=False)
    first, *counts = [json.loads(line) for line in done.stdout.splitlines()] or [{}]
    if not counts:
        return f"Qrlew: {(done.stderr.strip().splitlines() or ['it ended'])[-1][:100]}"
    errors = [abs(one.get(str(ward), 0.0) - own) for one in counts for ward, own in enumerate(truth(table))]
    return f"Qrlew {first['version']} {_told(errors)} at δ = 10⁻⁵"


def _told(errors: list[float]) -> str:
    return f"{np.mean(errors):.1f} ± {np.std(errors) / math.sqrt(len(errors)):.1f}"


def figures() -> Iterator[Figure]:
    table = made_up()
    with tempfile.TemporaryDirectory() as name:
        plain = asked(table, PLAIN, MOST, Path(name))
        bounded = asked(table, BOUNDED, GROUPS, Path(name))
        first = asked(table, FIRST, 2 * ROWS, Path(name))
    step = math.exp(-1 / MOST)
    expected = 2 * step / (1 - step**2)
    made = f"{len(table):,} visits of {PEOPLE:,} people, {GROUPS} groups, at most {MOST} a person, add-remove, ε = 1"
    yield Figure("mean error of a group's visits", expected, BAR, "lower", "", f"{made}; measured {_told(plain)} over "
                 f"{REPEATS} vaults; {by_qrlew(table)}")  # fmt: skip
    lost = float(np.mean(truth(table) - _bounded_truth(table)))
    yield Figure(f"the same, at most {BOUND} visits of a person in a group", float(np.mean(bounded)), BAR, "lower", "",
                 f"SUM(LEAST(n, {BOUND})) of lines by person and group; {_told(bounded)}, of which {lost:.1f} are "
                 "visits that are not counted")  # fmt: skip
    visits = np.bincount(table.column("person").to_numpy())
    yield Figure(f"the same, the first {ROWS} visits of a person", float(np.mean(first)), BAR, "lower", "",
                 f"ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) <= {ROWS}; {_told(first)}, of which "
                 f"{np.maximum(visits - ROWS, 0).sum() / GROUPS:.1f} are visits that are not counted")  # fmt: skip


def _bounded_truth(table: pa.Table) -> np.ndarray:
    """The visits that the second question counts."""
    own = np.zeros((PEOPLE, GROUPS), np.int64)
    np.add.at(own, (table.column("person").to_numpy(), table.column("ward").to_numpy().astype(int)), 1)
    return np.minimum(own, BOUND).sum(axis=0)
