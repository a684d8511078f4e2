"""What every `python -m experiments.NAME [FIGURE …]` does: draw the figures that are named, or all of them."""

import importlib
import sys
import time
from collections.abc import Sequence


def redo(package: str, figures: Sequence[str]) -> int:
    """Call `draw()` of each figure's module, and say how long it took."""
    names = sys.argv[1:] or list(figures)
    if unknown := sorted(set(names) - set(figures)):
        print(f"no figure is called {', '.join(unknown)}; there are {', '.join(figures)}")
        return 2
    for name in names:
        start = time.perf_counter()
        importlib.import_module(f"{package}.{name}").draw()
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return 0
