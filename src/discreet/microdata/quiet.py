"""What a library writes to standard output goes to standard error: standard output is for answers, of which programs
read every line.

HiGHS (SciPy 1.17) says `HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();` there, whatever its
options, where it repairs a solution.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

OUTPUT, ERRORS = 1, 2
"""Their numbers to the operating system, which is all that a library in C knows."""


@dataclass
class Aside:
    """Of a process: how many threads are within, and where standard output really goes."""

    within: int = 0
    real: int | None = None
    turn: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def output(self) -> Iterator[None]:
        """Within the block, of any thread, standard output is standard error."""
        with self.turn:
            self.within += 1
            if self.within == 1:
                self.real = _redirected()
        try:
            yield
        finally:
            with self.turn:
                self.within -= 1
                if self.within == 0 and self.real is not None:
                    os.dup2(self.real, OUTPUT)
                    os.close(self.real)


def _redirected() -> int | None:
    """Where standard output went until now; None where the process has none to redirect, or nowhere to."""
    try:
        real = os.dup(OUTPUT)
    except OSError:
        return None
    try:
        os.dup2(ERRORS, OUTPUT)
    except OSError:
        os.close(real)
        return None
    return real


ASIDE = Aside()
