"""The audit of a vault: its journal read again and checked, its releases, and what lies open around it."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.audit.bodies import Bodies
from discreet.audit.checkpoints import check_checkpoints
from discreet.audit.compared import check_facts, check_guarantees, check_map, ledger_of
from discreet.audit.exposure import check_files, check_pending, check_promise, check_receipts, check_users
from discreet.audit.finding import Check, Finding
from discreet.audit.load import Depth
from discreet.audit.promised import bound_of
from discreet.audit.published import check_published
from discreet.audit.replay import Replay, replay
from discreet.audit.spending import Moment, Spending, spend_again
from discreet.errors import VaultError
from discreet.exact import equals_text
from discreet.home import RELEASES, journal_of, read_settings, require_whole
from discreet.ledger.journal import Journal
from discreet.ledger.ledger import Ledger
from discreet.ledger.places import journal_at
from discreet.ledger.receipt import Receipt
from discreet.private import private_file
from discreet.progress import Progress, silent
from discreet.release.archive import Archive
from discreet.vault.vault import Vault

CANNOT_SEE = (
    "whether the table was read by another way than through the vault",
    "whether the noise of each answer was drawn as its plan says (`discreet audit mechanisms` tries the mechanisms)",
    "whether there are other vaults, or other publications, about the same people",
    "a journal that was rewritten, plans and costs and answers and all, where no receipt was kept elsewhere",
)
"""What no audit of a journal can tell."""


MOST_CODES = 1000
"""What was spent is shown by attribute where it has so many codes at most."""


@dataclass(frozen=True)
class AttributeSpend:
    """The most that was spent at any point with each code of an attribute, as one person's amount."""

    name: str
    labels: tuple[str, ...]
    spent: tuple[Fraction, ...]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "labels": list(self.labels), "spent": list(self.spent)}


