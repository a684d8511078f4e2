"""What other tools were run on, and how near they came: as it was kept."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"


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
