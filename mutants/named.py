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
        "(self.min_scale * largest) ** 2",
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
]
