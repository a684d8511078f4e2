"""What a person loses over appends, reserves, draws and erasures, by brute force.

Every question is answered exactly on two files that differ in that person's rows, or in those of one period.
"""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from discreet.domain.region import Box, Region
from discreet.errors import DiscreetError
from discreet.ledger.reserve import Reserve
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, People
from discreet.vault import Vault

DOMAIN = """\
name = "visits"
[attributes.month]
kind = "date"
low = 2026-01-01
high = 2026-03-31
period = "month"
grows = true
source = "a test"
[attributes.ward]
kind = "category"
values = ["A"]
source = "a test"
"""
PEOPLE, ROWS = ("ann", "bob", "cyd"), 2
KINDS = ["ask"] * 2 + ["append"] * 2 + ["erase"] + ["reserve"] * 2 + ["draw"] * 6
Row = tuple[str, int, str]


def plan_in(chance: Random, months: int) -> Plan:
    """A count of rows or of people, in a box of the first months."""
    first, last = sorted(chance.choices(range(months), k=2))
    where = Region((Box((first, 0), (last, 0)),))
    query = chance.choice([Count, People])(where, ("ward",))
    return Plan((Measurement(query, Laplace(Fraction(chance.randint(1, 3)))),))


def lived(home: Path, rows: list[Row], seed: int, each_period: bool) -> tuple[list[Fraction], Fraction]:
    """What was answered but for the noise, over the noise; and what is counted as spent on a person."""
    home.mkdir()
    (home / "visits.toml").write_text(DOMAIN)
    columns = {"who": [r[0] for r in rows], "month": [f"2026-0{r[1]}-05" for r in rows], "ward": [r[2] for r in rows]}
    table = pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})
    given = {"domain": home / "visits.toml", "id": "who", "max_rows": ROWS, "epsilon": 1000, "through": "2026-01"}
    vault = Vault.init(home / "vault", table=table, neighbours="add-remove", each_period=each_period, **given)
    chance, answers, reserves = Random(seed), list[Fraction](), list[tuple[int, Plan]]()
    for kind in chance.choices(KINDS, k=12):
        months, own = vault.domain.shape[0], Random(chance.random())
        try:
            match kind:
                case "append":
                    vault.append(table)
                case "erase":
                    vault.erase(pa.table({"who": pa.array(own.sample(PEOPLE, own.randint(0, 1)), pa.string())}))
                case "reserve":
                    plan = plan_in(own, vault.ledger.horizon.shape[0])
                    reserves.append((vault.gate.set_aside([plan], {"for": kind}).seq, plan))
                case _:
                    number, plan = own.choice(reserves) if kind == "draw" and reserves else (None, plan_in(own, months))
                    vault.gate.measure(plan, reserve=number)
                    [measured] = plan.measurements
                    exact = vault._own.snapshot().evaluate([measured.query])[0]
                    answers += [Fraction(int(cell)) / measured.law.scale for cell in np.ravel(exact)]
        except DiscreetError:
            continue  # refused for what is public: in both
    return answers, vault.budget().spent


def lost(home: Path, seed: int, each_period: bool) -> tuple[Fraction, Fraction]:
    """What one person loses over some history, all their rows or those of one period; and what is counted."""
    home.mkdir()
    chance = Random(seed)
    whom, month = chance.choice(PEOPLE), chance.randint(1, 3)
    # No more rows than count: which of them do would be decided by each vault's own key.
    of_each = (1, 2, 3) if each_period else (0,)
    rows = [
        (who, on or chance.randint(1, 3), "A")
        for who in PEOPLE
        for on in of_each
        for _ in range(chance.randint(0, ROWS))
    ]
    others = [row for row in rows if row[0] != whom or (each_period and row[1] != month)]
    mine, spent = lived(home / "mine", rows, seed, each_period)
    other, same = lived(home / "other", others, seed, each_period)
    assert same == spent
    return sum((abs(a - b) for a, b in zip(mine, other, strict=True)), Fraction(0)), spent


@pytest.mark.parametrize("each_period", [False, True], ids=["over all periods", "in each period"])
def test_nobody_loses_more_than_is_counted_where_a_table_grows(
    each_period: bool, tmp_path: Path, amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    found = [lost(tmp_path / str(seed), seed, each_period) for seed in range(amount(20, 500))]
    assert all(loss <= spent for loss, spent in found)
    assert any(loss > 0 for loss, _ in found)
    counted(histories=len(found))


def test_draws_beyond_what_was_set_aside_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reserve, "has", lambda *_: True)
    found = [lost(tmp_path / str(seed), seed, each_period=True) for seed in range(20)]
    assert any(loss > spent for loss, spent in found)
