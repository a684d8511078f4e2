"""Folders that were published from a vault: sealed as they were written, and what the journal says they are.

A cube's sources and a SuLQ database's statistics must be the very numbers that the journal has; buckets must have the
seal that it has. Folders are looked for in the vault, beside it, and where the custodian says.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.finding import Check, Findings, counted
from discreet.audit.price import Line, read_plan
from discreet.audit.replay import Charged, Replay
from discreet.audit.terms import Terms, Unreadable
from discreet.errors import DiscreetError
from discreet.ledger.journal import Journal
from discreet.release.archive import Archive, Array
from discreet.release.package import PACKAGE, file_hash, package_digest

KINDS = ("cube", "buckets", "statistics")
PUBLISH = "publish it again from its charge, which spends nothing: `discreet cube publish --charge`"
WITHDRAW = "take it back from whoever has it: it is not what this vault released"


class Unlike(Exception):
    """Why a folder is not what the journal says, and what to do."""

    def __init__(self, what: str, next: str = WITHDRAW) -> None:
        super().__init__(what)
        self.next = next


@dataclass(frozen=True)
class Folder:
    """A folder with a data package of Discreet."""

    path: Path
    kind: str
    package: dict[str, Any]

    @property
    def about(self) -> dict[str, Any]:
        return dict(self.package[self.kind])

    @property
    def receipt(self) -> tuple[int, bytes]:
        number, _, digest = str(self.about["receipt"]).partition(":")
        return int(number), bytes.fromhex(digest)


def check_published(home: Path, given: Sequence[Path], read: Replay, journal: Journal, archive: Archive) -> Check:
    """Every published folder that is found."""
    found, looked = Findings(), 0
    for path, certain in _places(home, given):
        folder = _opened(path)
        if folder is None:
            if certain:
                found.failed(f"{path} holds nothing that Discreet published, or is damaged", WITHDRAW)
            continue
        if not _is_ours(folder, read):
            if certain:
                found.failed(f"{path} was not published from this vault as its journal is now", WITHDRAW)
            continue
        looked += 1
        try:
            _require_sealed(folder)
            if folder.kind == "buckets":
                _require_noted(folder, read)
            else:
                _require_recorded(folder, read, journal, archive)
        except Unlike as unlike:
            found.failed(f"{path}: {unlike}", unlike.next)
        except (DiscreetError, Unreadable, LookupError, TypeError, ValueError, ArithmeticError, OSError):
            found.failed(f"{path} is damaged", WITHDRAW)
    detail = f"{counted(looked, 'folder')} found" if looked else "none in the vault or beside it"
    return found.check("published", "Published folders are genuine", detail)


def _places(home: Path, given: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Where to look; and whether what is there must be this vault's."""
    named = [path.resolve() for path in given]
    yield from ((path, True) for path in given)
    for parent, certain in ((home / "cubes", True), (home / "buckets", True), (home.absolute().parent, False)):
        # What may not be read here is not an error: beside a vault there may be anybody's folders.
        with suppress(OSError):
            for path in sorted(parent.iterdir()):
                if os.path.isfile(path / PACKAGE) and path.resolve() not in named and path.name[0] != ".":
                    yield path, certain


def _opened(path: Path) -> Folder | None:
    try:
        package = json.loads((path / PACKAGE).read_text(encoding="utf-8"))
        kind = next(kind for kind in KINDS if kind in package)
        folder = Folder(path, kind, package)
        folder.receipt  # noqa: B018 -- raises where there is none
        return folder
    except (OSError, ValueError, LookupError, TypeError, StopIteration):
        return None


def _is_ours(folder: Folder, read: Replay) -> bool:
    number, digest = folder.receipt
    return read.hashes.get(number) == digest


def _require_sealed(folder: Folder) -> None:
    package = dict(folder.package)
    if package.pop("sha256", None) != package_digest(package):
        raise Unlike("its description was changed after it was published")
    for resource in package["resources"]:
        if not (folder.path / resource["path"]).is_file() or resource["hash"] != file_hash(
            folder.path / resource["path"]
        ):
            raise Unlike(f"{resource['path']} is gone, or was changed after it was published")


def _require_noted(folder: Folder, read: Replay) -> None:
    noted = [content for _, content in read.buckets if content["state"] == "published"]
    mine = [content for content in noted if content["begun"] == folder.receipt[0]]
    if not mine or mine[0].get("sha256") != folder.package["sha256"]:
        raise Unlike("the journal has another seal for these buckets")


def _require_recorded(folder: Folder, read: Replay, journal: Journal, archive: Archive) -> None:
    about, domain = folder.about, read.domain
    charge = next((charge for charge in read.charges if charge.seq == about["charge"]), None)
    if charge is None or domain is None or read.records.get(charge.seq) != folder.receipt[0]:
        raise Unlike("its receipt is not that of its charge")
    charged, recorded = journal.entry(charge.seq), journal.entry(folder.receipt[0])
    assert charged is not None, "it was read before"
    assert recorded is not None, "it was read before"
    plan = read_plan(charged.parsed()["content"], domain)
    if folder.kind == "cube":
        _require_stated(about["guarantee"], charge, read)
        shapes = [tuple(domain[name].size for name in group) for line in plan for group in line.groups]
        _require_sources(folder, plan, archive.load(recorded.parsed()["content"], shapes))
    else:
        shapes = [(len(line.fields["subsets"]),) for line in plan]
        _require_counts(folder, archive.load(recorded.parsed()["content"], shapes))


def _require_stated(guarantee: dict[str, Any], charge: Charged, read: Replay) -> None:
    """A folder states no less than its release cost when it was charged; facts that came later may make it more."""
    assert read.own_terms is not None, "the header was read"
    terms: Terms = read.own_terms
    for number, _, content in read.facts:
        if number < charge.seq:
            terms = terms.under(*content["induced"])
    stated = Fraction(guarantee["rho" if terms.currency == "rho" else "epsilon"])
    if stated < terms.amount(charge.peak) or guarantee["neighbours"] != terms.neighbours:
        raise Unlike(f"it promises {terms.symbol} = {float(stated):.6g}, and its release cost more")


def _require_sources(folder: Folder, plan: Sequence[Line], recorded: Sequence[Array]) -> None:
    from discreet.cube.folder import read_cube

    cube = read_cube(folder.path)
    names = [cube.plan.lattice.names_of(mask) for mask in cube.sources]
    published = dict(zip(names, cube.sources.values(), strict=True))
    groups = [group for line in plan for group in line.groups]
    if set(groups) != set(names) or any(
        not np.array_equal(published[group], values) for group, values in zip(groups, recorded, strict=True)
    ):
        raise Unlike("its measured cuboids are not the numbers that the journal has", PUBLISH)


def _require_counts(folder: Folder, recorded: Sequence[Array]) -> None:
    from discreet.mining.folder import read_statistics

    if not np.array_equal(read_statistics(folder.path).counts.reshape(len(recorded), -1), np.stack(recorded)):
        raise Unlike("its counts are not the numbers that the journal has")
