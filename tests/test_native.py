"""Kernels: one source, compiled and run by Python; loaded when it is needed, and kept as long as it is the same."""

import importlib
import pkgutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import native
from discreet.native import LITTLE, Kernel, compiling, kernel
from tests.trust.fuzzing import Hang, within

FACTOR = 3


@kernel
def add_up(values: np.ndarray, bound: int) -> int:
    total = 0
    for value in values:
        total += limited(value, bound)
    return total


@kernel
def limited(value: int, bound: int) -> int:
    return min(FACTOR * value, bound)


@kernel(plain=lambda values: int(values.sum()))
def sum_of(values: np.ndarray) -> int:
    total = 0
    for value in values:
        total += value
    return total


def not_a_kernel(value: int) -> int:
    return value


@kernel
def calls_what_is_not_compiled(value: int) -> int:
    return not_a_kernel(value)


def test_a_kernel_is_the_same_compiled_and_run_by_python() -> None:
    values = np.arange(-5, 20)
    assert add_up.plain(values, 10) == add_up.compiled(values, 10) == add_up(values, 10)
    assert sum_of.plain(values) == sum_of.compiled(values)
    wrapped = np.array([2**63 - 1, 1])
    assert add_up.plain(wrapped // 3 * 2, 2**62) == add_up.compiled(wrapped // 3 * 2, 2**62)


def test_a_kernel_keeps_the_name_and_the_words_of_its_function() -> None:
    assert (add_up.__name__, add_up.__module__) == ("add_up", __name__)


def test_little_work_is_left_to_python_where_little_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native._python, "left", -1)
    assert add_up.sized(1) is add_up.compiled
    native.expect_little()
    assert [add_up.sized(steps) is add_up.plain for steps in (LITTLE // 2, LITTLE // 2, 1, 0)] == [1, 1, 0, 0]


def test_what_a_kernel_calls_has_to_be_one() -> None:
    with pytest.raises(TypeError, match="not_a_kernel"):
        calls_what_is_not_compiled(1)


def kernels() -> Iterator[Kernel[..., object]]:
    for found in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if not found.name.endswith("__main__"):
            named = vars(importlib.import_module(found.name)).values()
            yield from (value for value in named if isinstance(value, Kernel) and value.__module__ == found.name)


def test_every_kernel_knows_all_that_it_is_made_of() -> None:
    digests = [one.digest for one in kernels()]
    assert len(digests) > 80
    assert all(len(digest) == 64 for digest in digests)


CALLER = (
    "from discreet.native import kernel\nfrom callee import amount\n\n@kernel\ndef total():\n    return amount() + 1\n"
)
CALLEE = "from discreet.native import kernel\nfrom constants import HOW_MUCH\n\n@kernel\ndef amount():\n    return {}\n"


@pytest.fixture
def total(tmp_path: Path) -> Callable[..., tuple[int, int]]:
    """What a kernel that calls one of another file returns, and how many were loaded and not compiled."""

    def run(callee: str, constant: int) -> tuple[int, int]:
        (tmp_path / "caller.py").write_text(CALLER)
        (tmp_path / "callee.py").write_text(callee)
        (tmp_path / "constants.py").write_text(f"HOW_MUCH = {constant}\n")
        code = "from caller import total; print(total(), sum(total.compiled.stats.cache_hits.values()))"
        done = subprocess.run([sys.executable, "-B", "-c", code], cwd=tmp_path, capture_output=True, check=True)
        returned, loaded = map(int, done.stdout.split())
        return returned, loaded

    return run


def test_a_compiled_kernel_is_kept_until_one_that_it_calls_or_a_constant_of_it_changes(total) -> None:
    assert total(CALLEE.format("HOW_MUCH"), 5) == (6, 0)
    assert total(CALLEE.format("HOW_MUCH"), 5) == (6, 1)
    assert total(CALLEE.format("HOW_MUCH  # as much as that"), 5) == (6, 1)
    assert total(CALLEE.format("HOW_MUCH"), 7) == (8, 0)
    assert total(CALLEE.format("2 * HOW_MUCH"), 7) == (15, 0)


def test_processes_that_start_together_compile_a_kernel_once(total, tmp_path) -> None:
    """Each of three tells how often it compiled; and what they kept is right for whoever comes later."""
    assert total(CALLEE.format("HOW_MUCH"), 5) == (6, 0)  # writes the files
    for kept in tmp_path.rglob("*.nb?"):
        kept.unlink()
    code = "from caller import total; total(); print(sum(total.compiled.stats.cache_misses.values()))"
    command = [sys.executable, "-B", "-c", code]
    running = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) for _ in range(3)]
    assert sorted(int(one.communicate()[0]) for one in running) == [0, 0, 1]
    assert total(CALLEE.format("HOW_MUCH"), 5) == (6, 1)


def busy(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_a_fuzzed_input_that_keeps_the_processor_busy_is_found_and_one_that_has_to_compile_is_not() -> None:
    with within(0.05):
        for _ in range(2):
            with compiling:
                busy(0.2)
    with compiling:
        busy(0.1)
    with pytest.raises(Hang), within(0.05):
        busy(60)


def test_what_cannot_be_read_of_a_compiled_kernel_is_compiled_anew(total, tmp_path) -> None:
    assert total(CALLEE.format("HOW_MUCH"), 5) == (6, 0)
    for index in tmp_path.rglob("*.nbi"):
        index.write_bytes(index.read_bytes()[:-9])
    assert total(CALLEE.format("HOW_MUCH"), 5) == (6, 0)
    assert total(CALLEE.format("HOW_MUCH"), 5) == (6, 1)
