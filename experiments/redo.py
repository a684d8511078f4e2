"""What every `python -m experiments.NAME [FIGURE …]` does: draw the figures that are named, or all of them.

Noise repeats, by the figure's name: whoever draws a figure again gets the same one, but for times.
"""

import importlib
import os
import sys
import time
from collections.abc import Sequence
from tempfile import TemporaryDirectory

from experiments.noise import RepeatableNoise


def redo(package: str, figures: Sequence[str]) -> int:
    """Call `draw()` of each figure's module, and say how long it took."""
    names = sys.argv[1:] or list(figures)
    if unknown := sorted(set(names) - set(figures)):
        print(f"no figure is called {', '.join(unknown)}; there are {', '.join(figures)}")
        return 2
    noise = RepeatableNoise()
    for name in names:
        start = time.perf_counter()
        with TemporaryDirectory() as folder, noise.named(package, name):
            # Where noise repeats, so do the ids of vaults: receipts of an earlier run are not of this one's vaults.
            os.environ["XDG_STATE_HOME"] = folder
            importlib.import_module(f"{package}.{name}").draw()
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return 0
