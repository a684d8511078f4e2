"""What other tools were run on, and how near they came: as it was kept."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"
TOOLS = {"aim": "AIM", "mst": "MST"}


@dataclass(frozen=True)
class Run:
    """A tool on a table at (ε, 10^-9)."""

    tool: str
    table: str
    epsilon: str


@dataclass(frozen=True)
class Found:
    """Mean total variation of pairs and of triples, of the model and of its rows."""

    run: Run
    model: tuple[float, float]
    rows: tuple[float, float]
    about: dict[str, Any]


def kept() -> list[Found]:
    """What was run so far."""
    if not RESULTS.exists():
        return []
    read = json.loads(RESULTS.read_text(encoding="utf-8"))
    return [Found(Run(**one["run"]), tuple(one["model"]), tuple(one["rows"]), one["about"]) for one in read]


def keep(found: Found) -> None:
    """Beside what is kept already."""
    lines = [asdict(one) for one in [*kept(), found]]
    RESULTS.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def beside(table: str, epsilon: str, say: Callable[[Found], str]) -> str:
    """What is told of each tool on a table at (ε, 10^-9), or that it was not run."""
    found = {one.run.tool: one for one in kept() if (one.run.table, one.run.epsilon) == (table, epsilon)}
    return ", ".join(
        f"{title} {say(found[tool])}" if tool in found else f"{title} was not run" for tool, title in TOOLS.items()
    )


def variation_beside(table: str, epsilon: str, order: int) -> str:
    """Total variation of pairs, or of triples, of each tool's model and rows."""
    return beside(table, epsilon, lambda one: f"{one.model[order - 2]:.4f} and its rows {one.rows[order - 2]:.4f}")


def seconds_beside(table: str, epsilon: str) -> str:
    """What each tool took."""
    return beside(table, epsilon, lambda one: f"{one.about['cpu_seconds']:.0f} CPU s")


def memory_beside(table: str, epsilon: str) -> str:
    """What memory each tool's process took."""
    return beside(table, epsilon, lambda one: f"{one.about['gigabytes']:.1f} GB")
