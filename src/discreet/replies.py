"""Results as JSON, described once: what `--json` prints, what a server sends, what `Client` reads.

mypy holds those who make them and those who read them to this. The OpenAPI document is made of it, and no reply has a
key that it does not name. Exact numbers are text: "0.5", or "1/3" where no decimal is exact.
"""

from typing import (
    Any,
    Literal,
    NotRequired,  # pydantic reads typing's own from Python 3.12 on
)

from typing_extensions import TypedDict

Described = dict[str, Any]
"""What describes itself: a guarantee, a fact, the body of an entry."""


class ErrorJson(TypedDict):
    """An error: its kind is the name of the Python exception."""

    kind: str
    message: str


class RefusalJson(TypedDict):
    """Every error."""

    error: ErrorJson


class RowJson(TypedDict):
    """One number of an answer: of a group (its labels) and an aggregate (its column)."""

    labels: dict[str, str | None]
    column: str
    value: float | None
    low: float | None
    high: float | None
    kind: str
    may_be_zero: bool
    """whether it cannot be told from 0"""
    too_noisy: bool
    """whether its interval is as wide as the number"""
    even: bool
    """whether its interval is the number ± something; else it has the shape of a ratio's or a quantile's, or was cut"""
    answered: NotRequired[str]
    """the region that the number is about, where it is not the one asked"""
    relaxation_error: NotRequired[float]
    affordable: NotRequired[float]
    """within how much of the truth it could be measured instead"""
    affordable_scale: NotRequired[float]
    """with noise of which scale it could be measured instead, where the error depends on the data"""
    shrunken: NotRequired[float]
    """a count in a long GROUP BY, estimated from all lines: biased"""
    chosen: NotRequired[bool]
    """whether its interval holds for all lines that it was chosen from at once"""


class PartJson(TypedDict):
    """A released answer that a relaxed one adds or subtracts."""

    where: str
    value: float


class CompoundJson(TypedDict):
    """The released answers that a relaxed one is made of."""

    plus: list[PartJson]
    minus: list[PartJson]


class AnswerJson(TypedDict):
    """An answer to one SELECT, with an interval beside every number."""

    sql: str
    by: list[str]
    """what the labels of a line are of, in order"""
    columns: list[str]
    """the numbers of a line, in order"""
    order: list[str]
    """all columns in the order they were asked for"""
    label_kinds: list[Literal["text", "whole", "number", "date"]]
    """what the labels of each of `by` are"""
    value: float | None
    """the number, where there is one"""
    interval: list[float | None] | None
    confidence: float
    kind: str
    """measured, repeated, derived, relaxed, …; mixed where it differs by row"""
    asked: str | None
    answered: str | None
    relaxation_error: float
    compound: CompoundJson | None
    cost: str
    share: float
    """the cost, as a part of the whole budget"""
    guarantee: Described
    notes: list[str]
    rows: list[RowJson]
    as_of: NotRequired[int]
    """the earlier snapshot that it is about, where people were taken out since"""


class ForecastJson(TypedDict):
    """What one aggregate of a question would be answered from, and how far off it would be."""

    column: str
    kinds: dict[str, int]
    halfwidth: float | None
    scale: float
    unit: str
    """what scale and halfwidth are counted in: rows, people, values, or what is summed"""
    relative: float | None
    """the halfwidth as a part of the number, where that can be guessed"""


class ExplanationJson(TypedDict):
    """What an answer would cost and be worth."""

    sql: str
    cost: str
    cost_is: Literal["exact", "at most"]
    share: float
    """the cost, as a part of the whole budget"""
    left: str
    more: int | None
    confidence: float
    aggregates: list[ForecastJson]
    notes: list[str]


class AttributeJson(TypedDict):
    """What may be asked of one attribute."""

    name: str
    kind: str
    codes: int
    values: str
    outside: str
    null: bool
    source: str


class LinkedTableJson(TypedDict):
    """One of several tables of the same people: how many rows of a person, and how it is joined with its parent."""

    name: str
    max_rows: int
    id: str | None
    parent: str | None
    key: str | None
    attributes: list[str]
    """what it may be asked by: its own, then its parent's"""


