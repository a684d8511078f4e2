"""From a request to a folder of buckets: what is decided here, the engine carries out.

The custodian publishes: refusals speak of the table's counts.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.domain.columns import codes_of, column_of, require_readable
from discreet.domain.domain import Domain
from discreet.errors import DomainError, InvalidLimits, JournalRolledBack
from discreet.ledger.guarantee import FPrivacy
from discreet.ledger.receipt import Receipt
from discreet.microdata.assign import assign
from discreet.microdata.buckets import Buckets
from discreet.microdata.corruption import ListedValues, corruption
from discreet.microdata.demand import Demand, Integers
from discreet.microdata.folder import QIT, ST, describe_buckets
from discreet.microdata.limits import Limits, limit_words
from discreet.microdata.measure import MOST_CODES, MOST_PEOPLE, measure_guesses
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.settings import PARTS, Setting, one_size_setting, two_size_setting
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent
from discreet.release.package import file_hash, require_new_folder, written_aside
from discreet.release.rows import PublisherRows

Sizes = Literal["optimal", "multi", "two", "one"]
Nulls = Literal["value", "refuse"]


def _optimal_setting(*demand: Any, **choice: Any) -> Setting:
    from discreet.microdata.optimal import optimal_setting  # a solver that few publications need

    return optimal_setting(*demand, **choice)


SETTINGS: dict[str, Callable[..., Setting]] = {
    "optimal": _optimal_setting,
    "multi": multi_size_setting,
    "two": two_size_setting,
    "one": one_size_setting,
}
MOST_VALUES = 1 << 15
"""Sensitive values: more are no categories."""
KNOWN = range(4)
"""How many people somebody may know of a bucket, for what the release says of it."""


@dataclass(frozen=True)
class BucketsRequest:
    """What a custodian asks for. Raises DomainError or InvalidLimits where it makes no sense for the domain."""

    sensitive: str
    columns: tuple[str, ...]
    limits: Limits
    max_size: int = 50
    min_size: int | None = None
    sizes: Sizes | None = None
    """Multi where nothing is said; two with fakes or similar, which need buckets that leave a choice."""
    fakes: int = 0
    similar: bool = False
    nulls: Nulls = "refuse"
    force_id: bool = False
    again: bool = False

    def of(self, domain: Domain, id_column: str | None) -> "BucketsRequest":
        """The request in the domain's terms: its columns are all others where none are named."""
        sensitive = domain[self.sensitive].name
        columns = tuple(domain[name].name for name in self.columns) or tuple(n for n in domain.names if n != sensitive)
        if sensitive in columns:
            raise DomainError(f"{sensitive} is sensitive: it cannot be published with the people; leave it out")
        if len(set(columns)) < len(columns) or not columns:
            raise DomainError("name each column once, and at least one; the sensitive one is not among them")
        if id_column in columns and not self.force_id:
            raise DomainError(f"{id_column} tells people apart by name; leave it out, or force it (force_id)")
        if domain[sensitive].size > MOST_VALUES:
            raise DomainError(f"{sensitive} has {domain[sensitive].size:,} values; a sensitive one has few: bin it")
        for name in (*columns, sensitive):
            require_readable(domain[name])
        if self.sizes not in (None, *get_args(Sizes)) or self.nulls not in get_args(Nulls) or self.fakes < 0:
            raise InvalidLimits("sizes is optimal, multi, two or one; nulls is value or refuse; fakes is 0 or more")
        return replace(self, sensitive=sensitive, columns=columns)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "columns": list(self.columns), "limits": self.limits.to_json()}


def publish_buckets(
    request: BucketsRequest,
    domain: Domain,
    domain_text: str,
    publish: Callable[
        [dict[str, Any], Sequence[str], Callable[[PublisherRows, Receipt], dict[str, Any]], bool], Receipt
    ],
    promised: Callable[[Receipt], FPrivacy | None],
    path: Path,
    progress: Progress = silent,
) -> Buckets:
    """Publish through the row gate. Nothing is left behind where it fails. `promised` is what the ledger says of a
    publication that was begun."""
    require_new_folder(path, "the buckets")

    def write(rows: PublisherRows, begun: Receipt) -> dict[str, Any]:
        with written_aside(path, "the buckets") as aside:
            about = _arrange(request, domain, rows, aside, progress)
            about |= {"domain": domain_text, "receipt": str(begun), **_promise(promised(begun))}
            digest = describe_buckets(aside, about, domain)
            files = {name: file_hash(aside / name).removeprefix("sha256:") for name in (QIT, ST)}
        return {"sha256": digest, "files": files}

    names = (*request.columns, request.sensitive)
    publish({**request.to_json(), "folder": path.name}, names, write, request.again)
    return Buckets.load(path)


