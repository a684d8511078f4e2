"""Draw the figures of the SuLQ experiments: `python -m experiments.sulq [queries, privacy …]`; all by default."""

import importlib
import sys
import time

FIGURES = ("queries", "people", "learnt", "privacy")


def main() -> int:
    names = sys.argv[1:] or list(FIGURES)
    if unknown := sorted(set(names) - set(FIGURES)):
        print(f"no figure is called {', '.join(unknown)}; there are {', '.join(FIGURES)}")
        return 2
    for name in names:
        start = time.perf_counter()
        importlib.import_module(f"experiments.sulq.{name}").draw()
        print(f"{name}: {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
