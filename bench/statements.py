"""Statements with a public half: how often their intervals hold, and what the public half takes."""

import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from scipy.stats import binom

from bench.figure import Figure
from discreet.answer.chosen import at_once
from discreet.noise.law import Laplace
from discreet.sql.where_text import where_text
from discreet.vault.vault import Vault
from tests.questions.tables import QUESTIONS, VISITS, table

RUNS, REGION_RUNS = 300, 1000
ALARM = 1e-3
"""The chance that a share of intervals is below its bar although each holds with 95%."""
PEOPLE = 20_000
SCALE = 40
DOMAIN = """
name = "people"
[attributes.g]
kind = "integer"
low = 0
high = {groups}
source = "made up"
[attributes.a]
kind = "integer"
low = 0
high = {values}
source = "made up"
[attributes.s]
kind = "category"
values = ["F", "M"]
source = "made up"
"""
SMOOTH = {
    "ratio": "SELECT g, 100.0 * COUNT(*) FILTER (WHERE s = 'F') / COUNT(*) AS x FROM people GROUP BY g",
    "window share": "SELECT g, 1.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS x FROM people GROUP BY g",
    "share of a total": "SELECT g, 1.0 * COUNT(*) / (SELECT COUNT(*) FROM people) AS x FROM people GROUP BY g",
    "difference of averages": "SELECT AVG(a) FILTER (WHERE s = 'F') - AVG(a) FILTER (WHERE s = 'M') AS x FROM people",
    "running sum": "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g) AS x FROM people GROUP BY g",
    "STDDEV": "SELECT STDDEV(a) AS x FROM people",
    "CORR": "SELECT CORR(a, g) AS x FROM people",
}
"""93 to 98 of 100 intervals are to hold."""
CHOSEN = {
    "HAVING": "SELECT g, COUNT(*) AS x FROM people GROUP BY g HAVING COUNT(*) > 1000",
    "top ratios": "SELECT g, 1.0 * SUM(a) / COUNT(*) AS x FROM people GROUP BY g ORDER BY x DESC LIMIT 2",
    "top ratios, chosen inside": "SELECT g, x FROM (SELECT g, 1.0 * SUM(a) / COUNT(*) AS x FROM people GROUP BY g "
    "ORDER BY x DESC LIMIT 2) AS t",
    "largest group": "SELECT MAX(n) AS x FROM (SELECT a, COUNT(*) AS n FROM people GROUP BY a) AS t",
    "groups above a bound": "SELECT COUNT(*) AS x FROM (SELECT a, COUNT(*) n FROM people GROUP BY a) t WHERE n > 2000",
}
"""95 of 100 answers at least are to have no line whose interval fails, but for chance."""
TOP = "SELECT g FROM people GROUP BY g ORDER BY COUNT(*) DESC LIMIT 1"
REGIONS = {
    "the largest group": f"SELECT COUNT(*) AS x FROM people WHERE g IN ({TOP})",
    "the three largest": f"SELECT COUNT(*) AS x FROM people WHERE g IN ({TOP.replace('LIMIT 1', 'LIMIT 3')})",
    "groups by HAVING": "SELECT COUNT(*) AS x FROM people WHERE g IN (SELECT g FROM people GROUP BY g "
    "HAVING COUNT(*) > 1000)",
    "the highest average": "SELECT AVG(a) AS x FROM people WHERE g IN (SELECT g FROM people GROUP BY g "
    "ORDER BY AVG(a) DESC LIMIT 1)",
    "above an average": "SELECT COUNT(*) AS x FROM people WHERE a > (SELECT AVG(a) FROM people)",
    "a maximum": "SELECT COUNT(*) AS x FROM people WHERE g = (SELECT MAX(g) FROM people)",
    "nested": f"SELECT COUNT(*) AS x FROM people WHERE g IN ({TOP}) AND a IN (SELECT a FROM people WHERE g IN ({TOP}) "
    "GROUP BY a ORDER BY COUNT(*) DESC LIMIT 1)",
}
"""Of a region that a sub-query's noise chose among groups of one size: 95 of 100 intervals at least are to hold, but
for chance. Numbers that share no noise with the choice have the intervals of their law: 95.08% of them hold here."""
EQUAL = 8_000
"""People in groups of one size: of these, noise chooses."""
ONE = "SELECT 100.0 * COUNT(*) FILTER (WHERE s = 'F') / COUNT(*) AS x FROM people"
PLAIN_ONE = "SELECT COUNT(*) FILTER (WHERE s = 'F') AS f, COUNT(*) AS n FROM people"
MANY = "SELECT g, a, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY g) AS x FROM people GROUP BY g, a"
PLAIN_MANY = "SELECT g, a, COUNT(*) AS n FROM people GROUP BY g, a"
REPEATS = 7
GROUPINGS = (
    ("arrived", ""),
    ("DATE_TRUNC('month', arrived)", ""),
    ("DATE_TRUNC('week', arrived)", "arrived >= '2024-01-01'"),
    ("month, unit", ""),
    ("EXTRACT(DOW FROM arrived)", ""),
    ("DATE_TRUNC('quarter', arrived), sex", ""),
    ("arrived", "unit = 'General'"),
    ("arrived, unit", "arrived >= '2024-06-01'"),
    ("month, sex", ""),
    ("EXTRACT(YEAR FROM arrived), unit", ""),
)
"""What was released of visits before, and of which of them."""


