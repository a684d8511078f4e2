"""Buckets on disk: qit.parquet, st.parquet and a datapackage.json."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.domain.domain import Domain
from discreet.release.package import parquet_resource, write_package

FORMAT = 1
QIT, ST = "qit.parquet", "st.parquet"
Json = dict[str, Any]


def describe_buckets(folder: Path, about: Json, domain: Domain) -> str:
    """Describe the two tables that are in a folder; the SHA-256 of the description, which has theirs."""
    sensitive, number, columns = about["sensitive"], about["number"], about["columns"]
    package = {
        "profile": "data-package",
        "name": f"{about['table']}-buckets".lower().replace("_", "-"),
        "title": f"{about['table']} in buckets: {', '.join(columns)}; {sensitive} apart",
        "description": f"{about['guarantee']}. {' '.join(about['public'])}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "resources": [
            _resource(folder / QIT, (*columns, number), domain, "a line for each person, with the number of a bucket"),
            _resource(folder / ST, (number, sensitive), domain, "a line for each value that is listed for a bucket"),
        ],
        "buckets": {"format": FORMAT, **about},
    }
    return write_package(folder, package)


def _resource(path: Path, names: Sequence[str], domain: Domain, what: str) -> Json:
    fields = [
        {"name": name, "description": domain[name].source if name in domain.names else "the bucket's number"}
        for name in names
    ]
    return parquet_resource(path, what, fields)
