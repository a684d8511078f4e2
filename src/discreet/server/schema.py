"""What goes in and what comes out, for checks at the door and for the OpenAPI document.

Requests are checked against these. Results are not built from them: they are what `--json` prints, and the tests hold
them against this description.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.query.subset import MOST_SUBSETS

SQL_CHARACTERS = 100_000
Finite = Annotated[float, Field(allow_inf_nan=False)]
Number = Annotated[str, Field(max_length=64)] | Finite
"""A number as people mean it: 0.1, "0.1" and "1/10" are the same."""
Sql = Annotated[str, Field(max_length=SQL_CHARACTERS, examples=["SELECT sex, COUNT(*) FROM people GROUP BY sex"])]
Text = Annotated[str, Field(max_length=1000)]
MOST_NAMES = 1000


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Question(Request):
    """A SELECT, and how sharp its answer is to be; nothing said: the vault's policy."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"sql": "SELECT COUNT(*) FROM people WHERE age >= 65", "within": 300}]},
    )
    sql: Sql
    scale: Number | None = Field(None, description="the scale of the noise, in people")
    within: Number | None = Field(None, description="how far off each number may be, instead of a scale")
    confidence: Number | None = Field(None, description="how surely; the policy's where not given")
    relax: bool | None = Field(
        None, description="whether a region without budget is answered by one nearby; the policy's word where not given"
    )

    def wish(self) -> dict[str, Any]:
        return {"scale": self.scale, "within": self.within, "confidence": self.confidence, "relax": self.relax}


class SubsetsAsked(Request):
    """Counts of one predicate over subsets of the roster."""

    predicate: Annotated[str, Field(max_length=SQL_CHARACTERS, examples=["smoker AND age > 50"])]
    subsets: list[Any] = Field(min_length=1, max_length=MOST_SUBSETS, examples=[[{"seed": 7, "rate": "1/2"}]])


class NewFact(Request):
    """The exact answer of a COUNT in SQL; or a whole exact cuboid, as an array over the codes of its attributes."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"sql": "SELECT COUNT(*) FROM people", "value": 20000}]},
    )
    sql: Sql | None = None
    value: int | None = Field(None, ge=0, le=2**53)
    cuboid: list[Text] | None = Field(None, max_length=MOST_NAMES)
    values: list[Any] | None = None
    dry_run: bool = Field(False, description="only say what it would do, and add nothing")
    accept: bool = Field(False, description="add it even if it stops the vault")


class CubeWish(Request):
    """Which cuboids are to be published, and for how much. Names as in `discreet cube plan`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"epsilon": "0.5", "cuboids": 2, "dimensions": ["sex", "region"]}]},
    )
    epsilon: Number | None = None
    rho: Number | None = None
    cuboids: Literal["all"] | Annotated[int, Field(ge=0, le=64)] | list[list[Text]] = "all"
    planner: Text = "optimal"
    objective: Text = "max"
    dimensions: list[Text] | None = Field(None, max_length=MOST_NAMES)
    weights: dict[str, Finite] | None = Field(None, description='how much a cuboid matters: {"sex,age": 3}')
    bound: Finite | None = None
    expected: dict[str, Finite] | None = Field(None, description='expected variances: {"sex,age": 100, "others": 400}')
    facts: bool = Field(False, description="agree exactly with the vault's facts that are cuboids")


class CubeOrder(CubeWish):
    consistent: bool = True
    charge: int | None = Field(None, ge=1, le=2**53, description="instead: the charge of a publish to go on from")
    again: bool = Field(False, description="measure anew what was published before, and pay again")


class BucketsOrder(Request):
    """Microdata to publish: which value is kept apart, and how sure anybody may become of it. As `buckets publish`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"sensitive": "occupation", "limits": "min(1, 3*f + 0.05)", "columns": ["age", "sex"]}]
        },
    )
    sensitive: Text
    limits: Text = Field(description="of a value of frequency f: 0.1, or min(1, 8*f + 0.02)")
    own: dict[str, Number] | None = Field(None, description='values with limits of their own: {"HIV": "0.02"}')
    columns: list[Text] | None = Field(None, max_length=MOST_NAMES, description="the people's; all others by default")
    max_size: int = Field(50, ge=1, le=10_000)
    min_size: int | None = Field(None, ge=1, le=10_000)
    sizes: Literal["multi", "two", "one"] | None = None
    fakes: int = Field(0, ge=0, le=1000)
    similar: bool = False
    nulls: Literal["refuse", "value"] = "refuse"
    force_id: bool = False
    again: bool = Field(False, description="publish although it was done before: limits do not hold together")


class BucketsAsked(Request):
    sql: Sql
    pairings: float = Field(0.95, gt=0, lt=1)


class NewUser(Request):
    """Who is to have a token. A quota is an analyst's; `expires` is how long the token is good for."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "ana", "role": "analyst", "quota": "0.2", "expires": "30d"}]},
    )
    name: Text
    role: Literal["custodian", "analyst", "auditor"] = "analyst"
    quota: Number | Text | None = Field(
        None, description="the most of the vault's budget that their questions may spend: 0.2, or 10%"
    )
    expires: Text | None = Field(None, description="30d, 12h, 45m; not given: until it is revoked")


