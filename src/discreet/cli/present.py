"""What people see: tables for terminals, one JSON object for machines, errors that say what to do next."""

import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, ParamSpec

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.domain.attribute import number_text
from discreet.errors import DiscreetError

P = ParamSpec("P")
Json = Annotated[bool, typer.Option("--json", help="print JSON, for machines")]
VaultPath = Annotated[Path, typer.Argument(metavar="VAULT", help="the vault's directory", show_default=False)]

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
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, default=_plain)
    sys.stdout.write("\n")


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return number_text(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    right: Sequence[str] = (),
    tight: Sequence[str] = (),
) -> None:
    """Print a table; columns named in `right` are numbers, and those in `tight` are never wrapped."""
    shown = Table(title=escape(title) or None, title_justify="left", title_style="bold", header_style="dim", box=None)
    for column in columns:
        shown.add_column(
            column, justify="right" if column in right else "left", overflow="fold", no_wrap=column in tight
        )
    for row in rows:
        shown.add_row(*(escape(str(cell)) for cell in row))
    out.print(shown)


def pairs(title: str, rows: Sequence[tuple[str, object]]) -> None:
    """Print names with their values."""
    shown = Table.grid(padding=(0, 2))
    shown.add_column(style="dim")
    shown.add_column(overflow="fold")
    for name, value in rows:
        shown.add_row(name, escape(str(value)))
    if title:
        out.print(f"[bold]{escape(title)}[/]")
    out.print(shown)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner while something takes its time; silent where nobody watches."""
    if err.is_terminal:
        with err.status(what):
            yield
    else:
        yield


def bar(share: float, width: int = 24) -> str:
    """A bar of a share between 0 and 1."""
    full = round(width * min(max(share, 0.0), 1.0))
    return "█" * full + "░" * (width - full)
