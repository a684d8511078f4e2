"""A vault behind `discreet serve`, with the verbs of Vault: `Client("http://localhost:8801", token).ask("…")`."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import quote, urlencode

from discreet.answer.view import AnswerView, LabelKind, offer_text
from discreet.errors import ArchiveError, EngineError, ServerError
from discreet.http_json import STRANGER, Json, base_of, call, fetch
from discreet.notebook import FieldsView
from discreet.progress import Progress, silent

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.grouped import GroupedCuboid
    from discreet.replies import AnswerJson, BudgetJson, ExplanationJson, JobJson

Number = str | float | Fraction
T = TypeVar("T")
POLL_SECONDS = 0.2


@dataclass(frozen=True, repr=False)
class RemoteRow(FieldsView):
    """One number of an answer: of a group (its labels) and an aggregate (its column)."""

    labels: Mapping[str, str | None]
    column: str
    value: float | None
    low: float | None
    high: float | None
    kind: str
    may_be_zero: bool = False
    too_noisy: bool = False
    even: bool = False
    shrunken: float | None = None
    chosen: bool = False
    answered: str | None = None
    relaxation_error: float = 0.0
    affordable: float | None = None
    affordable_scale: float | None = None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """Its labels, in order."""
        return tuple(self.labels.values())

    @property
    def key(self) -> object:
        return self.texts

    @property
    def offer(self) -> str | None:
        """What could be had instead, in words."""
        return offer_text(self.affordable, self.affordable_scale)

    @property
    def is_near(self) -> bool:
        """Whether it is about another region than the one asked about."""
        return self.answered is not None

    @property
    def is_even(self) -> bool:
        return self.even

    @property
    def is_too_noisy(self) -> bool:
        return self.too_noisy


@dataclass(frozen=True, repr=False)
class RemoteAnswer(AnswerView[RemoteRow]):
    """An answer to one SELECT, with an interval beside every number: it is shown, saved and drawn as one of a vault."""

    text: str
    by: tuple[str, ...]
    columns: tuple[str, ...]
    order: tuple[str, ...]
    label_kinds: tuple[LabelKind, ...]
    rows: tuple[RemoteRow, ...]
    confidence: float
    kind: str
    asked: str | None
    answered: str | None
    relaxation_error: float
    cost: Fraction
    share: float
    """The cost, as a part of the whole budget."""
    guarantee: Json
    notes: tuple[str, ...]

    @classmethod
    def of(cls, body: "AnswerJson") -> "RemoteAnswer":
        return cls(
            text=body["sql"],
            by=tuple(body["by"]),
            columns=tuple(body["columns"]),
            order=tuple(body["order"]),
            label_kinds=tuple(body["label_kinds"]),
            rows=tuple(_known(RemoteRow, row) for row in body["rows"]),
            confidence=body["confidence"],
            kind=body["kind"],
            asked=body["asked"],
            answered=body["answered"],
            relaxation_error=body["relaxation_error"],
            cost=Fraction(body["cost"]),
            share=body["share"],
            guarantee=body["guarantee"],
            notes=tuple(body["notes"]),
        )

    @property
    def lines(self) -> list[tuple[tuple[str | None, ...], list[RemoteRow]]]:
        """The rows line by line, each with its labels: as many to a line as there are columns, whatever its labels."""
        in_line = max(len(self.columns), 1)
        found = [list(self.rows[start : start + in_line]) for start in range(0, len(self.rows), in_line)]
        return [(rows[0].texts, [row for row in rows if row.column in self.columns]) for rows in found]

    def _region_text(self, row: RemoteRow) -> str:
        return row.answered or ""

    def _spent(self) -> str:
        return f"{100 * self.share:.2g}% of the budget"

    def interval(self) -> tuple[float | None, float | None]:
        """Bounds that hold the truth of the answered region with the confidence that was asked for."""
        return self.only.low, self.only.high


@dataclass(frozen=True, repr=False)
class RemoteForecast(FieldsView):
    """What one aggregate of a question would be answered from, and how far off it would be."""

    column: str
    kinds: Mapping[str, int]
    halfwidth: float | None
    scale: float
    unit: str
    relative: float | None


@dataclass(frozen=True, repr=False)
class RemoteExplanation(FieldsView):
    """What an answer would cost and be worth."""

    text: str
    forecasts: tuple[RemoteForecast, ...]
    confidence: float
    cost: Fraction
    is_exact: bool
    """Whether the answer spends just that; else at most that."""
    left: Fraction
    more: int | None
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class RemoteBudget(FieldsView):
    """What a vault may spend, the most that anyone's row has spent, what is left there, and who spent it."""

    guarantee: Json
    spent: Fraction
    left: Fraction
    elsewhere: Fraction
    """What is left where least is spent."""
    charges: int
    pending: tuple[int, ...]
    by_user: Mapping[str, Fraction]


