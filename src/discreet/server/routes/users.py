"""Who may ask: custodians add and revoke users; auditors see them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from discreet import replies
from discreet.errors import AccessDenied
from discreet.server import schema
from discreet.server.auth import User, add_user, edit_user, list_users, require_custodian, revoke_user, rotate_user
from discreet.server.desk import FrontDesk
from discreet.server.door import JsonReply, api_router, user_of
from discreet.server.log import log_asked

Caller = Annotated[User, Depends(user_of)]
Name = Annotated[str, Path(max_length=64)]


def routes(desk: FrontDesk) -> APIRouter:
    router = api_router("users")

    @router.get("/users", response_model=replies.UsersJson)
    def users(caller: Caller) -> JsonReply:
        """Everybody with a token. For custodians and auditors."""
        require_overseeing(caller, "the list of users")
        return JsonReply(replies.UsersJson(users=[user.to_json() for user in list_users(desk.vault.path)]))

    @router.post("/users", status_code=201, response_model=replies.UserAddedJson)
    def add(new: schema.NewUser, caller: Caller) -> JsonReply:
        """Make a user, and show their token: once, it is not kept. For custodians."""
        quota = new.quota if new.quota is None else str(new.quota)
        token = add_as(desk, caller, new.name, new.role, quota, new.expires)
        [user] = [user for user in list_users(desk.vault.path) if user.name == new.name]
        return JsonReply(replies.UserAddedJson(**user.to_json(), token=token), 201)

    @router.patch("/users/{name}", response_model=replies.UserJson)
    def edit(name: Name, changed: schema.UserChange, caller: Caller) -> JsonReply:
        """Change a user's quota, or how long their token is good for. For custodians."""
        return JsonReply(edit_as(desk, caller, name, changed.quota, changed.expires))

    @router.post("/users/{name}/token", response_model=replies.UserAddedJson)
    def rotate(name: Name, caller: Caller) -> JsonReply:
        """Give a user another token, and show it: once. The one before opens nothing any more. For custodians."""
        token = rotate_as(desk, caller, name)
        [user] = [user for user in list_users(desk.vault.path) if user.name == name]
        return JsonReply(replies.UserAddedJson(**user.to_json(), token=token))

    @router.delete("/users/{name}", response_model=replies.RevokedJson)
    def revoke(name: Name, caller: Caller) -> JsonReply:
        """Take a user's token back: it opens nothing from the next request on. For custodians."""
        revoke_as(desk, caller, name)
        return JsonReply(replies.RevokedJson(revoked=name))

    return router


def require_overseeing(user: User, what: str) -> None:
    """Raise unless the user may see what others did."""
    if user.role == "analyst":
        raise AccessDenied(f"{user.name} is an analyst, and {what} is for custodians and auditors")


def add_as(desk: FrontDesk, custodian: User, name: str, role: str, quota: str | None, expires: str | None) -> str:
    """Make a user in a custodian's name, and return the token. Who did it is in the audit log; the token is not."""
    require_custodian(custodian, "add users")
    log_asked(desk.vault.path, custodian.name, "user add", {"name": name, "role": role, "quota": quota})
    return add_user(desk.vault.path, name, role, quota=quota, expires=expires)


def edit_as(desk: FrontDesk, custodian: User, name: str, quota: object, expires: str | None) -> User:
    """Change a user in a custodian's name."""
    require_custodian(custodian, "change users")
    said = None if quota is None else str(quota)
    log_asked(desk.vault.path, custodian.name, "user edit", {"name": name, "quota": said, "expires": expires})
    return edit_user(desk.vault.path, name, quota=said, expires=expires)


def rotate_as(desk: FrontDesk, custodian: User, name: str) -> str:
    """Give a user, or oneself, another token in a custodian's name."""
    require_custodian(custodian, "give out tokens")
    log_asked(desk.vault.path, custodian.name, "user rotate", {"name": name})
    return rotate_user(desk.vault.path, name)


def revoke_as(desk: FrontDesk, custodian: User, name: str) -> None:
    """Take a token back in a custodian's name. Their own stays: somebody has to be able to undo it."""
    require_custodian(custodian, "revoke users")
    if name == custodian.name:
        raise AccessDenied(f"{name} is you; another custodian revokes you, or `discreet user revoke` on the server")
    log_asked(desk.vault.path, custodian.name, "user revoke", {"name": name})
    revoke_user(desk.vault.path, name)