class DescriptionJson(TypedDict):
    """A vault in public terms."""

    vault_id: str
    name: str
    guarantee: str
    snapshot: int | None
    points: int
    attributes: list[AttributeJson]
    people: NotRequired[int]
    """of a SuLQ database, like the two below"""
    roster: NotRequired[str]
    noise: NotRequired[str]
    tables: NotRequired[list[LinkedTableJson]]
    """where the vault has several; the attributes are those of the one that is described"""


class BudgetJson(TypedDict):
    """What a vault may spend, the most that anyone's row has spent, what is left there, and who spent it."""

    guarantee: Described
    spent: str
    left: str
    elsewhere: str
    """what is left where least is spent"""
    charges: int
    pending: list[int]
    by_user: dict[str, str]


class BudgetMapJson(TypedDict):
    """The least that is left for each pair of codes of two attributes."""

    rows: str
    columns: str
    row_labels: list[str]
    column_labels: list[str]
    left: list[list[float]]


class UserJson(TypedDict):
    """A user, without their token."""

    name: str
    role: str
    at: str
    quota: str | None
    expires: str | None


class MeJson(UserJson):
    """Whose token this is."""

    spent: str


class UserAddedJson(UserJson):
    """A user with their token."""

    token: str
    """shown this once; it is not kept"""


class UsersJson(TypedDict):
    users: list[UserJson]


class RevokedJson(TypedDict):
    revoked: str


class EntryJson(TypedDict):
    """An entry of the journal."""

    seq: int
    at: str
    kind: str
    what: str
    hash: str
    body: Described


class LedgerJson(TypedDict):
    """A page of the journal; `next` is where the next one begins."""

    entries: list[EntryJson]
    receipt: str
    next: int | None


class ReleaseLineJson(TypedDict):
    """A release, without its numbers."""

    charge: int
    what: list[str]
    numbers: int
    amount: str
    by: str | None
    receipt: str
    table: NotRequired[str]
    """which one it is of, where the vault has several"""


class ReleasesJson(TypedDict):
    """A page of what was released; `next` is where the next one begins."""

    releases: list[ReleaseLineJson]
    next: int | None


class ReleaseJson(TypedDict):
    """One release: values, variances, guarantee, receipt."""

    answers: list[Described]
    guarantee: Described
    charge: int
    receipt: str
    facts: list[int]
    table: NotRequired[str]
    """which one it is of, where the vault has several"""


class FactsJson(TypedDict):
    """Every fact, S_Q of all of them together, and what is spent and left with them."""

    facts: list[Described]
    sensitivity: int
    guarantee: Described
    spent: str
    left: str


class LogJson(TypedDict):
    asked: list[Described]


class CuboidLineJson(TypedDict):
    """A published or measured cuboid, with its share of the budget and its error."""

    dimensions: list[str]
    cells: int
    share: float | None
    published: bool
    variance: float
    halfwidth: float


class CubePlanJson(TypedDict):
    """Which cuboids would be measured, and how exact each would be."""

    planner: str
    basis: NotRequired[str]
    sources: list[list[str | int]]
    """by the names of their dimensions, or their numbers where those have none"""
    shares: list[float]
    max_variance: float
    mean_variance: float
    max_variance_consistent: float
    mean_variance_consistent: float
    max_ratio: NotRequired[float]
    """to the variances that were expected"""
    max_ratio_consistent: NotRequired[float]
    bound: NotRequired[float]
    precise_weight: NotRequired[float | None]
    """the weight of what is within the bound"""
    precise_weight_consistent: NotRequired[float | None]
    candidates: NotRequired[list[list[str | int]]]
    """what is chosen among, where that is done as one goes: the shares are then those of the first step"""
    known: NotRequired[list[list[str | int]]]
    """cuboids that are facts"""


class AffordableJson(TypedDict):
    """Whether the budget can pay for a cube."""

    affordable: bool
    """whether the budget, and the asker's quota, can pay for it now"""
    at_most: str
    """what a cube may spend at most now, exactly"""


class OfferedCubeJson(CubePlanJson, AffordableJson):
    """A plan, whether the budget can pay for it, and its cuboids."""

    cuboids: list[CuboidLineJson]


class JobJson(TypedDict):
    """How far a publish is; where it ended badly, why, and what stands."""

    id: str
    what: Literal["cube", "rows", "buckets"]
    user: str
    at: str
    state: Literal["running", "done", "failed", "interrupted"]
    doing: str
    done: float
    """from 0 to 1"""
    charge: int | None
    error: ErrorJson | None


