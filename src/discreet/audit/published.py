"""Folders that were published from a vault: sealed as they were written, and what the journal says they are.

A cube's sources and a SuLQ database's statistics must be the very numbers that the journal has, and all else in their
folders what is made of those; buckets must have the seal that it has. Folders are looked for in the vault, beside it,
and where the custodian says.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.audit.finding import Check, Findings, counted
from discreet.audit.public_models import MODEL, REMOVE, public_models, require_public_model_again, table_of
from discreet.audit.recomputed import (
    PUBLISH,
    WITHDRAW,
    Doubtful,
    Unlike,
    require_cube_again,
    require_statistics_again,
)
from discreet.audit.replay import Charged, Replay
from discreet.audit.several import books_of
from discreet.audit.terms import Terms, Unreadable
from discreet.errors import DiscreetError
from discreet.exact import equals_text, parse_exact
from discreet.ledger.journal import Journal
from discreet.ledger.ledger import Ledger
from discreet.release.archive import Archive
from discreet.release.package import PACKAGE, file_hash, package_digest

RANGES = "-ranges"
"""The end of the names of folders with simulated releases: they are nobody's numbers, and are not made again."""
KINDS = ("cube", "buckets", "statistics")
NOT_THERE = "give the folder itself, the one that has a datapackage.json; if this is it, take it back"


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


def check_published(
    home: Path, given: Sequence[Path], read: Replay, journal: Journal, account: Ledger | None, archive: Archive
) -> Check:
    """Every published folder that is found. What is computed from releases is computed again by the vault's account of
    them, where there is one."""
    found, looked = Findings(), 0
    for path, certain in _places(home, given):
        folder = _opened(path)
        if folder is None:
            if certain:
                found.failed(f"{path} holds nothing that Discreet published, or is damaged", NOT_THERE)
            continue
        if not _is_ours(folder, read):
            if certain:
                found.failed(f"{path} was not published from this vault as its journal is now", WITHDRAW)
            elif folder.about.get("table") in read.names:
                found.warning(
                    f"{path} is about {folder.about['table']} as well, and this journal knows nothing of it",
                    "if it is another vault's over the same people, both promises add up; if it is this one's, an "
                    "older journal was put back",
                )
            continue
        looked += 1
        with _told(path, WITHDRAW, found):
            _require_sealed(folder)
            if folder.kind == "buckets":
                _require_noted(folder, read)
            else:
                _require_recorded(folder, read, journal, account, archive)
    for path in public_models(home):
        looked += 1
        if account is not None:
            with _told(path, REMOVE, found):
                require_public_model_again(path, books_of(account, table_of(path)), archive)
    detail = f"{counted(looked, 'folder')} found" if looked else "none in the vault or beside it"
    return found.check("published", "Published folders are genuine", detail)


@contextmanager
def _told(path: Path, where_damaged: str, found: Findings) -> Iterator[None]:
    """What is wrong with a folder, among the findings."""
    try:
        yield
    except Doubtful as doubtful:
        found.warning(f"{path}: {doubtful}", doubtful.next)
    except Unlike as unlike:
        found.failed(f"{path}: {unlike}", unlike.next)
    except (DiscreetError, Unreadable, LookupError, TypeError, ValueError, ArithmeticError, OSError):
        found.failed(f"{path} is damaged", where_damaged)


