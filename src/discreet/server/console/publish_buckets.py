"""Publishing buckets from the console: limits, what is known of them before a row is read, and a plain confirmation."""

from typing import Literal, cast
from urllib.parse import urlencode

from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from discreet.domain.domain import Domain
from discreet.errors import DiscreetError, InvalidLimits
from discreet.microdata.demand import LARGEST_TABLE
from discreet.microdata.outlook import Outlook, outlook
from discreet.server.auth import require_custodian
from discreet.server.console.page import with_headers
from discreet.server.console.visit import Visit
from discreet.server.jobs import Job, list_jobs
from discreet.server.routes.buckets import publish_as, sensible
from discreet.server.schema import BucketsOrder

USUAL_LIMITS = "min(1, 3*f + 0.05)"
MOST_FAKES = 1000
MOST_VALUES = 100
"""A sensitive attribute of more values is published by the command line."""


def show(visit: Visit) -> Response:
    """The form, or its part with what is known of the limits."""
    require_custodian(visit.user, "publish buckets")
    return _page(visit)


async def publish(visit: Visit) -> Response:
    """Begin a publication; the page then tells how far it is."""
    return await run_in_threadpool(_published, visit)


def _published(visit: Visit) -> Response:
    require_custodian(visit.user, "publish buckets")
    name = visit.first("as")
    try:
        if not visit.first("sure"):
            raise InvalidLimits("rows are published for good: tick that you know it")
        job = publish_as(visit.desk, visit.shelf, visit.user, name, order_of(visit, visit.first("sensitive")))
    except DiscreetError as error:
        return _page(visit, visit.public(error))
    # The form comes along: where the rows do not meet the limits, a custodian changes them and tries again.
    form = urlencode({key: of for key, of in visit.fields.items() if key not in ("sure", "job")}, doseq=True)
    return with_headers(RedirectResponse(f"/buckets/publish?job={job.id}&{form}", 303))


def order_of(visit: Visit, sensitive: str) -> BucketsOrder:
    """The form as an order. Raises InvalidLimits where a field is none."""
    sizes = visit.first("sizes")
    own = [line.rpartition("=") for line in visit.first("own").splitlines() if line.strip()]
    if any(not equals for _, equals, _ in own):
        raise InvalidLimits('a value\'s own limit is written "HIV=0.02", one in a line')
    try:
        return BucketsOrder(
            sensitive=sensitive,
            limits=visit.first("limits", USUAL_LIMITS),
            own={value.strip(): limit.strip() for value, _, limit in own} or None,
            columns=[name for name in visit.all("columns") if name != sensitive] or None,
            max_size=visit.number("max_size", 50, LARGEST_TABLE),
            min_size=visit.number("min_size", 0, LARGEST_TABLE) or None,
            fakes=visit.number("fakes", 0, MOST_FAKES),
            sizes=cast(Literal["optimal", "multi", "two", "one"], sizes) if sizes else None,
            similar=bool(visit.first("similar")),
            force_id=bool(visit.first("force_id")),
            nulls="value" if visit.first("nulls") else "refuse",
            again=bool(visit.first("again")),
        )
    except ValidationError:
        raise InvalidLimits("the form was not understood; sizes of buckets are 1 or more") from None


def _page(visit: Visit, refusal: str | None = None) -> Response:
    domain = visit.vault.domain
    offered = sensitive_names(domain)
    sensitive = visit.first("sensitive") if visit.first("sensitive") in offered else offered[-1] if offered else ""
    found, mistake = _known(visit, sensitive)
    return visit.page(
        "buckets_publish.html",
        names=list(domain.names),
        offered=offered,
        sensitive=sensitive,
        chosen=visit.all("columns") or [name for name in domain.names if name != sensitive],
        limits=visit.first("limits", USUAL_LIMITS),
        own=visit.first("own"),
        max_size=visit.number("max_size", 50, LARGEST_TABLE),
        min_size=visit.number("min_size", 0, LARGEST_TABLE) or "",
        fakes=visit.number("fakes", 0, MOST_FAKES),
        sizes=visit.first("sizes"),
        ticked={name for name in ("similar", "nulls", "force_id", "again") if visit.first(name)},
        before=len(visit.vault.ledger.publications),
        refusal=refusal,
        name_given=visit.first("as"),
        outlook=found,
        mistake=mistake,
        job=_job(visit),
    )


def sensitive_names(domain: Domain) -> list[str]:
    return [attribute.name for attribute in domain.attributes if 1 < attribute.size <= MOST_VALUES]


def _known(visit: Visit, sensitive: str) -> tuple[Outlook | None, str | None]:
    """What the limits and the declared values tell, or why the form makes no sense."""
    if not sensitive:
        return None, None
    try:
        wish = sensible(order_of(visit, sensitive), visit.vault)
        return outlook(wish["limits"], visit.vault.domain[sensitive].labels), None
    except DiscreetError as error:
        return None, visit.public(error)


def _job(visit: Visit) -> Job | None:
    """The publication that the address names, or one that runs."""
    jobs = [job for job in list_jobs(visit.vault.path) if job.what == "buckets"]
    return next((job for job in jobs if job.id == visit.first("job") or job.state == "running"), None)