class JobsJson(TypedDict):
    jobs: list[JobJson]


class CubeLineJson(TypedDict):
    """A published cube, by its description."""

    name: str
    table: str
    dimensions: dict[str, int]
    consistent: bool
    guarantee: str
    charge: int
    receipt: str


class CubesJson(TypedDict):
    cubes: list[CubeLineJson]


class CubeAboutJson(TypedDict):
    """A published cube: its dimensions with their labels, its cuboids with their errors."""

    name: str
    table: str
    dimensions: dict[str, int]
    cuboids: int
    cells: int
    planner: str
    sources: int
    consistent: bool
    guarantee: str
    receipt: str
    labels: dict[str, list[str]]
    lattice: list[CuboidLineJson]
    measure: NotRequired[str]
    """where it is not of counts; like what is below, only where it is unusual"""
    norm: NotRequired[str]
    counts: NotRequired[str]
    note: NotRequired[str]
    estimates: NotRequired[str]
    charges: NotRequired[list[int]]
    """of a cube that was bought in steps: all of them"""


class LabelledCellsJson(TypedDict):
    """Cells of a cuboid, or of a slice of one."""

    dimensions: list[str]
    labels: dict[str, list[str]]
    slice: dict[str, str]
    count: Any
    """nested lists, in the order of the dimensions"""
    confidence: float
    guarantee: str
    receipt: str


class CuboidJson(LabelledCellsJson):
    """A cuboid: each cell is within ± halfwidth of the truth, as surely as the confidence says."""

    variance: float
    halfwidth: float


class ModelledCuboidJson(TypedDict):
    """A cuboid read from the cube's model: biased, and each cell with a model range."""

    dimensions: list[str]
    labels: dict[str, list[str]]
    slice: dict[str, str]
    modelled: Any
    """nested lists, in the order of the dimensions"""
    low: Any
    high: Any
    confidence: float
    measured_together: bool
    """whether these dimensions were; else how they interact is what the measured ones imply"""
    note: str
    guarantee: str
    receipt: str


class GroupsJson(LabelledCellsJson):
    """A cuboid rolled up by hierarchies: each sum has an interval of its own."""

    low: Any
    high: Any
    variance: Any


class RowsJson(TypedDict):
    rows: list[Described]


class RunningRowJson(TypedDict):
    """A running total."""

    period: str
    """the last one that it counts"""
    group: list[str]
    value: float
    low: float
    high: float


class RunningTotalsJson(TypedDict):
    """Running totals, as far as they were published."""

    number: int
    """of the entry of the journal that set aside what they cost"""
    open: bool
    """whether more can be published: the vault is over the table that it was set aside for"""
    each: str
    """the attribute whose periods they are of"""
    by: list[str]
    periods: list[str]
    """all that it was set aside for, also those to come"""
    published: int
    """how many of them"""
    confidence: float
    rows: list[RunningRowJson]
    charges: list[int]
    guarantee: Described


class AllRunningTotalsJson(TypedDict):
    running: list[RunningTotalsJson]


class BucketsJson(TypedDict):
    buckets: list[Described]


class HealthJson(TypedDict):
    status: Literal["ok"]


class ReadyJson(TypedDict):
    status: Literal["ready", "ending"]


class ServedVaultJson(TypedDict):
    """A vault of a folder that a token opens, and as whom."""

    name: str
    address: str
    """Below the server's own: where the vault's API and console are, for `Client` and browsers."""
    tables: list[str]
    """What its tables are called in SQL; none where that cannot be read."""
    user: str
    role: str
    quota: str | None
    error: ErrorJson | None
    """Why it cannot be opened now; None where it answers."""


class VaultsJson(TypedDict):
    vaults: list[ServedVaultJson]


class PartyJson(TypedDict):
    """A SuLQ database as a party of a mining task."""

    people: int
    roster: str
    trials: int
    queries_left: int
    guarantee: Described


class SubsetCountsJson(TypedDict):
    """Counts of one predicate over subsets of the roster."""

    predicate: str
    subsets: list[Any]
    values: list[int]
    sizes: list[int]
    variance: float
    halfwidth: float
    guarantee: Described
    charge: int
    receipt: str
    queries_left: int
    notes: list[str]
