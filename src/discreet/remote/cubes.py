"""The cubes of a vault on a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from discreet.errors import ArchiveError
from discreet.http_json import Json
from discreet.notebook import FieldsView
from discreet.progress import Progress, silent

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.grouped import GroupedCuboid


from discreet.remote.connection import Connection
from discreet.remote.jobs import wait_for


@dataclass(frozen=True, repr=False)
class RemoteCube(FieldsView):
    """A published cube on a server: cuboids are fetched when they are asked for."""

    client: Connection = field(repr=False)
    name: str
    about: Json = field(repr=False)
    sliced: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions that can be asked for."""
        return tuple(name for name in self.about["dimensions"] if name not in self.sliced)

    def __getitem__(self, names: str | tuple[str, ...]) -> "xr.DataArray":
        """A cuboid, its axes in the order of the names; `cube[()]` is the total."""
        import xarray as xr

        asked = (names,) if isinstance(names, str) else names
        body = self.client.get(f"{self._path}/cuboid", self._view(asked))
        told = {key: body[key] for key in ("variance", "halfwidth", "confidence", "guarantee")}
        return xr.DataArray(body["count"], dims=list(asked), coords=body["labels"], name="count", attrs=told)

    def halfwidth(self, *names: str, confidence: float = 0.95) -> float:
        """A width w such that each cell of a cuboid is within ±w of the truth with at least this probability."""
        view = [*self._view(names), ("confidence", str(confidence))]
        return float(self.client.get(f"{self._path}/cuboid", view)["halfwidth"])

    def modelled(self, *names: str, confidence: float = 0.95) -> "xr.Dataset":
        """A cuboid as the cube's model has it, published or not: `modelled`, with the `low` and `high` of its model
        range. Refused where the cube was published without a model."""
        import xarray as xr

        view = [*self._view(names), ("confidence", str(confidence)), ("estimate", "modelled")]
        body = self.client.get(f"{self._path}/cuboid", view)
        told = {key: body[key] for key in ("confidence", "measured_together", "note", "guarantee")}
        numbers = {key: (list(names), body[key]) for key in ("modelled", "low", "high")}
        return xr.Dataset(numbers, body["labels"], told)

    def grouped(self, *names: str, confidence: float = 0.95) -> "GroupedCuboid":
        """A cuboid by groups of its dimensions' hierarchies, as `Cube.grouped` has it."""
        import xarray as xr

        from discreet.cube.grouped import GroupedCuboid

        body = self.client.get(f"{self._path}/groups", [*self._view(names), ("confidence", str(confidence))])
        found = (
            xr.DataArray(body[key], dims=list(names), coords=body["labels"], name="count")
            for key in ("count", "low", "high", "variance")
        )
        return GroupedCuboid(*found)

    def slice(self, **values: object) -> "RemoteCube":
        """The cube of those people only; it has the dimensions that are left."""
        chosen = {**self.sliced, **{name: str(value) for name, value in values.items()}}
        return RemoteCube(self.client, self.name, self.about, chosen)

    def save(self, path: str | Path) -> None:
        """Download the cube to a new folder, which `Cube.load` and `discreet cube show` read."""
        folder = Path(path)
        try:
            folder.mkdir(parents=True)
            model = ("model.parquet", "modelled.parquet") if "estimates" in self.about else ()
            for file in ("sources.parquet", "cuboids.parquet", *model, "datapackage.json"):
                (folder / file).write_bytes(self.client.download(f"{self._path}/files/{file}"))
        except OSError:
            raise ArchiveError(f"{folder} cannot be written; is it there already, and is there space?") from None

    @property
    def _path(self) -> str:
        return f"/cubes/{quote(self.name, safe='')}"

    def _view(self, names: Sequence[str]) -> list[tuple[str, str]]:
        return [*(("by", name) for name in names), *(("slice", f"{name}={of}") for name, of in self.sliced.items())]


@dataclass(frozen=True)
class RemoteCubes:
    """The cubes of a vault on a server."""

    client: Connection
    over: str | None = None
    """The table that cubes are planned and published of, where the vault has several."""

    def plan(self, **wish: object) -> Json:
        """Which cuboids would be measured, and how exact each would be: `epsilon`, `cuboids`, … as for Vault."""
        return self.client.post("/cubes/plan", self._wish(wish))

    def publish(self, name: str, *, progress: Progress = silent, **wish: object) -> RemoteCube:
        """Publish a cube by a name, and wait for it. For custodians. What was charged stands, whatever happens:
        `charge=N` goes on from it."""
        wait_for(self.client, name, self.client.post(f"/cubes/{quote(name, safe='')}", self._wish(wish)), progress)
        return self.open(name)

    def published(self) -> list[str]:
        """The names of the published cubes."""
        return [str(cube["name"]) for cube in self.client.get("/cubes")["cubes"]]

    def open(self, name: str) -> RemoteCube:
        """A published cube."""
        return RemoteCube(self.client, name, self.client.get(f"/cubes/{quote(name, safe='')}"))

    def _wish(self, wish: Mapping[str, object]) -> Json:
        of_table = {} if self.over is None else {"table": self.over}
        return of_table | {key: str(value) if isinstance(value, Fraction) else value for key, value in wish.items()}
