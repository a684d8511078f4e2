"""`make mutants` changes what it says, and knows what it leaves out."""

import ast
import itertools

import pytest

from mutants import operators, sample
from mutants.equivalent import EQUIVALENT
from mutants.mutant import PACKAGE, ROOT, Mutant
from mutants.named import named
from mutants.operators import mutants_of
from mutants.sample import NUMBER, sampled
from mutants.suites import suite_of_room, suites_of


def mutated(source: str, folder, monkeypatch) -> set[str]:
    """Every mutant of a file with this text: the last line of each."""
    monkeypatch.setattr(operators, "ROOT", folder)
    (folder / PACKAGE).mkdir(parents=True)
    (folder / PACKAGE / "some.py").write_text(source)
    found = mutants_of("some.py")
    text = source.encode()
    return {
        (text[: m.start] + m.after.encode() + text[m.end :]).decode().strip().splitlines()[-1].strip() for m in found
    }


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("return a < b", {"return (a <= b)", "return (a >= b)", "return True", "return False"}),
        ("x = a + b", {"x = (a - b)"}),
        ("x = [a for a in b if a]", {"x = [a for a in b]"}),
        ("x = max(a, b)", {"x = min(a, b)"}),
        ("x = power(a, b)", {"x = (power(b, a))"}),
        ("x = not a", {"x = (a)"}),
        ("os.fsync(a)", {"pass"}),
        ("a += b", {"pass"}),
        ("x = a and b", {"x = (a or b)"}),
        ("x = a[1]", {"x = a[2]"}),
        ("raise ValueError(f'{a + b} is not {1 < 2}')", {"pass"}),
        ("x = f(a, deep=True)", {"x = f(a, deep=False)"}),
        ("x = a if b else 'ε'", {"x = a if (not (b)) else 'ε'"}),
    ],
)
def test_each_place_of_a_function_is_changed_by_itself(body, after, tmp_path, monkeypatch):
    assert mutated(f"LIMIT = 3 + 4\ndef f(a, b=1) -> bool:\n    {body}\n", tmp_path, monkeypatch) == after


def test_what_was_once_not_noticed_is_in_the_code_and_is_tried():
    mutants = named()  # raises where a text is not there once
    assert all(mutant.mutated != mutant.source for mutant in mutants)
    for mutant in mutants:
        ast.parse(mutant.mutated)


@pytest.mark.parametrize("room", NUMBER)
def test_a_sample_is_spread_over_a_room_and_the_same_each_time(room):
    mutants = sampled(room, 1, NUMBER[room])
    assert mutants == sampled(room, 1, NUMBER[room])
    assert mutants != sampled(room, 2, NUMBER[room])
    assert len({(mutant.path, mutant.line) for mutant in mutants}) == NUMBER[room]
    files = [f"{room}/{file.name}" for file in (ROOT / PACKAGE / room).glob("*.py") if file.stem != "__init__"]
    places = {file: len(mutants_of(file)) for file in files}
    large = [file for file in files if places[file] * NUMBER[room] >= 3 * sum(places.values())]  # three of the sample
    assert len({mutant.path for mutant in mutants}) >= min(5, len(large))
    for mutant in mutants:
        ast.parse(mutant.mutated)


def test_at_least_two_hundred_mutants_are_tried():
    assert sum(NUMBER.values()) >= 200


def test_mutants_that_change_nothing_have_a_reason_and_are_in_the_code():
    known = {path: {mutant.diff for mutant in mutants_of(path)} for path, _ in EQUIVALENT}
    assert [key for key in EQUIVALENT if key[1] not in known[key[0]]] == []
    assert all(EQUIVALENT.values())


def test_tests_that_a_mutant_is_tried_with_are_there_and_its_own_come_first():
    for room in NUMBER:
        [everything] = suites_of(Mutant(f"{room}/none.py", 0, 0, "", ""))
        assert all((ROOT / file).is_file() for file in everything)
        folders = [file.rpartition("/")[0] for file in everything]
        assert len([folder for folder, _ in itertools.groupby(folders)]) == len(set(folders))
    assert suites_of(Mutant("ledger/grid.py", 0, 0, "", "")) == [["tests/ledger/test_grid.py"], suite_of_room("ledger")]


def test_files_where_privacy_is_decided_exist():
    for room, files in sample.PRIVACY.items():
        assert all((ROOT / PACKAGE / room / f"{file}.py").is_file() for file in files)
