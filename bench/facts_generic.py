"""Facts: a cube that agrees with what is public, and primitive moves against 4ti2."""

import itertools
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.figure import Figure, race
from discreet.lattice.kernel import exact_array, kernel_basis
from discreet.lattice.moves import primitive_moves
from discreet.vault import Vault

SIZES = {"sex": 2, "age": 7, "salary": 5}
TABLES = {
    "2 × 2 × 7, one-way marginals": ((2, 2, 7), ((0,), (1,), (2,))),
    "3 × 3 × 4, two-way marginals": ((3, 3, 4), ((0, 1), (0, 2), (1, 2))),
}


def figures() -> Iterator[Figure]:
    yield from _agreement()
    yield from _enumeration()


def _agreement() -> Iterator[Figure]:
    """Sex and Age are public, on Sex 2 × Age 7 × Salary 5."""
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(0, size, 5000) for name, size in SIZES.items()}
    attributes = [f'[attributes.{name}]\nkind = "integer"\nlow = 0\nhigh = {size - 1}\nsource = "bench"\n'
                  for name, size in SIZES.items()]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        pq.write_table(pa.table(codes), home / "people.parquet")
        (home / "people.toml").write_text('name = "people"\n' + "".join(attributes))
        vault = Vault.init(
            home / "vault",
            table=home / "people.parquet",
            domain=home / "people.toml",
            epsilon=1,
            neighbours="add-remove",
        )
        exact = {name: np.bincount(codes[name], minlength=SIZES[name]) for name in ("sex", "age")}
        start = time.perf_counter()
        for name, counts in exact.items():
            added = vault.facts.add(cuboid=[name], values=counts)
        seconds = time.perf_counter() - start
        cube = vault.cubes.publish(vault.cubes.plan(epsilon=1, facts="vault"))
        off = max(float(np.abs(cube[name].to_numpy() - counts).max()) for name, counts in exact.items())
    yield Figure("S_Q of {Sex} and {Age}", added.sensitivity, 4, "lower", "", "2·min{2, 7}")
    yield Figure("published cube off the facts", off, 0, "lower", "people", "both cuboids, to the last bit")
    yield Figure("time to account for a fact", seconds / 2, 1, "lower", "s", "journalled")


def _enumeration() -> Iterator[Figure]:
    program = shutil.which("4ti2-graver") or shutil.which("graver")
    if program is None:
        return
    for name, (sizes, margins) in TABLES.items():
        matrix = _marginals(sizes, margins)
        with tempfile.TemporaryDirectory() as folder:
            rows = "\n".join(" ".join(map(str, row)) for row in matrix)
            Path(folder, "case.mat").write_text(f"{len(matrix)} {len(matrix[0])}\n{rows}\n")
            found = primitive_moves(kernel_basis(exact_array(matrix)))
            ours, theirs = race(
                lambda: primitive_moves(kernel_basis(exact_array(matrix))),  # noqa: B023
                lambda: subprocess.run([program, "-q", "case"], cwd=folder, check=True),
                repeats=1,
            )
        note = f"{len(found):,} moves; {ours:.2f} s, 4ti2 {theirs:.2f} s"
        yield Figure(f"primitive moves, {name}", ours / theirs, 1, "lower", "× 4ti2's time", note)


def _marginals(sizes: tuple[int, ...], margins: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    cells = list(itertools.product(*map(range, sizes)))
    return [
        [int(all(cell[axis] == code for axis, code in zip(axes, codes, strict=True))) for cell in cells]
        for axes in margins
        for codes in itertools.product(*(range(sizes[axis]) for axis in axes))
    ]
