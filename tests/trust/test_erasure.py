"""What a person loses over erasures, refreshes and their way back, by brute force.

Every question is answered exactly on two tables that differ in that person's rows alone, and the differences, over the
noise, are added up.
"""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from discreet.ledger.state import LedgerState
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.vault import Vault

DOMAIN = """\
name = "visits"
[attributes.ward]
kind = "category"
values = ["A", "B", "C"]
source = "a test"
"""
WARDS = "ABC"
PEOPLE = ("ann", "bob", "cyd")
ROWS = 2
Rows = dict[str, str]
Step = tuple[str, object]
FIRST = "first"
"""The version of the table that a vault is made over; others go by what their refresh says."""


def table(rows: Rows) -> pa.Table:
    """Of each person a row for each of their wards."""
    people = [person for person in PEOPLE for _ in rows.get(person, "")]
    wards = [ward for person in PEOPLE for ward in rows.get(person, "")]
    return pa.table({"person": pa.array(people, pa.string()), "ward": pa.array(wards, pa.string())})


def history(chance: Random) -> list[Step]:
    """Questions of some wards each, with erasures and refreshes between them."""
    kinds = ["ask"] * 5 + ["erase"] * 2 + ["refresh", "readmit"]
    steps: list[Step] = []
    for kind in chance.choices(kinds, k=8):
        if kind == "ask":
            steps.append((kind, (chance.sample(WARDS, chance.randint(1, 2)), Fraction(chance.randint(1, 4)))))
        else:
            steps.append((kind, chance.sample(PEOPLE, chance.randint(0, 2)) if kind == "erase" else chance.random()))
    return steps


def lived(home: Path, steps: list[Step], tables: dict[object, Rows], neighbours: str) -> tuple[Vault, list[Fraction]]:
    """A vault over a table, and what was answered there but for the noise, over the noise."""
    home.mkdir()
    (home / "visits.toml").write_text(DOMAIN)
    given = {"domain": home / "visits.toml", "id": "person", "max_rows": ROWS, "epsilon": 1000}
    vault = Vault.init(home / "vault", table=table(tables[FIRST]), neighbours=neighbours, **given)
    answers: list[Fraction] = []
    for kind, what in steps:
        match kind:
            case "ask":
                wards, scale = what
                for ward in wards:
                    plan = Plan((Measurement(vault.count(ward=ward), Laplace(scale)),))
                    vault.gate.measure(plan)
                    exact = vault._own.snapshot().evaluate([vault.count(ward=ward)])[0]
                    answers.append(Fraction(int(exact)) / scale)
            case "erase":
                vault.erase(pa.table({"person": pa.array(what, pa.string())}))
            case _:
                vault.refresh(table(tables[what]), readmit=kind == "readmit")
    return vault, answers


def compared(
    home: Path, steps: list[Step], mine: dict[object, Rows], other: dict[object, Rows], neighbours: str
) -> tuple[Fraction, Fraction]:
    """What is lost by whoever differs between two tables, in each of their versions; and what the vault counts as spent
    on a person."""
    vault, one = lived(home / "one", steps, mine, neighbours)
    _, two = lived(home / "two", steps, other, neighbours)
    return sum((abs(a - b) for a, b in zip(one, two, strict=True)), Fraction(0)), vault.budget().spent


def lost(home: Path, seed: int, neighbours: str) -> tuple[Fraction, Fraction]:
    """The same of one person, over some history."""
    chance = Random(seed)
    steps, whom = history(chance), chance.choice(PEOPLE)
    versions = [FIRST, *(what for kind, what in steps if kind in ("refresh", "readmit"))]
    mine = {version: places(chance) for version in versions}
    gone = {whom: ""} if neighbours == "add-remove" else {whom: places(chance)[whom]}
    home.mkdir()
    return compared(home, steps, mine, {version: rows | gone for version, rows in mine.items()}, neighbours)


def places(chance: Random) -> Rows:
    return {person: "".join(chance.choices(WARDS, k=chance.randint(0, ROWS))) for person in PEOPLE}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_nobody_loses_more_than_is_counted(
    neighbours: str, tmp_path: Path, amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    found = [lost(tmp_path / str(seed), seed, neighbours) for seed in range(amount(25, 1_000))]
    assert all(loss <= spent for loss, spent in found)
    assert any(loss > 0 for loss, _ in found)
    counted(histories=len(found))


ASK_A, ASK_B = ("ask", (["A"], Fraction(1))), ("ask", (["B"], Fraction(1)))
BOB: Step = ("erase", ["bob"])
ALL_OF_IT = {
    "whoever stays is where they were": ([ASK_A, ("erase", ["ann"]), ASK_A], "AA", 4),
    "whoever comes back pays on": ([ASK_A, BOB, ("readmit", 1), ASK_B], "BB", 4),
    "whoever is kept out pays no more": ([ASK_A, BOB, ("refresh", 1), ASK_B], "BB", 2),
}


@pytest.mark.parametrize(("steps", "then", "loss"), ALL_OF_IT.values(), ids=ALL_OF_IT.keys())
def test_one_who_is_where_most_is_spent_loses(tmp_path: Path, steps: list[Step], then: str, loss: int) -> None:
    first, later = {"ann": "AC", "bob": "AA"}, {"ann": "AC", "bob": then}
    without = {"ann": "AC"}
    found = compared(tmp_path, steps, {FIRST: first, 1: later}, {FIRST: without, 1: without}, "add-remove")
    assert found == (loss, 4)


def test_without_levelling_one_who_comes_back_would_have_a_second_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LedgerState, "levelled", lambda state: state.map)
    first, later = {"bob": "AA"}, {"bob": "BB"}
    loss, spent = compared(
        tmp_path, [ASK_A, BOB, ("readmit", 1), ASK_B], {FIRST: first, 1: later}, {FIRST: {}, 1: {}}, "add-remove"
    )
    assert loss > spent
