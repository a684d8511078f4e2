"""Statistics on disk."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from discreet.errors import ArchiveError
from discreet.mining.attribute import BooleanAttribute
from discreet.mining.folder import COUNTS, write_statistics
from discreet.mining.learn import learn
from discreet.mining.statistics import Statistics, StatisticsPlan
from discreet.release.package import PACKAGE, write_package
from experiments.sulq.simulated import Population, publish


@pytest.fixture
def statistics() -> Statistics:
    generator = np.random.default_rng(2)
    place = np.arange(8)
    held = {name: (place >> bit & 1).astype(bool) for bit, name in enumerate("abc")}
    everyone = Population(generator.multinomial(10_000, np.full(8, 1 / 8)), held, generator)
    plan = StatisticsPlan(tuple(BooleanAttribute(name, f"{name} > 1") for name in "abc"), 2, 20, 10_000, 200, 0.95)
    return publish(everyone, plan)


def test_what_is_read_is_what_was_written(statistics, tmp_path):
    write_statistics(statistics, tmp_path / "stats")
    found = Statistics.load(tmp_path / "stats")
    np.testing.assert_array_equal(found.counts, statistics.counts)
    np.testing.assert_array_equal(found.sizes, statistics.sizes)
    assert found.describe() == statistics.describe()
    assert (found.seeds, found.roster) == (statistics.seeds, statistics.roster)
    assert learn(found, "a AND NOT b").probability == learn(statistics, "a AND NOT b").probability
    assert [path.name for path in tmp_path.iterdir()] == ["stats"]


def test_the_file_says_in_words_what_it_counts(statistics, tmp_path):
    write_statistics(statistics, tmp_path / "stats")
    rows = pq.read_table(tmp_path / "stats" / COUNTS).to_pandas()
    assert len(rows) == 3 * 4 * 20
    first = rows[rows.conjunction == "a AND NOT c"]
    np.testing.assert_array_equal(first["count"], statistics.counts[1, 1])
    package = json.loads((tmp_path / "stats" / PACKAGE).read_text())
    assert [field["name"] for field in package["resources"][0]["schema"]["fields"]] == list(rows.columns)
    assert package["statistics"]["attributes"][0] == {"name": "a", "condition": "a > 1"}


@pytest.mark.parametrize("name", [COUNTS, PACKAGE])
def test_a_changed_byte_is_noticed(statistics, tmp_path, name):
    write_statistics(statistics, tmp_path / "stats")
    file = tmp_path / "stats" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ArchiveError, match="damaged"):
        Statistics.load(tmp_path / "stats")


def test_a_folder_is_never_overwritten(statistics, tmp_path):
    write_statistics(statistics, tmp_path / "stats")
    with pytest.raises(ArchiveError, match="already there"):
        write_statistics(statistics, tmp_path / "stats")
    with pytest.raises(ArchiveError, match="no datapackage"):
        Statistics.load(tmp_path)
    with pytest.raises(ArchiveError, match="not a folder"):
        write_statistics(statistics, tmp_path / "nowhere" / "stats")


@pytest.mark.parametrize("arity", [0, 4, 2**40, "2", None])
def test_an_arity_that_the_attributes_do_not_have_is_damaged(statistics, tmp_path, arity):
    write_statistics(statistics, tmp_path / "stats")
    package = json.loads((tmp_path / "stats" / PACKAGE).read_text())
    package["statistics"]["arity"] = arity
    del package["sha256"]
    write_package(tmp_path / "stats", package)
    with pytest.raises(ArchiveError, match="damaged"):
        Statistics.load(tmp_path / "stats")
