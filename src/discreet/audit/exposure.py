"""What lies open around a vault: files that others may read or write, receipts, users; settings that weaken a promise.

Nothing in here is about the table's rows. Tokens are never read, only who has one.
"""

import json
import os
import stat
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.audit.finding import Check, Findings, counted, listed
from discreet.audit.replay import RESTORE, Replay
from discreet.audit.spending import Spending
from discreet.audit.terms import Terms
from discreet.exact import equals_text, parse_exact
from discreet.ledger.receipt import Receipt, last_receipt, receipt_path

USERS = "users.json"
LARGE, TWICE = Fraction(5), Fraction(10)
"""Above the first ε a promise says little: docs/how-to/choose-a-budget.md. A ρ or a μ² is looked at by the
second, with a δ."""
FORGETFUL = ("tmpfs", "ramfs")
"""File systems that do not survive a restart."""


def check_files(home: Path) -> Check:
    """Who may read and write what is in the vault's directory: its owner, and nobody else."""
    # A folder that a process at work removes while it is listed, as copies of models are, is passed over.
    inside = (Path(folder, name) for folder, folders, files in os.walk(home) for name in (*folders, *files))
    found, looked = Findings(), [home, *sorted(inside)]
    for path in looked:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue  # a process at work has removed it since
        if stat.S_ISLNK(mode):
            continue
        shown = path.relative_to(home.parent) if home.name else path
        if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
            found.failed(f"others may write to {shown}: what was spent could be rewritten", f"chmod go= {path}")
        elif mode & (stat.S_IRWXG | stat.S_IRWXO):
            found.warning(f"others may read {shown}", f"chmod go= {path}")
    forgetful = _in_memory(home)
    if forgetful:
        found.warning(
            f"{home.name} lies on {forgetful}, which forgets everything with a restart: what was spent too",
            "move the vault to a disk",
        )
    detail = f"the permissions of {counted(len(looked), 'file')}"
    return found.check("files", "Files are their owner's alone", detail)


def _in_memory(home: Path) -> str:
    """The kind of a file system that does not survive a restart; nothing where it does, or cannot be told."""
    try:
        here = home.resolve()
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    over = [mount for mount in mounts if here.is_relative_to(mount[1])]
    kind = max(over, key=lambda mount: len(mount[1]))[2] if over else ""
    return kind if kind in FORGETFUL else ""


def check_receipts(read: Replay, vault_id: str, given: Sequence[Receipt]) -> Check:
    """The journal goes on from every receipt that is known: the last one seen here, and those that were kept."""
    found = Findings()
    seen = last_receipt(vault_id) if vault_id else None
    for receipt, which in [(seen, "the one that this user saw last"), *((kept, "the one given") for kept in given)]:
        if receipt is None or str(receipt) in read.lost:
            continue
        if receipt.seq > read.last:
            lost = receipt.seq - read.last
            found.failed(
                f"an older journal was put back: it has {counted(read.last, 'entry', 'entries')}, and a receipt "
                f"({which}) is of entry {receipt.seq}; what was spent in the last {lost:,} is forgotten",
                "put the newer journal back; where it is lost for good, `discreet ledger check --accept-rollback` goes "
                "on without it, and says so",
            )
        elif read.hashes.get(receipt.seq) != receipt.hash:
            found.failed(
                f"entry {receipt.seq} is not that of its receipt ({which}): the journal was rewritten, or is another's",
                RESTORE,
                receipt.seq,
            )
    for entry in read.rollbacks:
        found.warning(
            f"entry {entry} accepted an older journal: what was spent in the lost entries is not known",
            "every guarantee counts a whole budget for it; add facts again that were in them, and tell readers if rows "
            "were published in them",
            entry,
        )
    if seen is None and not given:
        found.warning(
            "no receipt of this vault is kept here, so that an older or rewritten journal would not be noticed",
            f"give one that was kept elsewhere (--receipt); from now on one is kept in {receipt_path(vault_id)}"
            if vault_id
            else "give one that was kept elsewhere (--receipt)",
        )
    kept = [word for word, there in (("the last one seen here", seen), (f"{len(given)} given", given)) if there]
    return found.check("receipts", "The journal fits its receipts", " and ".join(kept) or "there are none")


