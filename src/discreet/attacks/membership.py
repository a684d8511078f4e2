"""Membership by likelihood ratio: the best test there is between a table and its neighbour, from all answers.

The attacker knows everybody else and the law of the noise, so that every answer is that of one person and noise. By
Neyman and Pearson's lemma no test of the answers beats the one that compares ln Pr[answers | bit is 1] with ln
Pr[answers | bit is 0]. Two ways to spend the whole budget on a person: at once, on one sharp count; or in small parts,
on counts of the same person in other words. Answers that are free are computed from these, and add nothing.

With pure differential privacy and add-remove, the one sharp count is as good as the bound: for discrete Laplace noise K
of scale 1/ε the advantage is Pr[K = 0] = (e^ε − 1)/(e^ε + 1), exactly.
"""

from collections import Counter
from math import exp, sqrt
from statistics import NormalDist

import numpy as np

from discreet.attacks.averaging import alone, equivalents
from discreet.attacks.guesses import Attempt, BitAttack, Chart, Guesses
from discreet.attacks.questions import Bools, Floats, Rehearsal, ask_blocks, measure_blocks
from discreet.attacks.stage import ZERO
from discreet.attacks.stand_in import sharpest
from discreet.ledger.guarantee import PureDP
from discreet.noise.bits import Bits
from discreet.noise.law import Gaussian, Noise
from discreet.progress import Progress, silent
from discreet.vault.vault import Vault

TRIALS = 2000
PARTS = 6
WIDTH = 4
AT_ONCE, IN_PARTS = "vault, one question for everything", f"vault, in {PARTS} parts"


def attack_by_membership(
    vault: Vault,
    trials: int = TRIALS,
    confidence: float = 0.95,
    bits: Bits | None = None,
    progress: Progress = silent,
) -> BitAttack:
    """Guess bits by the likelihood of all answers. Reads no row of the vault's table, spends nothing."""
    bits = bits or Bits()
    whole = Rehearsal.of(vault, 1, 1, trials, confidence, bits, progress)
    parts = Rehearsal.of(vault, WIDTH, 1, max(trials // 2, 1), confidence, bits, progress)
    kinds = Counter[str](), Counter[str]()
    truth, ratios = _at_once(whole, kinds[0])
    truth_of_parts, ratios_of_parts = _in_parts(parts, kinds[1])
    questions = len(equivalents(parts.stage, PARTS))
    attempts = (
        Attempt("exact answers", Guesses.of_bits(truth, truth), 1),
        Attempt(AT_ONCE, Guesses.of_bits(ratios > 0, truth), 1 if whole.stage.secret is None else 2, True, kinds[0]),
        Attempt(IN_PARTS, Guesses.of_bits(ratios_of_parts > 0, truth_of_parts), questions, True, kinds[1]),
    )
    lines = {AT_ONCE: roc(ratios, truth), IN_PARTS: roc(ratios_of_parts, truth_of_parts)}
    chart = Chart(
        "Every threshold of the test", "false positive rate", "true positive rate", lines,
        bounds=_frontier(vault),
    )  # fmt: skip
    return whole.found("membership", attempts, chart)


def log_ratio(answers: Floats, law: Noise, moved: int) -> Floats:
    """ln Pr[answer | the count is `moved`] − ln Pr[answer | it is 0]; 0 where there is no answer."""
    if isinstance(law, Gaussian):
        ratios = (answers**2 - (answers - moved) ** 2) / (2 * float(law.sigma_squared))
    else:
        ratios = (np.abs(answers) - np.abs(answers - moved)) / float(law.scale)
    return np.nan_to_num(ratios)


def _at_once(rehearsal: Rehearsal, kinds: Counter[str]) -> tuple[Bools, Floats]:
    """Everybody by themselves, with all that there is to spend, or as sharply as is allowed. Where a bit is one of two
    values, who has the other is counted too: that is another region, and has a budget of its own."""
    vault, stage = rehearsal.vault, rehearsal.stage
    scale, _ = sharpest(vault, 1)
    law = vault.ledger.budget.noise_of_scale(scale)
    truths, ratios = [], []
    for ones, copy in rehearsal.play(lambda: alone(stage, rehearsal.bits)):
        told = log_ratio(ask_blocks(copy, stage, [0], scale, kinds), law, rehearsal.rows_each)
        if stage.secret is not None:
            told -= log_ratio(ask_blocks(copy, stage, [0], scale, kinds, ZERO), law, rehearsal.rows_each)
        ratios.append(told.ravel())
        truths.append(ones[:, :, 0].ravel().astype(np.bool_))
    return np.concatenate(truths), np.concatenate(ratios)


def _in_parts(rehearsal: Rehearsal, kinds: Counter[str]) -> tuple[Bools, Floats]:
    """One person a block, counted in other words until the budget is gone."""
    vault, stage = rehearsal.vault, rehearsal.stage
    scale, _ = sharpest(vault, PARTS)
    law = vault.ledger.budget.noise_of_scale(scale)
    truths, ratios = [], []
    for ones, copy in rehearsal.play(lambda: alone(stage, rehearsal.bits)):
        told = [
            log_ratio(measure_blocks(copy, stage, cells, law, kinds).ravel(), law, rehearsal.rows_each)
            for cells in equivalents(stage, PARTS)
        ]
        ratios.append(np.sum(told, axis=0))
        truths.append(ones[:, :, 0].ravel().astype(np.bool_))
    return np.concatenate(truths), np.concatenate(ratios)


def roc(scores: Floats, truth: Bools) -> tuple[Floats, Floats]:
    """False and true positive rates of saying 1 above a threshold, for every threshold."""
    thresholds = np.unique(scores)
    ones, zeros = np.sort(scores[truth]), np.sort(scores[~truth])
    rates = [1 - np.searchsorted(each, thresholds, side="right") / max(len(each), 1) for each in (zeros, ones)]
    false, true = (np.concatenate([[1.0], rate]) for rate in rates)
    return false, true


def _frontier(vault: Vault) -> dict[str, tuple[Floats, Floats]]:
    """What no test can pass, where the promise is a pure one; else what one Gaussian answer of all of ρ comes to."""
    guarantee = vault.ledger.guarantee
    if isinstance(guarantee, PureDP):
        corner = 1 / (1 + exp(min(float(guarantee.epsilon), 700.0)))
        return {"what ε allows": (np.array([0.0, corner, 1.0]), np.array([0.0, 1 - corner, 1.0]))}
    normal, apart = NormalDist(), sqrt(2 * float(guarantee.amount))
    thresholds = np.linspace(-5, 5 + apart, 200).tolist()
    false, true = (np.array([1 - normal.cdf(t - mean) for t in thresholds]) for mean in (0.0, apart))
    return {"Gaussian noise of all of ρ": (false, true)}
