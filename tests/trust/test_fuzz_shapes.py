"""Statements of every shape by the million, explained and asked: what was said is what is spent, a refusal spends
nothing, rows are read by the gate alone and after a charge, and neighbouring tables are told the same."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import BudgetExceeded, DiscreetError
from discreet.release.gate import Gate
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.questions.tables import ID, LOOKUPS, MAX_ROWS, QUESTIONS, TABLES, table
from tests.trust.fuzzing import fuzz
from tests.trust.sql_shapes import shapes
from tests.trust.test_neighbours import told

SHARDS = 4
ROWS = 300
A_VAULT = 100
"""Statements that one vault gets: later ones find its budget spent where they ask."""
ASKED = 4
"""Of so many statements that can be explained one is asked as well."""
SECRETS = ("Astronaut", "E888")
"""Values of the tables that no domain declares, and no message holds."""
FOUND = {
    "people": (
        "WITH w AS (SELECT sex AS s, COUNT(*) AS n FROM people WHERE 1 >= 21 GROUP BY s) SELECT a.* FROM w a, w b",
        "SELECT COALESCE(sex, '-') AS s, 1 AS n FROM people WHERE age > 60 AND age < 30 GROUP BY COALESCE(sex, '-')",
        "SELECT education, SUM(children * weight) / SUM(weight) AS m FROM people GROUP BY education "
        "HAVING REGR_R2(hours, age) > 75",
        "SELECT COVAR_SAMP(hours, children) AS c, REGR_SLOPE(weight, age) AS s, REGR_R2(hours, age) AS r FROM people",
    ),
    "encounters": (
        "SELECT SUM(charges * (9223372036854775808 - 1.0)) AS s FROM encounters",
        "SELECT hospital, SUM(CASE WHEN died = 2023 THEN charges ELSE 0 END) AS s FROM encounters GROUP BY hospital",
        "SELECT hospital, SUM(charges) AS s FROM encounters GROUP BY hospital",
        "SELECT COUNT(charges) AS n FROM encounters",
        "SELECT hospital, AVG(charges) AS m, RANK() OVER (ORDER BY AVG(charges) DESC) AS place FROM encounters "
        "GROUP BY hospital",
        "SELECT SUM(charges) AS v FROM (SELECT AVG(0) AS share FROM (SELECT patient, COUNT(*) AS n FROM encounters "
        "GROUP BY patient) AS per_patient) AS t",
        "WITH w AS (SELECT LEFT(diag_1, 1) AS c, SUM(days) AS m FROM encounters WHERE days > (SELECT AVG(days) FROM "
        "encounters WHERE procedures > 0) GROUP BY c ORDER BY c) SELECT w.*, RANK() OVER (ORDER BY 1) AS place FROM w",
    ),
}
"""What once crashed, or took too long."""
WISHES: tuple[dict[str, Any], ...] = ({"scale": 5}, {"scale": "0.5"}, {"within": 40}, {})


def made(name: str, path: Path, rows: pa.Table) -> Vault:
    unit: dict[str, Any] = {"id": ID, "max_rows": MAX_ROWS} if name == "encounters" else {}
    budget: dict[str, Any] = {"epsilon": 20, "neighbours": "add-remove"}
    vault = Vault.init(path, table=rows, domain=QUESTIONS / f"{name}.toml", **budget, **unit)
    for lookup, key in LOOKUPS[name].items():
        vault.lookups.add(QUESTIONS / f"{lookup}.csv", name=lookup, key=key)
    return vault


class Watch:
    """Who reads rows, and when: only the gate, and only after something was charged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.vault: Vault | None = None
        self.charges = self.inside = self.checking = 0
        for owner, name, flag in ((Gate, "_answer", "inside"), (Snapshot, "require", "checking")):
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name), flag))
        column = Snapshot.column

        def watched(snapshot: Snapshot, name: str) -> Any:
            # A column's bytes are hashed before anything is charged, which looks at no row.
            assert self.checking or self.inside, f"{name} was read by another way than the gate's"
            assert self.checking or self.vault is None or self.vault.ledger.charges > self.charges, "before a charge"
            return column(snapshot, name)

        monkeypatch.setattr(Snapshot, "column", watched)

    def _counted(self, method: Any, flag: str) -> Any:
        def counted(*arguments: Any, **named: Any) -> Any:
            setattr(self, flag, getattr(self, flag) + 1)
            try:
                return method(*arguments, **named)
            finally:
                setattr(self, flag, getattr(self, flag) - 1)

        return counted

    @contextmanager
    def over(self, vault: Vault) -> Iterator[None]:
        self.vault, self.charges = vault, vault.ledger.charges
        try:
            yield
        finally:
            self.vault = None


