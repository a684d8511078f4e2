"""Run benchmark modules and print their figures: `python -m bench [MODULE …]`; all of them when none is named.

The figures are kept in bench/out/figures.json, and the page docs/figures.md is made of what is there.
"""

import json
import os
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.figure import Figure, figures_of

HERE = Path(__file__).parent
RESULTS = HERE / "out" / "figures.json"
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
            sign = "≥" if figure.better == "higher" else "≤"
            verdict = "[green]pass" if figure.passed else "[bold red]FAIL"
            measured_value, bar = f"{figure.value:.4g} {figure.unit}", f"{sign} {figure.bar:.4g} {figure.unit}"
            table.add_row(name, figure.name, measured_value, bar, verdict, figure.note)
    return table


def save(name: str, figures: list[Figure]) -> None:
    """Write a module's figures as JSON; those of the others stay as they were."""
    kept = json.loads(RESULTS.read_text())["figures"] if RESULTS.exists() else {}
    kept[name] = [asdict(figure) | {"passed": figure.passed} for figure in figures]
    document = {"date": datetime.now(UTC).date().isoformat(), "machine": machine(), "figures": kept}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    PAGE.write_text(page(document))


def page(document: dict[str, Any]) -> str:
    """The figures as a page of the docs."""
    lines = [
        "# Figures",
        "",
        "Measured by `make bench`, which makes this page. Each figure is a ratio in one run, or says what it is.",
        f"Machine: {document['machine']}. Date: {document['date']}.",
    ]
    for name, figures in document["figures"].items():
        lines += [
            "",
            f"## {name.replace('_', ' ')}",
            "",
            "| figure | measured | bar | | note |",
            "|---|---|---|---|---|",
        ]
        for figure in figures:
            sign = "≥" if figure["better"] == "higher" else "≤"
            cells = [
                figure["name"],
                f"{figure['value']:.4g} {figure['unit']}",
                f"{sign} {figure['bar']:.4g} {figure['unit']}",
                "" if figure["passed"] else "**missed**",
                figure["note"],
            ]
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


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
