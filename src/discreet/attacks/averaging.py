"""Averaging: ask for the same number again and again, and let the noise cancel out.

Where every answer has fresh noise and nobody adds up, the average of m answers is √m times as close as one, and soon a
single person shows. A vault answers the same question with the same number. The attacker's way round that is to ask for
the same people in other words, with cells added that are known to be empty: such answers do have fresh noise, and each
is charged, until nothing is left. Whatever is answered after that is computed from answers that were given before.
"""

from collections import Counter
from itertools import combinations

import numpy as np

from discreet.attacks.guesses import Attempt, BitAttack, Chart, Guesses
from discreet.attacks.questions import Bools, Floats, Rehearsal, ask_blocks
from discreet.attacks.stage import Counts, Stage, coins
from discreet.attacks.stand_in import sharpest
from discreet.noise.bits import Bits
from discreet.noise.law import Noise
from discreet.progress import Progress, silent
from discreet.vault.vault import Vault

TRIALS = 200
WIDTH = 4
"""A person's cell, and three empty ones to word the question in eight ways."""
SHARES = 6
"""The attacker divides the budget among so many questions: the first of the eight ways."""
REPEATS = 4
UNACCOUNTED = 1 << 16
"""So many answers about each person are averaged where nobody adds up, …"""
MOST_DRAWN = 1 << 25
"""… but no more than this about all of them."""
BATCH = 1 << 20
"""So many answers are drawn at a time."""

FRESH, SAME, REWORDED = "fresh noise on every answer", "vault, the same question", "vault, in other words"


def attack_by_averaging(
    vault: Vault,
    trials: int = TRIALS,
    confidence: float = 0.95,
    bits: Bits | None = None,
    progress: Progress = silent,
) -> BitAttack:
    """Guess bits from averages of answers about the same people. Reads no row of the vault's table, spends nothing."""
    rehearsal = Rehearsal.of(vault, WIDTH, 1, trials, confidence, bits, progress)
    stage = rehearsal.stage
    scale, _ = sharpest(vault, SHARES)
    kinds = Counter[str](), Counter[str]()
    truths, same, reworded = [], [], []
    for ones, copy in rehearsal.play(lambda: alone(stage, rehearsal.bits)):
        truths.append(ones[:, :, 0].ravel().astype(np.bool_))
        asked = [ask_blocks(copy, stage, [0], scale, kinds[0]).ravel() for _ in range(REPEATS)]
        same.append(np.stack(asked) / rehearsal.rows_each)
        asked = [ask_blocks(copy, stage, cells, scale, kinds[1]).ravel() for cells in equivalents(stage, SHARES)]
        reworded.append(np.stack(asked) / rehearsal.rows_each)
    truth = np.concatenate(truths)
    law = vault.ledger.budget.noise_of_scale(scale)
    means = {
        FRESH: fresh_means(truth, law, rehearsal),
        SAME: running_means(np.concatenate(same, axis=1)),
        REWORDED: running_means(np.concatenate(reworded, axis=1)),
    }
    guessed = {name: Guesses.of_bits(each[-1] >= 0.5, truth) for name, (_, each) in means.items()}
    attempts = (
        Attempt("exact answers", Guesses.of_bits(truth, truth), 1),
        Attempt(FRESH, guessed[FRESH], int(means[FRESH][0][-1])),
        Attempt(SAME, guessed[SAME], REPEATS, True, kinds[0]),
        Attempt(REWORDED, guessed[REWORDED], len(reworded[0]), True, kinds[1]),
    )
    lines = {name: (places, np.sqrt(np.mean((each - truth) ** 2, axis=1))) for name, (places, each) in means.items()}
    chart = Chart(
        "How far the average is from the truth", "questions", "error (root mean square), in people", lines,
        level=0.5, levelled="half a person", scales="log-log",
    )  # fmt: skip
    return rehearsal.found("averaging", attempts, chart)


def alone(stage: Stage, bits: Bits) -> tuple[Counts, Counts]:
    """One person a block, at its first cell."""
    truth = coins((stage.runs, stage.groups), bits)
    ones, zeros = np.zeros((2, *stage.shape), np.int64)
    ones[:, :, 0], zeros[:, :, 0] = truth, ~truth
    return ones, zeros


def equivalents(stage: Stage, most: int) -> list[list[int]]:
    """Sets of cells of a block that have its first cell, and else empty ones; the smallest first, at most so many."""
    empty = range(1, stage.width)
    return [[0, *more] for size in range(stage.width) for more in combinations(empty, size)][:most]


def running_means(answers: Floats) -> tuple[Floats, Floats]:
    """After how many questions, the average of the answers so far; where there is none yet, 0."""
    answered = np.cumsum(~np.isnan(answers), axis=0)
    means = np.cumsum(np.nan_to_num(answers), axis=0) / np.maximum(answered, 1)
    return np.arange(1.0, len(answers) + 1), means


def fresh_means(truth: Bools, law: Noise, rehearsal: Rehearsal) -> tuple[Floats, Floats]:
    """The same with fresh noise on every answer: after 1, 2, 4, … questions."""
    most = min(UNACCOUNTED, max(MOST_DRAWN // truth.size, 1))
    places = 2 ** np.arange(most.bit_length())
    sums, means, asked = np.zeros(truth.size), [], 0
    for place in places.tolist():
        while asked < place:
            more = min(place - asked, max(BATCH // truth.size, 1))
            sums += law.sample(more * truth.size, rehearsal.bits).reshape(more, -1).sum(axis=0)
            asked += more
        means.append(truth + sums / asked / rehearsal.rows_each)
    return places.astype(np.float64), np.stack(means)
