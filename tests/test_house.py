"""The numbers of the house are counted right, and its modules do not import each other in circles."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.house import circles, class_names, imports_of, longest_chain, numbers, parsed

PACKAGE = Path(__file__).parents[1] / "src" / "discreet"
SOME = {
    "__init__": "",
    "low": "LIMIT = 2**10\nLOW, HIGH = 1, 2.5\nNAME = 'a'\nMADE = int(3)\nclass Row: ...\n",
    "middle": "from some.low import LIMIT\nclass Row: ...\n",
    "top": "from typing import TYPE_CHECKING\nimport some.middle\nif TYPE_CHECKING:\n    from some import last\n",
    "last": "from some import top\ndef later():\n    from some.low import LIMIT\n",
}


def made(folder: Path, **files: str) -> Path:
    package = folder / "some"
    package.mkdir()
    for name, text in {**SOME, **files}.items():
        (package / f"{name}.py").write_text(text)
    return package


def test_a_chain_is_of_what_runs_and_names_and_numbers_are_counted(tmp_path):
    modules = parsed(made(tmp_path))
    assert longest_chain(imports_of(modules, at_once=True)) == ["some.last", "some.top", "some.middle", "some.low"]
    assert imports_of(modules, at_once=False)["some.last"] == {"some.top", "some.low"}
    assert circles(imports_of(modules, at_once=False)) == set()
    assert numbers(modules) == 2
    assert class_names(modules)["Row"] == 2


def test_a_circle_is_found_also_where_an_import_stands_in_a_function(tmp_path):
    modules = parsed(made(tmp_path, low="def later():\n    from some import last\n"))
    assert circles(imports_of(modules, at_once=True)) == set()
    assert circles(imports_of(modules, at_once=False)) == {
        frozenset({"some.low", "some.middle", "some.top", "some.last"})
    }


@pytest.fixture(scope="module")
def ours():
    return parsed(PACKAGE)


def test_no_modules_of_ours_import_each_other_in_a_circle(ours):
    assert circles(imports_of(ours, at_once=False)) == set()


def test_no_class_name_of_ours_is_used_twice(ours):
    """One name, one thing: what a server sends is described in `replies.py`, by names of its own."""
    assert [name for name, times in class_names(ours).items() if times > 1] == []


TESTS = Path(__file__).parent
SHORT = 1.0
"""Seconds. Who waits for less looks again and again, or gives something that must not happen the time to happen."""
WAITS = {"wait", "join", "result", "acquire", "wait_for", "timeout"}
SERVES = {"create_app", "FrontDesk"}


def timed(call: ast.Call) -> Iterator[str]:
    """What makes a call's outcome depend on how busy the machine is."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = [word.value for word in call.keywords if (word.arg or "").endswith("timeout")]
    given += call.args[:1] if name in WAITS and isinstance(call.func, ast.Attribute) else []
    numbers = (value.value for value in given if isinstance(value, ast.Constant))
    if any(isinstance(number, int | float) and number > SHORT for number in numbers):
        yield f"{name} waits for a time of its own: tests.patience has one for all"
    if name in SERVES and not any(word.arg in ("deadline", None) for word in call.keywords):
        yield f"{name} without deadline=None: a first answer waits for its kernels to be compiled"


def test_how_long_a_machine_takes_decides_no_test():
    found = []
    for file in sorted(TESTS.rglob("*.py")):
        text = file.read_text()
        calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        found += [f"{file.relative_to(TESTS)}:{call.lineno}: {words}" for call in calls for words in timed(call)]
        if '"serve"' in text and "Popen" in text and '"--deadline"' not in text:
            found.append(f"{file.relative_to(TESTS)} starts servers without --deadline 0")
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "process.wait(30)",
        "done.wait(timeout=60)",
        "run(command, timeout=60)",
        "create_app(vault)",
        "x.mark.timeout(30)",
    ],
)
def test_what_depends_on_how_busy_the_machine_is_is_found(line):
    [call] = (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call))
    assert list(timed(call))


@pytest.mark.parametrize(
    "line", ["process.wait(PATIENCE)", "quick.join(0.1)", "words.get(7, 1)", "create_app(vault, deadline=None)"]
)
def test_what_waits_as_all_do_is_left_alone(line):
    [call] = (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call))
    assert not list(timed(call))
