"""Linear reconstruction: guess everybody's bit at once, from counts over random halves of the people.

Dinur and Nissim: whoever gets enough counts over random subsets, each within o(√n) of the truth, solves for all n bits
[Revealing Information while Preserving Privacy, PODS 2003]. Exact answers fall to n questions. Answers that are private
one by one, with nobody adding up, fall to a few hundred more. A vault adds up: its whole budget goes to a fixed number
of questions, and the more of them there are, the more noise each has.

Halves come in pairs, a random one and its complement, so that everybody is charged once for each pair. The solution is
the least squares one for bits that are 0 or 1 by a fair coin: minimise Σ (answer − A·x)²/variance + 4·|x − ½|², and
round.
"""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.answer.estimate import Estimate
from discreet.attacks.bound import advantage_bound
from discreet.attacks.guesses import Attempt, BitAttack, Chart, Guesses
from discreet.attacks.questions import Bools, Floats, Rehearsal, ask_run, measure_blocks
from discreet.attacks.stage import Counts, coins
from discreet.attacks.stand_in import sharpest
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent
from discreet.vault.vault import Vault

TRIALS = 500
WIDTH = 32
"""People in a block, all of them guessed together."""
MORE_PAIRS = 4
"""So many more pairs of halves than people."""
FURTHER = 2
"""Questions about the first block that are asked when the budget is gone, …"""
FEW_GROUPS = 32
"""… where the vault has few enough answers to look through for one: it reads them all first."""
UNACCOUNTED = 2048
NEARLY_EXACT = 1e-6
"""The variance that stands for none at all."""

EXACT, FRESH, VAULT = "exact answers", "noise on each, nobody adds up", "vault, until it says no more"


@dataclass(frozen=True)
class Equations:
    """Answers about blocks: which of its people each one counts, what it says, and the variance of its noise.

    Axes: questions, blocks, and for `counted` people. An answer that was not given is NaN.
    """

    counted: Bools
    answers: Floats
    variances: Floats

    def solved(self, questions: int) -> Bools:
        """Everybody's bit, from the first so many questions."""
        counted = self.counted[:questions].astype(np.float64).transpose(1, 0, 2)
        variances = np.maximum(self.variances, NEARLY_EXACT)
        weights = np.where(np.isnan(self.answers), 0.0, 1 / variances)[:questions].T
        missing = np.nan_to_num(self.answers)[:questions].T - counted.sum(axis=2) / 2
        weighted = counted * weights[:, :, None]
        normal = weighted.transpose(0, 2, 1) @ counted + 4 * np.eye(counted.shape[2])
        moved = weighted.transpose(0, 2, 1) @ missing[:, :, None]
        return np.linalg.solve(normal, moved)[:, :, 0] >= 0

    def guessed(self, truth: Bools, questions: int | None = None) -> Guesses:
        return Guesses.of_bits(self.solved(questions or len(self.answers)), truth)

    def progress(self, truth: Bools) -> tuple[Floats, Floats]:
        """The share of bits that are right after how many questions."""
        most = len(self.answers)
        places = np.unique(np.geomspace(1, most, 16).astype(np.int64))
        shares = [self.guessed(truth, place).right / truth.size for place in places.tolist()]
        return places.astype(np.float64), np.array(shares)


