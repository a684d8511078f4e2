"""The numbers of the house are counted right, and its modules do not import each other in circles."""

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