@dataclass(frozen=True)
class VaultAudit:
    """What an audit found. `holds`: no check failed; there may be warnings."""

    vault: str
    name: str
    vault_id: str
    at: str
    receipt: str
    """Of the last entry that was read. Where the audit holds, keep it elsewhere and give it to the next one."""
    promise: str
    symbol: str
    total: Fraction
    """What the vault was made to spend."""
    bound: Fraction
    """What bounds everything that was ever released, by the audit's own arithmetic."""
    spent: Fraction
    """What nobody's row has more than, by the audit's own arithmetic."""
    spent_at_least: Fraction
    """What somebody's row may have: some point of the domain has it. The same as `spent` where that was found."""
    vault_spent: Fraction | None
    """What `budget` says: exact where the vault's own map is, else a bound that the vault keeps to."""
    first_at: str
    last_at: str
    entries: int
    charges: int
    by_user: dict[str, Fraction]
    checks: tuple[Check, ...]
    moments: tuple[Moment, ...]
    by_attribute: tuple[AttributeSpend, ...]
    cannot_see: tuple[str, ...] = CANNOT_SEE

    @property
    def holds(self) -> bool:
        return all(check.outcome != "failed" for check in self.checks)

    @property
    def spent_in_words(self) -> str:
        """The most spent point by the audit; and by the vault, where that says another number, as a bound may."""
        least, most = self.spent_at_least, self.spent
        amount = equals_text(most) if least == most else f"between {float(least):.4g} and {float(most):.4g}"
        words = f"{self.symbol} {amount} where most is spent"
        if self.vault_spent is None or self.vault_spent == most == least:
            return words
        return f"{words}; budget says {equals_text(self.vault_spent)}, a bound that the vault keeps to"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was found, the gravest first."""
        every = [finding for check in self.checks for finding in check.findings]
        return tuple(sorted(every, key=lambda finding: finding.outcome != "failed"))

    def __getitem__(self, name: str) -> Check:
        """A check by its name."""
        return next(check for check in self.checks if check.name == name)

    def html(self) -> str:
        """The report as one page that needs nothing else."""
        from discreet.audit.page import page

        return page(self)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "holds": self.holds, "moments": [dict(vars(moment)) for moment in self.moments]}


def audit_vault(
    vault: Vault | str | Path,
    *,
    ledger: str | None = None,
    receipts: Sequence[str | Receipt] = (),
    published: Sequence[str | Path] = (),
    progress: Progress = silent,
) -> VaultAudit:
    """Audit a vault: nothing is spent or written, and no row is read.

    `ledger` as in `Vault.open`. `receipts` were kept elsewhere, and the journal must go on from them. `published` are
    folders of cubes, buckets or statistics that are neither in the vault nor beside it.
    """
    home = vault.path if isinstance(vault, Vault) else Path(vault)
    kept = [_receipt(receipt) for receipt in receipts]
    require_whole(home)
    with _opened(journal_of(home, read_settings(home).ledger, ledger)) as journal:
        return _audited(home, journal, kept, [Path(path) for path in published], progress)


@contextmanager
def _opened(place: Path | str) -> Iterator[Journal]:
    """The journal; where the disk or its permissions let nobody write, a copy of it, as SQLite reads no other."""
    if isinstance(place, str) or (os.access(place, os.W_OK) and os.access(place.parent, os.W_OK)):
        with closing(journal_at(place)) as journal:
            yield journal
        return
    with tempfile.TemporaryDirectory() as aside:
        try:
            for file in (place, place.with_name(f"{place.name}-wal")):
                if file == place or file.exists():
                    _copy(file, Path(aside, file.name))
        except OSError:
            raise VaultError(f"{place} cannot be read, or not be copied to {aside}; an audit has to read it") from None
        with closing(journal_at(Path(aside, place.name))) as journal:
            yield journal


def _copy(file: Path, to: Path) -> None:
    with open(file, "rb") as source, os.fdopen(private_file(to, os.O_WRONLY), "wb") as copy:
        shutil.copyfileobj(source, copy)


def _receipt(given: str | Receipt) -> Receipt:
    try:
        return Receipt.parse(given) if isinstance(given, str) else given
    except ValueError as error:
        raise VaultError(str(error)) from None


def _audited(
    home: Path, journal: Journal, receipts: Sequence[Receipt], published: Sequence[Path], progress: Progress
) -> VaultAudit:
    archive, total = Archive(home / RELEASES), _length(journal)
    read = replay(journal.entries(), Bodies(archive.folder), lambda seq: progress("reading the journal", seq / total))
    read.look_up(journal)
    checks = list(read.checks())
    spending, account, by_user = None, None, dict[str, Depth]()
    if read.domain is not None and read.terms is not None:
        account = ledger_of(journal, read)
        spending = spend_again(read, progress, None if account is None else account.spent_max)
        by_user = read.spent_by({} if account is None else account.spent_by())
        progress("comparing", 0.0)
        checks += [
            spending.check(),
            check_map(account, spending, read, by_user),
            read.bodies.check(sorted(read.waiting)),
            check_guarantees(account, spending, read),
            check_facts(account, read, archive),
            check_pending(read),
            check_published(home, published, read, journal, account, archive),
            check_promise(read, spending),
            *([check_checkpoints(account, read.checkpoints, read.unlike)] if read.checkpoints else []),
            check_users(home, _amounts(spending, by_user, least=True), spending.terms.symbol),
        ]
    checks += [check_receipts(read, str(read.header.get("vault_id", "")), receipts), check_files(home)]
    return _report(home, read, spending, account, by_user, checks)


def _length(journal: Journal) -> int:
    """How many entries there are, or a little less: for whoever waits."""
    step = 1
    while journal.receipt_at(step) is not None:
        step *= 2
    length = step // 2
    while step > 1:
        step //= 2
        length += step * (journal.receipt_at(length + step) is not None)
    return max(length, 1)


def _amounts(spending: Spending, by_user: Mapping[str, Depth], *, least: bool) -> dict[str, Fraction]:
    """What each user spent, at least or at most, as one person's amount."""
    return {name: spending.terms.amount(spent.least if least else spent.most) for name, spent in by_user.items()}


def _report(
    home: Path,
    read: Replay,
    spending: Spending | None,
    account: Ledger | None,
    by_user: Mapping[str, Depth],
    checks: Sequence[Check],
) -> VaultAudit:
    terms = spending.terms if spending else None
    return VaultAudit(
        vault=str(home),
        name=", ".join(read.tables) or (read.domain.name if read.domain else ""),
        vault_id=str(read.header.get("vault_id", "")),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        receipt=read.head,
        promise="" if account is None else str(account.guarantee),
        symbol=terms.symbol if terms else "ε",
        total=terms.total if terms else Fraction(),
        bound=bound_of(read, spending) if spending else Fraction(),
        spent=terms.amount(spending.most) if terms and spending else Fraction(),
        spent_at_least=terms.amount(spending.least) if terms and spending else Fraction(),
        vault_spent=terms.amount(account.spent_max) if terms and account else None,
        first_at=read.first_at,
        last_at=read.last_at,
        entries=len(read.hashes),
        charges=len(read.charges),
        by_user=_amounts(spending, by_user, least=False) if spending else {},
        checks=tuple(checks),
        moments=tuple(spending.moments) if spending else (),
        by_attribute=tuple(_by_attribute(spending)) if spending else (),
    )


def _by_attribute(spending: Spending) -> Sequence[AttributeSpend]:
    found = []
    for axis, attribute in enumerate(spending.domain.attributes):
        units = spending.by_code(axis) if attribute.size <= MOST_CODES else None
        if units is not None:
            amounts = {value: spending.terms.amount(value) for value in set(units.tolist())}
            found.append(AttributeSpend(attribute.name, attribute.labels, tuple(amounts[u] for u in units.tolist())))
    return found
