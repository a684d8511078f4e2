"""Buckets: the rows themselves, under another promise."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.progress import Progress, silent
from discreet.verbs.parts import VaultParts

if TYPE_CHECKING:
    from discreet.microdata.buckets import Buckets
    from discreet.microdata.limits import Limits
    from discreet.microdata.publish import Nulls, Sizes


class BucketVerbs(VaultParts):
    """What a vault does with buckets: they are published through the second reader, `release/rows.py`."""

    def publish_buckets(
        self,
        *,
        sensitive: str,
        limits: "Limits | str",
        out: str | Path,
        max_size: int = 50,
        min_size: int | None = None,
        sizes: "Sizes | None" = None,
        fakes: int = 0,
        columns: Sequence[str] | None = None,
        similar: bool = False,
        nulls: "Nulls" = "refuse",
        force_id: bool = False,
        again: bool = False,
        progress: Progress = silent,
    ) -> "Buckets":
        """Publish the rows themselves in buckets, in a new folder: F'-privacy, which is not differential privacy.

        The quasi-identifiers (`columns`, all but the sensitive attribute where none are named) and the sensitive values
        go to two tables that share a bucket's number only; no value is more frequent in a bucket than its limit. It
        spends nothing, and from then on every guarantee of this vault says that it was done. For custodians: it is
        refused in words that speak of the table's counts.
        """
        from discreet.microdata.limits import Limits  # settings bring compiled code that asking does not need
        from discreet.microdata.publish import BucketsRequest, publish_buckets
        from discreet.release.rows import RowGate

        unit = self.ledger.header.get("unit")
        self._require_amounts()
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
        gate = RowGate(self._own, self.ledger, self.gate.bits)
        text = self.ledger.header["domain"]
        ways = gate.publish, self.ledger.f_privacy
        return publish_buckets(request, self.domain, text, *ways, Path(out), progress)
