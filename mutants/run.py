"""Running tests over a mutant: in a copy of the repository, in a fork of a process that has the libraries imported."""

import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.fixtures import FixtureLookupErrorRepr
from hypothesis import Phase, settings

from mutants.mutant import ROOT, Mutant
from mutants.suites import suites_of

LIBRARIES = (
    "numpy", "scipy.sparse.linalg", "scipy.optimize", "scipy.stats", "numba", "numba.core.caching", "pandas", "mpmath",
    "pyarrow.parquet", "pyarrow.compute", "duckdb", "sqlglot", "xarray", "hypothesis", "clarabel", "rich.console",
    "cryptography.hazmat.primitives.ciphers", "typer.testing", "pydantic", "dp_accounting", "opendp.prelude",
)  # fmt: skip
"""What tests import and is no part of Discreet: imported once, before the forks."""

BROKEN = 70
"""How a fork ends whose tests could not be run, whatever the mutant is."""

LONGEST_TEST = 300
"""Seconds after which a test is ended that waits for something that a mutant took away."""

WAITING = 5
"""Times the processor time that a mutant's tests may take, for which they may run: a busy machine kills nothing."""


@dataclass(frozen=True)
class Outcome:
    """Whether tests noticed something, and the first one that did; what it took, by file of tests, in seconds."""

    killed: bool
    by: str
    seconds: dict[str, float]


def warm() -> None:
    """Import what tests need, and let others of this machine go first."""
    os.nice(10)
    for library in LIBRARIES:
        importlib.import_module(library)


def copied(source: Path, tree: Path) -> Path:
    """A copy of the repository, with what was compiled of it, that mutants are written into."""
    left_out = shutil.ignore_patterns(".git", ".venv", ".hypothesis", ".*_cache", "out", "demo")
    return Path(shutil.copytree(source, tree, ignore=left_out))


def try_out(mutant: Mutant, tree: Path, seconds: dict[str, float]) -> Outcome:
    """The tests of a mutant over a copy of the repository, which is as it was afterwards."""
    place = tree / mutant.file
    for compiled in place.parent.glob(f"__pycache__/{place.stem}.*.pyc"):
        compiled.unlink()
    place.write_bytes(mutant.mutated)
    outcome = Outcome(False, "", {})
    try:
        for files in suites_of(mutant):
            if not outcome.killed:
                outcome = run_tests(tree, files, longest=60 + 4 * sum(seconds.get(file, 0.0) for file in files))
        return outcome
    finally:
        place.write_bytes(mutant.source)


def run_tests(tree: Path, files: Sequence[str], longest: float, keeping_bytecode: bool = False) -> Outcome:
    """Run test files in a copy, up to the first failure, in a fork that may take so many seconds of processor time."""
    report, output, files_of_tests = (tree.parent / f"{os.getpid()}.{name}" for name in ("json", "txt", "tmp"))
    report.unlink(missing_ok=True)
    began = time.monotonic()
    child = os.fork()
    if not child:
        try:
            arguments = ["--basetemp", str(files_of_tests), "--timeout", str(LONGEST_TEST), *files]
            resource.setrlimit(resource.RLIMIT_CPU, (int(longest), int(longest) + 1))
            _in_fork(tree, arguments, report, output, keeping_bytecode)
        finally:
            os._exit(BROKEN)
    ended, status = 0, 0
    while not ended and time.monotonic() < began + WAITING * longest:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # and whatever the tests started
    if not ended:
        os.waitpid(child, 0)
    if ended and os.waitstatus_to_exitcode(status) in (BROKEN, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"tests could not be run: {output.read_text()[-2000:]}")
    if not report.exists():
        return Outcome(True, "a limit of time, or a crash", {})
    found = json.loads(report.read_text())
    return Outcome(bool(found["code"]), found["failed"], found["seconds"])


def _in_fork(tree: Path, arguments: Sequence[str], report: Path, output: Path, keeping_bytecode: bool) -> None:
    os.setsid()
    written_to = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written_to, 1)
    os.dup2(written_to, 2)
    os.chdir(tree)
    sys.dont_write_bytecode = not keeping_bytecode
    os.environ.update(PYTHONPATH=str(tree / "src"), PYTHONDONTWRITEBYTECODE="" if keeping_bytecode else "1")
    sys.modules["__main__"] = ModuleType("__main__")  # processes that tests start look there for what to import
    sys.path[:] = [str(tree / "src"), *(path for path in sys.path if path not in ("", str(ROOT)))]
    watch = _Watch()
    code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments], plugins=[watch]))
    written = {"failed": watch.failed, "code": code, "seconds": watch.seconds}
    report.write_text(json.dumps(written))
    sys.stdout.flush()
    os._exit(code)


class _Watch:
    """A plugin that notes the first failure, and what files take."""

    def __init__(self) -> None:
        self.failed = ""
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_collection(self) -> None:
        """A failing example is enough: a smaller one need not be looked for."""
        settings.register_profile("hasty", settings.get_profile("steady"), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("hasty")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid.partition("::")[0]] += report.duration
        if isinstance(report.longrepr, FixtureLookupErrorRepr):
            os._exit(BROKEN)
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid
