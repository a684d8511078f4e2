"""All figures of all pages: `python -m experiments`; of some pages, `python -m experiments cubes sulq`.

Two at a time; then, one after the other, those that use both cores by themselves or show times of their own. Each is
drawn by a process of its own, with noise by its name: the order makes no difference to any number but times.
"""

import importlib
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

PAGES = ("cubes", "buckets", "sulq", "models", "attacks", "facts", "relaxation", "wide")
AT_A_TIME = 2
ALONE = {
    "cubes": {"fig6_8", "fig6_9"},
    "buckets": {"fig6", "fig7"},
    "relaxation": {"fig11", "fig12", "fig13", "fig14", "fig15", "fig16", "variance", "readings"},
    "wide": {"wide"},
}
"""Figure 16 also has the times of 13 to 15, and comes after them."""

Figure = tuple[str, str]


def figures_of(pages: Iterable[str]) -> list[Figure]:
    """Every figure of these pages, page by page."""
    return [
        (page, figure) for page in pages for figure in importlib.import_module(f"experiments.{page}.__main__").FIGURES
    ]


def in_turns(figures: Sequence[Figure]) -> tuple[list[Figure], list[Figure]]:
    """Those that are drawn two at a time, and those that are drawn alone."""
    alone = [(page, name) for page, name in figures if name in ALONE.get(page, ())]
    return [figure for figure in figures if figure not in alone], alone


def draw(figure: Figure) -> int:
    """Draw one figure, and say how long it took."""
    start = time.perf_counter()
    failed = subprocess.run([sys.executable, "-m", f"experiments.{figure[0]}", figure[1]], stdout=subprocess.DEVNULL)
    took = time.perf_counter() - start
    print(*figure, f"failed after {took:.0f} s" if failed.returncode else f"{took:.0f} s", flush=True)
    return failed.returncode


def main() -> int:
    pages = sys.argv[1:] or PAGES
    if unknown := sorted(set(pages) - set(PAGES)):
        print(f"no page is called {', '.join(unknown)}; there are {', '.join(PAGES)}")
        return 2
    start = time.perf_counter()
    together, alone = in_turns(figures_of(pages))
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        codes = list(pool.map(draw, together))
    codes += [draw(figure) for figure in alone]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    minutes = [took / 60 for took in (time.perf_counter() - start, used.ru_utime + used.ru_stime)]
    print("{} figures: {:.0f} minutes, {:.0f} of processor time".format(len(codes), *minutes))
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
