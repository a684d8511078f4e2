"""The runs, what became of them, and our models beside them."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.__main__ import machine
from bench.figure import Figure
from bench.mixture import MOST_CELLS, cells_of
from bench.model_peers.kept import Found, Run, keep, kept
from bench.modelled import LIKE_ADULT
from bench.peers.environment import Peer, interpreter
from discreet.ledger.conversion import rho_for
from discreet.vault.vault import Vault
from experiments.tables.tables import Coded, adult, census_income, whole_adult

ROOT = Path(__file__).parents[2]
DELTA = Fraction(1, 10**9)
# mbi, which OpenDP takes, runs with no newer JAX, and draws its rows into a pandas it does not bring.
PEER = Peer("opendp_mbi", "OpenDP, mbi", ("mbi", "opendp[mbi]", "jax<0.6", "jaxlib<0.6", "pandas"))
ATTEMPTS, LESS = 20, Fraction(1, 10**6)
ROUNDED = "insufficient budget for query"
"""OpenDP's MST adds up parts of its budget as doubles, and refuses where rounding takes them beyond the whole: it is
tried again with a millionth less."""
ORDERS = (2, 3)
TABLES: dict[str, Callable[[], Coded]] = {
    "Adult": adult,
    "Adult, 14 columns": whole_adult,
    "Census-Income, 7 columns": lambda: census_income().only(*LIKE_ADULT),
}
Axes = tuple[int, ...]
Marginals = dict[Axes, NDArray[np.float64]]

RUNS = (
    *(Run("mst", name, "1") for name in TABLES),
    *(Run("mst", "Adult", epsilon) for epsilon in ("1/10", "10")),
    *(Run("aim", "Adult", epsilon) for epsilon in ("1/10", "1", "10")),
    Run("aim", "Census-Income, 7 columns", "1"),
)


def run_what_is_left(told: Callable[[str], None], wanted: tuple[str, ...] = ()) -> None:
    """Run what is not there yet, and keep each as it comes."""
    for run in RUNS:
        if run not in [one.run for one in kept()] and (not wanted or run.tool in wanted):
            try:
                found = ran(run)
            except subprocess.CalledProcessError as error:
                told(f"{run} failed: {(error.stderr.strip().splitlines() or [error])[-1]}")
                continue
            keep(found)
            seconds = found.about["cpu_seconds"]
            told(f"{run} model {found.model}, rows {found.rows}, {seconds:.0f} CPU s")


def ran(run: Run) -> Found:
    """A run of a peer, in a process of its own."""
    table = TABLES[run.table]()
    wanted = marginals_of(table)
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "table.npz"), Path(folder, "found.npz")
        np.savez(given, codes=table.rows, sizes=table.sizes, wanted=json.dumps(wanted))
        done = _done(run, given, out)
        with np.load(out) as found:
            made = {kind: {axes: found[f"{kind}_{_key(axes)}"] for axes in wanted} for kind in ("model", "rows")}
    about = {**json.loads(done.stdout.splitlines()[-1]), "machine": machine()}
    about["date"] = datetime.now(UTC).date().isoformat()
    return Found(run, distances(made["model"], table), distances(made["rows"], table), about)


def _done(run: Run, given: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    """What the process of a run says at its end. Raises CalledProcessError where it fails."""
    python = interpreter(PEER)
    for attempt in range(ATTEMPTS):
        command = [python, "-m", "bench.model_peers.worker", run.tool, str(given), _rho(run, attempt), str(out)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=_own_environment())
        if ROUNDED not in done.stderr:
            break
    done.check_returncode()
    return done


def marginals_of(table: Coded) -> list[Axes]:
    """Pairs, and triples of at most so many cells."""
    axes = range(len(table.sizes))
    return [*combinations(axes, 2), *(own for own in combinations(axes, 3) if cells_of(table, own) <= MOST_CELLS)]


def distances(made: Marginals, table: Coded) -> tuple[float, float]:
    """The mean total variation distance of pairs, and of triples."""
    off: dict[int, list[float]] = {order: [] for order in ORDERS}
    for axes, cells in made.items():
        sizes = [table.sizes[axis] for axis in axes]
        places = np.ravel_multi_index(tuple(table.rows[:, axis] for axis in axes), sizes)
        truth = np.bincount(places, minlength=int(np.prod(sizes))).reshape(sizes) / len(table.rows)
        shares = np.maximum(cells, 0)
        off[len(axes)].append(float(np.abs(shares / max(shares.sum(), 1e-9) - truth).sum() / 2))
    pairs, triples = (float(np.mean(off[order])) for order in ORDERS)
    return pairs, triples


def peer_figures() -> Iterator[Figure]:
    """What was kept, beside one release of ours at the same settings."""
    for found in kept():
        run, about = found.run, found.about
        for order, theirs, rows, own in zip(ORDERS, found.model, found.rows, ours(run.table, run.epsilon), strict=True):
            note = (
                f"{own:.4f} and {theirs:.4f}; its rows {rows:.4f}; it took {about['cpu_seconds']:.0f} CPU s and "
                f"{about['gigabytes']:.1f} GB; mbi {about['versions']['mbi']}, {about['date']}"
            )
            name = (
                f"{run.table}, ({float(Fraction(run.epsilon)):g}, 10⁻⁹), modelled, to {run.tool.upper()}, {order}-way"
            )
            yield Figure(name, own / theirs, 1, "lower", "×", note)


@cache
def ours(name: str, epsilon: str) -> tuple[float, float]:
    """One release of what the planner for models chooses, where it is known how many rows there are."""
    table = TABLES[name]()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        rows, domain = table.write(Path(folder))
        vault = Vault.init(Path(folder) / "vault", table=rows, domain=domain, rho=10, neighbours="add-remove")
        vault.ask(f"SELECT COUNT(*) FROM {table.domain.name}", scale=100)
        plan = vault.cubes.plan(rho=rho_for(Fraction(epsilon), DELTA), planner="model")
        model = vault.cubes.publish(plan, estimate="modelled").modelled.model
        made = {axes: model.cuboid(sum(1 << axis for axis in axes)) for axes in marginals_of(table)}
    return distances(made, table)


def _rho(run: Run, attempt: int = 0) -> str:
    return repr(float(rho_for(Fraction(run.epsilon), DELTA) * (1 - attempt * LESS)))


def _key(axes: Axes) -> str:
    return "_".join(map(str, axes))


def _own_environment() -> dict[str, str]:
    """Without our packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
