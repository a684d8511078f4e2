"""Put the list to the tools and keep what became of it: `python -m bench.sql_peers [TOOL …]`; with names, just show."""

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from bench.__main__ import machine
from bench.sql_peers.compare import PEERS, RESULTS, Found, compared
from tests.questions.listed import THEMES, questions


def main() -> int:
    named = sys.argv[1:]
    found = list(compared([peer for peer in PEERS if not named or peer.tool in named]))
    console = Console()
    console.print(report(found))
    if named:
        for one in found:
            console.print(*one.wrong, *one.errors, sep="\n", markup=False)
    else:
        document = {"date": datetime.now(UTC).date().isoformat(), "machine": machine(), "questions": len(questions())}
        document["tools"] = [asdict(one) for one in found]
        RESULTS.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def report(found: list[Found]) -> Table:
    table = Table("tool", "version", "asked", "right", "wrong", "not answered", *THEMES)
    for one in found:
        if one.not_installed:
            table.add_row(one.title, f"not installed: {one.not_installed}")
            continue
        by_theme = [str(sum(name.startswith(f"{theme}:") for name in one.right)) for theme in THEMES]
        counts = (one.asked, len(one.right), len(one.wrong), one.not_answered)
        table.add_row(one.title, one.version, *map(str, counts), *by_theme)
    return table


if __name__ == "__main__":
    sys.exit(main())
