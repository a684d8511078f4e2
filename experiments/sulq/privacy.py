"""How far T answers move what somebody believes about one row: 10^4 simulated attacks beside the stated bound."""

from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from discreet.mining.sulq import exact_trials, paper_trials
from discreet.noise.binomial import sample_binomial
from discreet.noise.bits import Bits, SeededBits
from experiments.sulq.plot import COLOURS, label, panels, save, write_rows

Adversary = Literal["insists", "stops in time", "asks at random", "knows half"]
ADVERSARIES: tuple[Adversary, ...] = get_args(Adversary)

ATTACKS, QUERIES, DELTA = 10_000, 2000, Fraction(1)
PEOPLE = 10**6
BOUNDS = (Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000), Fraction(1, 10**6))
BATCH = 500

Floats = NDArray[np.float64]


def attacks(trials: int, adversary: Adversary, count: int, bits: Bits, queries: int = QUERIES) -> Floats:
    """Δconf of each of so many attacks on one row, by somebody who knows all the others and both rows it may be.

    Who insists asks T times about the row; who stops in time does so until the breach shows; who asks at random has the
    row in every second subset; who knows half finds the two rows to differ on each query with a probability of a half
    only. All of them know the noise's law, and calculate exactly.
    """
    found = [_attack(trials, adversary, min(BATCH, count - start), bits, queries) for start in range(0, count, BATCH)]
    return np.concatenate(found)


def _attack(trials: int, adversary: Adversary, count: int, bits: Bits, queries: int) -> Floats:
    noise = sample_binomial(trials, count * queries, bits).reshape(count, queries)
    # With the row in the subset and its bit 1, an answer is so many times as likely as were the bit 0. [SuLQ, Prop. 3]
    steps = -2 * np.arctanh((noise - 0.5) / ((trials + 1) / 2))
    if adversary == "asks at random":
        steps *= np.unpackbits(bits.words(count * queries // 64 + 1).view(np.uint8))[: steps.size].reshape(steps.shape)
    if adversary == "knows half":
        steps = -np.log((1 + np.exp(-steps)) / 2)
    walks = np.cumsum(steps, axis=1)
    if adversary != "stops in time":
        return np.abs(walks[:, -1])
    breach = np.abs(walks) > float(DELTA)
    stop = np.where(breach.any(axis=1), breach.argmax(axis=1), queries - 1)
    return np.abs(walks[np.arange(count), stop])


def most_likely(breaches: int, count: int, confidence: float = 0.99) -> float:
    """An upper bound for the probability behind so many breaches. [Clopper, Pearson 1934]"""
    return float(beta.ppf(confidence, breaches + 1, count - breaches))


def draw() -> None:
    bits = SeededBits(8)
    rows = []
    figure, axes = panels(2, width=5.2)
    shown = dict(zip((Fraction(1, 100), Fraction(1, 10**6)), axes, strict=True))
    for bound in BOUNDS:
        trials = exact_trials(QUERIES, DELTA, bound)
        for adversary, colour in zip(ADVERSARIES, COLOURS, strict=False):
            moved = attacks(trials, adversary, ATTACKS, bits)
            rows.append(_row("exact", bound, trials, adversary, moved))
            if bound in shown:
                shares = np.arange(1, ATTACKS + 1) / ATTACKS
                shown[bound].plot(np.sort(moved)[::-1], shares, label=adversary, color=colour)
    for bound, panel in shown.items():
        label(panel, f"calibrated for {float(bound):g}", "x, in nats", "share of attacks with Δconf > x")
        panel.set_yscale("log")
        panel.axvline(float(DELTA), color="#888888", ls=":", label="δ")
        panel.axhline(float(bound), color="#888888", ls="--", label="the stated bound")
    trials = paper_trials(QUERIES, DELTA, PEOPLE)
    rows.append(_row("paper", Fraction(0), trials, "stops in time", attacks(trials, "stops in time", ATTACKS, bits)))
    header = ("calibration", "bound", "trials", "adversary", "share above δ", "at 99% at most", "largest Δconf")
    write_rows("privacy", header, rows)
    save(figure, "privacy")


def _row(calibration: str, bound: Fraction, trials: int, adversary: Adversary, moved: Floats) -> tuple[object, ...]:
    breaches = int(np.count_nonzero(moved > float(DELTA)))
    numbers = (f"{breaches / moved.size:g}", f"{most_likely(breaches, moved.size):.2g}", f"{moved.max():.3g}")
    return calibration, f"{float(bound):g}", trials, adversary, *numbers