def made_up(groups: int, values: int, seed: int = 19) -> pa.Table:
    """People in groups of very different sizes."""
    rng = np.random.default_rng(seed)
    sizes = 1 / (np.arange(groups) + 2)
    return pa.table(
        {
            "g": rng.choice(groups, PEOPLE, p=sizes / sizes.sum()),
            "a": rng.integers(0, values, PEOPLE),
            "s": rng.choice(["F", "M"], PEOPLE),
        }
    )


def vault_over(people: pa.Table, groups: int, values: int, home: Path) -> Vault:
    domain = home.with_suffix(".toml")
    domain.write_text(DOMAIN.format(groups=groups - 1, values=values - 1))
    return Vault.init(home, table=people, domain=domain, neighbours="add-remove", epsilon=1000)


def held(runs: int) -> dict[str, tuple[float, float]]:
    """Of each statement: the share of intervals that held, and of answers all of whose intervals did."""
    people = made_up(8, 10)
    engine = duckdb.connect()
    engine.register("people", people)
    true = {
        name: {tuple(map(str, line[:-1])): float(line[-1]) for line in engine.execute(_unchosen(sql)).fetchall()}
        for name, sql in {**SMOOTH, **CHOSEN}.items()
    }
    counts = {name: [0, 0, 0] for name in true}
    order = np.random.default_rng(20)
    with tempfile.TemporaryDirectory() as folder:
        for run in range(runs):
            vault = vault_over(people, 8, 10, Path(folder, str(run)))
            for name in order.permutation([*true]):
                answer = vault.ask({**SMOOTH, **CHOSEN}[name], scale=SCALE)
                good = [_holds(row.low, true[name][row.labels], row.high) for row in answer.rows]
                counts[name][0] += sum(good)
                counts[name][1] += len(good)
                counts[name][2] += all(good)
            vault.ledger.close()
    return {name: (hits / max(lines, 1), whole / runs) for name, (hits, lines, whole) in counts.items()}


def held_regions(runs: int, names: Sequence[str] = tuple(REGIONS)) -> dict[str, float]:
    """Of each statement whose region a sub-query chose: the share of answers whose interval held."""
    rng = np.random.default_rng(21)
    columns = {name: rng.permutation(np.arange(EQUAL) % size) for name, size in (("g", 8), ("a", 10))}
    people = pa.table({**columns, "s": rng.choice(["F", "M"], EQUAL)})
    engine = duckdb.connect()
    engine.register("people", people)
    hits = dict.fromkeys(names, 0)
    with tempfile.TemporaryDirectory() as folder:
        for run, name in product(range(runs), names):
            vault = vault_over(people, 8, 10, Path(folder, f"{run}-{name}"))
            [row] = vault.ask(REGIONS[name], scale=SCALE).rows
            asked = REGIONS[name].partition(" FROM")[0] + " FROM people WHERE " + where_text(row.asked, vault.domain)
            [true] = engine.execute(asked).fetchone() or (None,)
            hits[name] += _holds(row.low, float(true or 0), row.high)
            vault.ledger.close()
    return {name: count / runs for name, count in hits.items()}


def _unchosen(sql: str) -> str:
    return sql.replace(" LIMIT 2", "").replace(" HAVING COUNT(*) > 1000", "")


def _holds(low: float | None, value: float, high: float | None) -> bool:
    return (low is None or low <= value + 1e-9) and (high is None or value <= high + 1e-9)