class UserChange(Request):
    """What is to change of a user; what is not given stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"quota": "10%", "expires": "30d"}]})
    quota: Number | Text | None = Field(None, description="as for a new user; none: no quota of their own")
    expires: Text | None = Field(None, description="30d, 12h, 45m from now; never: until it is revoked")


class ErrorDetail(BaseModel):
    kind: str = Field(examples=["BudgetExceeded"])
    message: str


class Refusal(BaseModel):
    """Every error: its kind is the name of the Python exception."""

    error: ErrorDetail


class Row(BaseModel):
    labels: dict[str, str | None]
    column: str
    value: float | None
    low: float | None
    high: float | None
    kind: str
    answered: str | None = Field(None, description="the region that the number is about, where it is not the one asked")
    relaxation_error: float | None = None
    affordable: float | None = Field(None, description="within how much of the truth it could be measured instead")
    affordable_scale: float | None = Field(
        None, description="with noise of which scale it could be measured instead, where the error depends on the data"
    )
    may_be_zero: bool = Field(description="whether it cannot be told from 0")
    too_noisy: bool = Field(description="whether its interval is as wide as the number")
    shrunken: float | None = Field(None, description="a count in a long GROUP BY, estimated from all lines: biased")
    chosen: bool = Field(False, description="whether its interval holds for all lines that it was chosen from at once")


class Answer(BaseModel):
    sql: str
    value: float | None
    interval: list[float | None] | None
    confidence: float
    kind: str = Field(examples=["measured", "repeated", "derived", "relaxed", "unanswered", "mixed"])
    asked: str | None
    answered: str | None
    relaxation_error: float
    cost: str
    share: float = Field(description="the cost, as a part of the whole budget")
    guarantee: dict[str, Any]
    notes: list[str]
    rows: list[Row]


class Aggregate(BaseModel):
    column: str
    kinds: dict[str, int]
    halfwidth: float | None
    scale: float
    unit: str = Field(description="what scale and halfwidth are counted in: rows, people, values, or what is summed")
    relative: float | None = Field(None, description="the halfwidth as a part of the number, where that can be guessed")


class Explanation(BaseModel):
    sql: str
    cost: str
    cost_is: Literal["exact", "at most"]
    share: float = Field(description="the cost, as a part of the whole budget")
    left: str
    more: int | None
    confidence: float
    aggregates: list[Aggregate]
    notes: list[str]


class Attribute(BaseModel):
    name: str
    kind: str
    codes: int
    values: str
    source: str


class Description(BaseModel):
    vault_id: str
    name: str
    guarantee: str
    points: int
    attributes: list[Attribute]


class Budget(BaseModel):
    guarantee: dict[str, Any]
    spent: str
    left: str
    charges: int
    pending: list[int]
    by_user: dict[str, str]


class BudgetMap(BaseModel):
    rows: str
    columns: str
    row_labels: list[str]
    column_labels: list[str]
    left: list[list[float]]


class Me(BaseModel):
    name: str
    role: str
    at: str
    quota: str | None
    expires: str | None
    spent: str


class UserLine(BaseModel):
    name: str
    role: str
    at: str
    quota: str | None
    expires: str | None


class Users(BaseModel):
    users: list[UserLine]


class UserAdded(UserLine):
    token: str = Field(description="shown this once; it is not kept")


class Revoked(BaseModel):
    revoked: str


class Entry(BaseModel):
    seq: int
    at: str
    kind: str
    what: str
    hash: str
    body: dict[str, Any]


class Ledger(BaseModel):
    entries: list[Entry]
    receipt: str
    next: int | None


class ReleaseLine(BaseModel):
    charge: int
    what: list[str]
    numbers: int
    amount: str
    by: str | None
    receipt: str


class Releases(BaseModel):
    releases: list[ReleaseLine]
    next: int | None


class Release(BaseModel):
    answers: list[dict[str, Any]]
    guarantee: dict[str, Any]
    charge: int
    receipt: str


class Facts(BaseModel):
    facts: list[dict[str, Any]]
    sensitivity: int
    spent: str
    left: str


class Log(BaseModel):
    asked: list[dict[str, Any]]


class Plan(BaseModel):
    planner: str
    sources: list[list[str]]
    shares: list[float]
    max_variance: float
    affordable: bool = Field(description="whether the budget, and the asker's quota, can pay for it now")
    at_most: str = Field(description="what a cube may spend at most now, exactly")
    cuboids: list[dict[str, Any]]


class Job(BaseModel):
    id: str
    what: Literal["cube", "buckets"]
    user: str
    at: str
    state: Literal["running", "done", "failed", "interrupted"]
    doing: str
    done: float = Field(ge=0, le=1)
    charge: int | None
    error: ErrorDetail | None


class Jobs(BaseModel):
    jobs: list[Job]


class CubeLine(BaseModel):
    name: str
    table: str
    dimensions: dict[str, int]
    guarantee: str
    receipt: str


class Cubes(BaseModel):
    cubes: list[CubeLine]


class CubeAbout(CubeLine):
    cells: int
    labels: dict[str, list[str]]
    lattice: list[dict[str, Any]]


class Cuboid(BaseModel):
    dimensions: list[str]
    labels: dict[str, list[str]]
    slice: dict[str, str]
    count: Any
    variance: float
    halfwidth: float
    confidence: float
    guarantee: str
    receipt: str


class GroupedCuboid(BaseModel):
    dimensions: list[str]
    labels: dict[str, list[str]]
    slice: dict[str, str]
    count: Any
    low: Any
    high: Any
    variance: Any
    confidence: float
    guarantee: str
    receipt: str


class BucketsLines(BaseModel):
    buckets: list[dict[str, Any]]


class Health(BaseModel):
    status: Literal["ok"]


class Party(BaseModel):
    people: int
    roster: str
    trials: int
    queries_left: int
    guarantee: dict[str, Any]


class SubsetCounts(BaseModel):
    values: list[int]
    sizes: list[int]
    variance: float
    queries_left: int
    receipt: str
