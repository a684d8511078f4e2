"""What an answer tells besides its value: the numbers that it can be, and the steps that it took."""

import asyncio
import json
import sys
import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet
from discreet.ledger.journal import Entry, Journal
from discreet.noise.bits import SeededBits
from discreet.release.gate import Gate
from discreet.release.slots import Slots
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.trust.doomed import Place, trace_lines
from tests.trust.test_fuzz_http import Sent, reply

CELLS = 10_000
DOMAIN = f"""
name = "people"
[attributes.cell]
kind = "integer"
low = 0
high = {CELLS - 1}
source = "a test"
[attributes.amount]
kind = "bins"
edges = [0, 50, 100]
grain = 0.25
source = "a test"
"""
CHANCE = 1e-6
"""Below this p-value the noise would be another than stated."""
BUDGETS: dict[str, dict[str, Any]] = {
    "laplace": {"epsilon": 10_000, "neighbours": "add-remove"},
    "gaussian": {"rho": 10_000, "neighbours": "add-remove"},
}


def vault_over(cells: Sequence[int], folder: Any, name: str, **budget: Any) -> Vault:
    """A vault over one row in each of these cells, each with the amount 0.25."""
    (folder / "people.toml").write_text(DOMAIN)
    table = pa.table({"cell": pa.array(cells, pa.int64()), "amount": pa.array([0.25] * len(cells), pa.float64())})
    made = Vault.init(folder / name, table=table, domain=folder / "people.toml", **budget)
    return Vault.open(made.path, table=table)


@pytest.mark.parametrize("law", BUDGETS)
def test_answers_are_whole_numbers_without_a_gap_whatever_the_truth_is(law, tmp_path, amount, counted):
    """10,000 cells in one release: nobody in any of them, or somebody in each."""
    scale, rounds = 8, amount(2, 20)
    drawn = {}
    for truth, cells in ((0, []), (1, range(CELLS))):
        vault = vault_over(cells, tmp_path, f"vault-{truth}", **BUDGETS[law])
        releases = [vault.measure(vault.count(by="cell"), scale=scale) for _ in range(rounds)]
        assert all(release.value.dtype == np.int64 for release in releases)
        drawn[truth] = np.concatenate([release.value for release in releases])
    for truth, values in drawn.items():
        assert set(range(truth - scale, truth + scale + 1)) <= set(values.tolist())
    # The noise is the same law, so one row moves the answers by one, and in no other way.
    assert stats.ks_2samp(drawn[0], drawn[1] - 1).pvalue > CHANCE
    slack = 6 * np.sqrt(1 / drawn[0].size)
    for modulus in (2, 3, 4, 5, 7, 10, 16):
        shares = [np.bincount(values % modulus, minlength=modulus) / values.size for values in drawn.values()]
        # One row can change the chance of any event by a factor of e^ε: 1/8 for Laplace, and for Gaussian about that.
        assert np.all(shares[1] <= np.exp(1 / scale) * shares[0] + slack)
        assert np.all(shares[0] <= np.exp(1 / scale) * shares[1] + slack)
    counted(answers=2 * rounds * CELLS, fractions=0)


def test_sums_are_whole_grains_and_averages_tell_no_more_than_two_of_them(tmp_path):
    vault = vault_over(range(0, CELLS, 2), tmp_path, "vault", epsilon=10_000, neighbours="replace")
    summed = vault.measure(vault.sum("amount", by="cell"), scale=10)
    units = summed.only.units
    assert units.dtype == np.int64
    assert summed.only.grain == Fraction(1, 4)
    np.testing.assert_array_equal(summed.value * 4, units)
    # Noise on the grid of grains has every residue, in cells with 1 grain and with none alike.
    table = [np.bincount(units[place::2] % 8, minlength=8) for place in (0, 1)]
    assert stats.chi2_contingency(table).pvalue > CHANCE
    answer = vault.ask("SELECT SUM(amount), COUNT(*), AVG(amount) FROM people WHERE cell < 100", scale=10)
    total, count, average = (row.value for row in answer.rows)
    assert (4 * total, count) == (int(4 * total), int(count))
    low, high = 0, 100
    assert average == pytest.approx(min(max(total / count, low), high))


