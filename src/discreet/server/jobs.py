"""Long work in the background: a cube is published by a thread, and a file says how far it is.

The file is in the vault, so that any worker process can tell. A job holds the lock of its name while it runs, and the
system takes that back when its process ends: a job that says it runs, and holds no lock, was interrupted. What it
charged is said, so that it can go on without a further charge. Why rows were not published speaks of exact counts: that
stays in the memory of the process that found it, and no file has it.
"""

import fcntl
import json
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from discreet.errors import ArchiveError, DiscreetError, NotFound, UnsupportedQuery
from discreet.private import private_file, private_folder
from discreet.progress import Progress
from discreet.replies import ErrorJson, JobJson
from discreet.server.auth import User
from discreet.server.names import name_for
from discreet.server.shelf import require_name

JOBS = "jobs"
TELL_SECONDS = 0.2
"""A job says how far it is at most this often."""
Published = Literal["cube", "rows", "buckets"]
_running: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()
State = Literal["running", "done", "failed", "interrupted"]
UNSAID = (
    "nothing was published, and why speaks of the rows: no file keeps that. The server process that found it tells a "
    "custodian for as long as it runs; `discreet buckets publish` tells it on the terminal"
)
MOST_KEPT = 64
_why: "OrderedDict[tuple[Path, str], ErrorJson]" = OrderedDict()
"""What the last jobs of this process found wrong with the rows: by the job's file, and when it was begun."""


@dataclass(frozen=True)
class Job:
    """A piece of work by its name; where it ended badly, `error` says why and `charge` what stands."""

    id: str
    user: str
    at: str
    what: Published = "cube"
    state: State = "running"
    doing: str = "waiting to begin"
    done: float = 0.0
    charge: int | None = None
    error: ErrorJson | None = None

    def to_json(self) -> JobJson:
        return {
            "id": self.id,
            "what": self.what,
            "user": self.user,
            "at": self.at,
            "state": self.state,
            "doing": self.doing,
            "done": self.done,
            "charge": self.charge,
            "error": self.error,
        }

    def seen_by(self, user: User) -> "Job":
        """What a user may know of it. Why buckets were refused speaks of the table's counts: for custodians only."""
        named = replace(self, user=name_for(user, self.user) or "")
        if self.what != "buckets" or self.error is None or user.role == "custodian":
            return named
        return replace(
            named, error={"kind": "EngineError", "message": "nothing was published; a custodian can see why"}
        )


def start_job(
    home: Path,
    name: str,
    user: str,
    work: Callable[[Progress], object],
    what: Published = "cube",
    charged: Sequence[int] = (),
) -> Job:
    """Begin work in a thread, under a name that no other job is running by. `charged` fills as the work charges."""
    folder = home / JOBS
    job = Job(require_name(name), user, datetime.now(UTC).isoformat(timespec="seconds"), what)
    try:
        private_folder(folder)
        lock = _locked(folder, name)
        if lock is None:
            raise UnsupportedQuery(f"{name} is being published; see GET /api/v1/jobs/{name}")
        _write(folder, job)
    except OSError:
        raise ArchiveError("a job cannot be noted; is there space on the vault's disk?") from None
    thread = threading.Thread(target=_run, args=(folder, job, lock, work, charged), name=f"job-{name}", daemon=True)
    _running.add(thread)
    thread.start()
    return job


def wait_for_jobs(seconds: float) -> None:
    """Give the jobs of this process a last moment. One that is not done by then is interrupted when the process ends:
    its charge stands, and it can go on from that."""
    until = time.monotonic() + seconds
    for thread in list(_running):
        thread.join(max(until - time.monotonic(), 0.0))


def find_job(home: Path, name: str) -> Job:
    """A job as it is now. Raises NotFound where there is none of that name."""
    job = _read(home / JOBS, require_name(name))
    if job is None:
        raise NotFound(f"there is no job {name!r} here")
    return job


def list_jobs(home: Path) -> list[Job]:
    """Every job, the latest first."""
    found = [_read(home / JOBS, path.stem) for path in (home / JOBS).glob("[A-Za-z0-9]*.json")]
    return sorted((job for job in found if job is not None), key=lambda job: job.at, reverse=True)


def _locked(folder: Path, name: str) -> int | None:
    """The lock of a name, for as long as it is open; None where another job holds it."""
    lock = private_file(folder / f".{name}.lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _run(folder: Path, job: Job, lock: int, work: Callable[[Progress], object], charged: Sequence[int]) -> None:
    told = 0.0

    def tell(doing: str, done: float) -> None:
        nonlocal told
        if time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            _tell(folder, replace(job, doing=doing, done=round(done, 4), charge=next(iter(charged), None)))

    try:
        work(tell)
        ended = replace(job, state="done", doing="published", done=1.0)
    except DiscreetError as error:
        ended = replace(job, state="failed", error=_kept(folder, job, type(error).__name__, str(error)))
    except Exception:  # its words may hold data
        ended = replace(job, state="failed", error={"kind": "EngineError", "message": "the work failed"})
    _tell(folder, replace(ended, charge=next(iter(charged), None)))
    os.close(lock)


def _kept(folder: Path, job: Job, kind: str, words: str) -> ErrorJson:
    """What a job's file says of a failure. What is wrong with a cube, or with rows drawn from its model, is public."""
    why: ErrorJson = {"kind": kind, "message": words}
    if job.what != "buckets":
        return why
    _why[_file(folder, job.id), job.at] = why
    while len(_why) > MOST_KEPT:
        _why.popitem(last=False)
    return {**why, "message": UNSAID}


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _tell(folder: Path, job: Job) -> None:
    with suppress(OSError):  # a full disk stops what is told of the work, not the work
        _write(folder, job)


def _write(folder: Path, job: Job) -> None:
    aside = folder / f".{job.id}.part"
    with os.fdopen(private_file(aside, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8") as file:
        json.dump(job.to_json(), file, ensure_ascii=False)
    aside.replace(_file(folder, job.id))


def _read(folder: Path, name: str) -> Job | None:
    try:
        job = _parsed(folder, name)
        lock = _locked(folder, name) if job.state == "running" else None
    except (OSError, ValueError, TypeError):
        return None
    if lock is None:
        return job
    os.close(lock)
    # It may have ended between the two looks.
    again = _parsed(folder, name)
    return replace(again, state="interrupted") if again.state == "running" else again


def _parsed(folder: Path, name: str) -> Job:
    """A job by its file, and by what this process knows besides."""
    path = _file(folder, name)
    job = Job(**json.loads(path.read_text(encoding="utf-8")))
    return job if job.error is None else replace(job, error=_why.get((path, job.at), job.error))
