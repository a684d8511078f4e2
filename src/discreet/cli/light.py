"""Commands whose values are taken as they are typed, where nothing is to be converted.

Typer hands every value to Pydantic, also a text and one that was not given; to import that takes as long as a sixth of
an answer that is known. A value that has to be converted or refused still goes that way, in Typer's words.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup


class LightCommand(TyperCommand):
    """A command of Typer's. Of versions that have no such step it is what Typer makes it."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _lightened(super().get_params(ctx))


class LightGroup(TyperGroup):
    """The same of what stands before commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _lightened(super().get_params(ctx))


def _lightened(params: list[Any]) -> list[Any]:
    for param in params:
        own = getattr(param, "get_runtime_param", None)
        if own is not None and "get_runtime_param" not in vars(param):
            vars(param)["get_runtime_param"] = partial(_AsTyped, own)
    return params


@dataclass(frozen=True)
class _AsTyped:
    """How a value becomes what a command is handed; `own` is Typer's way."""

    own: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        annotation = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if isinstance(value, Enum) or (annotation in (str, float) and type(value) is annotation):
            return value  # a number that is not given is its default, and none of ours has a range
        if annotation == list[str] and isinstance(value, list) and all(type(one) is str for one in value):
            return value
        if annotation is Path and isinstance(value, str | Path) and _is_unchecked(value, param.type_descriptor):
            return Path(value)
        return self.own().coerce(value, param=param, ctx=ctx)


def _is_unchecked(value: str | Path, descriptor: Any) -> bool:
    """Whether Typer would refuse no such path, nor hand on another."""
    wanted = descriptor.parameter_info
    asks = wanted.exists or wanted.resolve_path or wanted.writable or not (wanted.file_okay and wanted.dir_okay)
    return not asks and (os.access(value, os.R_OK) or not os.path.lexists(value))
