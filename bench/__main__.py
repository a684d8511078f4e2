"""Run benchmark modules and print their figures: `python -m bench [MODULE …]`; all of them when none is named.

Each module has a section in docs/figures.md, with the day and the machine; running it writes that section anew.
"""

import os
import platform
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.figure import Figure, figures_of

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "figures.md"
NOT_BENCHMARKS = {"__init__", "__main__", "figure", "postgres"}


def modules() -> list[str]:
    packages = {path.parent.name for path in HERE.glob("*/__init__.py")}
    return sorted({path.stem for path in HERE.glob("*.py")} - NOT_BENCHMARKS | packages)


def measure(names: list[str], console: Console) -> dict[str, list[Figure]]:
    """Every module's figures, kept as they come, with a line of progress that names what is being measured.

    Each module has a process of its own: what one leaves in memory would slow down the next.
    """
    measured: dict[str, list[Figure]] = {}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    fresh = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
    with Progress(*columns, console=console, transient=True) as progress, fresh:
        for name in names:
            task = progress.add_task(name)
            measured[name] = fresh.submit(figures_of, name).result()
            save(name, measured[name])
            progress.remove_task(task)
    return measured


def report(measured: dict[str, list[Figure]]) -> Table:
    table = Table("module", "figure", "measured", "bar", "", "note", title="Figures")
    for name, figures in measured.items():
        for figure in figures:
            verdict = "[green]pass" if figure.passed else "[bold red]FAIL"
            table.add_row(name, figure.name, *shown(figure), verdict, figure.note)
    return table


def save(name: str, figures: list[Figure]) -> None:
    """Write a module's figures into its section of the page; those of the others stay as they are."""
    head, *sections = re.split(r"(?m)^(?=## )", PAGE.read_text())
    kept = {section.partition("\n")[0]: section for section in sections}
    new = section(name, figures)
    kept[new.partition("\n")[0]] = new
    PAGE.write_text(head + "\n".join(text.rstrip("\n") + "\n" for text in kept.values()))


def section(name: str, figures: list[Figure]) -> str:
    """The figures of a module as a section of the page."""
    lines = [
        f"## {name.replace('_', ' ')}",
        "",
        f"{datetime.now(UTC).date().isoformat()}, {machine()}.",
        "",
        "| figure | measured | bar | | note |",
        "|---|---|---|---|---|",
    ]
    for figure in figures:
        cells = [figure.name, *shown(figure), "" if figure.passed else "**missed**", figure.note]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def shown(figure: Figure) -> tuple[str, str]:
    """What was measured, and the bar."""
    sign = "≥" if figure.better == "higher" else "≤"
    return f"{figure.value:.4g} {figure.unit}", f"{sign} {figure.bar:.4g} {figure.unit}"


def machine() -> str:
    """The processor and how many cores of it there are: figures mean nothing without."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {models[0] if models else platform.processor() or platform.machine()}"


def main() -> int:
    console = Console()
    names = sys.argv[1:] or modules()
    if unknown := sorted(set(names) - set(modules())):
        console.print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(modules())}")
        return 2
    measured = measure(names, console)
    console.print(report(measured))
    return 0 if all(figure.passed for figures in measured.values() for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
