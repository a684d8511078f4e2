"""Published statistics on disk: one Parquet file and a datapackage.json, readable by anything that reads Parquet.

The folder is written aside, synced and renamed: what is there is whole.
"""

from datetime import UTC, datetime
from itertools import combinations
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ArchiveError
from discreet.mining.attribute import BooleanAttribute
from discreet.release.package import parquet_resource, read_package, write_package, written_aside

if TYPE_CHECKING:
    from discreet.mining.statistics import Statistics

FORMAT = 1
COUNTS = "counts.parquet"
Json = dict[str, Any]


def write_statistics(statistics: "Statistics", path: Path) -> None:
    """Write the folder aside, sync it, and give it its name."""
    with written_aside(path, "the statistics") as aside:
        pq.write_table(_rows(statistics), aside / COUNTS, compression="zstd")
        write_package(aside, _package(statistics, aside / COUNTS))


def statistics_parts(folder: Path) -> dict[str, Any]:
    """What the statistics in a folder are made of, after checking that each of its bytes is what was written."""
    damaged = ArchiveError(f"the statistics in {folder} are damaged; restore them from a copy: they are public")
    try:
        about = read_package(folder, "statistics", FORMAT, "a folder of statistics")
        attributes = tuple(BooleanAttribute(str(one["name"]), str(one["condition"])) for one in about["attributes"])
        if about["arity"] not in range(1, len(attributes) + 1):
            raise damaged
        shape = comb(len(attributes), about["arity"]), 1 << about["arity"], about["subsets"]
        table = pq.read_table(folder / COUNTS, columns=["subset", "size", "count"])
        subset, size, count = (table.column(name).to_numpy() for name in table.column_names)
        return {
            "attributes": attributes,
            "arity": about["arity"],
            "seeds": tuple(subset[: shape[2]].tolist()),
            "sizes": size[: shape[2]],
            "counts": count.reshape(shape),
            **{key: about[key] for key in ("people", "trials", "roster", "guarantee", "charge", "receipt")},
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, pa.ArrowException):
        raise damaged from None


def _rows(statistics: "Statistics") -> pa.Table:
    """A row a count, in the order of `Statistics.counts`: the counts alone are enough to read them back."""
    tuples, patterns, subsets = statistics.counts.shape
    names = [
        " AND ".join(name if pattern >> bit & 1 else f"NOT {name}" for bit, name in enumerate(chosen))
        for chosen in combinations(statistics.names, statistics.arity)
        for pattern in range(patterns)
    ]
    conjunction = np.repeat(np.arange(len(names), dtype=np.int32), subsets)
    return pa.table(
        {
            "subset": np.tile(np.array(statistics.seeds, np.uint64), tuples * patterns),
            "size": np.tile(statistics.sizes, tuples * patterns),
            "conjunction": pa.DictionaryArray.from_arrays(conjunction, pa.array(names, pa.string())),
            "count": statistics.counts.reshape(-1),
        }
    )


def _package(statistics: "Statistics", counts: Path) -> Json:
    fields = [
        ("subset", "integer", "the seed of the subset; each person is in it with probability 1/2"),
        ("size", "integer", "how many people of the roster are in the subset, exactly"),
        ("conjunction", "string", "what is counted, over the attributes below"),
        ("count", "integer", f"with binomial noise of variance {statistics.trials / 4:g}, independent in every row"),
    ]
    return {
        "profile": "data-package",
        "name": "statistics",
        "title": f"Conjunctions of {statistics.arity} of {len(statistics.attributes)} attributes, with noise",
        "description": f"{statistics.guarantee}. `discreet mine learn` tells functions of {2 * statistics.arity}.",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "resources": [
            parquet_resource(
                counts,
                "a noisy count for every subset of people and every conjunction",
                [{"name": name, "type": kind, "description": what} for name, kind, what in fields],
            )
        ],
        "statistics": {
            "format": FORMAT,
            "attributes": [vars(attribute) for attribute in statistics.attributes],
            "arity": statistics.arity,
            "subsets": len(statistics.seeds),
            "people": statistics.people,
            "trials": statistics.trials,
            "roster": statistics.roster,
            "guarantee": statistics.guarantee,
            "charge": statistics.charge,
            "receipt": statistics.receipt,
        },
    }
