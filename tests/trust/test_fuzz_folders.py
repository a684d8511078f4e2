"""Published folders with bytes changed: read as they were written, or refused; also where a forger sealed them anew."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.cube.cube import Cube
from discreet.errors import ArchiveError
from discreet.microdata.buckets import Buckets
from discreet.mining.folder import write_statistics
from discreet.mining.statistics import Statistics
from discreet.release.package import PACKAGE, package_digest
from discreet.vault import Vault
from tests.trust.fuzzing import change_json, fuzz, mutated

SHARDS = 3
DOMAIN = """
name = "patients"
[attributes.person]
kind = "integer"
low = 0
high = 9999
source = "a test"
[attributes.smoker]
kind = "category"
values = ["false", "true"]
source = "a test"
[attributes.disease]
kind = "category"
values = ["flu", "cold", "HIV"]
source = "a test"
"""
ROWS = 300
LOADERS: dict[str, Callable[[Path], Any]] = {
    "cube": Cube.load,
    "buckets": Buckets.load,
    "statistics": Statistics.load,
}


def patients() -> pa.Table:
    chance = np.random.default_rng(5)
    return pa.table(
        {
            "person": range(ROWS),
            "smoker": chance.choice(["false", "true"], ROWS),
            "disease": chance.choice(["flu", "cold", "HIV"], ROWS, p=(0.6, 0.3, 0.1)),
        }
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder of each kind."""
    folder, table = tmp_path_factory.mktemp("published"), patients()
    (folder / "domain.toml").write_text(DOMAIN)
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        vault = Vault.init(
            folder / "vault", table=table, domain=folder / "domain.toml", epsilon=1, neighbours="replace"
        )
        cube = vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=["smoker", "disease"]))
        cube.save(folder / "cube")
        vault.buckets.publish(
            out=folder / "buckets", sensitive="disease", limits="min(1, 2*f + 0.1)", columns=["smoker"]
        )
        hospital = Vault.init(folder / "sulq", table=table, domain=folder / "domain.toml", id="person", delta=10,
                              queries=200, roster=pa.table({"person": range(ROWS)}))  # fmt: skip
        plan = hospital.sulq.plan(["smoker", "ill: disease = 'HIV'"], arity=1, subsets=16)
        write_statistics(hospital.sulq.publish(plan), folder / "statistics")
    return {name: {file.name: file.read_bytes() for file in (folder / name).iterdir()} for name in LOADERS}


def opened(place: Path, load: Callable[[Path], Any]) -> Callable[[Mapping[str, bytes]], None]:
    """Write a folder's files, and read them back; what is read can be looked at."""

    def feed(files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            (place / name).write_bytes(content)
        found = load(place)
        if isinstance(found, Cube):
            found.cells()
        elif not isinstance(found, Buckets):
            found.describe()

    return feed


def damaged(files: Mapping[str, bytes], draw: Random, number: int) -> Iterator[dict[str, bytes]]:
    for _ in range(number):
        name = draw.choice(sorted(files))
        content = files[name]
        start = draw.randrange(max(len(content) - 200, 1))
        changed = content[:start] + mutated(draw, content[start : start + 200], most_changes=2) + content[start + 200 :]
        yield {**files, name: changed}


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("kind", LOADERS)
def test_a_damaged_folder_is_never_taken_for_a_whole_one(kind, shard, published, tmp_path, amount, counted):
    files, feed = published[kind], opened(tmp_path, LOADERS[kind])
    whole = _meaning(files)

    def only_if_whole(changed: Mapping[str, bytes]) -> None:
        feed(changed)
        assert _meaning(changed) == whole, "it was read as if nothing were changed"

    ended = fuzz(damaged(files, Random(shard), amount(60, 7_500)), only_if_whole)
    counted(folders=ended.total(), refused=ended["refused"], crashes=0)
    assert ended["refused"] > ended.total() // 2


def _meaning(files: Mapping[str, bytes]) -> tuple[object, ...]:
    """What a folder says: spaces between the words of its description are nobody's business."""
    return json.loads(files[PACKAGE]), *(content for name, content in files.items() if name != PACKAGE)


def forged(files: Mapping[str, bytes], draw: Random, number: int) -> Iterator[dict[str, bytes]]:
    """Changed in what the description says, or in the tables' bytes, and sealed with new hashes."""
    for turn in range(number):
        package, changed = json.loads(files[PACKAGE]), dict(files)
        tables = sorted(set(files) - {PACKAGE})
        if turn % 2:
            name = draw.choice(tables)
            changed[name] = mutated(draw, files[name], (), 4)
        for resource in package["resources"]:
            resource["hash"] = (
                resource["hash"] if resource["path"] not in tables else _sealed(changed[resource["path"]])
            )
        package.pop("sha256")
        if not turn % 2:
            for _ in range(draw.randrange(1, 4)):
                change_json(package, draw)
        text = json.dumps({**package, "sha256": package_digest(package)})
        yield {**changed, PACKAGE: text.encode("utf-8", "replace")}


def _sealed(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.mark.parametrize("kind", LOADERS)
def test_a_forged_folder_is_read_or_refused(kind, published, tmp_path, amount, counted):
    ended = fuzz(forged(published[kind], Random(9), amount(100, 12_000)), opened(tmp_path, LOADERS[kind]))
    counted(folders=ended.total(), refused=ended["refused"], crashes=0)


@pytest.mark.parametrize("kind", LOADERS)
def test_a_folder_with_a_file_gone_is_refused(kind, published, tmp_path):
    for gone in published[kind]:
        for name, content in published[kind].items():
            (tmp_path / name).write_bytes(content)
        (tmp_path / gone).unlink()
        with pytest.raises(ArchiveError):
            LOADERS[kind](tmp_path)