def _arrange(
    request: BucketsRequest, domain: Domain, rows: PublisherRows, aside: Path, progress: Progress
) -> dict[str, Any]:
    """Decide, have the rows dealt and written, list the values; what the package says of it."""
    sensitive = request.sensitive
    progress("counting", 0.1)
    counts = rows.counts(sensitive)
    _check_nulls(request, domain, counts)
    _check_ids(request, domain, rows, int(counts.sum()))
    demand = Demand.of(counts.tolist(), request.limits, domain[sensitive].labels)
    number = _free_name("bucket", (*request.columns, sensitive))
    sweep = sorted(request.columns, key=rows.entropy) if request.similar else []
    by_value = [] if request.fakes or request.similar else [sensitive]
    # The engine orders and writes while sizes are chosen and values listed here: neither waits for the other.
    with ThreadPoolExecutor(1) as meanwhile:
        progress("ordering", 0.2)
        chosen = meanwhile.submit(_setting, request, demand)
        values = rows.order(sweep or by_value, sensitive)
        progress("choosing sizes", 0.4)
        setting = chosen.result()
        bucket = np.argsort(rows.bits.words(setting.buckets)).astype(np.int32)[_dealt(request, setting, demand, values)]
        progress("dealing", 0.5)
        rows.deal(bucket + np.int32(1), sensitive, values)
        progress("writing", 0.7)
        written = meanwhile.submit(rows.write, request.columns, number, aside / QIT)
        if request.fakes:
            written.result()
        listed, residue = _listed(request, domain, setting, demand, bucket, values, aside / QIT, rows.bits)
        _write_st(domain, sensitive, number, listed[0], listed[1], aside / ST)
        people = np.bincount(bucket, minlength=setting.buckets)
        listing = ListedValues.of(*listed, people, counts, request.fakes)
        stronger = [asdict(corruption(listing, demand.limits, known)) for known in KNOWN]
        written.result()
    return {
        **_about(request, domain, demand, setting, number),
        "corruption": stronger,
        "fakes_excludable": residue[0],
        "fakes_shown": residue[1],
        "learnt": _learnt(request, domain, rows, sweep, setting),
    }


def _about(request: BucketsRequest, domain: Domain, demand: Demand, setting: Setting, number: str) -> dict[str, Any]:
    by_value = {value: limit_words(limit) for value, limit in zip(demand.values, demand.limits, strict=True)}
    return {
        "table": domain.name,
        "sensitive": request.sensitive,
        "columns": list(request.columns),
        "number": number,
        "limits": {**request.limits.to_json(), "by_value": by_value},
        "counts": dict(zip(demand.values, demand.counts, strict=True)),
        "records": demand.total,
        "sizes": [list(pair) for pair in setting.sizes],
        "loss": setting.loss,
        "least": setting.least,
        **_proof(setting, demand),
        "mse": setting.mse,
        "fakes": request.fakes,
        "similar": request.similar,
        "public": _what_is_public(request, domain, demand.total),
    }


def _proof(setting: Setting, demand: Demand) -> dict[str, Any]:
    """What anybody can check the least loss by; it follows from the frequencies and limits, which are public."""
    if setting.proof is None:
        return {}
    prices = dict(zip(demand.values, setting.proof.prices, strict=True))
    return {"proof": {"sizes": list(setting.proof.sizes), "parts": PARTS, "prices": prices}}


def _promise(promised: FPrivacy | None) -> dict[str, Any]:
    if promised is None:
        raise JournalRolledBack("the journal no longer says that this publication was begun", "nothing was published")
    return {"guarantee": str(promised), "remarks": list(promised.remarks)}


def _check_nulls(request: BucketsRequest, domain: Domain, counts: Integers) -> None:
    missing = domain[request.sensitive].null_code
    if missing is not None and counts[missing] and request.nulls == "refuse":
        raise InvalidLimits(
            f"{request.sensitive} is missing in {counts[missing]:,} rows; publish that as a value of its own "
            "(nulls: value), or leave those rows out of the table"
        )


def _check_ids(request: BucketsRequest, domain: Domain, rows: PublisherRows, total: int) -> None:
    for name in () if request.force_id else request.columns:
        # With fewer codes than rows, some rows have the same.
        if 1 < total <= domain[name].size and rows.distinct(name) == total:
            raise DomainError(f"{name} tells every row apart, as an id does; leave it out, or force it (force_id)")


