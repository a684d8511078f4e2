"""Whether a table of people can have all facts at once. Decided by exact arithmetic on the facts alone.

Cuboids are compared on what both roll up to, and counts with the least and the most that a cuboid leaves them. Beyond
that: no x ≥ 0 has A·x = b where some y has yᵀA ≤ 0 and yᵀb > 0 [Farkas 1902]. A linear program proposes the y of least
size, and it counts only if it holds in whole numbers. (That fractions of people would do is not found out.)
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.domain.domain import Domain
from discreet.errors import InvalidFact
from discreet.facts.atoms import Atoms, atoms_of
from discreet.facts.facts import CountFact, CuboidFact, Fact

MOST_ATOMS = 4096
"""The linear program is left out beyond so many atoms: there all is decided by twos."""

FINEST = 1000
"""A certificate's numbers are fractions with at most this denominator."""


def require_possible(new: Fact, facts: Sequence[Fact], domain: Domain) -> None:
    """Raise InvalidFact where no table has a new fact and all of these, naming the culprits; or where every table has
    it."""
    same_table = [fact for fact in facts if fact.table == new.table]
    for fact in same_table:
        _require_agreement(new, fact, domain)
    if _are_two_cuboids([*same_table, new]):
        return  # they agree on what both roll up to, so there is a table
    atoms = atoms_of([*same_table, new], domain)
    if isinstance(new, CountFact) and not new.value and not atoms.labels[-1].any():
        raise InvalidFact(f"{name_of(new)} is 0 on every table: it tells nothing, and needs no account")
    if atoms.labels.shape[1] <= MOST_ATOMS:
        culprits = _culprits(atoms)
        if culprits:
            others = [fact for fact in culprits if fact is not new]
            raise InvalidFact(_against(new, others))


def _are_two_cuboids(facts: Sequence[Fact]) -> bool:
    """Whether all facts are cuboids, and roll-ups of at most two of them."""
    names = {frozenset(fact.by) for fact in facts if isinstance(fact, CuboidFact)}
    finest = [by for by in names if not any(by < other for other in names)]
    return all(isinstance(fact, CuboidFact) for fact in facts) and len(finest) <= 2


def name_of(fact: Fact) -> str:
    """How a message names a fact."""
    about = fact.text or ("cuboid " + ", ".join(fact.by) if isinstance(fact, CuboidFact) else "a count")
    return f"fact {fact.number} ({about})" if fact.number else about


def _against(new: Fact, others: Sequence[Fact], why: str = "no table of people has all of them") -> str:
    return f"{name_of(new)} contradicts {' and '.join(map(name_of, others)) or 'itself'}: {why}"


def _require_agreement(new: Fact, old: Fact, domain: Domain) -> None:
    match new, old:
        case CuboidFact(), CuboidFact():
            _require_same_roll_up(new, old, domain)
        case CountFact(), CuboidFact():
            _require_within(new, old, domain, _against(new, [old], "{}"))
        case CuboidFact(), CountFact():
            _require_within(old, new, domain, _against(new, [old], "{}"))


def _require_same_roll_up(new: CuboidFact, old: CuboidFact, domain: Domain) -> None:
    common = tuple(name for name in new.by if name in old.by)
    ones, others = (roll_up(fact, common) for fact in (new, old))
    if np.array_equal(ones, others):
        return
    cell = tuple(int(code) for code in np.argwhere(ones != others)[0])
    labels = ", ".join(f"{name} {domain[name].label(code)}" for name, code in zip(common, cell, strict=True))
    raise InvalidFact(_against(new, [old], f"{ones[cell]:,} people and {others[cell]:,} at {labels or 'all'}"))


def roll_up(fact: CuboidFact, names: Sequence[str]) -> NDArray[np.int64]:
    """The cuboid with some of its attributes, in their order."""
    gone = tuple(axis for axis, name in enumerate(fact.by) if name not in names)
    summed: NDArray[np.int64] = np.asarray(fact.values.sum(axis=gone, dtype=np.int64))
    return summed


def _require_within(count: CountFact, cuboid: CuboidFact, domain: Domain, message: str) -> None:
    """Whoever is in a cell counts at least as often as the cell's least point, and at most as its most one."""
    times, cells = atoms_of([count, cuboid], domain).labels
    people = cuboid.values.reshape(-1)
    least, most = (np.full(people.size, start, np.int64) for start in (np.iinfo(np.int64).max, np.iinfo(np.int64).min))
    np.minimum.at(least, cells, times)
    np.maximum.at(most, cells, times)
    low, high = (sum(int(a) * int(b) for a, b in zip(edge, people, strict=True) if b) for edge in (least, most))
    if not low <= count.value <= high:
        between = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        raise InvalidFact(message.format(f"the cuboid makes the count {between}, not {count.value:,}"))


def _culprits(atoms: Atoms) -> list[Fact]:
    """Facts that no table has together, by a certificate that was checked; none where none was found."""
    from scipy.optimize import linprog  # takes long to import, and asking needs it not

    matrix, values, owners = atoms.matrix()
    scale = max(1, int(np.abs(values).max(initial=0)))
    signed = sparse.csr_array(np.concatenate([matrix, -matrix]).T)
    target = np.concatenate([values, -values])[None, :] / scale
    found = linprog(
        np.ones(signed.shape[1]), A_ub=signed, b_ub=np.zeros(signed.shape[0]), A_eq=target, b_eq=[1.0], method="highs"
    )
    if found.status != 0:
        return []
    weights = found.x[: len(values)] - found.x[len(values) :]
    exact = [Fraction(float(weight) / float(np.abs(weights).max())).limit_denominator(FINEST) for weight in weights]
    whole = np.array([int(weight * lcm(*(w.denominator for w in exact))) for weight in exact], dtype=object)
    used = np.flatnonzero(whole != 0)
    if (whole[used] @ matrix[used].astype(object) > 0).any() or whole[used] @ values[used].astype(object) <= 0:
        return []
    return [atoms.facts[place] for place in dict.fromkeys(owners[row] for row in used)]
