"""`audit vault` on tables of many columns: 9 of them with 10^13 points, and 200 of ten values each.

Both vaults have answered questions about boxes of one to three columns until their spend maps had to be cut into parts,
which is what a replay takes long for. Each audit is a process of its own, as the command is; it is compared with one
that opens the vault and reads its budget.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.figure import Figure
from bench.ledger import state_home
from discreet.vault import Vault

HOSPITAL = (6, 3, 10, 14, 26, 60, 200, 200, 60)
WIDE = (10,) * 200
ROWS = 2000
TURNS = 2

# Seconds, the most memory in MB (not ru_maxrss, which a process has from its parent), what was found.
MEASURED = """
import re, sys, time
{imports}
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
print(seconds, int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1000, *found)
"""
AUDIT = MEASURED.format(
    imports="from discreet.audit.report import audit_vault",
    work="audit = audit_vault(sys.argv[1]); found = audit.holds, *map(float, (audit.spent_at_least, audit.spent))",
)
REPLAY = MEASURED.format(
    imports="from discreet.vault import Vault",
    work="found = [float(Vault.open(sys.argv[1]).budget().spent)]",
)


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        for name, sizes, questions, scale in (
            ("9 columns, 10^13 points", HOSPITAL, 2000, 1000),
            ("200 columns", WIDE, 600, 600),
        ):
            home = asked(Path(folder) / f"vault{len(sizes)}", sizes, questions, scale)
            turns = [(measured(REPLAY, home), measured(AUDIT, home)) for _ in range(TURNS)]
            (replay, _, kept), (seconds, megabytes, holds, least, most) = map(min, zip(*turns, strict=True))
            if holds != "True":
                raise AssertionError(f"the audit of {name} failed")
            spent = (
                f"ε = {float(most):.4g}" if least == most else f"between ε = {float(least):.4g} and {float(most):.4g}"
            )
            note = f"{questions:,} questions; {spent}, `budget` {float(kept):.4g}"
            yield Figure(f"{name}, audited", float(seconds), 20, "lower", "s", note)
            yield Figure(f"{name}, peak memory", float(megabytes) / 1000, 1, "lower", "GB")
            ratio = float(seconds) / float(replay)
            yield Figure(f"{name}, audit to one replay", ratio, 2, "lower", "×", f"{float(replay):.2f} s")


def asked(home: Path, sizes: Sequence[int], questions: int, scale: int) -> Path:
    """A vault over made-up rows that has answered."""
    rng = np.random.default_rng(len(sizes))
    rows = {f"a{axis}": rng.integers(0, size, ROWS) for axis, size in enumerate(sizes)}
    pq.write_table(pa.table(rows), home.with_suffix(".parquet"))
    lines = [f'[attributes.a{i}]\nkind = "integer"\nlow = 0\nhigh = {size - 1}\n' for i, size in enumerate(sizes)]
    home.with_suffix(".toml").write_text('name = "made_up"\n' + "".join(f'{line}source = "bench"\n' for line in lines))
    made = {"table": home.with_suffix(".parquet"), "domain": home.with_suffix(".toml")}
    vault = Vault.init(home, **made, epsilon=1, neighbours="add-remove")
    for _ in range(questions):
        axes = rng.choice(len(sizes), rng.integers(1, 4), replace=False).tolist()
        ends = {f"a{axis}": tuple(sorted(rng.integers(0, sizes[axis], 2).tolist())) for axis in axes}
        vault.measure(vault.count(**ends), scale)
    vault.ledger.close()
    return home


def measured(script: str, home: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-c", script, str(home)], check=True, capture_output=True, text=True)
    return done.stdout.split()
