"""Attacks on a vault: how many rows fall without protection, and what is left of the attacks with it."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from bench.figure import Figure
from discreet.attacks.guesses import Attempt, BitAttack
from discreet.attacks.membership import attack_by_membership
from discreet.attacks.reconstruction import attack_by_reconstruction
from discreet.vault import Vault

EPSILONS = ("0.1", "1", "3")
CONFIDENCE = 0.99
GUESSED = 20_000
RECONSTRUCTED = 6400
DOMAIN = "".join(
    f'[attributes.{name}]\nkind = "integer"\nlow = 0\nhigh = {codes - 1}\nsource = "made up"\n'
    for name, codes in (("block", 100), ("street", 100), ("rooms", 4))
)


def figures() -> Iterator[Figure]:
    with TemporaryDirectory() as folder:
        for epsilon in EPSILONS:
            vault = made(Path(folder), epsilon)
            yield from reconstruction_figures(
                attack_by_reconstruction(vault, trials=RECONSTRUCTED, confidence=CONFIDENCE), epsilon
            )
            yield from membership_figures(attack_by_membership(vault, trials=GUESSED, confidence=CONFIDENCE), epsilon)


def made(folder: Path, epsilon: str, neighbours: str = "add-remove") -> Vault:
    """A vault over a table that no attack reads."""
    (folder / "domain.toml").write_text('name = "people"\n' + DOMAIN)
    nobody = pa.table({name: np.zeros(0, np.int64) for name in ("block", "street", "rooms")})
    place = folder / f"vault-{epsilon}-{neighbours}"
    return Vault.init(place, table=nobody, domain=folder / "domain.toml", epsilon=epsilon, neighbours=neighbours)


def reconstruction_figures(found: BitAttack, epsilon: str) -> Iterator[Figure]:
    exact, fresh, vault = found.attempts
    if epsilon == EPSILONS[0]:
        share = 100 * exact.guesses.right / exact.guesses.of
        note = f"{exact.guesses.of:,} rows, 32 at a time, from {exact.questions} counts over random halves"
        yield Figure("reconstruction, unprotected", share, 95, "higher", "% of rows", note)
    naive = f"noise for ε on each of {fresh.questions:,} answers: {fresh.guesses.advantage:.3f}"
    name, note = f"reconstruction, vault, ε = {epsilon}", f"{_interval(vault)}; {naive}"
    yield Figure(name, vault.guesses.advantage, found.bound, "lower", "advantage", note)


def membership_figures(found: BitAttack, epsilon: str) -> Iterator[Figure]:
    """One sharp count is exactly as good as ε allows, so that its estimate is above the bar half of the time: it is the
    lower end of its interval that has to be at or below."""
    _, at_once, in_parts = found.attempts
    name, low = f"membership, vault, ε = {epsilon}", at_once.guesses.interval(CONFIDENCE)[0]
    note = f"the lower end of {_interval(at_once)}; the best test is exactly at the bound"
    yield Figure(f"{name}, one question", low, found.bound, "lower", "advantage", note)
    estimate = in_parts.guesses.advantage
    yield Figure(f"{name}, in parts", estimate, found.bound, "lower", "advantage", _interval(in_parts))


def _interval(attempt: Attempt) -> str:
    low, high = attempt.guesses.interval(CONFIDENCE)
    return (
        f"{attempt.guesses.advantage:.4f}, {100 * CONFIDENCE:.0f}% in {low:.4f} … {high:.4f}, "
        f"{attempt.guesses.of:,} people"
    )
