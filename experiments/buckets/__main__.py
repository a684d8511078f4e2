"""Redo figures of the buckets seed: `python -m experiments.buckets [fig2 … fig7]`; all by default."""

import importlib
import sys
import time
from pathlib import Path

FIGURES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("fig*.py")))


def main() -> int:
    names = sys.argv[1:] or list(FIGURES)
    if unknown := sorted(set(names) - set(FIGURES)):
        print(f"no figure is called {', '.join(unknown)}; there are {', '.join(FIGURES)}")
        return 2
    for name in names:
        start = time.perf_counter()
        importlib.import_module(f"experiments.buckets.{name}").draw()
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
