"""No data frames in commands. Arrow imports pandas with its first array, to know its frames from other things; that
takes longer than most commands do without, and no command has a frame."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType

FOR_FRAMES = ("discreet", "pyarrow")
"""Packages that want pandas for frames that somebody hands them, and for nothing else. Arrow's compiled code is seen as
whoever calls it."""


class _NoFrames:
    """A finder of modules that lets whoever else wants pandas have it, as xarray does."""

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "pandas" and _is_for_frames(sys._getframe(1)):
            raise ModuleNotFoundError("no frames here", name=name)
        return None


def _is_for_frames(frame: FrameType | None) -> bool:
    while frame is not None and _package(frame) == "importlib":
        frame = frame.f_back
    return frame is None or _package(frame) in FOR_FRAMES


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def expect_no_frames() -> None:
    """Keep pandas out of this process until somebody imports it for a reason of their own."""
    sys.meta_path.insert(0, _NoFrames())
