"""The same conditions for every test: steady examples, and a state directory that is not the user's own.

`--soak` runs the tests of tests/trust in full length: `make soak`.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

from discreet import native

# The same examples on every run, and no deadline: a busy machine is not a bug.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="the tests of tests/trust in full length")


@pytest.fixture
def amount(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """How much of something a test does: `amount(30, 1_000)` is 30 in `make test` and 1,000 in `make soak`."""
    return lambda short, long: long if request.config.getoption("--soak") else short


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`counted(kills=1000, lost=0)` is printed when all tests are over."""

    def count(**numbers: int) -> None:
        text = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in numbers.items())
        request.node.user_properties.append(("counted", text))

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        f"{report.nodeid.partition('::')[2]}: {text}"
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        for name, text in report.user_properties
        if name == "counted"
    ]
    if lines:
        terminalreporter.write_sep("=", "counted")
        terminalreporter.write_line("\n".join(lines))


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory, monkeypatch):
    """Receipts seen by a test are kept apart from the user's."""
    state = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return state


@pytest.fixture(scope="class", params=["compiled", "python"])  # for a test, with all examples that it draws
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels that are told how much they have to do are run compiled, and then again by Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native._python, "left", -1 if request.param == "compiled" else 10**15)
        yield
        assert request.param == "compiled" or native._python.left > 0, "something was compiled"


PEOPLE_DOMAIN = """\
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
outside = "clamp"
source = "national registry, ages 0 to 99"
[attributes.sex]
kind = "category"
values = ["F", "M"]
null = true
source = "questionnaire, item 2"
[attributes.income]
kind = "bins"
edges = [0, 10000, 25000, 50000, 100000]
grain = 1
source = "published income classes"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with people.parquet, 600 people aged 0 to 99, and people.toml."""
    monkeypatch.chdir(tmp_path)
    rows = range(600)
    people = pa.table(
        {
            "age": [i % 100 for i in rows],
            "sex": [("F", "M", None)[i % 3] for i in rows],
            "income": [float(i * 157 % 100_000) for i in rows],
        }
    )
    pq.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(PEOPLE_DOMAIN)
    return tmp_path
