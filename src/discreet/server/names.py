"""Names of users, for whom they concern: custodians and auditors see everybody's, an analyst their own."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from discreet.account import BudgetReport
from discreet.replies import EntryJson
from discreet.server.auth import User

OTHER = "another user"
T = TypeVar("T")


def sees(user: User, name: str | None) -> bool:
    """Whether a name is this user's to see."""
    return user.role != "analyst" or name in (None, user.name)


def name_for(user: User, name: str | None) -> str | None:
    """A name, or that it is another's."""
    return name if sees(user, name) else OTHER


def of_each(user: User, spent: Mapping[str, T]) -> dict[str, T]:
    """Those entries of a mapping by name that a user sees."""
    return {name: found for name, found in spent.items() if sees(user, name)}


def budget_for(user: User, report: BudgetReport) -> BudgetReport:
    """What is spent and left is everybody's to know; by whom is not."""
    by_user: dict[str, Fraction] = of_each(user, report.by_user)
    return replace(report, by_user=by_user)


def entry_for(user: User, entry: EntryJson) -> EntryJson:
    """An entry of the journal without another's name. Its hash is of the entry with it."""
    by = entry["body"].get("by")
    if sees(user, by):
        return entry
    what = entry["what"].replace(f", asked by {by}", f", asked by {OTHER}")
    return {**entry, "what": what, "body": {**entry["body"], "by": OTHER}}
