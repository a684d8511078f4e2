"""What people see: tables for terminals, one JSON object for machines, errors that say what to do next."""

import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Annotated, ParamSpec

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from discreet.errors import DiscreetError
from discreet.plain import plain
from discreet.progress import Progress, silent

P = ParamSpec("P")
Json = Annotated[bool, typer.Option("--json", help="print JSON, for machines")]
VaultPath = Annotated[Path, typer.Argument(metavar="VAULT", help="the vault's directory", show_default=False)]

PATIENCE = 1.0
"""Work that is shorter than this, in seconds, shows no progress bar."""

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def command(run: Callable[P, object]) -> Callable[P, None]:
    """A command whose errors are a message and exit code 1; with --json, an object on standard output."""

    @functools.wraps(run)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            run(*args, **kwargs)
        except DiscreetError as error:
            if kwargs.get("as_json"):
                print_json({"error": type(error).__name__, "message": str(error)})
            else:
                err.print(f"[bold red]{type(error).__name__}[/]: {escape(str(error))}", soft_wrap=True)
            raise typer.Exit(1) from None

    return guarded


def print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, default=plain)
    sys.stdout.write("\n")


PADDING, LEAST_WRAPPED = 2, 20
"""Of a table's columns: what each has around it, and the least width of one that is wrapped."""


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    right: Sequence[str] = (),
    tight: Sequence[str] = (),
    to: Console = out,
) -> None:
    """Print a table; columns named in `right` are numbers, and those in `tight` never wrapped or cut: where they do
    not fit, lines are longer than the terminal is wide."""
    shown = Table(title=escape(title) or None, title_justify="left", title_style="bold", header_style="dim", box=None)
    least = 0
    for place, column in enumerate(columns):
        longest = max(map(cell_len, [column, *(str(row[place]) for row in rows)]))
        least += PADDING + (longest if column in tight else min(longest, LEAST_WRAPPED))
        shown.add_column(
            escape(column),
            justify="right" if column in right else "left",
            overflow="fold",
            no_wrap=column in tight,
            min_width=longest if column in tight else None,
        )
    for row in rows:
        shown.add_row(*(escape(str(cell)) for cell in row))
    to.print(shown, width=max(least, to.width), crop=False, soft_wrap=least > to.width)


def pairs(title: str, rows: Sequence[tuple[str, object]]) -> None:
    """Print names with their values."""
    shown = Table.grid(padding=(0, 2))
    shown.add_column(style="dim")
    shown.add_column(overflow="fold")
    for name, value in rows:
        shown.add_row(escape(name), escape(str(value)))
    if title:
        out.print(f"[bold]{escape(title)}[/]")
    out.print(shown)


@contextmanager
def waiting(what: str, as_json: bool = False) -> Iterator[Progress]:
    """A bar on standard error for what takes longer than a second: it says what is done, and how much of it.

    Until somebody tells how far it is, the bar only moves. Silent where nobody watches: on a pipe, or with --json.
    """
    if as_json or not err.is_interactive:
        yield silent
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    shown = Bars(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=err, transient=True)
    task = shown.add_task(what, total=None)
    late = Timer(PATIENCE, shown.start)
    late.daemon = True
    late.start()
    # A bar that was full has ended for Rich, and its clock stands still; but something else may follow.
    try:
        yield lambda now, done: shown.update(task, description=now, completed=done, total=1 + 1e-9)
    finally:
        late.cancel()
        late.join()  # it may have begun to draw
        shown.stop()


def say(words: str, style: str = "dim", to: Console = out) -> None:
    """Print a sentence, wrapped between words at the terminal's width, or at 80 signs where there is no terminal."""
    to.print(Text(words, style), overflow="ignore", crop=False)


def bar(share: float, width: int = 24) -> str:
    """A bar of a share between 0 and 1."""
    full = round(width * min(max(share, 0.0), 1.0))
    return "█" * full + "░" * (width - full)
