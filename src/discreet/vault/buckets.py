"""Buckets: the rows themselves, under another promise."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import require_amounts
from discreet.ledger.ledger import Ledger
from discreet.microdata.buckets import Buckets
from discreet.microdata.limits import Limits
from discreet.microdata.publish import BucketsRequest, Nulls, Sizes, publish_buckets
from discreet.noise.bits import Bits
from discreet.notebook import FieldsView
from discreet.progress import Progress, silent
from discreet.release.own_table import OwnTable
from discreet.release.rows import RowGate


@dataclass(frozen=True, repr=False)
class VaultBuckets(FieldsView):
    """A vault's buckets: they are published through the second reader, `release/rows.py`."""

    domain: Domain
    ledger: Ledger
    own: OwnTable
    bits: Bits

    def publish(
        self,
        *,
        sensitive: str,
        limits: Limits | str,
        out: str | Path,
        max_size: int = 50,
        min_size: int | None = None,
        sizes: Sizes | None = None,
        fakes: int = 0,
        columns: Sequence[str] | None = None,
        similar: bool = False,
        nulls: Nulls = "refuse",
        force_id: bool = False,
        again: bool = False,
        progress: Progress = silent,
    ) -> Buckets:
        """Publish the rows themselves in buckets, in a new folder: F'-privacy, which is not differential privacy.

        The quasi-identifiers (`columns`, all but the sensitive attribute where none are named) and the sensitive values
        go to two tables that share a bucket's number only; no value is more frequent in a bucket than its limit. It
        spends nothing, and from then on every guarantee of this vault says that it was done. For custodians: it is
        refused in words that speak of the table's counts.
        """
        unit = self.ledger.header.get("unit")
        require_amounts(self.ledger.budget)
        request = BucketsRequest(
            sensitive=sensitive,
            columns=tuple(columns or ()),
            limits=Limits.parse(limits) if isinstance(limits, str) else limits,
            max_size=max_size,
            min_size=min_size,
            sizes=sizes,
            fakes=fakes,
            similar=similar,
            nulls=nulls,
            force_id=force_id,
            again=again,
        ).of(self.domain, unit and unit["id"])
        if self.domain.growing is not None:
            raise UnsupportedQuery(
                "a table that grows is not published in buckets: limits hold for one publication of one table, and "
                "people come back in later periods"
            )
        gate = RowGate(self.own, self.ledger, self.bits)
        text = self.ledger.header["domain"]
        ways = gate.publish, self.ledger.f_privacy
        return publish_buckets(request, self.domain, text, *ways, Path(out), progress)
