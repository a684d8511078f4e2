"""The same conditions for every test: noise and examples that repeat, a time limit, a state directory of its own.

**Noise.** The production source of bits hands out, in the process of the tests, what the name of the test (or of the
fixture that tests share) and nothing else decides: whatever a test asserts of it holds always or never. `--noise 2`
draws other noise, to see how a test bears it. Processes that a test starts draw from the operating system; so does
a test that is marked `alarm(chance)`: it fails with at most this probability although all is right. All of them
together do so less often than `MOST_FALSE_ALARMS`, or nothing is run.

**Examples.** Hypothesis tries the same examples on every run, whatever ran before, and others with `--soak`, which also
runs the tests of tests/trust in full length: `make soak`.
"""

import itertools
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from discreet import native
from experiments.noise import RepeatableNoise
from tests.in_memory import keep_files_in_memory
from tests.patience import PATIENCE

MOST_FALSE_ALARMS = 1e-6
"""The chance that any of the tests fails although all is right."""

# No deadline: a busy machine is not a bug.
settings.register_profile("steady", derandomize=True, deadline=None, print_blob=True, max_examples=40)
settings.register_profile("exploring", derandomize=False, deadline=None, print_blob=True)
LONG = 200
"""Characters of a test's parameter that make it a long text."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="tests/trust in full length, and new examples for properties")
    parser.addoption("--noise", default="", help="any word: noise is drawn as repeatably as ever, but other noise")


def pytest_configure(config: pytest.Config) -> None:
    keep_files_in_memory()
    config.addinivalue_line("markers", "alarm(chance): of failing although all is right; noise is the system's own")
    settings.load_profile("exploring" if config.getoption("--soak") else "steady")
    if not config.getoption("--soak"):  # it draws from the constants of all modules that happen to be imported by then
        providers._get_local_constants = lambda: providers._local_constants
    config.pluginmanager.register(NoiseOfTests(config.getoption("--noise")))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Nine million brackets are no name: a long text is called by its beginning."""
    if isinstance(val, str | bytes) and len(val) > LONG:
        return f"{val[:LONG]!a} and so on"
    return None


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads which tests stay together
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    chance = sum(mark.args[0] for item in items for mark in item.iter_markers("alarm"))
    if chance > MOST_FALSE_ALARMS:
        raise pytest.UsageError(f"{chance:.2g} is more than {MOST_FALSE_ALARMS}: tests would raise false alarms")
    for item in items:
        _keep_together(item)


def _keep_together(item: pytest.Item) -> None:
    """Tests that share a fixture of their module run in one of pytest-xdist's workers, so that it is made once."""
    fixtures = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    if any(last.scope == "module" for *_, last in fixtures) and not item.get_closest_marker("xdist_group"):
        item.add_marker(pytest.mark.xdist_group(item.path.stem))


class NoiseOfTests(RepeatableNoise):
    """One stream of bits for each test, and for each fixture that tests share, by its name."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        file, _, test = item.location
        noise = self.the_systems if item.get_closest_marker("alarm") else self.named
        with noise(self._word, file, test):  # and not by its nodeid, to which xdist adds the name of a group
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        with self.named(self._word, fixturedef.baseid, fixturedef.argname, getattr(request, "param_index", 0)):
            return (yield)


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


@pytest.fixture(scope="session", autouse=True)
def shared_state_home(tmp_path_factory):
    """Receipts seen by fixtures that tests share are kept apart from the user's: a vault's id is the same each time."""
    states = tmp_path_factory.mktemp("states")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(states / "shared"))
        yield states


@pytest.fixture(scope="session", autouse=True)
def unhurried():
    """What the product gives up after some seconds, it waits for here: a busy machine is not a bug. Tests of giving up
    set seconds of their own."""
    with pytest.MonkeyPatch.context() as here:
        for seconds in ("ledger.sqlite.PATIENCE", "ledger.postgres.PATIENCE", "sql.sandbox.SECONDS"):
            here.setattr(f"discreet.{seconds}", PATIENCE)
        yield


@pytest.fixture(scope="session", autouse=True)
def taken_for_a_disk():
    """The audit warns of a vault in memory, where tests make theirs; of that it has a test of its own."""
    with pytest.MonkeyPatch.context() as here:
        here.setattr("discreet.audit.exposure.FORGETFUL", ())
        yield


_numbers = itertools.count()


@pytest.fixture(autouse=True)
def state_home(shared_state_home):
    """Receipts seen by a test are kept apart from those of others, also when it undoes what it patched.

    Numbered here: `mktemp` finds the next number by reading the names of all that it ever made.
    """
    state = shared_state_home / str(next(_numbers))
    state.mkdir()
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(state))
        yield state


class _OneWay(native._Python):
    """Leaves all steps to Python, or none, whatever else this process does."""

    def __init__(self, python: bool) -> None:
        self.python = python

    def takes(self, steps: int) -> bool:  # noqa: ARG002
        return self.python


@pytest.fixture(scope="class", params=["compiled", "python"])  # for a test, with all examples that it draws
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels that are told how much they have to do are run compiled, and then again by Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "_python", _OneWay(request.param == "python"))
        yield


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
