"""Redo figures of the cubes seed: `python -m experiments.cubes [fig6_1 … fig6_9 online counts]`; all by default."""

import importlib
import sys
import time

FIGURES = (*(f"fig6_{number}" for number in range(1, 10)), "online", "counts")


def main() -> int:
    names = sys.argv[1:] or list(FIGURES)
    if unknown := sorted(set(names) - set(FIGURES)):
        print(f"no figure is called {', '.join(unknown)}; there are {', '.join(FIGURES)}")
        return 2
    for name in names:
        start = time.perf_counter()
        importlib.import_module(f"experiments.cubes.{name}").draw()
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
