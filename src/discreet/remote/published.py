"""Facts, synthetic rows, buckets and subsets of a vault on a server."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from discreet.errors import ArchiveError
from discreet.http_json import Json
from discreet.progress import Progress, silent

if TYPE_CHECKING:
    pass


from discreet.remote.connection import Connection
from discreet.remote.jobs import wait_for


@dataclass(frozen=True)
class RemoteFacts:
    """The facts of a vault on a server."""

    client: Connection
    over: str | None = None
    """The table that they are listed of, where the vault has several."""

    def report(self) -> Json:
        """Every fact about a table, with what it does to privacy by itself, and all together."""
        return self.client.get("/facts", [] if self.over is None else [("table", self.over)])

    def preview(self, sql: str, value: int) -> Json:
        """What `add` would do; nothing is added."""
        return self.client.post("/facts", {"sql": sql, "value": value, "dry_run": True})

    def add(self, sql: str, value: int, *, accept: bool = False) -> Json:
        """Account for the exact answer of a COUNT that is public anyway. For custodians."""
        return self.client.post("/facts", {"sql": sql, "value": value, "accept": accept})


@dataclass(frozen=True)
class RemoteRows:
    """The synthetic rows of a vault on a server."""

    client: Connection
    over: str | None = None
    """The table that they are drawn of, where the vault has several."""

    def publish(
        self, name: str, *, cube: str | None = None, rows: int | None = None, seed: int = 0, progress: Progress = silent
    ) -> Json:
        """Draw rows from the model of everything public, or of one published cube, and wait for them; what they are.
        For custodians."""
        path = f"/rows/{quote(name, safe='')}"
        wait_for(
            self.client,
            name,
            self.client.post(path, {"cube": cube, "rows": rows, "seed": seed, "table": self.over}),
            progress,
        )
        return self.client.get(path)

    def published(self) -> list[Json]:
        """The published files of rows, with what each is."""
        return list(self.client.get("/rows")["rows"])

    def check(self, name: str) -> Json:
        """How far rows are from what was released, by cuboid."""
        return self.client.get(f"/rows/{quote(name, safe='')}/check")

    def save(self, name: str, path: str | Path) -> None:
        """Download rows to a new Parquet file, which `SyntheticRows.load` and `discreet rows check` read."""
        content = self.client.download(f"/rows/{quote(name, safe='')}/file")
        try:
            with open(path, "xb") as file:
                file.write(content)
        except OSError:
            raise ArchiveError(f"{path} cannot be written; is it there already, and is there space?") from None


@dataclass(frozen=True)
class RemoteBuckets:
    """The buckets of a vault on a server."""

    client: Connection

    def published(self) -> list[Json]:
        """The published buckets, with what each promises."""
        return list(self.client.get("/buckets")["buckets"])

    def publish(self, name: str, *, sensitive: str, limits: str, progress: Progress = silent, **wish: object) -> Json:
        """Publish the rows themselves in buckets by a name, and wait for it: what was published, and what it promises,
        which is not differential privacy. For custodians. `columns`, `own`, `max_size`, … as for Vault."""
        order = {"sensitive": sensitive, "limits": limits, **wish}
        wait_for(self.client, name, self.client.post(f"/buckets/{quote(name, safe='')}", order), progress)
        return self.client.get(f"/buckets/{quote(name, safe='')}")


@dataclass(frozen=True)
class RemoteSulq:
    """A SuLQ database on a server."""

    client: Connection

    def ask_all(self, subsets: Sequence[object], predicate: str) -> Json:
        """Counts over subsets of its roster; each is one of its queries."""
        from discreet.query.subset import subset_of, subset_to_json

        named = [subset_to_json(subset_of(subset)) for subset in subsets]
        return self.client.post("/sulq/ask", {"predicate": predicate, "subsets": named})
