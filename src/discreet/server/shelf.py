"""What a vault has published, in folders of its own: vault/cubes/NAME, vault/rows/NAME.parquet and vault/buckets/NAME.
Public, and free."""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from discreet.errors import ArchiveError, DiscreetError, NotFound, UnsupportedQuery
from discreet.ledger.guarantee import Guarantee, guarantee_from_json
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt
from discreet.release.package import PACKAGE

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.microdata.buckets import Buckets
    from discreet.synthetic.rows import SyntheticRows

CUBES, ROWS, BUCKETS = "cubes", "rows", "buckets"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MOST_OPEN = 8
"""So many published things are kept in memory; the longest unused gives way."""

T = TypeVar("T")


def require_name(name: str) -> str:
    """A name that is one folder and nothing else. Raises UnsupportedQuery: it may have come from anywhere."""
    if not NAME.fullmatch(name):
        raise UnsupportedQuery("a name has up to 64 letters, digits, dashes and underscores, and no others")
    return name


def names_in(folder: Path) -> list[str]:
    """What is published in a folder, by name. What is still being written has no name yet."""
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if NAME.fullmatch(path.name) and (path / PACKAGE).is_file())


@dataclass
class _Opened(Generic[T]):
    """Published things that were read and checked once. What is published never changes; it may be taken away."""

    folder: Path
    as_of_now: Callable[[T], T]
    """The same thing with what it promises by now, which others may have changed since it was published."""
    _open: "OrderedDict[tuple[str, int], T]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, name: str, kind: type[T], what: str) -> T:
        path = self.folder / require_name(name)
        try:
            key = (name, (path / PACKAGE).stat().st_mtime_ns)
        except OSError:
            raise NotFound(f"there are no published {what} called {name!r} here") from None
        with self._lock:
            if key not in self._open:
                self._open[key] = kind.load(path)  # type: ignore[attr-defined]
            self._open[key] = self.as_of_now(self._open[key])
            self._open.move_to_end(key)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return self._open[key]


class Shelf:
    """The published cubes and buckets of a vault, each with what it promises by now: facts, and rows that are published
    again, come after it."""

    def __init__(self, home: Path, ledger: Ledger) -> None:
        self.cubes_folder, self.rows_folder, self.buckets_folder = home / CUBES, home / ROWS, home / BUCKETS
        self._ledger = ledger
        self._cubes: _Opened[Cube] = _Opened(self.cubes_folder, self._cube_now)
        self._buckets: _Opened[Buckets] = _Opened(self.buckets_folder, self._buckets_now)

    def warm(self) -> None:
        """Read what is published, and import what shows it, so that the first who looks does not wait for that."""
        published = self.cubes()[-MOST_OPEN:]
        if published:
            import xarray  # noqa: F401  # 50 MB that a vault without cubes does not need
        for name in published:
            with suppress(DiscreetError):  # a damaged one is told of when it is asked for
                cube = self.cube(name)
                cube.halfwidth()
                cube.cells()

    def cube(self, name: str) -> "Cube":
        """A cube by its name. Raises NotFound where there is none, ArchiveError where it is damaged."""
        from discreet.cube.cube import Cube

        return self._cubes.get(name, Cube, "cubes")

    def promise(self, charge: int, receipt: Receipt, stated: Guarantee, earlier: Sequence[int] = ()) -> Guarantee:
        """What a published cube promises by now; what it states where it is of another journal."""
        return self._ledger.promise_of(charge, receipt, earlier) or stated

    def _cube_now(self, cube: "Cube") -> "Cube":
        origin = cube.origin
        now = self.promise(origin.charge, origin.receipt, origin.guarantee, origin.earlier)
        return cube if now == origin.guarantee else replace(cube, origin=replace(origin, guarantee=now))

    def _buckets_now(self, buckets: "Buckets") -> "Buckets":
        now = self._ledger.f_privacy(Receipt.parse(str(buckets.about["receipt"]))) or buckets.guarantee
        return buckets if now == buckets.guarantee else replace(buckets, guarantee=now)

    def cubes(self) -> list[str]:
        return names_in(self.cubes_folder)

    def rows_names(self) -> list[str]:
        """The published files of synthetic rows, by name."""
        found = self.rows_folder.glob("*.parquet") if self.rows_folder.is_dir() else ()
        return sorted(path.stem for path in found if NAME.fullmatch(path.stem))

    def about_rows(self, name: str) -> dict[str, Any]:
        """What a file of synthetic rows says of itself, and what it promises by now; without its domain, which is the
        vault's own. Raises NotFound where there is none, ArchiveError where it is damaged."""
        about = {key: value for key, value in self._read_rows(name).about.items() if key != "domain"}
        try:
            stated = guarantee_from_json(about["guarantee"])
            now = self.promise(
                about["charge"], Receipt.parse(about["receipt"]), stated, tuple(map(int, about.get("earlier", ())))
            )
        except (ValueError, LookupError, TypeError):
            raise ArchiveError(f"the rows {name} are damaged; restore them from a copy") from None
        return {**about, "guarantee": now.to_json(), "guarantee_in_words": str(now)}

    def checked_rows(self, name: str) -> dict[str, Any]:
        """How far a file of rows is from the cube that it was drawn from, the last of several. Raises NotFound where
        that is gone."""
        from discreet.synthetic.check import check_rows

        rows = self._read_rows(name)
        of = {rows.about["charge"], *rows.about.get("earlier", ())}
        cubes = [cube for cube in map(self.cube, self.cubes()) if cube.model is not None and cube.origin.charge in of]
        if cubes:
            return check_rows(rows, max(cubes, key=lambda cube: cube.origin.charge)).to_json()
        raise NotFound(f"the cube that the rows {name!r} were drawn from is not published here")

    def _read_rows(self, name: str) -> "SyntheticRows":
        from discreet.synthetic.rows import SyntheticRows

        path = self.rows_folder / f"{require_name(name)}.parquet"
        if not path.is_file():
            raise NotFound(f"there are no published rows called {name!r} here")
        return SyntheticRows.load(path)

    def buckets(self, name: str) -> "Buckets":
        from discreet.microdata.buckets import Buckets

        return self._buckets.get(name, Buckets, "buckets")

    def bucket_names(self) -> list[str]:
        return names_in(self.buckets_folder)
