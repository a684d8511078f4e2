"""Mistakes that tests once did not notice. They are tried every time, whatever the sample is."""

from mutants.mutant import Mutant, replaced


def named() -> list[Mutant]:
    return [replaced(path, before, after, kind) for kind, path, before, after in NAMED]


NAMED = [
    (
        "sums of both signs are charged as of one",
        "query/sensitivity.py",
        "grain, one_signed = grain_of(attribute), is_one_signed(attribute)",
        "grain, one_signed = grain_of(attribute), True",
    ),
    (
        "no attribute has two signs",
        "query/sensitivity.py",
        "            return low >= 0 or high <= 0\n",
        "            return True\n",
    ),
    (
        "one draw for all measurements of a release",
        "release/gate.py",
        "draws = np.split(noise.sample(sum(sizes), bits), np.cumsum(sizes)[:-1])",
        "one = noise.sample(max(sizes), bits)\n            draws = [one[:size].copy() for size in sizes]",
    ),
    (
        "what a further cost adds is forgotten where a grid is too fine",
        "ledger/own_spend.py",
        "            return self.peak + cost.peak\n",
        "            return self.peak\n",
    ),
    (
        "parts of equal moves and other weights count as one",
        "facts/generic.py",
        "alike = (part.astype(np.int64).tobytes(), weights.tobytes())",
        "alike = part.astype(np.int64).tobytes()",
    ),
    (
        "nothing is kept for the fractions of draws",
        "noise/spread.py",
        "rest = allowed * (1 - math.exp(-(kappa**2) / 2))",
        "rest = allowed",
    ),
    (
        "sums that share groups count as independent",
        "answer/derive.py",
        "        if not any(answer.source == block.source and inside.intersect(answer.box) for answer in known)\n",
        "",
    ),
    (
        "the least noise of a sum is that of a count",
        "release/purchase.py",
        "(self.min_scale * largest_move(query, domain)) ** 2",
        "self.min_scale ** 2",
    ),
    (
        "an archived file is not synced",
        "release/archive.py",
        "                os.fsync(stream.fileno())\n",
        "",
    ),
    (
        "an archived file's name is not synced",
        "release/archive.py",
        "        sync_folder(self.folder)\n        return",
        "        return",
    ),
    (
        "a new archive's name is not synced",
        "release/archive.py",
        "            sync_folder(self.folder.parent)\n",
        "",
    ),
    (
        "no folder is synced",
        "release/archive.py",
        "        os.fsync(opened)\n",
        "        pass\n",
    ),
    (
        "a new journal's name is not synced",
        "ledger/sqlite.py",
        "            _sync_directory(path.parent)\n",
        "",
    ),
    (
        "the journal's directory is opened, and not synced",
        "ledger/sqlite.py",
        "        os.fsync(file)\n",
        "        pass\n",
    ),
    (
        "discrete Gaussian noise costs as much μ² as continuous noise",
        "ledger/gaussian_price.py",
        "return 2 / (sigma_squared * (1 + root))",
        "return 1 / sigma_squared",
    ),
    (
        "the price of Gaussian noise in μ² is rounded down",
        "ledger/gaussian_price.py",
        "root = Fraction(isqrt(above * below << 2 * DIGITS), below << DIGITS)",
        "root = Fraction(isqrt(above * below << 2 * DIGITS) + 1, below << DIGITS)",
    ),
    (
        "a pure loss costs as much μ² as one of half its range",
        "ledger/gaussian_price.py",
        "PER_SQUARED_RANGE * (2 * epsilon) ** 2",
        "PER_SQUARED_RANGE * epsilon ** 2",
    ),
    (
        "zCDP's price of the exponential mechanism, halved, is taken for its μ²",
        "ledger/gaussian_price.py",
        "return PER_SQUARED_RANGE * epsilon**2",
        "return epsilon**2 / 4",
    ),
    (
        "more noise costs more μ² where one price follows another",
        "ledger/gaussian_price.py",
        "little_noise_price(min(sigma_squared, LITTLE))",
        "little_noise_price(sigma_squared)",
    ),
    (
        "little noise is charged one side of its middle step",
        "ledger/little_noise.py",
        "return 4 * Fraction(steps, SCORES) ** 2",
        "return Fraction(steps, SCORES) ** 2",
    ),
    (
        "a score that is not enough is certified",
        "ledger/little_noise.py",
        "tail(iv, quotient(iv, score)).b <= _above_0(iv, sigma_squared).a",
        "tail(iv, quotient(iv, score + Fraction(1, SCORES))).b <= _above_0(iv, sigma_squared).a",
    ),
    (
        "σ² is counted in grains, and what moves is not",
        "ledger/squared_budget.py",
        "self.vector_loss(law.times(1 / grain), (move / grain) ** 2)",
        "self.vector_loss(law.times(1 / grain), move ** 2)",
    ),
    (
        "the ε of a quota is kept by the δ of another vault",
        "ledger/squared_budget.py",
        'return self.implying(exact_amount(asked, "a quota"), self.delta)',
        'return self.implying(exact_amount(asked, "a quota"), min(10 * self.delta, Fraction(1, 2)))',
    ),
    (
        "a vault of ρ is moved to μ²",
        "ledger/currency.py",
        'if wanted == ("mu" if isinstance(budget, GaussianBudget) else budget.option):',
        'if wanted == ("mu" if isinstance(budget, (GaussianBudget, ConcentratedBudget)) else budget.option):',
    ),
]
