"""Users: who has a token and what they spent, adding and revoking them, and the log of who asked what."""

from fractions import Fraction
from typing import Any

from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from discreet.errors import DiscreetError
from discreet.exact import number_text
from discreet.server.auth import list_users, require_custodian
from discreet.server.console.page import with_headers
from discreet.server.console.visit import Visit
from discreet.server.log import last_asked
from discreet.server.routes.users import add_as, edit_as, require_overseeing, revoke_as, rotate_as

MOST_LINES = 100
"""Lines of the log on the page; `discreet user log` has them all."""
LIFETIMES = {"": "until it is revoked", "1d": "for a day", "30d": "for 30 days", "365d": "for a year"}
ROLES = {"analyst": "asks", "auditor": "looks, and spends nothing", "custodian": "does everything"}
FORM = ("name", "role", "quota", "expires")


def show(visit: Visit) -> Response:
    """The page, or its part with the log."""
    require_overseeing(visit.user, "this page")
    return _page(visit, {})


async def add(visit: Visit) -> Response:
    """Make a user, and show their token: on this page alone."""
    return await run_in_threadpool(_added, visit)


def _added(visit: Visit) -> Response:
    require_custodian(visit.user, "add users")
    name, role, quota, expires = (visit.first(field) for field in FORM)
    try:
        token = add_as(visit.desk, visit.user, name, role, quota or None, expires or None)
    except DiscreetError as error:
        form = {field: visit.first(field) for field in FORM}
        return _page(visit, {"mistake": visit.public(error), "form": form})
    return _page(visit, {"added": _handed_over(visit, name, role, token)})


async def edit(visit: Visit) -> Response:
    """Change a user's quota, or how long their token is good for."""
    return await run_in_threadpool(_edited, visit)


def _edited(visit: Visit) -> Response:
    require_custodian(visit.user, "change users")
    try:
        quota = visit.first("quota") or "none"
        edit_as(visit.desk, visit.user, visit.first("name"), quota, visit.first("expires") or None)
    except DiscreetError as error:
        return _page(visit, {"wrong_change": visit.public(error), "changing": visit.first("name")})
    return with_headers(RedirectResponse("/users", 303))


async def rotate(visit: Visit) -> Response:
    """Give a user another token, and show it: on this page alone."""
    return await run_in_threadpool(_rotated, visit)


def _rotated(visit: Visit) -> Response:
    name = visit.first("name")
    token = rotate_as(visit.desk, visit.user, name)
    [user] = [user for user in list_users(visit.vault.path) if user.name == name]
    return _page(visit, {"added": _handed_over(visit, user.name, user.role, token)})


def _handed_over(visit: Visit, name: str, role: str, token: str) -> dict[str, str]:
    door = f"{str(visit.request.base_url).rstrip('/')}/login#token={token}"
    return {"name": name, "role": role, "token": token, "door": door}


async def revoke(visit: Visit) -> Response:
    """Take a token back."""
    await run_in_threadpool(revoke_as, visit.desk, visit.user, visit.first("name"))
    return with_headers(RedirectResponse("/users", 303))


def _page(visit: Visit, done: dict[str, Any]) -> Response:
    spent, users = visit.vault.budget().by_user, list_users(visit.vault.path)
    names = [user.name for user in users]
    who = visit.first("who")
    shown: dict[str, Any] = {
        "users": [(user, spent.get(user.name, Fraction())) for user in users],
        "gone": {name: amount for name, amount in spent.items() if name not in names},
        "revoking": next((name for name in names if name == visit.first("revoke") != visit.user.name), None),
        "changing": next((name for name in names if name == visit.first("change")), None),
        "wrong_change": None,
        "quotas": {user.name: _percent(user.quota, visit) for user in users if user.quota is not None},
        "kept_or": {"": "as it is", "never": "until it is revoked", **{k: v for k, v in LIFETIMES.items() if k}},
        "budget": visit.vault.ledger.budget,
        "is_custodian": visit.user.role == "custodian",
        "roles": ROLES,
        "lifetimes": LIFETIMES,
        "form": dict.fromkeys(FORM, ""),
        "mistake": None,
        "added": None,
        "who": who,
        "asked": [_line(asked) for asked in reversed(last_asked(visit.vault.path, MOST_LINES, who or None))],
        "most": MOST_LINES,
    }
    return visit.page("users.html", **{**shown, **done})


def _percent(quota: Fraction, visit: Visit) -> str:
    """A quota as the form takes it, exactly."""
    return f"{number_text(100 * quota / visit.vault.ledger.budget.total)}%"


def _line(asked: dict[str, Any]) -> dict[str, str]:
    """A line of the log: when, who, what kind, and the rest in words, the question first."""
    at, user, verb = (str(asked.pop(key, "")) for key in ("at", "user", "verb"))
    first = str(asked.pop("sql", ""))
    outcome = str(asked.pop("outcome", "unfinished"))
    charges = ", ".join(str(charge) for charge in asked.pop("charges", ()))
    shown = {key: value for key, value in asked.items() if key not in ("id", "over")}
    if charges:
        shown["charge"] = charges
    rest = ", ".join(f"{key} {value}" for key, value in shown.items())
    return {
        "at": at[:19].replace("T", " "),
        "user": user,
        "verb": verb,
        "first": first,
        "rest": rest,
        "outcome": outcome,
    }
