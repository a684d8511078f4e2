"""A vault behind `discreet serve`, with the verbs of Vault: `Client("http://localhost:8801", token).ask("…")`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from discreet.http_json import Json
from discreet.remote.connection import Connection
from discreet.remote.cubes import RemoteCubes
from discreet.remote.published import RemoteBuckets, RemoteFacts, RemoteRows, RemoteSulq
from discreet.remote.results import RemoteAnswer, RemoteBudget, RemoteExplanation, budget_of, explanation_of

if TYPE_CHECKING:
    import xarray as xr


Number = str | float | Fraction


@dataclass(frozen=True)
class Client(Connection):
    """Speaks to one server in one user's name. Its errors are those of Vault, with the server's address before them;
    one that cannot be reached is a ServerError."""

    over: str | None = None
    """The table that is described, and whose budget and releases are shown, where a vault has several."""

    def table(self, name: str) -> "Client":
        """The same vault over one of its tables: what it describes and shows is of that one."""
        return replace(self, over=name)

    @property
    def facts(self) -> RemoteFacts:
        """What is public anyway, and accounted for."""
        return RemoteFacts(self, self.over)

    def running(self, confidence: float = 0.95) -> list[Json]:
        """Running totals, as far as they were published, with intervals: free."""
        return list(self.get("/running", [("confidence", str(confidence)), *self._of_table])["running"])

    @property
    def cubes(self) -> RemoteCubes:
        """Planned, published, read."""
        return RemoteCubes(self, self.over)

    @property
    def rows(self) -> RemoteRows:
        """Synthetic rows: `client.rows.publish("people", cube="census")`."""
        return RemoteRows(self, self.over)

    @property
    def buckets(self) -> RemoteBuckets:
        """The rows themselves, under another promise."""
        return RemoteBuckets(self)

    @property
    def sulq(self) -> RemoteSulq:
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
        return self._made(RemoteAnswer.of, self.post("/ask", {"sql": sql, **wish}))

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
        return self._made(explanation_of, self.post("/explain", {"sql": sql, **wish}))

    @property
    def _of_table(self) -> list[tuple[str, str]]:
        return [] if self.over is None else [("table", self.over)]

    def describe(self) -> Json:
        """The vault in public terms: its domain and its promise."""
        return self.get("/describe", self._of_table)

    def me(self) -> Json:
        """Whose token this is: name, role, quota, and what their questions have spent."""
        return self.get("/me")

    def budget(self) -> RemoteBudget:
        """What is spent and what is left, and what each user's questions spent."""
        return self._made(budget_of, self.get("/budget"))

    def budget_map(self, rows: str, columns: str) -> "xr.DataArray":
        """The least that is left for each pair of codes of two attributes, over all codes of the others."""
        import xarray as xr

        body = self.get("/budget/map", [("rows", rows), ("columns", columns), *self._of_table])
        labels = {rows: body["row_labels"], columns: body["column_labels"]}
        return xr.DataArray(body["left"], dims=[rows, columns], coords=labels, name="left")

    def entries(self, after: int = 0) -> Iterator[Json]:
        """The journal, entry by entry, with what each one says in words."""
        return self._pages("/ledger", "entries", after)

    def releases(self) -> Iterator[Json]:
        """Everything that was released, in order, without its numbers; of all tables, or of the one that this is
        over."""
        return self._pages("/releases", "releases", 0, self._of_table)

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
        return self._made(lambda body: str(body["token"]), self.post("/users", new))

    def rotate_user(self, name: str) -> str:
        """Give a user another token and return it: the one before opens nothing any more. For custodians."""
        return self._made(lambda body: str(body["token"]), self.post(f"/users/{quote(name, safe='')}/token", {}))

    def edit_user(self, name: str, *, quota: Number | None = None, expires: str | None = None) -> Json:
        """Change a user's quota ("none" for none), or how long their token is good for. For custodians."""
        changed = {"quota": None if quota is None else str(quota), "expires": expires}
        return self._change("PATCH", f"/users/{quote(name, safe='')}", changed)

    def revoke_user(self, name: str) -> None:
        """Take a user's token back: it opens nothing from the next request on. For custodians."""
        self._change("DELETE", f"/users/{quote(name, safe='')}")

    def log(self, user: str | None = None, last: int = 100) -> list[Json]:
        """The last lines of who asked what. For custodians and auditors."""
        query = [("limit", str(last)), *([] if user is None else [("user", user)])]
        return list(self.get("/log", query)["asked"])


def _wish(scale: Number | None, within: Number | None, confidence: Number | None, relax: bool | None) -> Json:
    """Exact numbers travel as text."""
    wish = {"scale": scale, "within": within, "confidence": confidence}
    return {key: None if value is None else str(value) for key, value in wish.items()} | {"relax": relax}


def _how(weights: Mapping[str, Number] | None, compound_size: int | None) -> Json:
    """How a question may be relaxed."""
    told = None if weights is None else {name: str(weight) for name, weight in weights.items()}
    return {"weights": told, "compound_size": compound_size}