def _setting(request: BucketsRequest, demand: Demand) -> Setting:
    if request.fakes and request.sizes is None and request.min_size is None:
        roomy = _with_room(request, demand)
        if roomy is not None:
            return roomy
    choice = request.sizes or ("two" if request.fakes or request.similar else "multi")
    choose = SETTINGS[choice]
    least = request.min_size
    if request.similar and least is None:
        # Small buckets leave no choice of values, and without it people who are alike cannot be told from others.
        try:
            half = ceil(min(request.max_size, demand.total) / 2)
            return choose(demand.counts, demand.limits, half, request.max_size, values=demand.values)
        except InvalidLimits:
            least = None
    return choose(demand.counts, demand.limits, least, request.max_size, values=demand.values)


def _with_room(request: BucketsRequest, demand: Demand) -> Setting | None:
    """The setting of the smallest sizes whose buckets cannot hold all values of their size: there is room for fakes."""
    for least in range(demand.smallest_size, request.max_size + 1):
        try:
            setting = two_size_setting(demand.counts, demand.limits, least, request.max_size, values=demand.values)
        except InvalidLimits:
            return None
        kinds = [sum(count > 0 for count in part) for part in setting.parts]
        if all(kind >= size + request.fakes for kind, (size, _) in zip(kinds, setting.sizes, strict=True)):
            return setting
    return None


def _dealt(request: BucketsRequest, setting: Setting, demand: Demand, values: Integers) -> NDArray[np.int32]:
    if not request.similar and not request.fakes:
        return assign(setting).all_buckets()
    # Round-robin makes as few kinds of buckets as there are values, and anybody can work them out: a fake would show in
    # a bucket of no such kind. Along an order by lot, buckets are of all kinds.
    from discreet.microdata.similar import keep_together  # compiled code that few publications need

    return keep_together(values, setting, demand)


def _listed(
    request: BucketsRequest,
    domain: Domain,
    setting: Setting,
    demand: Demand,
    bucket: NDArray[np.int32],
    values: Integers,
    qit: Path,
    bits: Bits,
) -> tuple[tuple[Integers, Integers], tuple[int, int]]:
    """The lines of ST with their fakes, in the order of their content; how many fakes somebody in their bucket is taken
    not to have, and in how many buckets they show."""
    kinds = np.int64(len(demand.values))
    lines, residue = bucket * kinds + values, (0, 0)
    if request.fakes:
        from discreet.microdata.fakes import choose_fakes

        names = [name for name in request.columns if domain[name].size <= MOST_CODES]
        people = [codes_of(domain[name], pq.read_table(qit, columns=[name]).column(0)) for name in names]
        sizes = [domain[name].size for name in names]
        fakes = choose_fakes(request.fakes, setting, bucket.astype(np.int64), values, people, sizes, bits)
        lines = np.concatenate((lines, fakes.bucket * kinds + fakes.value))
        residue = (fakes.excludable, fakes.shown)
    lines.sort()
    return (lines // kinds, lines % kinds), residue


def _write_st(domain: Domain, sensitive: str, number: str, bucket: Integers, value: Integers, path: Path) -> None:
    columns = {number: (bucket + 1).astype(np.int32), sensitive: column_of(domain[sensitive], value)}
    # Without Arrow's own schema in the file, a dictionary reads back as what it holds.
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False)


def _learnt(
    request: BucketsRequest, domain: Domain, rows: PublisherRows, sweep: Sequence[str], setting: Setting
) -> dict[str, Any] | None:
    """What an order other than chance gives away, measured on a sample; None for chance, which gives nothing."""
    if not request.similar:
        return None
    some = max(1, setting.buckets * MOST_PEOPLE // max(setting.total, MOST_PEOPLE))
    bucket, codes = rows.sample((*sweep, request.sensitive), some)
    return asdict(measure_guesses(bucket, codes, [domain[name].size for name in sweep], len(setting.counts)))


def _what_is_public(request: BucketsRequest, domain: Domain, total: int) -> list[str]:
    sensitive, columns = request.sensitive, ", ".join(request.columns)
    fakes = f" In ST {request.fakes} values of each bucket are fakes." if request.fakes else ""
    return [
        f"The rows of {domain.name} are public, all {total:,}: who is in it, with {columns} as its domain codes them.",
        f"The exact frequency of each value of {sensitive} is public.{fakes}",
        "A limit holds for somebody who knows these tables, and that a person is in them; not for somebody who knows "
        "the values of others, nor for what is learnt from all buckets together.",
    ]


def _free_name(name: str, taken: Sequence[str]) -> str:
    lower = {other.lower() for other in taken}
    while name in lower:
        name += "_"
    return name
