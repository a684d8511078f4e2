"""Which spend map a domain gets."""

from discreet.domain.domain import Domain
from discreet.ledger.deferred import Deferred
from discreet.ledger.grid import MAX_POINTS, GridSpend


def spend_map(domain: Domain, limit: int) -> Deferred:
    """An empty map: exact for every point where the domain has at most MAX_POINTS of them, else the histogram; made
    when it is needed.

    The choice depends on the domain alone, so that every process that opens a journal decides alike.
    """
    if domain.points <= MAX_POINTS:
        return Deferred(GridSpend(domain, limit), domain)
    from discreet.ledger.buckets import BucketedSpend

    return Deferred(BucketedSpend(domain, limit), domain)
