"""Discreet: a vault, its cubes by least squares, its questions in SQL."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.peers.workload import Question, Reply, Table
from discreet.cube.cube import Counts
from discreet.noise.bits import Bits
from discreet.noise.laplace import sample_laplace
from discreet.vault import Vault

PACKAGE = "discreet"
NOISE = "integers, exact"
BATCH = 10**6
BUDGET = "on disk, synced before the answer, by region"

SMALL = Table(("first", "second", "third"), (2, 2, 2), np.zeros((10, 3), np.int32))


def sampler(scale: int) -> Callable[[int], NDArray[np.int64]]:
    bits = Bits()
    return lambda draws: sample_laplace(scale, draws, bits)


def vault_over(table: Table, epsilon: float) -> Vault:
    folder = Path(tempfile.mkdtemp())
    columns = {name: pa.array(table.rows[:, at]) for at, name in enumerate(table.names)}
    pq.write_table(pa.table(columns), folder / "people.parquet")
    lines = ['name = "people"']
    for name, size in zip(table.names, table.sizes, strict=True):
        lines.append(f'[attributes.{name}]\nkind = "integer"\nlow = 0\nhigh = {size - 1}\nsource = "the benchmark"')
    (folder / "people.toml").write_text("\n".join(lines), encoding="utf-8")
    return Vault.init(
        folder / "vault",
        table=folder / "people.parquet",
        domain=folder / "people.toml",
        epsilon=str(epsilon),
        neighbours="add-remove",
    )


def marginals(
    table: Table, masks: Sequence[int], epsilon: float, counts: Counts = "real"
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """All cuboids in one release; the first one that is taken has waited for all of them."""
    vault = vault_over(table, epsilon)

    def cubes(vault: Vault, masks: Sequence[int], table: Table) -> Iterator[tuple[int, NDArray[np.float64]]]:
        plan = vault.cubes.plan(epsilon=str(epsilon), cuboids=[table.columns(mask) for mask in masks])
        cube = vault.cubes.publish(plan, counts=counts)
        return ((mask, cube.cells(*table.columns(mask))) for mask in masks)

    list(cubes(vault_over(SMALL, epsilon), range(8), SMALL))  # compiles, or loads what is compiled
    return (found for _ in range(1) for found in cubes(vault, masks, table))


def counts(table: Table, epsilon: float, many: int) -> Callable[[Question], Reply]:
    vault = vault_over(table, epsilon)
    scale = Fraction(many) / Fraction(str(epsilon))

    def ask(question: Question) -> Reply:
        answer = vault.ask(f"SELECT COUNT(*) FROM people WHERE {question.where}", scale=scale)
        assert answer.value is not None
        return Reply(answer.value, "" if answer.kind == "measured" else answer.kind)

    return ask
