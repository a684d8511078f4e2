"""The page docs/explain/peers.md: its tables are written from a comparison, its text by hand around them.

A table stands between `<!-- NAME -->` and `<!-- end NAME -->`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench.peers.outcome import Attempt, Comparison, Counts, Marginals, Noise

PAGE = Path(__file__).parents[2] / "docs" / "explain" / "peers.md"


def write_page(comparison: Comparison, page: Path = PAGE) -> None:
    text = page.read_text(encoding="utf-8")
    for name, block in BLOCKS.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if len(marked.findall(text)) != 1:
            raise ValueError(f"{page.name} has no place, or more than one, for {name}")
        written = block(comparison)
        text = marked.sub(lambda found: f"{found[1]}{written}\n{found[2]}", text)  # noqa: B023
    page.write_text(text, encoding="utf-8")


def run_block(comparison: Comparison) -> str:
    versions = {attempt.title.partition(",")[0]: attempt.version for attempt in comparison.attempts if attempt.version}
    lines = [
        f"Machine: {comparison.machine}. Date: {comparison.date}. At most {comparison.limit_seconds:.0f} s for a task.",
        f"Versions: {', '.join(f'{name} {version}' for name, version in versions.items())}.",
    ]
    for attempt in comparison.attempts:
        lines += [f"{attempt.title}, {task}: {why}." for task, why in attempt.failures.items()]
    return "  \n".join(lines)


def noise_block(comparison: Comparison) -> str:
    def row(attempt: Attempt, noise: Noise) -> Sequence[str]:
        return attempt.title, f"{noise.nanoseconds:,.0f} ns", f"{noise.mean_size:.2f}", noise.kind

    return table(("", "a draw", "mean size", "numbers"), row, comparison.of("noise"))


def marginals_block(task: str) -> Callable[[Comparison], str]:
    def row(attempt: Attempt, found: Marginals) -> Sequence[str]:
        return (
            attempt.title,
            duration(found, attempt.failures.get(task)),
            f"{found.peak_bytes / 1e6:,.0f} MB",
            f"{found.mean_error:,.1f}",
            f"{found.people_error:,.1f}",
            f"{found.max_error:,.0f}",
            agreement(found),
        )

    header = ("", "time", "peak memory", "mean error", "where people are", "largest error", "roll-ups agree")
    return lambda comparison: table(header, row, comparison.of(task))


def duration(found: Marginals, failure: str | None) -> str:
    if found.finished == found.wanted:
        return seconds(found.seconds)
    told = [f"unfinished: {found.finished} of {found.wanted} in {seconds(found.seconds)}"]
    if failure is not None:  # in the midst of a cuboid, which took longer than any that was finished
        told.append(failure)
    elif found.scaled_seconds is not None:
        told.append(f"scaled up ≈ {seconds(found.scaled_seconds)}")
    return "; ".join(told)


def agreement(found: Marginals) -> str:
    """Cells that were not answered are told here: they are why roll-ups differ, and why errors look small."""
    if found.consistent:
        return "yes"
    answered = "" if found.complete else f"; {found.answered_cells:,} of {found.cells:,} cells answered"
    if found.roll_up_gap is None or found.agreeing:
        return f"nothing to compare{answered}"
    return f"no: off by up to {found.roll_up_gap:,.0f}{answered}"


def counts_block(comparison: Comparison) -> str:
    def row(attempt: Attempt, found: Counts) -> Sequence[str]:
        return (
            attempt.title,
            milliseconds(found.median_seconds),
            milliseconds(found.slowest_seconds),
            f"{found.asked}",
            f"{found.mean_error:,.0f}",
            f"{found.peak_bytes / 1e6:,.0f} MB",
            found.budget,
            found.after,
        )

    header = ("", "median", "slowest", "asked", "mean error", "peak memory", "budget kept", "when it is gone")
    return table(header, row, comparison.of("counts"))


def table(header: Sequence[str], row: Callable[..., Sequence[str]], entries: Iterable[tuple[Attempt, object]]) -> str:
    lines = [header, ["---"] * len(header), *(row(attempt, outcome) for attempt, outcome in entries)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |" for cells in lines)


def seconds(taken: float) -> str:
    return f"{taken:,.0f} s" if taken >= 10 else f"{taken:.2g} s"


def milliseconds(taken: float) -> str:
    return f"{1e3 * taken:,.0f} ms" if taken >= 0.01 else f"{1e3 * taken:.2g} ms"


BLOCKS: dict[str, Callable[[Comparison], str]] = {
    "run": run_block,
    "noise": noise_block,
    "pairs": marginals_block("pairs"),
    "cuboids": marginals_block("cuboids"),
    "counts": counts_block,
}