EDGES = f"""
name = "rich"
[attributes.wealth]
kind = "bins"
edges = [0, {2**53}]
grain = 1
source = "a test"
"""


@pytest.mark.parametrize("rows", [511, 512, 513, 600])
def test_sums_at_the_edge_of_64_bits_neither_wrap_nor_stop(rows, tmp_path):
    """512 rows of 2^53 saturate a sum. What is released is the saturated sum with noise, on either side of it."""
    (tmp_path / "rich.toml").write_text(EDGES)
    table = pa.table({"wealth": [float(2**53 - 1)] * rows})
    made = Vault.init(
        tmp_path / "vault", table=table, domain=tmp_path / "rich.toml", epsilon=1000, neighbours="replace"
    )
    vault = Vault.open(made.path, table=table)
    truth = min(rows * (2**53 - 1), 2**62)
    drawn = [vault.measure(vault.sum("wealth"), scale=2**50).value - truth for _ in range(20)]
    assert min(drawn) < 0 < max(drawn)
    assert max(map(abs, drawn)) < 2**50 * 50


class Simulated:
    """A server of a vault whose readings take so long, by a clock that nothing else moves; and what is seen of it."""

    def __init__(self, vault: Vault, slot: float, reading: float, monkeypatch: pytest.MonkeyPatch) -> None:
        journal = type(vault.ledger._followed.journal)
        self.now, self.seen, draw, append = 0.0, [], Gate._draw, journal.append
        slots = Slots(slot, clock=lambda: self.now, sleep=self.pass_time)
        self.app, self.token = (
            create_app(vault, slot=slots, rate=0, deadline=None),
            add_user(vault.path, "ada", "analyst"),
        )

        def drawn(*arguments: Any) -> Any:
            self.pass_time(reading)
            return draw(*arguments)

        def appended(journal: Journal, entry: Entry) -> None:
            self.seen.append((round(self.now, 6), entry.kind, entry.charge))
            append(journal, entry)

        monkeypatch.setattr(Gate, "_draw", drawn)
        monkeypatch.setattr(journal, "append", appended)

    def pass_time(self, seconds: float) -> bool:
        self.now += seconds
        return False

    def ask(self, runner: asyncio.Runner, sql: str) -> None:
        body = json.dumps({"sql": sql, "scale": 50}).encode()
        status, _ = runner.run(reply(self.app, Sent("POST", "/ask", self.token, body)))
        self.seen.append((round(self.now, 6), "reply", status))


ASKED = (
    "SELECT COUNT(*) FROM people WHERE cell = 3",
    "SELECT COUNT(*) FROM people WHERE cell = 3",
    "SELECT AVG(amount) FROM people WHERE cell > 3",
    "SELECT MEDIAN(amount) FROM people",
    "SELECT nonsense FROM people",
)


def seen_of(readings: Sequence[float], slot: float, folder: Any) -> list[list[tuple[float, str, int | None]]]:
    """When each entry came into the journal and each reply left, for vaults whose readings take so long."""
    found = []
    for place, reading in enumerate(readings):
        vault = vault_over([1, 2], folder, f"vault-{slot}-{place}", epsilon=10_000, neighbours="replace")
        with pytest.MonkeyPatch.context() as patching, asyncio.Runner() as runner:
            served = Simulated(vault, slot, reading, patching)
            for sql in ASKED:
                served.ask(runner, sql)
        found.append(served.seen)
    return found


def test_when_anything_is_seen_does_not_depend_on_how_long_readings_take_within_a_slot(tmp_path):
    short, long = seen_of((0.001, 4.999), 5.0, tmp_path)
    assert short == long
    assert {moment % 5 for moment, _, _ in short} == {0.0}
    assert [kind for _, kind, _ in short].count("charge") == [kind for _, kind, _ in short].count("record") == 3


