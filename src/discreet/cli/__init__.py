"""The command line: thin commands over Vault, in one grammar. Human by default, --json for machines."""

import os
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import native
from discreet.cli.frames import expect_no_frames
from discreet.cli.light import LightCommand, LightGroup

VERBS = {
    "init": "vault",
    "describe": "vault",
    "ask": "ask",
    "budget": "vault",
    "refresh": "vault",
    "append": "vault",
    "erase": "vault",
    "serve": "serve",
    "backup": "backup",
    "restore": "backup",
    "demo": "demo",
}
"""Commands that are one word, each with the module that it is in."""
NOUNS = (
    *("audit", "buckets", "cube", "domain", "fact", "ledger", "lookup", "mine", "release", "rows", "running", "sulq"),
    "user",
)
"""Commands that take another word; each is a module."""
EVERYTHING = (*VERBS, *NOUNS)

if TYPE_CHECKING:
    app: typer.Typer
    """The whole command line."""


def __getattr__(name: str) -> Any:
    if name == "app":
        return app_of(EVERYTHING)
    raise AttributeError(f"module 'discreet.cli' has no attribute {name!r}")


def main() -> None:
    """Run the command that was typed. Only its module is imported; all of them where what was typed is no command."""
    # OpenBLAS's threads wait for work in a loop; after a millisecond they may sleep.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    match sys.argv[1:]:
        case ["--version", *_]:
            names: tuple[str, ...] = ()
        case [name, *_] if name in VERBS or name in NOUNS:
            names = (name,)
        case _:
            names = EVERYTHING
    if names != ("serve",):  # which stays
        native.expect_little()
    expect_no_frames()
    app_of(names)()


@cache
def app_of(names: tuple[str, ...]) -> typer.Typer:
    """A command line that has these commands."""
    made = typer.Typer(
        name="discreet",
        cls=LightGroup,
        help="A private statistical database: SQL and cubes over a table of people, and nobody learns about one of "
        "them.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    made.callback()(_options)
    for name in names:
        module = import_module(f"discreet.cli.{VERBS.get(name, name)}")
        if name in VERBS:
            made.command(cls=LightCommand)(getattr(module, name))
        else:
            made.add_typer(module.app, name=name)
    return made


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"discreet {version('discreet')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