def figures() -> Iterator[Figure]:
    about = f"{RUNS} vaults over {PEOPLE:,} people, scale {SCALE}; asked in any order, so that some of it is derived"
    found = held(RUNS)
    for name in SMOOTH:
        yield Figure(f"intervals that hold: {name}", found[name][0], 0.93, "higher", "of 95%", about)
        yield Figure(f"intervals that hold, at most: {name}", found[name][0], 0.98, "lower", "of 95%", about)
    for name in CHOSEN:
        note = f"{about}; {bar_words(RUNS)}"
        yield Figure(
            f"answers all of whose intervals hold: {name}", found[name][1], least_share(RUNS), "higher", "of 95%", note
        )
    for name, share in held_regions(REGION_RUNS).items():
        about = f"{REGION_RUNS:,} vaults over {EQUAL:,} people in groups of one size, scale {SCALE}"
        note = f"{about}; {bar_words(REGION_RUNS)}"
        yield Figure(
            f"intervals of a chosen region that hold: {name}", share, least_share(REGION_RUNS), "higher", "of 95%", note
        )
    yield Figure(
        "chance that all 8 intervals of HAVING hold", chance_of_all(8), 0.95, "higher", "", "by the noise's law"
    )
    yield from public_half()
    yield from many_groups()
    yield from many_groupings()


def least_share(runs: int) -> float:
    """Of intervals that hold with 95% each, fewer hold in so many runs with a chance of ALARM at most."""
    return float(binom.ppf(ALARM, runs, 0.95)) / runs


def bar_words(runs: int) -> str:
    """What the bar finds out: the coverage that is below it in 99 of 100 such benchmarks."""
    most = round(least_share(runs) * runs) - 1
    found = next(share for share in np.arange(0.95, 0, -0.001) if binom.cdf(most, runs, share) >= 0.99)
    return f"right ones are below the bar once in {1 / ALARM:,.0f} times, those of {100 * found:.1f}% in 99 of 100"


def chance_of_all(lines: int) -> float:
    """That so many numbers as they were measured are all within intervals that hold at once: of the law itself."""
    width = Laplace(Fraction(SCALE)).halfwidth(at_once(Fraction(19, 20), lines))
    ratio = math.exp(-1 / SCALE)
    return float((1 - 2 * ratio ** (width + 1) / (1 + ratio)) ** lines)


def public_half() -> Iterator[Figure]:
    """What a public half takes beside a plain question of the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        vault = vault_over(made_up(100, 100), 100, 100, Path(folder, "vault"))
        for name, sql, plain, bar in (
            ("one line", ONE, PLAIN_ONE, 10.0),
            ("10,000 groups", MANY, PLAIN_MANY, 100.0),
        ):
            without, own = (min(_seconds(vault, one) for _ in range(REPEATS)) for one in (plain, sql))
            note = "asked again: processor time that it takes beyond a plain question of the same numbers"
            yield Figure(f"the public half of {name}", 1000 * (own - without), bar, "lower", "ms", note)


def _seconds(vault: Vault, sql: str) -> float:
    start = time.process_time()
    vault.ask(sql, scale=SCALE)
    return time.process_time() - start


def many_groups() -> Iterator[Figure]:
    """100,000 groups, explained, asked for the first time and again, in vaults of their own: where nothing was asked
    before, and where there is a count of everybody and one of half of them."""
    for before, about in ((), ""), ((PLAIN_ONE,), " after two counts"):
        spent: dict[str, list[float]] = {"explain": [], "ask": [], "ask again": []}
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(3):
                vault = vault_over(made_up(1000, 100), 1000, 100, Path(folder, str(turn)))
                for sql in before:
                    vault.ask(sql, scale=SCALE)
                for name, verb in (("explain", vault.explain), ("ask", vault.ask), ("ask again", vault.ask)):
                    start = time.process_time()
                    verb(PLAIN_MANY, scale=SCALE)
                    spent[name].append(time.process_time() - start)
                vault.ledger.close()
        for name, seconds in spent.items():
            note = "processor time, shortest of 3 vaults"
            yield Figure(f"{name}, 100,000 groups{about}", min(seconds), 1, "lower", "s", note)


def many_groupings() -> Iterator[Figure]:
    """One more GROUP BY, of groups that are parts of many released ones, some of which have a WHERE."""
    with tempfile.TemporaryDirectory() as folder:
        domain = QUESTIONS / f"{VISITS}.toml"
        vault = Vault.init(
            Path(folder, "vault"), table=table(VISITS), domain=domain, neighbours="add-remove", epsilon=1000
        )
        for by in GROUPINGS:
            vault.ask(_grouped(*by), scale=SCALE)
        start = time.process_time()
        vault.ask(_grouped("DATE_TRUNC('week', arrived), unit", "sex = 'F'"), scale=SCALE)
        note = f"530 groups beside {len(GROUPINGS)} released groupings by parts of a date: processor time"
        yield Figure("one more GROUP BY beside many", time.process_time() - start, 3, "lower", "s", note)


def _grouped(columns: str, where: str) -> str:
    return f"SELECT {columns}, COUNT(*) AS n FROM {VISITS}{where and f' WHERE {where}'} GROUP BY {columns}"
