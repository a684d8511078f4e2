"""What response times tell: neighbouring tables behind servers, with time slots and without, asked in random order."""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from scipy import stats

from bench.figure import Figure
from bench.foundation import state_home
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.vault import Vault
from tests.trust.test_fuzz_http import Sent, reply
from tests.trust.test_side_channels import BUSY, PAIRS, vault_over

SLOT, REQUESTS = 0.01, 1_000
CHANCE = 1e-6
"""A p-value below this tells two tables apart."""


def figures() -> Iterator[Figure]:
    for pair in ("one person more", "a crowd that is elsewhere"):
        with tempfile.TemporaryDirectory() as folder, state_home(folder):
            yield told_apart_figure(pair, Path(folder))


def told_apart_figure(pair: str, folder: Path) -> Figure:
    """The smaller p-value of Kolmogorov–Smirnov and Mann–Whitney; what slots hide is in the note."""
    vaults = [
        vault_over(cells, folder, f"vault-{place}", epsilon=10_000, neighbours="replace")
        for place, cells in enumerate(PAIRS[pair])
    ]
    one, other = response_times(vaults, SLOT)
    told = min(stats.ks_2samp(one, other).pvalue, stats.mannwhitneyu(one, other).pvalue)
    bare, others_bare = response_times(vaults, 0.0)
    longer = stats.mannwhitneyu(bare, others_bare).statistic / len(bare) ** 2
    note = (
        f"{2 * REQUESTS:,} requests, slots of {1000 * SLOT:.0f} ms; without slots the first table takes longer in "
        f"{longer:.0%} of pairs, median {1000 * np.median(bare):.1f} ms"
    )
    return Figure(f"p-value of response times, {pair}", told, CHANCE, "higher", "", note)


def response_times(vaults: Sequence[Vault], slot: float) -> list[list[float]]:
    """Seconds from a question to its measured answer, for each of some vaults, in turns of random order."""
    applications = [create_app(vault, slot=slot, rate=0) for vault in vaults]
    tokens = [add_user(vault.path, "ada" if slot else "bob", "analyst") for vault in vaults]
    draw, took = Random(4), [[] for _ in vaults]
    with asyncio.Runner() as runner:
        for turn in range(REQUESTS):
            sql = f"SELECT COUNT(*) FROM people WHERE cell = {turn % len(BUSY)}"
            body = json.dumps({"sql": sql, "scale": 50 if slot else 40}).encode()
            for place in draw.sample(range(len(vaults)), len(vaults)):
                start = time.perf_counter()
                status, said = runner.run(reply(applications[place], Sent("POST", "/ask", tokens[place], body)))
                took[place].append(time.perf_counter() - start)
                assert status == 200, said
    return took