def attack_by_reconstruction(
    vault: Vault,
    trials: int = TRIALS,
    confidence: float = 0.95,
    bits: Bits | None = None,
    progress: Progress = silent,
) -> BitAttack:
    """Solve for everybody's bit. Reads no row of the vault's table, spends nothing."""
    rehearsal = Rehearsal.of(vault, WIDTH, WIDTH, trials, confidence, bits, progress)
    stage, bits = rehearsal.stage, rehearsal.bits
    pairs = stage.width + MORE_PAIRS
    kinds = Counter[str]()

    def everywhere() -> tuple[Counts, Counts]:
        truth = coins(stage.shape, bits).astype(np.int64)
        return truth, 1 - truth

    truths, asked = [], []
    for ones, copy in rehearsal.play(everywhere):
        truths.append(ones.reshape(stage.blocks, stage.width) > 0)
        asked.append(_ask(copy, rehearsal, halves(pairs, stage.width, bits), sharpest(vault, pairs)[0], kinds))
    truth = np.concatenate(truths)
    law = vault.ledger.budget.noise_of_scale(sharpest(vault, 1)[0])
    told = {
        EXACT: _told(halves(pairs, stage.width, bits), truth),
        FRESH: _told(halves(UNACCOUNTED // 2, stage.width, bits), truth),
        VAULT: _joined(asked, rehearsal.rows_each),
    }
    noise = law.sample(told[FRESH].answers.size, bits).reshape(told[FRESH].answers.shape) / rehearsal.rows_each
    variance = law.variance / rehearsal.rows_each**2
    told[FRESH] = Equations(told[FRESH].counted, told[FRESH].answers + noise, np.full_like(noise, variance))
    attempts = tuple(
        Attempt(name, each.guessed(truth), len(each.answers), name == VAULT, kinds if name == VAULT else {})
        for name, each in told.items()
    )
    lines = {name: each.progress(truth) for name, each in told.items()}
    allowed = (1 + advantage_bound(vault.ledger.guarantee)) / 2
    chart = Chart(
        "Rows recovered", "questions", "share of bits that are right", lines,
        level=allowed, levelled="what the guarantee allows", scales="log-x",
    )  # fmt: skip
    return rehearsal.found("reconstruction", attempts, chart)


def halves(pairs: int, people: int, bits: Bits) -> Bools:
    """Random halves of the people of a block, each followed by its complement."""
    half = coins((pairs, people), bits)
    return np.stack([half, ~half], axis=1).reshape(2 * pairs, people)


def _told(counted: Bools, truth: Bools) -> Equations:
    """Exact answers about every block."""
    answers = counted.astype(np.float64) @ truth.T.astype(np.float64)
    everywhere = np.broadcast_to(counted[:, None, :], (len(counted), *truth.shape))
    return Equations(everywhere, answers, np.full_like(answers, NEARLY_EXACT))


def _ask(copy: Vault, rehearsal: Rehearsal, counted: Bools, scale: Fraction, kinds: Counter[str]) -> Equations:
    """What a copy says of halves of its blocks while it has budget, and of a few more when it has none."""
    stage = rehearsal.stage
    law = copy.ledger.budget.noise_of_scale(scale)
    measured = [measure_blocks(copy, stage, np.flatnonzero(cells).tolist(), law, kinds).ravel() for cells in counted]
    further = coins((FURTHER, stage.width), rehearsal.bits)
    further[:, 0] |= ~further.any(axis=1)  # a half of few people may be nobody, and that is no question
    counted = np.concatenate([counted, further])
    masks = np.broadcast_to(counted[:, None, :], (len(counted), stage.blocks, stage.width)).copy()
    answers, variances = np.full((2, len(counted), stage.blocks), np.nan)
    answers[: len(measured)], variances[: len(measured)] = measured, law.variance
    first = replace(stage, by=tuple(replace(axis, codes=1) for axis in stage.by))
    for question, cells in enumerate(further if stage.groups <= FEW_GROUPS else (), len(measured)):
        for row in ask_run(copy, first, 0, np.flatnonzero(cells).tolist(), scale, kinds):
            if row.value is not None and isinstance(row.source, Estimate):
                answers[question, 0], variances[question, 0] = row.value, row.source.variance
                masks[question, 0] = stage.within(row.answered, 0, 0)
    return Equations(masks, answers, variances)


def _joined(asked: list[Equations], rows_each: int) -> Equations:
    """The answers of all copies, in people."""
    counted = np.concatenate([each.counted for each in asked], axis=1)
    answers = np.concatenate([each.answers for each in asked], axis=1) / rows_each
    return Equations(counted, answers, np.concatenate([each.variances for each in asked], axis=1) / rows_each**2)
