"""Attributes of another domain, to use again by their names."""

import os
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from discreet.domain.notation import NOTATION_KEYS
from discreet.domain.read import read_domain
from discreet.errors import DomainError


def attributes_in(path: str | Path) -> dict[str, dict[str, Any]]:
    """The tables of a domain's attributes as its file has them, each by itself: with what [notation] says of it, and
    with codebooks as they are found from the working folder. Raises DomainError where it is no domain."""
    read_domain(path)
    document = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"), parse_float=Decimal)
    every = document.get("notation", {})
    found = {}
    for name, table in document["attributes"].items():
        own = {key: said for key, said in every.items() if table["kind"] in NOTATION_KEYS[key]}
        found[name] = {**table, **{key: said for key, said in own.items() if key not in table}}
        if "values_from" in table:
            if "codebooks" in document:
                raise DomainError(f"{path} holds the text of {name}'s codebook; name a domain that names its file")
            found[name]["values_from"] = _from_here(Path(path).parent, table["values_from"])
    return found


def _from_here(folder: Path, said: str | dict[str, str]) -> str | dict[str, str]:
    if isinstance(said, dict):
        return {**said, "file": _path(folder, said["file"])}
    return _path(folder, said)


def _path(folder: Path, file: str) -> str:
    return file if os.path.isabs(file) else os.path.relpath(folder / file).replace(os.sep, "/")
