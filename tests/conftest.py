"""The same conditions for every test: steady examples, and a state directory that is not the user's own."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

# The same examples on every run, and no deadline: a busy machine is not a bug.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory, monkeypatch):
    """Receipts seen by a test are kept apart from the user's."""
    state = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return state


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
