"""The copy of the model of everything public that a vault keeps: fitted again from what the journal has."""

from collections.abc import Iterator
from pathlib import Path

from discreet.audit.recomputed import MODEL_SAME, SAME, Doubtful, Unlike, apart
from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.facts.account import facts_of
from discreet.ledger.ledger import Ledger
from discreet.query.plan import Plan
from discreet.query.query import answer_shape
from discreet.release.archive import Archive
from discreet.release.extended import extended
from discreet.release.release import Noisy, Release

PUBLIC, MODEL = "public-", "-model"
REMOVE = "remove it: it is made again from what was released"


def public_models(home: Path) -> list[Path]:
    """The copies that there are."""
    return sorted((home / "models").glob(f"{PUBLIC}*{MODEL}"))


def table_of(path: Path) -> str | None:
    """Which of several tables a copy is of: its name says so."""
    *table, _, _ = path.name.removeprefix(PUBLIC).split("-")
    return table[0] if table else None


def require_public_model_again(path: Path, account: Ledger, archive: Archive) -> None:
    """Raise Unlike unless a copy is what everything public makes. One of what was public before is not looked at: the
    vault neither reads it."""
    from discreet.cube.public_model import fit_everything
    from discreet.cube.replicate_files import read_models
    from discreet.model.everything import everything

    facts = tuple(fact for fact in facts_of(account, account.domain, archive) if fact.table == account.refreshed)
    of = everything(_released(account, archive), facts, account.domain)
    if of is None or f"-{of.digest[:16]}-" not in path.name:
        return
    try:
        [theirs] = read_models(path, of.lattice, of.digest)
    except ArchiveError:
        if path.exists():
            raise
        return  # the vault is in use, and has just removed it: more is public by now
    try:
        mine = fit_everything(of)
    except UnsupportedQuery:
        raise Doubtful("it is too large to be made again with the memory that is here", "audit it elsewhere") from None
    off = apart(mine, theirs)
    if off <= SAME * (1 + mine.total):
        return
    if off <= MODEL_SAME * min((one.variance for one in of.measured if one.variance), default=1.0) ** 0.5:
        raise Doubtful("it is not quite what this version makes of everything public", REMOVE)
    raise Unlike("it is not what everything public makes", REMOVE)


def _released(account: Ledger, archive: Archive) -> Iterator[Release]:
    """What was released of the table as it is now, as the journal has it."""
    since = account.refreshed
    for charge, record in account.answered(since):
        if charge.id > since:
            plan, domain = Plan.from_json(charge.plan), account.domain_of(charge.snapshot)
            units = archive.load(record.body, [answer_shape(one.query, domain) for one in plan.measurements])
            noisy = tuple(
                Noisy(one, one.query.grain(domain), own) for one, own in zip(plan.measurements, units, strict=True)
            )
            release = Release(plan, noisy, account.promise(charge.cost.peak), charge.id, record.receipt)
            yield extended(release, domain, account.domain)
