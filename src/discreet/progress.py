"""How far a long piece of work has come, for whoever watches: what is done and its share, never anything of a row."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of it is."""


def silent(_what: str, _done: float) -> None:
    """Nobody watches."""