@dataclass(frozen=True, repr=False)
class RemoteCube(FieldsView):
    """A published cube on a server: cuboids are fetched when they are asked for."""

    client: "Client" = field(repr=False)
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
class Client:
    """Speaks to one server in one user's name. Its errors are those of Vault, with the server's address before them;
    one that cannot be reached is a ServerError."""

    url: str
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", base_of(self.url, ServerError))

    @property
    def facts(self) -> "RemoteFacts":
        """What is public anyway, and accounted for."""
        return RemoteFacts(self)

    def running(self, confidence: float = 0.95) -> list[Json]:
        """Running totals, as far as they were published, with intervals: free."""
        return list(self.get("/running", [("confidence", str(confidence))])["running"])

    @property
    def cubes(self) -> "RemoteCubes":
        """Planned, published, read."""
        return RemoteCubes(self)

    @property
    def rows(self) -> "RemoteRows":
        """Synthetic rows: `client.rows.publish("people", cube="census")`."""
        return RemoteRows(self)

    @property
    def buckets(self) -> "RemoteBuckets":
        """The rows themselves, under another promise."""
        return RemoteBuckets(self)

    @property
    def sulq(self) -> "RemoteSulq":
        """Counts over subsets of a roster."""
        return RemoteSulq(self)

    def ask(
        self,
        sql: str,
        *,
        scale: Number | None = None,
        within: Number | None = None,
        confidence: Number | None = None,
        relax: bool | None = None,
        weights: Mapping[str, Number] | None = None,
        compound_size: int | None = None,
        estimate: Literal["unbiased", "modelled"] = "unbiased",
    ) -> RemoteAnswer:
        """Answer a SELECT: from what is public where that is sharp enough, else measured, else relaxed; or, modelled,
        from the model of everything public."""
        wish = {**_wish(scale, within, confidence, relax), **_how(weights, compound_size), "estimate": estimate}
        return _made(self.url, RemoteAnswer.of, self.post("/ask", {"sql": sql, **wish}))

    def explain(
        self,
        sql: str,
        *,
        scale: Number | None = None,
        within: Number | None = None,
        confidence: Number | None = None,
        relax: bool | None = None,
        weights: Mapping[str, Number] | None = None,
        compound_size: int | None = None,
        estimate: Literal["unbiased", "modelled"] = "unbiased",
    ) -> RemoteExplanation:
        """What `ask` would answer from, what it would cost and how far off it would be. Spends nothing."""
        wish = {**_wish(scale, within, confidence, relax), **_how(weights, compound_size), "estimate": estimate}
        return _made(self.url, _explanation, self.post("/explain", {"sql": sql, **wish}))

    def describe(self) -> Json:
        """The vault in public terms: its domain and its promise."""
        return self.get("/describe")

    def me(self) -> Json:
        """Whose token this is: name, role, quota, and what their questions have spent."""
        return self.get("/me")

    def budget(self) -> RemoteBudget:
        """What is spent and what is left, and what each user's questions spent."""
        return _made(self.url, _budget, self.get("/budget"))

    def budget_map(self, rows: str, columns: str) -> "xr.DataArray":
        """The least that is left for each pair of codes of two attributes, over all codes of the others."""
        import xarray as xr

        body = self.get("/budget/map", [("rows", rows), ("columns", columns)])
        labels = {rows: body["row_labels"], columns: body["column_labels"]}
        return xr.DataArray(body["left"], dims=[rows, columns], coords=labels, name="left")

    def entries(self, after: int = 0) -> Iterator[Json]:
        """The journal, entry by entry, with what each one says in words."""
        return self._pages("/ledger", "entries", after)

    def releases(self) -> Iterator[Json]:
        """Everything that was released, in order, without its numbers."""
        return self._pages("/releases", "releases", 0)

    def release(self, charge: int) -> Json:
        """One release, by the number of its charge: values, variances, guarantee, receipt."""
        return self.get(f"/releases/{int(charge)}")

    def users(self) -> list[Json]:
        """Everybody with a token: name, role, quota, since and until when. For custodians and auditors."""
        return list(self.get("/users")["users"])

    def add_user(
        self, name: str, role: str = "analyst", *, quota: Number | None = None, expires: str | None = None
    ) -> str:
        """Make a user and return their token, which is shown this once. For custodians."""
        exact = None if quota is None else str(quota)
        new = {"name": name, "role": role, "quota": exact, "expires": expires}
        return _made(self.url, lambda body: str(body["token"]), self.post("/users", new))

    def rotate_user(self, name: str) -> str:
        """Give a user another token and return it: the one before opens nothing any more. For custodians."""
        return _made(self.url, lambda body: str(body["token"]), self.post(f"/users/{quote(name, safe='')}/token", {}))

    def edit_user(self, name: str, *, quota: Number | None = None, expires: str | None = None) -> Json:
        """Change a user's quota ("none" for none), or how long their token is good for. For custodians."""
        changed = {"quota": None if quota is None else str(quota), "expires": expires}
        return call(self.url, f"/users/{quote(name, safe='')}", changed, self.token, ServerError, "PATCH")

    def revoke_user(self, name: str) -> None:
        """Take a user's token back: it opens nothing from the next request on. For custodians."""
        call(self.url, f"/users/{quote(name, safe='')}", None, self.token, ServerError, "DELETE")

    def log(self, user: str | None = None, last: int = 100) -> list[Json]:
        """The last lines of who asked what. For custodians and auditors."""
        query = [("limit", str(last)), *([] if user is None else [("user", user)])]
        return list(self.get("/log", query)["asked"])

    def get(self, path: str, query: Sequence[tuple[str, str]] = ()) -> Json:
        """What the API answers at a path below /api/v1."""
        return call(self.url, _with(path, query), None, self.token, ServerError)

    def post(self, path: str, body: Json) -> Json:
        return call(self.url, path, body, self.token, ServerError)

    def download(self, path: str, query: Sequence[tuple[str, str]] = ()) -> bytes:
        """A file of the API, as it is."""
        return fetch(self.url, _with(path, query), None, self.token, ServerError)

    def _pages(self, path: str, key: str, after: int) -> Iterator[Json]:
        following: int | None = after
        while following is not None:
            page = self.get(path, [("after", str(following)), ("limit", "1000")])
            yield from page[key]
            following = page["next"]


