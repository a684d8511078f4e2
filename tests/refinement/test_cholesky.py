"""Sparse factors, against dense linear algebra."""

import numpy as np
import pytest
from scipy import sparse

from discreet.refinement import cholesky
from discreet.refinement.cholesky import Elimination, factor


def entangled(seed):
    """Sparse rows of −1, 0 and 1, some of which follow from others; one has nothing in it."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(-1, 2, (30, 60)) * (generator.random((30, 60)) < 0.08)
    rows = np.vstack([rows, rows[0] + rows[3], rows[5] - rows[7], np.zeros(60)])
    return sparse.csr_array(rows.astype(float))


def factored(rows):
    return factor((rows @ rows.T).tocsr(), Elimination.of((abs(rows) @ abs(rows).T).tocsr()))


@pytest.fixture(params=[0, 4, 128], ids=["dense core", "small core", "no core"])
def most_neighbours(request, monkeypatch):
    monkeypatch.setattr(cholesky, "MOST_NEIGHBOURS", request.param)


@pytest.mark.usefixtures("most_neighbours")
@pytest.mark.parametrize("seed", range(8))
def test_the_kept_rows_are_a_largest_independent_choice(seed):
    rows = entangled(seed)
    kept = factored(rows).kept
    rank = np.linalg.matrix_rank(rows.toarray())
    assert kept.sum() == rank == np.linalg.matrix_rank(rows.toarray()[kept])


@pytest.mark.usefixtures("most_neighbours")
@pytest.mark.parametrize("seed", range(8))
def test_solutions_and_quadratic_forms_are_those_of_the_dense_inverse(seed):
    rows = entangled(seed)
    found = factored(rows)
    kept = np.flatnonzero(found.kept)
    inverse = np.zeros((33, 33))
    inverse[np.ix_(kept, kept)] = np.linalg.inv((rows @ rows.T).toarray()[np.ix_(kept, kept)])
    sides = np.random.default_rng(seed).normal(size=(33, 3))
    assert np.allclose(found.solve(sides), inverse @ sides, atol=1e-9)
    assert np.allclose(found.solve(sides[:, 0]), inverse @ sides[:, 0], atol=1e-9)
    forms = np.diag(rows.T @ inverse @ rows.toarray())
    assert np.allclose(found.quadratic_forms(rows.tocsc()), forms, atol=1e-9)


def test_a_long_chain_has_no_core_and_no_fill():
    size = 5000
    chain = sparse.diags_array([np.ones(size), -np.ones(size)], offsets=[0, 1], shape=(size, size + 1)).tocsr()
    found = factored(chain)
    assert found.sparse_rows == size
    assert len(found.values) == size - 1
    # Of a chain of n steps with unit noise at n + 1 places, the difference of neighbours is known: nothing is left but
    # the mean, of which every place has 1/(n + 1).
    assert np.allclose(1 - found.quadratic_forms(chain.tocsc()), 1 / (size + 1), atol=1e-9)
