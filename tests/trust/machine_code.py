"""What a compiler makes of the exponential mechanism: run by test_paths.py in a process that compiles it anew.

A program without a branch may be given one: where a compiler sees that a number is 0 or 1, it may jump instead of
multiply. `python -m tests.trust.machine_code` prints as JSON the branches and choices of the compiled code that depend
on a number read from memory, as all weights, gaps and points are; and those of a planted one.
"""

import json
import re
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit

from discreet.noise import exponential
from discreet.noise.bits import SeededBits
from discreet.noise.exponential import Gaps, sample_exponential

NAME = r"%[\w.$\-\"]+"
FUNCTION = re.compile(r"^define [^\n]*?@\"?([\w.$\-]+)\"?\([^\n]*\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
DEFINITION = re.compile(rf"^\s+({NAME}) = (.*)$", re.MULTILINE)
CONDITION = re.compile(rf"(?:br i1|select i1|switch i\d+) ({NAME})")
READ = re.compile(r"load (i\d|<)")
WRAPPERS = ("_ZN7cpython", "cfunc.")
"""Functions that take Python's arguments apart, and read shapes from memory."""


@njit
def with_a_choice(numbers: Any, powers: Any) -> Any:
    """The product of those powers whose number is odd, as it was first written."""
    total = np.ones(powers.shape[1], np.uint64)
    for i in range(numbers.size):
        is_odd = numbers[i] & np.uint64(1)
        for j in range(powers.shape[1]):
            total[j] *= np.uint64(1) - is_odd * (np.uint64(1) - powers[i, j])
    return total


def choices(dispatcher: Any, named: str) -> dict[str, Any]:
    """How many branches the compiled functions of a name have, and which of them depend on a number that is read."""
    [code] = dispatcher.inspect_llvm().values()
    branches, found = 0, []
    for name, body in FUNCTION.findall(code):
        if named not in name or name.startswith(WRAPPERS):
            continue
        definitions = dict(DEFINITION.findall(body))
        for condition in CONDITION.findall(body):
            branches += 1
            origin = _origins(condition, definitions)
            if any(READ.match(definitions[each]) for each in origin):
                found.append(f"{name[:60]}: {condition} = {definitions[condition]}")
    return {"branches": branches, "found": found}


def _origins(value: str, definitions: dict[str, str]) -> set[str]:
    """A value and all that it was computed from, within a function."""
    seen: set[str] = set()
    left = [value]
    while left:
        each = left.pop()
        if each in definitions and each not in seen:
            seen.add(each)
            left += re.findall(NAME, definitions[each])
    return seen


def main() -> None:
    sample_exponential([Gaps(np.array([[0, 1, 2]]), Fraction(1, 2))], SeededBits(1))
    with_a_choice(np.zeros(3, np.uint64), np.zeros((3, 5), np.uint64))
    ours = choices(exponential._locate.compiled, "exponential")
    print(json.dumps({"ours": ours, "planted": choices(with_a_choice, "with_a_choice")}))


if __name__ == "__main__":
    main()
