"""The verifier holds what is right, and finds every harm that is done, also by somebody who seals the folder again."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import ArchiveError
from discreet.microdata.check import check_buckets

CHOICES = [{}, {"similar": True}, {"fakes": 2, "limits": "0.35"}, {"sizes": "one", "max_size": 100}]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_what_is_published_holds(patients, choice):
    verdict = check_buckets(patients.publish(**choice).path)
    assert verdict.holds, verdict
    assert len(verdict.findings) == 10


def reseal(folder, package):
    """Make the hashes right again, as a forger would."""
    for resource in package["resources"]:
        resource["hash"] = "sha256:" + hashlib.sha256((folder / resource["path"]).read_bytes()).hexdigest()
    package.pop("sha256", None)
    text = json.dumps(package, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    package["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "datapackage.json").write_text(json.dumps(package))


class Forger:
    """Changes the tables and the description of a folder, and seals it."""

    def __init__(self, folder):
        self.folder = folder
        self.package = json.loads((folder / "datapackage.json").read_text())
        self.about = self.package["buckets"]
        self.qit, self.st = pq.read_table(folder / "qit.parquet"), pq.read_table(folder / "st.parquet")

    def write(self, sort=True):
        domain = {"flu": 0, "cold": 1, "burn": 2, "gout": 3, "asthma": 4, "cancer": 5, "HIV": 6}
        if sort:
            values = np.array([domain.get(value, 7) for value in self.st.column("disease").to_pylist()])
            self.st = self.st.take(np.lexsort((values, self.st.column("bucket").to_numpy())))
        pq.write_table(self.qit, self.folder / "qit.parquet")
        pq.write_table(self.st, self.folder / "st.parquet")
        reseal(self.folder, self.package)


def set_values(table, name, places, values):
    column = table.column(name).to_pylist()
    for place, value in zip(places, values, strict=True):
        column[place] = value
    return table.set_column(table.column_names.index(name), name, pa.array(column, table.schema.field(name).type))


def flood_a_bucket(forger):
    first = np.flatnonzero(forger.st.column("bucket").to_numpy() == 1)
    forger.st = set_values(forger.st, "disease", first, ["HIV"] * len(first))


def lower_a_limit(forger):
    forger.about["limits"]["by_value"]["flu"] = "1/1000"


def move_a_value(forger):
    forger.st = set_values(forger.st, "bucket", [0], [2])


def move_a_person(forger):
    forger.qit = set_values(forger.qit, "bucket", [len(forger.qit) - 1], [1]).sort_by("bucket")


def drop_a_bucket(forger):
    forger.qit = forger.qit.filter(pa.compute.not_equal(forger.qit.column("bucket"), 3))
    forger.st = forger.st.filter(pa.compute.not_equal(forger.st.column("bucket"), 3))


def publish_the_sensitive_column(forger):
    forger.qit = forger.qit.append_column("disease", forger.st.column("disease").slice(0, len(forger.qit)))
    forger.about["columns"].append("disease")


def misstate_the_loss(forger):
    forger.about["loss"] += 1


def claim_that_less_is_lost_than_can_be(forger):
    forger.about["least"] = forger.about["loss"] + 1


def raise_a_price(forger):
    prices = forger.about["proof"]["prices"]
    dearest = max(prices, key=prices.get)
    prices[dearest] += forger.about["proof"]["parts"] * 100


def say_sizes_that_are_none(forger):
    forger.about["proof"]["sizes"] = "all"


def have_a_proof_of_endless_sizes(forger):
    forger.about["proof"]["sizes"] = [2, 10**15]


def misstate_the_sizes(forger):
    forger.about["sizes"][0][1] += 1


def claim_fakes(forger):
    forger.about["fakes"] = 1


def list_a_foreign_value(forger):
    forger.st = set_values(forger.st, "disease", [0], ["plague"])


def number_by_size(forger):
    sizes = np.bincount(forger.qit.column("bucket").to_numpy())[1:]
    number = np.empty(len(sizes) + 1, np.int64)
    number[1 + np.argsort(sizes, kind="stable")] = np.arange(1, len(sizes) + 1)
    for which in ("qit", "st"):
        table = getattr(forger, which)
        place = table.column_names.index("bucket")
        table = table.set_column(place, "bucket", pa.array(number[table.column("bucket").to_numpy()]))
        setattr(forger, which, table.take(np.argsort(table.column("bucket").to_numpy(), kind="stable")))


HARMS = [
    (flood_a_bucket, "limits"),
    (lower_a_limit, "limits"),
    (move_a_value, "totals"),
    (move_a_person, "totals"),
    (drop_a_bucket, "numbers"),
    (publish_the_sensitive_column, "columns"),
    (misstate_the_loss, "sizes"),
    (misstate_the_sizes, "sizes"),
    (claim_that_less_is_lost_than_can_be, "least"),
    (raise_a_price, "least"),
    (say_sizes_that_are_none, "least"),
    (have_a_proof_of_endless_sizes, "least"),
    (claim_fakes, "totals"),
    (list_a_foreign_value, "columns"),
    (number_by_size, "numbering"),
]


@pytest.mark.parametrize(("harm", "found"), HARMS, ids=[harm.__name__ for harm, _ in HARMS])
def test_every_harm_is_found_where_it_is(patients, harm, found):
    forger = Forger(patients.publish().path)
    harm(forger)
    forger.write()
    broken = [finding.what for finding in check_buckets(forger.folder).findings if not finding.holds]
    assert found in broken


def said_of_the_least_loss(folder):
    return next(finding.detail for finding in check_buckets(folder).findings if finding.what == "least")


def test_the_least_loss_is_added_up_again_and_what_prices_do_not_prove_is_somebodys_word(patients):
    buckets = patients.publish()
    proved = f"no setting with buckets of 2 to 50 loses less than {buckets.least:,}: by prices, added up again"
    assert said_of_the_least_loss(buckets.path) == proved
    forger = Forger(buckets.path)
    forger.about["least"] = buckets.loss
    forger.write()
    assert said_of_the_least_loss(forger.folder).endswith(f"{buckets.loss:,} by the word of an integer program")
    assert buckets.least < buckets.loss
    del forger.about["proof"]
    forger.write()
    assert said_of_the_least_loss(forger.folder) == f"{buckets.loss:,}, by the word of whoever published it"
    del forger.about["least"]
    forger.write()
    assert said_of_the_least_loss(forger.folder) == "not stated"


@pytest.mark.parametrize("which", ["qit", "st"])
def test_lines_in_another_order_than_their_content_says_are_found(patients, which):
    forger = Forger(patients.publish().path)
    table = getattr(forger, which)
    setattr(forger, which, table.take(np.random.default_rng(1).permutation(len(table))))
    forger.write(sort=which != "st")
    assert [f.what for f in check_buckets(forger.folder).findings if not f.holds] == ["order"]


def test_buckets_numbered_along_the_sweep_are_found(patients):
    """Similar people in buckets with close numbers: the numbers would tell where on the sweep somebody lies."""
    forger = Forger(patients.publish(similar=True, max_size=8).path)
    ages = np.array([age or 0 for age in forger.qit.column("age").to_pylist()])
    numbers = forger.qit.column("bucket").to_numpy()
    mean = np.bincount(numbers, weights=ages)[1:] / np.bincount(numbers)[1:]
    number = np.empty(len(mean) + 1, np.int64)
    number[1 + np.argsort(mean)] = np.arange(1, len(mean) + 1)
    for name in ("qit", "st"):
        table = getattr(forger, name)
        table = table.set_column(
            table.column_names.index("bucket"), "bucket", pa.array(number[table["bucket"].to_numpy()])
        )
        setattr(forger, name, table.take(np.argsort(table["bucket"].to_numpy(), kind="stable")))
    forger.write()
    assert "numbering" in [f.what for f in check_buckets(forger.folder).findings if not f.holds]


@pytest.mark.parametrize("file", ["qit.parquet", "st.parquet", "datapackage.json"])
def test_a_change_that_is_not_sealed_is_found_by_its_hash(patients, file):
    folder = patients.publish().path
    if file == "datapackage.json":
        text = (folder / file).read_text()
        (folder / file).write_text(text.replace('"similar": false', '"similar": true'))
    else:
        pq.write_table(pq.read_table(folder / file), folder / file, compression="none")
    assert [f.what for f in check_buckets(folder).findings if not f.holds] == ["files"]


def test_what_is_no_folder_of_buckets_is_said_so(tmp_path):
    with pytest.raises(ArchiveError, match="no datapackage"):
        check_buckets(tmp_path)
    (tmp_path / "datapackage.json").write_text("{}")
    assert not check_buckets(tmp_path).holds


def test_pycanon_agrees_for_uniform_limits(patients):
    """An independent library, with the bucket as quasi-identifier: α is the largest share, k the smallest bucket."""
    anonymity = pytest.importorskip("pycanon.anonymity")
    buckets = patients.publish(limits="0.34", sizes="two")
    frame = buckets.st.to_pandas()
    alpha, k = anonymity.alpha_k_anonymity(frame, ["bucket"], ["disease"])
    [limits] = [finding for finding in check_buckets(buckets.path).findings if finding.what == "limits"]
    assert limits.detail.endswith(f"the largest is {alpha:.4g}")
    assert alpha <= 0.34
    assert k == buckets.sizes[0][0]
    assert anonymity.l_diversity(frame, ["bucket"], ["disease"]) >= 3
