"""The servers that are killed and crashed here are those of the engines' tests; and noise that hides the table."""

import numpy as np
import pytest

from discreet.noise.bits import SeededBits
from discreet.release.gate import Gate
from tests.engines.conftest import mortal_postgres, postgres

__all__ = ["coupled", "mortal_postgres", "postgres"]


@pytest.fixture
def coupled(monkeypatch):
    """Noise that makes the answers over all tables equal. The true answers are computed and drawn for all the same."""
    noisy = Gate._noisy

    def equal(gate, measurements, exact, bits):
        noisy(gate, measurements, exact, bits)
        return noisy(gate, measurements, [np.zeros_like(array) for array in exact], SeededBits(gate.ledger.charges))

    monkeypatch.setattr(Gate, "_noisy", equal)
