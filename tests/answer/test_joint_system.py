"""The joint system against least squares over single cells: of one target alone, and of many solved in one go."""

from collections import Counter
from itertools import chain, product

import numpy as np
import pytest

from discreet.answer import joint
from discreet.answer.joint import JointSystem, Part
from discreet.domain.region import Box
from discreet.query.marginals import Marginal, Marginals

SIZES = (3, 4)
CELLS = [*product(range(3), range(4))]


def cells_of(box: Box) -> np.ndarray:
    ends = [*zip(box.low, box.high, strict=True)]
    return np.array([all(low <= c <= high for (low, high), c in zip(ends, cell, strict=True)) for cell in CELLS], float)


def drawn_box(rng) -> Box:
    ends = [sorted(rng.integers(0, size, 2).tolist()) for size in SIZES]
    return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))


def system(rng, count: int) -> tuple[JointSystem, np.ndarray, np.ndarray, np.ndarray]:
    """Counts by the first axis, and of some boxes; the same as rows of cells, values and variances."""
    of_first = rng.integers(5, 50, SIZES[0]).astype(float)
    boxes = [drawn_box(rng) for _ in range(count)]
    values, variances = rng.integers(0, 60, count).astype(float), rng.uniform(1, 9, count)
    parts = tuple(
        Part(((1, box),), value, variance, ((1.0, (place + 2, 0), 1),))
        for place, (box, value, variance) in enumerate(zip(boxes, values, variances, strict=True))
    )
    marginals = Marginals(SIZES, (Marginal((0,), SIZES[:1], 4.0, (1, 0), of_first),))
    rows = [cells_of(Box((code, 0), (code, SIZES[1] - 1))) for code in range(SIZES[0])] + [*map(cells_of, boxes)]
    found = JointSystem(marginals, parts)
    return found, np.array(rows), np.array([*of_first, *values]), np.array([4.0] * SIZES[0] + [*variances])


@pytest.mark.parametrize("seed", range(12))
def test_estimates_are_those_of_least_squares_over_cells(seed):
    rng = np.random.default_rng(seed)
    found, rows, values, variances = system(rng, 7)
    normal = rows.T @ (rows / variances[:, None])
    inverse = np.linalg.pinv(normal)
    targets = [drawn_box(rng) for _ in range(40)]
    for box, one in zip(targets, found.estimates([((1, box),) for box in targets]), strict=True):
        row = cells_of(box)
        if np.abs(row - row @ inverse @ normal).max() > 1e-9:
            assert one is None
        else:
            assert one is not None
            assert one.value == pytest.approx(float(row @ inverse @ rows.T @ (values / variances)), abs=1e-6)
            assert one.variance == pytest.approx(float(row @ inverse @ row), rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_many_targets_have_in_one_go_what_each_has_alone(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    found, *_ = system(rng, 9)
    targets = [((1, drawn_box(rng)),) for _ in range(60)]
    alone = [found.estimates([terms])[0] for terms in targets]
    monkeypatch.setattr(joint, "_solved_together", lambda several: dict.fromkeys(several, tuple(range(9))))
    together = found.estimates(targets)
    for one, other in zip(alone, together, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert (one.value, one.variance) == pytest.approx((other.value, other.variance), rel=1e-9, abs=1e-9)
            assert one.sources == other.sources
    covariance = found.covariance([terms for terms, one in zip(targets, alone, strict=True) if one is not None])
    assert np.diag(covariance) == pytest.approx([one.variance for one in alone if one is not None], rel=1e-6)


def test_few_sets_that_differ_much_are_solved_by_themselves_and_many_alike_in_one_go():
    few = [(0, 1), (2, 3), (4, 5)]
    assert joint._solved_together(few) == {one: one for one in few}
    many = [tuple(part for part in range(8) if part != left) for left in range(8)]
    assert set(joint._solved_together(many).values()) == {tuple(range(8))}
    assert joint._solved_together([]) == {}


@pytest.mark.parametrize("seed", range(20))
def test_parts_with_a_corner_to_themselves_are_left_out_again_and_again(seed):
    rng = np.random.default_rng(seed)
    found, *_ = system(rng, 8)
    corners = found._untold(((1, drawn_box(rng)),)) if seed % 2 else {}
    left = [*range(8)]
    while True:
        owners = Counter(chain(corners, *(found._corners[part] for part in left)))
        kept = [part for part in left if all(owners[corner] > 1 for corner in found._corners[part])]
        if kept == left:
            break
        left = kept
    assert found._peeled(corners) == tuple(left)
