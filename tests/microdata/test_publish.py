"""From a request to a folder: what is published is what is there, and nothing of it tells the order."""

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import ArchiveError, DomainError, InvalidLimits, TableError, VaultError
from discreet.microdata.buckets import Buckets
from discreet.microdata.limits import Limits
from discreet.vault import Vault
from tests.microdata.conftest import DISEASES, DOMAIN, QIS, hospital

BINS = {(40, 60): "[40, 60)", (60, 80): "[60, 80)", (80, 120): "[80, 120)"}


def described(row):
    """A person as QIT writes them."""
    weight = next(label for (low, high), label in BINS.items() if low <= row["weight"] < high)
    return row["age"], "(other)" if row["sex"] == "X" else row["sex"], weight


def by_bucket(table, *names):
    found = defaultdict(Counter)
    for row in table.to_pylist():
        found[row["bucket"]][tuple(row[name] for name in names)] += 1
    return found


CHOICES = [
    {},
    {"sizes": "two"},
    {"sizes": "one", "max_size": 100},
    {"sizes": "two", "min_size": 12},
    {"similar": True},
    {"similar": True, "sizes": "multi"},
    {"fakes": 1, "limits": "0.35"},
    {"fakes": 3, "limits": "0.35"},
    {"limits": Limits.linear(3, "0.05").with_value("HIV", "0.06")},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_the_two_tables_hold_the_rows_and_no_limit_is_passed(patients, choice):
    buckets = patients.publish(**choice)
    rows = patients.rows.to_pylist()
    assert Counter(tuple(row.values())[:3] for row in buckets.qit.to_pylist()) == Counter(map(described, rows))
    listed = Counter(buckets.st.column("disease").to_pylist())
    assert sum(listed.values()) == len(rows) + buckets.fakes * len(buckets.size_of)
    if not buckets.fakes:
        assert listed == Counter(row["disease"] for row in rows)
        assert buckets.setting.counts[:7] == tuple(listed[name] for name in DISEASES)
    limits = dict(zip(buckets.domain["disease"].labels, buckets.limits, strict=True))
    sizes = Counter(buckets.qit.column("bucket").to_pylist())
    for bucket, values in by_bucket(buckets.st, "disease").items():
        assert sum(values.values()) == sizes[bucket] + buckets.fakes
        for (value,), times in values.items():
            assert Fraction(times, sizes[bucket]) <= limits[value]
    assert sorted(Counter(sizes.values()).items()) == list(buckets.sizes)
    assert buckets.loss == sum((size - 1) ** 2 for size in sizes.values())
    chosen = choice.get("sizes", "two" if buckets.fakes or choice.get("similar") else "multi")
    proved = 0 < buckets.least <= buckets.loss <= 1.05 * buckets.least
    assert proved if chosen == "multi" else buckets.least == 0


@pytest.mark.parametrize("choice", [{}, {"similar": True}], ids=str)
def test_a_person_is_in_a_bucket_that_lists_their_disease(make_hospital, choice):
    # Ages tell the diseases here, so that the tables can be joined by somebody who knows.
    rows = hospital()
    order = {name: place for place, name in enumerate(sorted(set(rows.column("disease").to_pylist())))}
    ages = [30 + order[name] for name in rows.column("disease").to_pylist()]
    told = make_hospital(rows.set_column(0, "age", pa.array(ages)))
    buckets = told.publish(**choice)
    people = by_bucket(buckets.qit, "age")
    values = by_bucket(buckets.st, "disease")
    for bucket in people:
        assert {age: n for (age,), n in people[bucket].items()} == {
            30 + order[name]: n for (name,), n in values[bucket].items()
        }


def test_the_rows_are_dealt_by_lot(patients):
    """Two publications of one table put people into other company, and number their buckets otherwise."""
    first, second = patients.publish("a"), patients.publish("b")
    assert first.sizes == second.sizes
    assert not first.qit.equals(second.qit)
    assert not first.st.equals(second.st)


def test_the_first_rows_of_the_table_are_spread_over_all_numbers(make_hospital):
    """Order and number tell nothing of where a row was: a rank test, both sides, 1 in 10^6 right ones fails."""
    rows = hospital(3000)
    ages = pa.array([21 if place < 1500 else 22 for place in range(3000)])
    buckets = make_hospital(rows.set_column(0, "age", ages)).publish()
    early = buckets.codes("age") == 1
    where = buckets.bucket[early].mean() - buckets.bucket.mean()
    spread = buckets.bucket.std() * np.sqrt(1 / 1500 - 1 / 3000)
    assert abs(where) < 4.9 * spread


def test_the_journal_says_it_before_and_after_and_every_guarantee_repeats_it(patients):
    vault = patients.vault
    assert vault.budget().guarantee.remarks == ()
    buckets = patients.publish(again=False)
    begun, published = [entry["body"]["content"] for entry in vault.entries() if entry["kind"] == "buckets"]
    assert (begun["state"], published["state"]) == ("begun", "published")
    assert begun["request"]["sensitive"] == "disease"
    assert published["files"].keys() == {"qit.parquet", "st.parquet"}
    assert vault.budget().spent == 0
    assert "F'-privacy, not differential privacy" in str(vault.budget().guarantee)
    assert "F'-privacy" in str(vault.ask("SELECT COUNT(*) FROM patients", scale=10).guarantee)
    assert str(buckets.guarantee) == "F'-privacy; not differential privacy"
    with pytest.raises(VaultError, match="published before"):
        patients.publish("second", again=False)
    patients.publish("second")
    assert "2 times" in str(vault.budget().guarantee)


BAD = [
    ({"sensitive": "diseas"}, DomainError, "did you mean disease"),
    ({"columns": ("age", "disease")}, DomainError, "disease is sensitive"),
    ({"columns": ("age", "age")}, DomainError, "each column once"),
    ({"columns": ("age", "number")}, DomainError, "tells every row apart"),
    ({"limits": "0.05"}, InvalidLimits, r"flu \(limit 0.05, frequency"),
    ({"limits": Limits.linear(2, "0.1").with_value("HIV", "0.04"), "max_size": 20}, InvalidLimits, "max size of 25"),
    ({"limits": Limits.constant(1).with_value("hiv", "0.1")}, InvalidLimits, "no value 'hiv'"),
    ({"sizes": "three"}, InvalidLimits, "multi, two or one"),
    ({"fakes": -1}, InvalidLimits, "0 or more"),
    ({"fakes": 7}, InvalidLimits, "values to choose fakes from"),
    ({"nulls": "drop"}, InvalidLimits, "nulls is value or refuse"),
]


@pytest.mark.parametrize(("choice", "error", "said"), BAD, ids=[str(case[0]) for case in BAD])
def test_what_makes_no_sense_is_refused_and_leaves_nothing_behind(patients, choice, error, said):
    with pytest.raises(error, match=said):
        patients.publish(**choice)
    assert [path.name for path in patients.folder.iterdir()] == ["vault"]
    assert patients.vault.budget().guarantee.remarks == ()
    states = [entry["body"]["content"]["state"] for entry in patients.vault.entries() if entry["kind"] == "buckets"]
    assert states in ([], ["begun", "withdrawn"])


def test_an_id_is_published_only_by_force(patients):
    buckets = patients.publish(columns=("age", "number"), force_id=True)
    assert len(set(buckets.qit.column("number").to_pylist())) == 1500


def test_the_id_of_the_vault_is_refused_though_it_is_not_unique(make_hospital):
    rows = hospital()
    rows = rows.set_column(4, "number", pa.array([place // 2 for place in range(rows.num_rows)]))
    with pytest.raises(DomainError, match="number tells people apart"):
        make_hospital(rows, id="number", max_rows=2).publish(columns=("age", "number"))


def test_missing_values_are_refused_or_a_value_of_their_own(make_hospital):
    some = make_hospital(hospital(missing=40))
    with pytest.raises(InvalidLimits, match="missing in 40 rows"):
        some.publish()
    buckets = some.publish(nulls="value")
    assert buckets.st.column("disease").null_count == 40
    assert buckets.ask("SELECT COUNT(*) FROM patients WHERE disease IS NULL").value == pytest.approx(40)


def test_a_folder_that_is_there_is_left_alone(patients):
    (patients.folder / "buckets").mkdir()
    with pytest.raises(ArchiveError, match="already there"):
        patients.publish()
    assert len(list(patients.vault.entries())) == 1


def test_a_table_without_rows_is_refused(make_hospital):
    with pytest.raises((InvalidLimits, TableError), match=r"records|no rows"):
        make_hospital(hospital().slice(0, 0)).publish()


def test_a_column_called_bucket_keeps_its_name(tmp_path):
    rows = hospital().rename_columns(["bucket", "sex", "weight", "disease", "number"])
    (tmp_path / "p.toml").write_text(DOMAIN.replace("attributes.age", "attributes.bucket"))
    vault = Vault.init(tmp_path / "v", table=rows, domain=tmp_path / "p.toml", epsilon=1, neighbours="replace")
    buckets = vault.buckets.publish(sensitive="disease", limits="0.4", columns=("bucket", "sex"), out=tmp_path / "b")
    assert buckets.qit.column_names == ["bucket", "sex", "bucket_"]
    assert buckets.ask("SELECT COUNT(*) FROM patients WHERE bucket < 30").value > 0


@pytest.mark.parametrize("harm", ["package", "qit.parquet", "st.parquet", "gone"])
def test_a_damaged_folder_is_not_loaded(patients, harm):
    folder = patients.publish().path
    if harm == "gone":
        (folder / "datapackage.json").unlink()
    elif harm == "package":
        text = (folder / "datapackage.json").read_text()
        (folder / "datapackage.json").write_text(text.replace('"fakes": 0', '"fakes": 1'))
    else:
        table = pq.read_table(folder / harm)
        pq.write_table(table.slice(1), folder / harm)
    with pytest.raises(ArchiveError):
        Buckets.load(folder)


def test_a_loaded_folder_is_what_was_published(patients):
    buckets = patients.publish(similar=True)
    again = Buckets.load(buckets.path)
    assert again.describe() == buckets.describe()
    assert again.setting == buckets.setting
    assert again.columns == QIS
    assert again.about["learnt"]["people"] == 1500