@dataclass(frozen=True)
class RemoteFacts:
    """The facts of a vault on a server."""

    client: Client

    def report(self) -> Json:
        """Every fact, with what it does to privacy by itself, and all together."""
        return self.client.get("/facts")

    def preview(self, sql: str, value: int) -> Json:
        """What `add` would do; nothing is added."""
        return self.client.post("/facts", {"sql": sql, "value": value, "dry_run": True})

    def add(self, sql: str, value: int, *, accept: bool = False) -> Json:
        """Account for the exact answer of a COUNT that is public anyway. For custodians."""
        return self.client.post("/facts", {"sql": sql, "value": value, "accept": accept})


@dataclass(frozen=True)
class RemoteCubes:
    """The cubes of a vault on a server."""

    client: Client

    def plan(self, **wish: object) -> Json:
        """Which cuboids would be measured, and how exact each would be: `epsilon`, `cuboids`, … as for Vault."""
        return self.client.post("/cubes/plan", _cube_wish(wish))

    def publish(self, name: str, *, progress: Progress = silent, **wish: object) -> RemoteCube:
        """Publish a cube by a name, and wait for it. For custodians. What was charged stands, whatever happens:
        `charge=N` goes on from it."""
        _wait(self.client, name, self.client.post(f"/cubes/{quote(name, safe='')}", _cube_wish(wish)), progress)
        return self.open(name)

    def published(self) -> list[str]:
        """The names of the published cubes."""
        return [str(cube["name"]) for cube in self.client.get("/cubes")["cubes"]]

    def open(self, name: str) -> RemoteCube:
        """A published cube."""
        return RemoteCube(self.client, name, self.client.get(f"/cubes/{quote(name, safe='')}"))


