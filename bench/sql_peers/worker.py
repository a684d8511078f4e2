"""One tool at the list, in the tool's interpreter: `python -m bench.sql_peers.worker TOOL FOLDER POSTGRES N`.

FOLDER holds questions.json and schema.json; each Nth question is asked. Prints one JSON object a line: a question's
columns and rows, or the error.
"""

import importlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

LONGEST_ERROR = 300


def main() -> None:
    name, folder, uri, every = sys.argv[1:]
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    tool = importlib.import_module(f"bench.sql_peers.tools.{name}")
    print(json.dumps({"version": version(tool.PACKAGE)}), file=lines, flush=True)
    ask = tool.opened(json.loads(Path(folder, "schema.json").read_text()), uri)
    for question in json.loads(Path(folder, "questions.json").read_text())[:: int(every)]:
        for text in question["spellings"][: tool.SPELLINGS]:
            print(
                json.dumps({"name": question["name"], **attempt(ask, question["table"], text)}), file=lines, flush=True
            )


def attempt(ask: Any, table: str, text: str) -> dict[str, Any]:
    try:
        columns, rows = ask(table, text)
    except BaseException as error:  # panics of Rust are no Exceptions
        return {"error": f"{type(error).__name__}: {error}"[:LONGEST_ERROR]}
    return {"columns": list(map(str, columns)), "rows": [[plain(value) for value in row] for row in rows]}


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers as such, what is no number and no text as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if number == number else None


if __name__ == "__main__":
    main()