def asked(vault: Vault, sql: str, wish: dict[str, Any], asks: bool) -> None:
    """Explain a statement, and ask it: what is refused is refused alike, and nothing costs more than was said."""
    before, spent = vault.ledger.charges, vault.ledger.spent_max
    budget = vault.ledger.budget
    try:
        said = vault.explain(sql, **wish)
    except DiscreetError as refusal:
        with pytest.raises(type(refusal), match=f"^{re.escape(str(refusal))}$"):
            vault.ask(sql, **wish)
        assert vault.ledger.charges == before, "a refusal was charged"
        raise
    assert vault.ledger.charges == before, "an explanation was charged"
    if not asks:
        return
    try:
        answer = vault.ask(sql, **wish)
    except BudgetExceeded:
        assert vault.ledger.charges == before or not said.is_exact, "a refusal was charged"  # else its first step was
        raise
    except DiscreetError:
        assert vault.ledger.charges == before, "a refusal was charged"
        raise
    finally:
        more = budget.amount_of(vault.ledger.spent_max) - budget.amount_of(spent)
        assert more <= said.cost, f"{more} was spent, and {said.cost} said"
    assert answer.cost == said.cost or (not said.is_exact and answer.cost < said.cost)
    assert not any(secret in str(answer.to_json()) for secret in SECRETS)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Kernels take longer to compile than a statement may: these compile what answering needs."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        vault = made("people", folder / "vault", table("people").slice(0, ROWS))
        for where in ("TRUE", "age < 30", "sex = 'F' AND age < 30"):
            vault.ask(f"SELECT COUNT(*), SUM(income), AVG(hours), MEDIAN(age) FROM people WHERE {where}", scale=100)
            vault.ask(f"SELECT sex, region, COUNT(*) FROM people WHERE {where} GROUP BY 1, 2 ORDER BY 3", scale=100)
        vault.explain("SELECT region, COUNT(*) FROM people WHERE age < 65 GROUP BY region", scale=5)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_statement_costs_more_than_was_said_or_reads_rows_uncharged(
    name, shard, tmp_path, monkeypatch, amount, counted
):
    draw, watch, turns, rows = Random(shard), Watch(monkeypatch), count(), table(name).slice(0, ROWS)
    vaults: list[Vault] = []

    def feed(sql: str) -> None:
        turn = next(turns)
        if turn % A_VAULT == 0:
            for old in vaults:
                old.ledger.close()
            vaults[:] = [made(name, tmp_path / str(turn), rows)]
        with watch.over(vaults[0]):
            asked(vaults[0], sql, WISHES[turn % len(WISHES)], turn % ASKED == 0)

    ended = fuzz(shapes(draw, name, amount(40, 125_000)), feed, (*SECRETS, str(tmp_path)))
    counted(statements=ended.total(), refused=ended["refused"], crashes=0, hangs=0)
    assert ended["taken"] > ended.total() // 20


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", TABLES)
def test_what_was_found_once_is_found_no_more(name, tmp_path, monkeypatch):
    vault, watch = made(name, tmp_path / "vault", table(name).slice(0, ROWS)), Watch(monkeypatch)

    def feed(sql: str) -> None:
        with watch.over(vault):
            asked(vault, sql, {"scale": 5}, True)

    fuzz([sql for sql in FOUND[name] for _ in range(2)], feed, SECRETS)


@pytest.mark.usefixtures("coupled")
@pytest.mark.parametrize("name", TABLES)
def test_statements_of_every_shape_tell_neighbouring_tables_the_same(name, tmp_path, amount, counted):
    statements, rounds = amount(15, 100), amount(1, 100)
    for seed in range(rounds):
        texts = list(shapes(Random(1000 + seed), name, statements))
        actions = [lambda vault, sql=sql: vault.ask(sql, scale=5) for sql in texts]
        actions += [lambda vault, sql=sql: vault.explain(sql) for sql in texts]
        traces = []
        for place, rows in enumerate((table(name).slice(0, ROWS), table(name).slice(1, 5), table(name).slice(0, 0))):
            folder = tmp_path / f"{seed:03d}" / str(place)
            folder.mkdir(parents=True)
            vault = made(name, folder / "vault", rows)
            traces.append(told(vault, actions, folder))
            vault.ledger.close()
        for trace in traces[1:]:
            unlike = [pair for pair in zip(traces[0], trace, strict=True) if pair[0] != pair[1]]
            assert not unlike, unlike[0]
    counted(statements=statements * rounds, differences=0)


def test_a_way_around_the_gate_is_noticed(tmp_path, monkeypatch):
    vault, watch = made("people", tmp_path / "vault", table("people").slice(0, ROWS)), Watch(monkeypatch)
    with watch.over(vault):
        vault.ask("SELECT COUNT(*) FROM people", scale=5)
        with pytest.raises(AssertionError, match="by another way"):
            vault._own.snapshot().evaluate([vault.count(sex="F")])


def test_what_was_not_foretold_is_noticed(tmp_path, monkeypatch):
    vault = made("people", tmp_path / "vault", table("people").slice(0, ROWS))
    explain = Vault.explain
    cheaper = lambda vault, sql, **wish: explain(vault, sql, **(wish | {"scale": 50}))  # noqa: E731
    monkeypatch.setattr(Vault, "explain", cheaper)
    with pytest.raises(AssertionError, match="was spent"):
        asked(vault, "SELECT COUNT(*) FROM people", {"scale": 5}, True)