def _places(home: Path, given: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Where to look; and whether what is there must be this vault's."""
    named = [path.resolve() for path in given]
    yield from ((path, True) for path in given)
    own = [(home / name, True) for name in ("cubes", "models", "buckets")]
    for parent, certain in (*own, (home.absolute().parent, False)):
        # What may not be read here is not an error: beside a vault there may be anybody's folders.
        with suppress(OSError):
            for path in sorted(parent.iterdir()):
                if path.resolve() in named or path.name[0] == "." or path.name.endswith((RANGES, MODEL)):
                    continue
                if os.path.isfile(path / PACKAGE):
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
        name, file = Path(resource["path"]).name, folder.path / resource["path"]
        # A name that leads elsewhere is no file of the folder, and is not read.
        if name != resource["path"] or not file.is_file() or resource["hash"] != file_hash(file):
            raise Unlike(f"{name} is gone, or was changed after it was published")


def _require_noted(folder: Folder, read: Replay) -> None:
    noted = [content for _, content in read.buckets if content["state"] == "published"]
    mine = [content for content in noted if content["begun"] == folder.receipt[0]]
    if not mine or mine[0].get("sha256") != folder.package["sha256"]:
        raise Unlike("the journal has another seal for these buckets")


def _require_recorded(folder: Folder, read: Replay, journal: Journal, account: Ledger | None, archive: Archive) -> None:
    about = folder.about
    charge = next((charge for charge in read.charges if charge.seq == about["charge"]), None)
    if charge is None or read.records.get(charge.seq) != folder.receipt[0]:
        raise Unlike("its receipt is not that of its charge")
    steps = [*_earlier(about, charge, read), charge]
    if folder.kind == "cube":
        _require_stated(about["guarantee"], steps, read)
    if account is not None and folder.kind == "cube":
        bought = [_as_journalled(step.seq, read.records[step.seq], journal) for step in steps]
        require_cube_again(folder.path, bought, books_of(account, charge.table), archive)
    elif account is not None:
        require_statistics_again(folder.path, *_as_journalled(charge.seq, folder.receipt[0], journal), account, archive)
    if folder.kind == "cube":
        _require_current(about["guarantee"], steps, read)


def _earlier(about: dict[str, Any], charge: Charged, read: Replay) -> list[Charged]:
    """The charges before its last one that a cube was bought with. The journal says which, and so must the folder."""
    noted = tuple(about.get("earlier", ()))
    if noted not in read.runs.get(charge.seq, [()]):
        raise Unlike("it does not name all the charges that it was bought with")
    found = {one.seq: one for one in read.charges}
    if any(number not in read.records for number in noted):
        raise Unlike("it was made while a step of it had no answer")
    return [found[number] for number in noted]


def _as_journalled(charge: int, record: int, journal: Journal) -> tuple[Any, Any]:
    """The plan of a charge, and its answer."""
    charged, recorded = journal.entry(charge), journal.entry(record)
    assert charged is not None, "it was read before"
    assert recorded is not None, "it was read before"
    return charged.parsed()["content"], recorded.parsed()["content"]


def _require_current(guarantee: dict[str, Any], steps: Sequence[Charged], read: Replay) -> None:
    """Raise Doubtful where facts that came after a folder make it cost more than it states."""
    assert read.terms is not None, "the header was read"
    stated, now = _amount(guarantee, read.terms), read.terms.amount(sum(step.peak for step in steps))
    if stated < now:
        raise Doubtful(
            f"it promises {read.terms.symbol} {equals_text(stated)}, and to whoever knows the facts that came later it "
            f"is {read.terms.symbol} {equals_text(now)}",
            PUBLISH,
        )


def _amount(guarantee: dict[str, Any], terms: Terms) -> Fraction:
    return parse_exact(guarantee[terms.currency])


def _require_stated(guarantee: dict[str, Any], steps: Sequence[Charged], read: Replay) -> None:
    """A folder states no less than its release cost when it was charged; facts that came later may make it more."""
    assert read.own_terms is not None, "the header was read"
    terms: Terms = read.own_terms
    for number, _, content in read.facts:
        if number < steps[-1].seq:
            terms = terms.under(*content["induced"])
    stated = _amount(guarantee, terms)
    whose = guarantee["neighbours"], guarantee["max_rows"]
    if stated < terms.amount(sum(step.peak for step in steps)) or whose != (terms.neighbours, terms.max_rows):
        raise Unlike(f"it promises {terms.symbol} = {float(stated):.6g}, and its release cost more")
    loss = [parse_exact(guarantee[key]) for key in ("epsilon", "delta")] if "delta" in guarantee else []
    if loss and not terms.keeps(stated, *loss):
        raise Unlike(f"it promises an ε and a δ that its {terms.symbol} does not keep")
