"""Wide tables: `python -m experiments.wide`; a few minutes, 4 GB of memory and 2 GB of disk for 100 attributes."""

import sys
import time

from experiments.wide.table import ATTRIBUTES, draw

FIGURES = ("wide",)


def main() -> int:
    try:
        attributes = [int(text) for text in sys.argv[1:] if text not in FIGURES] or list(ATTRIBUTES)
    except ValueError:
        print(f"numbers of attributes: {' '.join(map(str, ATTRIBUTES))}")
        return 2
    start = time.perf_counter()
    draw(attributes)
    print(f"wide: {time.perf_counter() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
