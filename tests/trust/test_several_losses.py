"""What a person loses over several tables, in histories of questions, erasures, refreshes and ways back: brute force.

Every question is answered exactly in two vaults whose sources differ in that person's rows alone, in all tables, and
the differences, over the noise, are added up.
"""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from discreet.domain.region import Box, Region
from discreet.ledger.budget import PureBudget
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, People
from discreet.vault import Vault

DOMAIN = """\
[tables.p]
id = "who"
[tables.p.attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a test"
[tables.v]
id = "who"
parent = "p"
max_rows = 2
[tables.v.attributes.ward]
kind = "category"
values = ["A", "B"]
source = "a test"
[tables.r]
parent = "v"
key = "visit"
max_rows = 2
[tables.r.attributes.drug]
kind = "category"
values = ["x", "y"]
source = "a test"
"""
PEOPLE = ("ann", "bob", "cyd")
ROWS = 2
KINDS = ["ask"] * 6 + ["erase"] * 2 + ["refresh", "readmit"]


class Version(NamedTuple):
    """Somebody's sex, their visits' wards, and the drugs of each visit; None where they are not there."""

    sex: str
    wards: tuple[str, ...]
    drugs: tuple[tuple[int, str], ...]


Rows = dict[str, Version | None]


def somebody(chance: Random) -> Version | None:
    if chance.random() < 0.2:
        return None
    wards = tuple(chance.choices("AB", k=chance.randint(0, ROWS)))
    visits = [chance.randrange(len(wards)) for _ in range(chance.randint(0, ROWS))] if wards else []
    return Version(chance.choice("FM"), wards, tuple((visit, chance.choice("xy")) for visit in visits))


def tables(rows: Rows) -> dict[str, pa.Table]:
    """No more rows than count: which of more do would be decided by each vault's own key."""
    here = {who: one for who, one in rows.items() if one is not None}
    visits = [(who, f"{who}{n}", ward) for who, one in here.items() for n, ward in enumerate(one.wards)]
    drugs = [(f"{who}{visit}", drug) for who, one in here.items() for visit, drug in one.drugs]
    people = [(who, one.sex) for who, one in here.items()]
    of = {"p": (("who", "sex"), people), "v": (("who", "visit", "ward"), visits), "r": (("visit", "drug"), drugs)}
    return {
        name: pa.table({column: pa.array([row[n] for row in made], pa.string()) for n, column in enumerate(columns)})
        for name, (columns, made) in of.items()
    }


def plan_over(over: Vault, chance: Random) -> Plan:
    """A count of rows or of people, in a box of one table."""
    low, high = zip(*(sorted(chance.choices(range(size), k=2)) for size in over.domain.shape), strict=True)
    query = chance.choice([Count, People])(Region((Box(low, high),)), chance.choice([(), (over.domain.names[0],)]))
    return Plan((Measurement(query, Laplace(Fraction(chance.randint(1, 3)))),))


def lived(home: Path, versions: list[Rows], seed: int) -> tuple[list[Fraction], Fraction]:
    """What was answered but for the noise, over the noise; and what is counted as spent on a person."""
    home.mkdir()
    (home / "t.toml").write_text(DOMAIN)
    given = {"domain": home / "t.toml", "neighbours": "add-remove", "epsilon": 1000}
    vault = Vault.init(home / "vault", table=tables(versions[0]), **given)
    chance, answers, version = Random(seed), list[Fraction](), 0
    for kind in chance.choices(KINDS, k=10):
        own = Random(chance.random())
        match kind:
            case "ask":
                over = vault.table(own.choice(vault.tables))
                plan = plan_over(over, own)
                over.gate.measure(plan)
                [measured] = plan.measurements
                exact = over._own.snapshot().evaluate([measured.query])[0]
                answers += [Fraction(int(cell)) / measured.law.scale for cell in np.ravel(exact)]
            case "erase":
                vault.erase(pa.table({"who": pa.array(own.sample(PEOPLE, own.randint(0, 1)), pa.string())}))
            case _:
                version = min(version + 1, len(versions) - 1)
                vault.refresh(tables(versions[version]), readmit=kind == "readmit")
    return answers, vault.budget().spent


def lost(home: Path, seed: int) -> tuple[Fraction, Fraction]:
    """What one person loses over some history, and what is counted."""
    home.mkdir()
    chance = Random(seed)
    whom = chance.choice(PEOPLE)
    versions: list[Rows] = [{who: somebody(chance) for who in PEOPLE} for _ in range(3)]
    mine, spent = lived(home / "mine", versions, seed)
    other, same = lived(home / "other", [{**rows, whom: None} for rows in versions], seed)
    assert same == spent
    return sum((abs(a - b) for a, b in zip(mine, other, strict=True)), Fraction(0)), spent


def test_nobody_loses_more_than_is_counted_over_several_tables(
    tmp_path: Path, amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    found = [lost(tmp_path / str(seed), seed) for seed in range(amount(20, 500))]
    assert all(loss <= spent for loss, spent in found)
    assert any(loss > 0 for loss, _ in found)
    counted(histories=len(found))


def test_a_persons_rows_counted_as_one_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over = PureBudget.over
    made = Vault.init

    def init(*given: Any, **more: Any) -> Vault:
        vault = made(*given, **more)
        monkeypatch.setattr(PureBudget, "over", lambda budget, _rows: over(budget, 1))
        return vault

    monkeypatch.setattr(Vault, "init", init)
    found = [lost(tmp_path / str(seed), seed) for seed in range(20)]
    assert any(loss > spent for loss, spent in found)