def check_promise(read: Replay, spending: Spending) -> Check:
    """What weakens the promise though nobody did wrong: published rows, rows that are read live, refreshes, a budget
    that says little."""
    found, terms = Findings(), spending.terms
    rows = [entry for entry, state in read.rows.items() if state != "withdrawn"]
    if rows:
        found.warning(
            f"rows were published in buckets (entry {listed(rows)}): F'-privacy, not differential privacy",
            "every guarantee says so; what ε promises holds for the other releases by themselves",
            rows[0],
        )
    for entry in (entry for entry, state in read.rows.items() if state == "begun"):
        found.warning(
            f"a publication of rows was begun in entry {entry} and never finished",
            "look for its folder: it counts as published until then",
            entry,
        )
    if read.live:
        found.warning(
            "rows are, or were, read live, where they are: that they stayed as they were is their engine's word",
            "every guarantee says so; `discreet refresh --snapshot` takes a snapshot, which nobody else writes to",
        )
    little = _promises_little(read, terms)
    if little:
        found.warning(little, "see docs/how-to/choose-a-budget.md")
    refreshes, erasures = read.kinds["refresh"], read.kinds["erase"]
    said = [
        f"rows published {counted(len(rows), 'time')}" if rows else "no rows published",
        f"{counted(refreshes, 'refresh', 'refreshes')}" if refreshes else "never refreshed",
        *([counted(erasures, "erasure")] if erasures else []),
    ]
    return found.check("promise", "Nothing else weakens the promise", ", ".join(said))


def _promises_little(read: Replay, terms: Terms) -> str:
    """Why a budget says hardly anything about one person; nothing where it does."""
    if terms.currency == "queries":
        delta = parse_exact(str(read.header["budget"]["delta"]))
        little = f"the log-odds of δ {equals_text(delta)} promise little"
        return little if delta > LARGE else ""
    if terms.currency in ("rho", "mu_squared") and terms.epsilon is None:
        budget = f"the budget of {terms.symbol} {equals_text(terms.total)}"
        little = f"{budget} promises little: not even ε = {TWICE} with δ = 10^-6"
        return "" if terms.keeps(terms.total, TWICE, Fraction(1, 10**6)) else little
    epsilon = terms.epsilon or terms.total
    return f"the budget of ε {equals_text(epsilon)} promises little" if epsilon > LARGE else ""


def check_pending(read: Replay) -> Check:
    """Charges that have no answer and were not closed: cut off, or under way."""
    found, waiting = Findings(), sorted(read.waiting)
    if waiting:
        found.warning(
            f"{counted(len(waiting), 'charge')} without an answer: {listed(waiting)}",
            "if nobody is at work, `discreet ledger complete` answers those that paid for the snapshot as it is, and "
            "closes the others; nothing more is spent",
            waiting[0],
        )
    closed = f", {len(read.closed):,} closed" if read.closed else ""
    detail = f"{counted(len(read.records), 'charge')} of {len(read.charges):,} answered{closed}"
    return found.check("pending", "No charge is left open", detail)


def read_users(home: Path) -> list[Mapping[str, Any]] | None:
    """Who may ask through a server: nobody where there is no file, None where it cannot be read."""
    try:
        users = json.loads((home / USERS).read_text(encoding="utf-8"))["users"]
        return [{key: user.get(key) for key in ("name", "role", "quota", "expires")} for user in users]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def check_users(home: Path, by_user: Mapping[str, Fraction], symbol: str) -> Check:
    """Nobody spent more than their quota; and who may ask for ever."""
    found, users = Findings(), read_users(home)
    if users is None:
        found.failed(f"{USERS} cannot be read: nobody knows who may ask, and how much", "restore it from a backup")
        users = []
    for user in users:
        name, spent = str(user["name"]), by_user.get(str(user["name"]), Fraction())
        try:
            quota = None if user["quota"] is None else parse_exact(str(user["quota"]))
        except (ValueError, ArithmeticError):
            found.failed(f"the quota of {name} is no number", f"add {name} again: `discreet user add`")
            continue
        if quota is not None and spent > quota:
            found.warning(
                f"{name} spent {symbol} {equals_text(spent)}, and has a quota of {equals_text(quota)}",
                "a quota that was set later does not take back what was spent; if it was not, look into asked.jsonl",
            )
    lasting = [str(user["name"]) for user in users if user["expires"] is None]
    if lasting:
        found.warning(
            f"{counted(len(lasting), 'token')} without an end: {', '.join(lasting[:5])}",
            "revoke who needs none any more: `discreet user revoke`; give new ones an end: `--expires 90d`",
        )
    gone = sorted(set(by_user) - {str(user["name"]) for user in users})
    nobody = "nobody asks through a server" if not found else "not known"
    detail = counted(len(users), "user") if users else nobody
    if gone:
        detail += f"; {counted(len(gone), 'former user')} spent as well"
    return found.check("users", "Users: their quotas and tokens", detail)
