"""What a person loses over several tables, in histories of questions, appends, erasures, refreshes and ways back.

Every question is answered exactly in two vaults whose sources differ in that person's rows alone, in all tables, and
the differences, over the noise, are added up: brute force.
"""

import sys
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
MONTH = """\
[tables.{table}.attributes.{column}]
kind = "date"
low = 2026-01-01
high = 2026-03-31
period = "month"
grows = true
source = "a test"
"""
GROWING = DOMAIN + MONTH.format(table="p", column="registered") + MONTH.format(table="v", column="day")
PEOPLE = ("ann", "bob", "cyd")
ROWS = 2
KINDS = ["ask"] * 6 + ["erase"] * 2 + ["refresh", "readmit"]
APPENDED = ["append"] * 3


class Version(NamedTuple):
    """Somebody's sex, the month that they came in, the wards and months of their visits, and each visit's drugs."""

    sex: str
    registered: int
    wards: tuple[tuple[str, int], ...]
    drugs: tuple[tuple[int, str], ...]


Rows = dict[str, Version | None]


def somebody(chance: Random) -> Version | None:
    if chance.random() < 0.2:
        return None
    wards = tuple((chance.choice("AB"), chance.randint(1, 3)) for _ in range(chance.randint(0, ROWS)))
    visits = [chance.randrange(len(wards)) for _ in range(chance.randint(0, ROWS))] if wards else []
    return Version(
        chance.choice("FM"), chance.randint(1, 2), wards, tuple((visit, chance.choice("xy")) for visit in visits)
    )


def tables(rows: Rows) -> dict[str, pa.Table]:
    """No more rows than count: which of more do would be decided by each vault's own key."""
    here = {who: one for who, one in rows.items() if one is not None}
    visits = [
        (who, f"{who}{n}", ward, f"2026-0{month}-05")
        for who, one in here.items()
        for n, (ward, month) in enumerate(one.wards)
    ]
    drugs = [(f"{who}{visit}", drug) for who, one in here.items() for visit, drug in one.drugs]
    people = [(who, one.sex, f"2026-0{one.registered}-05") for who, one in here.items()]
    of = {
        "p": (("who", "sex", "registered"), people),
        "v": (("who", "visit", "ward", "day"), visits),
        "r": (("visit", "drug"), drugs),
    }
    return {
        name: pa.table({column: pa.array([row[n] for row in made], pa.string()) for n, column in enumerate(columns)})
        for name, (columns, made) in of.items()
    }


def plan_over(over: Vault, chance: Random) -> Plan:
    """A count of rows or of people, in a box of one table."""
    low, high = zip(*(sorted(chance.choices(range(size), k=2)) for size in over.domain.shape), strict=True)
    query = chance.choice([Count, People])(Region((Box(low, high),)), chance.choice([(), (over.domain.names[0],)]))
    return Plan((Measurement(query, Laplace(Fraction(chance.randint(1, 3)))),))


def lived(home: Path, versions: list[Rows], seed: int, grows: bool) -> tuple[list[Fraction], Fraction]:
    """What was answered but for the noise, over the noise; and what is counted as spent on a person."""
    home.mkdir()
    (home / "t.toml").write_text(GROWING if grows else DOMAIN)
    given = {"domain": home / "t.toml", "neighbours": "add-remove", "epsilon": 1000}
    given |= {"through": "2026-01"} if grows else {}
    vault = Vault.init(home / "vault", table=tables(versions[0]), **given)
    chance, answers, version = Random(seed), list[Fraction](), 0
    for kind in chance.choices(KINDS + APPENDED * grows, k=10):
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
            case "append" if vault.ledger.closed_period == "2026-03":
                continue
            case "append":
                vault.append(tables(versions[version]))
            case _:
                version = min(version + 1, len(versions) - 1)
                vault.refresh(tables(versions[version]), readmit=kind == "readmit")
    return answers, vault.budget().spent


def lost(home: Path, seed: int, grows: bool = False) -> tuple[Fraction, Fraction]:
    """What one person loses over some history, and what is counted."""
    home.mkdir()
    chance = Random(seed)
    whom = chance.choice(PEOPLE)
    versions: list[Rows] = [{who: somebody(chance) for who in PEOPLE} for _ in range(3)]
    mine, spent = lived(home / "mine", versions, seed, grows)
    other, same = lived(home / "other", [{**rows, whom: None} for rows in versions], seed, grows)
    assert same == spent
    return sum((abs(a - b) for a, b in zip(mine, other, strict=True)), Fraction(0)), spent


@pytest.mark.parametrize("grows", [False, True], ids=["as they are", "that grow"])
def test_nobody_loses_more_than_is_counted_over_several_tables(
    grows: bool, tmp_path: Path, amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    found = [lost(tmp_path / str(seed), seed, grows) for seed in range(amount(20, 500))]
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
    monkeypatch.setattr(sys.modules[__name__], "KINDS", ["ask"])
    found = [lost(tmp_path / str(seed), seed) for seed in range(30)]
    assert any(loss > spent for loss, spent in found)
