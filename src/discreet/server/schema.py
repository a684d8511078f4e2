"""What goes in, for checks at the door and for the OpenAPI document; what comes out is described in `replies.py`.

Requests are checked against these. Replies are not: mypy holds those who make them to their description, and the tests
what is sent.
"""

import ast
import inspect
from itertools import pairwise
from types import ModuleType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, with_config
from typing_extensions import is_typeddict

from discreet import replies
from discreet.microdata.demand import LARGEST_TABLE
from discreet.query.subset import MOST_SUBSETS

SQL_CHARACTERS = 100_000
Finite = Annotated[float, Field(allow_inf_nan=False)]
Number = Annotated[str, Field(max_length=64)] | Finite
"""A number as people mean it: 0.1, "0.1" and "1/10" are the same."""
Sql = Annotated[str, Field(max_length=SQL_CHARACTERS, examples=["SELECT sex, COUNT(*) FROM people GROUP BY sex"])]
Text = Annotated[str, Field(max_length=1000)]
MOST_NAMES = 1000


def _describe(module: ModuleType) -> None:
    """Give each TypedDict of a module the docstrings of its keys, and no key that is not described.

    Pydantic can read them by itself, by parsing the whole file for every use of each.
    """
    bodies = {
        node.name: node.body for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef)
    }
    for reply in filter(is_typeddict, vars(module).values()):
        for key, text in pairwise(bodies[reply.__name__]):
            match key, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    reply.__annotations__[name] = Annotated[reply.__annotations__[name], Field(description=words)]
        with_config(ConfigDict(extra="forbid"))(reply)


_describe(replies)


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QuestionAsked(Request):
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

    weights: dict[Text, Number] | None = Field(
        None, description='how much it matters that a relaxed answer is off in an attribute: {"age": 4}'
    )
    compound_size: int | None = Field(None, description="of how many released answers a relaxed one may be made")
    estimate: Literal["unbiased", "modelled"] = Field(
        "unbiased", description="modelled: from the model of everything public: free, sharper and biased"
    )

    def wish(self) -> dict[str, Any]:
        return self.model_dump(exclude={"sql"})


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
    table: Text | None = Field(None, description="which one a cuboid is of, where the vault has several")
    dry_run: bool = Field(False, description="only say what it would do, and add nothing")
    accept: bool = Field(False, description="add it even if it stops the vault, or S_Q is bounded alone")


class CubeWish(Request):
    """Which cuboids are to be published, and for how much. Names as in `discreet cube plan`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"epsilon": "0.5", "cuboids": 2, "dimensions": ["sex", "region"]}]},
    )
    epsilon: Number | None = None
    rho: Number | None = None
    mu_squared: Number | None = None
    cuboids: Literal["all"] | Annotated[int, Field(ge=0, le=64)] | list[list[Text]] = "all"
    planner: Text = "optimal"
    objective: Text = "max"
    dimensions: list[Text] | None = Field(None, max_length=MOST_NAMES)
    weights: dict[str, Finite | list[Any]] | None = Field(
        None, description='how much a cuboid matters: {"sex,age": 3}; or each of its cells: {"sex": [1, 3]}'
    )
    bound: Finite | None = None
    expected: dict[str, Finite] | None = Field(None, description='expected variances: {"sex,age": 100, "others": 400}')
    facts: bool = Field(False, description="agree exactly with the vault's facts that are cuboids")
    table: Text | None = Field(None, description="of a vault over several tables, which; the first where not given")


class CubeOrder(CubeWish):
    consistent: bool = True
    charge: int | None = Field(None, ge=1, le=2**53, description="instead: the charge of a publish to go on from")
    estimate: Literal["least-squares", "modelled"] = Field(
        "least-squares", description="modelled: a model of the same measurements is fitted, and kept beside them"
    )
    again: bool = Field(False, description="measure anew what was published before, and pay again")


class RowsOrder(Request):
    """Synthetic rows to draw: how many, by which seed; from the model of everything public, or of one cube."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"cube": "census", "rows": 20000}]})
    cube: Text | None = Field(
        None, description="only from the model of this published cube; of everything public where not given"
    )
    rows: int | None = Field(None, ge=1, le=2**53, description="as many as the model expects where not given")
    seed: int = Field(0, ge=0, le=2**53, description="other seeds draw other rows of the same model")
    table: Text | None = Field(None, description="of a vault over several tables, which; the first where not given")


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
    max_size: int = Field(50, ge=1, le=LARGEST_TABLE)
    min_size: int | None = Field(None, ge=1, le=LARGEST_TABLE)
    sizes: Literal["optimal", "multi", "two", "one"] | None = None
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