@dataclass(frozen=True)
class RemoteRows:
    """The synthetic rows of a vault on a server."""

    client: Client

    def publish(
        self, name: str, *, cube: str | None = None, rows: int | None = None, seed: int = 0, progress: Progress = silent
    ) -> Json:
        """Draw rows from the model of everything public, or of one published cube, and wait for them; what they are.
        For custodians."""
        path = f"/rows/{quote(name, safe='')}"
        _wait(self.client, name, self.client.post(path, {"cube": cube, "rows": rows, "seed": seed}), progress)
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

    client: Client

    def published(self) -> list[Json]:
        """The published buckets, with what each promises."""
        return list(self.client.get("/buckets")["buckets"])

    def publish(self, name: str, *, sensitive: str, limits: str, progress: Progress = silent, **wish: object) -> Json:
        """Publish the rows themselves in buckets by a name, and wait for it: what was published, and what it promises,
        which is not differential privacy. For custodians. `columns`, `own`, `max_size`, … as for Vault."""
        order = {"sensitive": sensitive, "limits": limits, **wish}
        _wait(self.client, name, self.client.post(f"/buckets/{quote(name, safe='')}", order), progress)
        return self.client.get(f"/buckets/{quote(name, safe='')}")


@dataclass(frozen=True)
class RemoteSulq:
    """A SuLQ database on a server."""

    client: Client

    def ask_all(self, subsets: Sequence[object], predicate: str) -> Json:
        """Counts over subsets of its roster; each is one of its queries."""
        from discreet.query.subset import subset_of, subset_to_json

        named = [subset_to_json(subset_of(subset)) for subset in subsets]
        return self.client.post("/sulq/ask", {"predicate": predicate, "subsets": named})


def _wait(client: Client, name: str, told: Json, progress: Progress) -> None:
    """Until a job has ended. Raises EngineError where it did not end well, and says what stands."""
    job = cast("JobJson", told)
    while job["state"] == "running":
        progress(job["doing"], job["done"])
        time.sleep(POLL_SECONDS)
        job = cast("JobJson", client.get(f"/jobs/{quote(name, safe='')}"))
    if job["state"] != "done":
        error = job["error"] or {"kind": "interrupted", "message": "the server ended while it published"}
        stands = "" if job["charge"] is None else f"; charge {job['charge']} stands, publish with charge=…"
        raise EngineError(f"{client.url}: {error['kind']}: {error['message']}{stands}")


def _with(path: str, query: Sequence[tuple[str, str]]) -> str:
    return f"{path}?{urlencode(list(query))}" if query else path


def _wish(scale: Number | None, within: Number | None, confidence: Number | None, relax: bool | None) -> Json:
    """Exact numbers travel as text."""
    wish = {"scale": scale, "within": within, "confidence": confidence}
    return {key: None if value is None else str(value) for key, value in wish.items()} | {"relax": relax}


def _how(weights: Mapping[str, Number] | None, compound_size: int | None) -> Json:
    """How a question may be relaxed."""
    told = None if weights is None else {name: str(weight) for name, weight in weights.items()}
    return {"weights": told, "compound_size": compound_size}


def _cube_wish(wish: Mapping[str, object]) -> Json:
    return {key: str(value) if isinstance(value, Fraction) else value for key, value in wish.items()}


def _known(kind: type[T], body: Mapping[str, Any]) -> T:
    """A result from its JSON, without what a newer server may say besides."""
    return kind(**{own.name: body[own.name] for own in fields(kind) if own.name in body})  # type: ignore[arg-type]


def _explanation(body: "ExplanationJson") -> RemoteExplanation:
    return RemoteExplanation(
        text=body["sql"],
        forecasts=tuple(_known(RemoteForecast, forecast) for forecast in body["aggregates"]),
        confidence=body["confidence"],
        cost=Fraction(body["cost"]),
        is_exact=body["cost_is"] == "exact",
        left=Fraction(body["left"]),
        more=body["more"],
        notes=tuple(body["notes"]),
    )


def _budget(body: "BudgetJson") -> RemoteBudget:
    return RemoteBudget(
        guarantee=body["guarantee"],
        spent=Fraction(body["spent"]),
        left=Fraction(body["left"]),
        elsewhere=Fraction(body["elsewhere"]),
        charges=body["charges"],
        pending=tuple(body["pending"]),
        by_user={name: Fraction(spent) for name, spent in body["by_user"].items()},
    )


def _made(url: str, make: Callable[[Any], T], body: Json) -> T:
    """A result from its JSON. Raises ServerError where a stranger answered."""
    try:
        return make(body)
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise ServerError(f"{url} {STRANGER}") from None
