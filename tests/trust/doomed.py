"""Child processes that die of SIGKILL: at a named step, at any line, or at any time.

Nothing in Discreet knows of it: the child wraps the real functions, or traces its own lines, before it begins. It is
forked from a process that has imported everything, so that a death costs a tenth of a second.
"""

import gc
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from tests.patience import PATIENCE

Tell = Callable[[Any], None]


class Doom(Protocol):
    """How a child dies. Armed in the child, before it begins."""

    def arm(self, tell: Tell) -> None: ...


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # a signal to oneself may take effect a moment later


@dataclass(frozen=True)
class Never:
    """Lives."""

    def arm(self, tell: Tell) -> None:
        pass


@dataclass(frozen=True)
class AtStep:
    """Before or after the n-th call of a function, of those calls that meet a condition."""

    owner: Any
    name: str
    after: bool = True
    nth: int = 1
    condition: Callable[..., bool] = lambda *_, **__: True

    def arm(self, tell: Tell) -> None:  # noqa: ARG002
        function, calls = getattr(self.owner, self.name), count(1)

        def deadly(*args: Any, **named: Any) -> Any:
            due = self.condition(*args, **named) and next(calls) == self.nth
            if due and not self.after:
                die()
            result = function(*args, **named)
            if due:
                die()
            return result

        setattr(self.owner, self.name, deadly)


Place = tuple[str, int]
"""A line of a file."""


@dataclass(frozen=True)
class AtLine:
    """At the n-th line of some files that is run, by any thread; of one line only, where one is given."""

    files: frozenset[str]
    nth: int
    line: int | None = None

    def arm(self, tell: Tell) -> None:
        visits = count(1)

        def visit(place: Place) -> None:
            if self.line in (None, place[1]) and next(visits) == self.nth:
                tell({"place": f"{Path(place[0]).name}:{place[1]}"})
                die()

        trace_lines(self.files, visit)


def trace_lines(files: frozenset[str], visit: Callable[[Place], None]) -> None:
    """Call visit for every line that is run of some files, in this thread and in those that are begun from now on."""

    def entered(frame: FrameType, _event: str, _: Any) -> Any:
        return at_line if frame.f_code.co_filename in files else None

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            visit((frame.f_code.co_filename, frame.f_lineno))
        return at_line

    threading.settrace(entered)
    sys.settrace(entered)


def visited(work: Callable[[Tell], None], files: frozenset[str]) -> list[Place]:
    """Every line of some files that work runs in a child, in order and as often as it is run."""

    def watched(tell: Tell) -> None:
        places: list[Place] = []
        trace_lines(files, places.append)
        work(lambda _: None)
        sys.settrace(None)
        tell(places)

    return [(file, line) for file, line in begin(watched, Never()).told()[0][-1]]


@dataclass(frozen=True)
class AtTime:
    """So many seconds after it began, wherever it is: in the middle of a system call too."""

    seconds: float

    def arm(self, tell: Tell) -> None:
        pass

    def strike(self, pid: int) -> None:
        """In the parent: a handle on the process outlives it, so that no other one is struck."""
        handle = os.pidfd_open(pid)

        def kill() -> None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)

        threading.Timer(self.seconds, kill).start()


@dataclass
class Child:
    """A process that was begun; what it told is read with `told`."""

    pid: int
    pipe: int

    def told(self, within: float = PATIENCE) -> tuple[list[Any], bool]:
        """Everything that it told before its end, and whether it was killed. Raises where it failed or hangs."""
        content, until, pipe = b"", time.monotonic() + within, select.poll()
        pipe.register(self.pipe)
        while True:
            if not pipe.poll(max(0, 1000 * (until - time.monotonic()))):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise TimeoutError(f"a child hangs after {content[-500:]!r}")
            piece = os.read(self.pipe, 1 << 16)
            if not piece:
                break
            content += piece
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        lines = [json.loads(line) for line in content.splitlines()]
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not killed and status:
            raise AssertionError(f"a child failed ({status}): " + "\n".join(map(str, lines)))
        return lines, killed


def begin(work: Callable[[Tell], None], doom: Doom) -> Child:
    """Run work(tell) in a forked child. What it tells is in the pipe before `tell` returns, whatever happens then."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        tell = lambda what: os.write(write, json.dumps(what).encode() + b"\n")  # noqa: E731
        status = 1
        try:
            os.close(read)
            gc.freeze()  # the parent's engines have threads that are not here: nothing of theirs may be cleared away
            doom.arm(tell)
            work(tell)
            status = 0
        except BaseException:
            tell(traceback.format_exc())
        finally:
            os._exit(status)
    os.close(write)
    if isinstance(doom, AtTime):
        doom.strike(pid)
    return Child(pid, read)


def in_threads(number: int, work: Callable[[int], None]) -> None:
    """Run work(i) in threads; the first failure is raised."""
    failures: list[BaseException] = []

    def told(i: int) -> None:
        try:
            work(i)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=told, args=(i,)) for i in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