def test_a_reading_that_takes_longer_than_a_slot_is_seen_in_whole_slots(tmp_path):
    one, two, three = seen_of((4.0, 6.0, 9.0), 5.0, tmp_path)
    assert one != two
    assert two == three
    assert {moment % 5 for moment, _, _ in two} == {0.0}


def test_without_slots_it_is_seen_to_the_moment(tmp_path):
    short, long = seen_of((0.001, 0.002), 0.0, tmp_path)
    assert short != long


BUSY = range(CELLS // 2)
CROWDED = [cell for cell in BUSY for _ in range(20)]
PAIRS: dict[str, tuple[Sequence[int], Sequence[int]]] = {
    "one person more": (CROWDED, [*CROWDED, 0]),
    "a crowd that is elsewhere": (CROWDED, [CELLS - 1 - cell for cell in CROWDED]),
}
"""Two tables; asked is about the cells of BUSY."""
QUESTIONS = (
    f"SELECT COUNT(*) FROM people WHERE cell < {len(BUSY)}",
    "SELECT SUM(amount), COUNT(*), AVG(amount) FROM people WHERE cell < 100",
    "SELECT amount, COUNT(*) FROM people GROUP BY amount",
)
"""No quantiles: what it takes to draw one depends on how people lie (docs/explain/fuzzing.md, what remains)."""
FILES = frozenset(map(str, Path(discreet.__file__).parent.rglob("*.py"))) | {__file__}


@pytest.fixture
def coupled(monkeypatch):
    """The same bits for every table, and answers that are equal; noise is drawn for the true ones all the same."""
    noisy = Gate._noisy

    def equal(gate, measurements, exact, _):
        noisy(gate, measurements, exact, SeededBits(gate.ledger.charges))
        zeros = [np.zeros_like(array) for array in exact]
        return noisy(gate, measurements, zeros, SeededBits(gate.ledger.charges))

    monkeypatch.setattr(Gate, "_noisy", equal)


def steps(vault: Vault) -> list[Place]:
    """Every line of Discreet that is run, in order, to answer the questions. What only the first of all vaults has to
    compile or load, was."""
    lines: list[Place] = []
    before = sys.gettrace()
    trace_lines(FILES, lines.append)
    threading.settrace(None)
    try:
        for question in QUESTIONS:
            vault.ask(question, scale=10)
    finally:
        sys.settrace(before)
    return lines


def steps_over(tables: Sequence[Sequence[int]], folder: Path) -> list[list[Place]]:
    """The steps of a vault over each of some tables, after those of one that is asked for nothing else."""
    vaults = [
        vault_over(cells, folder, f"vault-{place}", epsilon=10_000, neighbours="replace")
        for place, cells in enumerate((tables[0], *tables))
    ]
    return [steps(vault) for vault in vaults][1:]


@pytest.mark.usefixtures("coupled")
@pytest.mark.parametrize("pair", PAIRS)
def test_neighbouring_tables_take_the_same_steps(pair, tmp_path):
    """Line by line. How long a line takes, the engine's among them, is measured by bench/trust_timing.py."""
    one, other = steps_over(PAIRS[pair], tmp_path)
    assert len(one) > 5_000
    assert one == other


@pytest.mark.usefixtures("coupled")
def test_a_step_for_one_of_two_tables_would_be_seen(tmp_path, monkeypatch):
    evaluate = Snapshot.evaluate

    def slower(table, queries):
        exact = evaluate(table, queries)
        if exact[0].any():
            exact = list(exact)
        return exact

    monkeypatch.setattr(Snapshot, "evaluate", slower)
    one, other = steps_over(([CELLS - 1], [0]), tmp_path)
    assert len(other) - len(one) == 2  # two of the questions are about the cell of the second
