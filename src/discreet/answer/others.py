"""Charges that have no answer yet: what each will answer is public as soon as it is charged, and worth waiting for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from discreet.answer.known import Known
from discreet.domain.domain import Domain
from discreet.ledger.books import Books
from discreet.ledger.ledger import Charge
from discreet.query.plan import Measurement, Plan
from discreet.query.query import answer_shape
from discreet.release.release import Noisy, grain_in


@dataclass(frozen=True)
class Expected:
    """A charge without an answer. `answers` has its measurements with their noise; their values are not known yet."""

    charge: Charge
    plan: Plan
    answers: Known


@dataclass
class Others:
    """The charges of the table as it is now that have no answer yet, whoever made them. Each is read once."""

    domain: Domain
    ledger: Books
    known: Known
    _read: dict[int, Expected] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __iter__(self) -> Iterator[Expected]:
        with self._lock:
            unanswered = self.ledger.unanswered()
            self._read = {number: self._read.get(number) or self._expected(number) for number in unanswered}
            found = list(self._read.values())
        return iter(found)

    def _expected(self, number: int) -> Expected:
        charge = self.ledger.charge_at(number)
        assert charge is not None  # the ledger has it among its charges
        plan, answers = Plan.from_json(charge.plan), Known(self.domain, self.ledger, self.known.recall)
        answers.add(number, (self._unknown(measurement) for measurement in plan.measurements))
        return Expected(charge, plan, answers)

    def _unknown(self, measurement: Measurement) -> Noisy:
        """A measurement of nothing but zeros, however many, in no memory."""
        zeros = np.broadcast_to(np.int64(0), answer_shape(measurement.query, self.domain))
        return Noisy(measurement, grain_in(measurement, self.domain), zeros)
