"""discreet user add | list | edit | rotate | revoke | log"""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.present import Json, VaultPath, command, out, print_json, table

app = typer.Typer(help="Who may ask over HTTP, and with which token.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="the user's name", show_default=False)]


@app.command()
@command
def add(
    vault: VaultPath,
    name: Name,
    role: Annotated[str, typer.Option(help="analyst, custodian, or auditor, who may look but not ask")] = "analyst",
    quota: Annotated[
        str | None,
        typer.Option(help="the most of the vault's budget that an analyst's questions may spend: 0.2, or 10%"),
    ] = None,
    expires: Annotated[str | None, typer.Option(help="how long the token is good for: 30d, 12h, 45m")] = None,
    as_in: Annotated[
        Path | None, typer.Option(help="another vault where they have a token: it opens this one as well")
    ] = None,
    as_json: Json = False,
) -> None:
    """Add a user, and print their token: once, it is not kept. With --as-in they keep the one that they have."""
    from discreet.home import declared_budget, require_whole
    from discreet.server.auth import add_user, list_users, share_user

    require_whole(vault)
    token = None
    if as_in is None:
        token = add_user(vault, name, role, quota=quota, expires=expires)
    else:
        require_whole(as_in)
        share_user(vault, name, role, as_in, quota=quota, expires=expires)
    [user] = [user for user in list_users(vault) if user.name == name]
    if as_json:
        print_json({**user.to_json(), "token": token})
        return
    bounds = [
        *([] if user.quota is None else [f"within {declared_budget(vault).in_words(user.quota)}"]),
        *([] if user.expires is None else [f"until {_clock(user.expires)} UTC"]),
    ]
    what = "look" if role == "auditor" else "ask"
    out.print(f"{escape(name)} may now {what} as {role}{''.join(f', {bound}' for bound in bounds)}.", soft_wrap=True)
    if token is None:
        out.print(f"The token is the one of {escape(str(as_in))}.")
        return
    out.print("The token, shown this once:")
    out.print(token, soft_wrap=True)


@app.command("list")
@command
def list_all(vault: VaultPath, as_json: Json = False) -> None:
    """List the users of a vault."""
    from discreet.home import declared_budget, require_whole
    from discreet.server.auth import list_users

    require_whole(vault)
    users = list_users(vault)
    if as_json:
        print_json({"users": users})
        return
    budget = declared_budget(vault)
    rows = [
        (
            user.name,
            user.role,
            _clock(user.at),
            "–" if user.quota is None else budget.share(user.quota),
            "–" if user.expires is None else _clock(user.expires),
        )
        for user in users
    ]
    table("users", ("name", "role", "since (UTC)", "quota", "until (UTC)"), rows, right=("quota",))


@app.command()
@command
def edit(
    vault: VaultPath,
    name: Name,
    quota: Annotated[str | None, typer.Option(help="another quota: 0.2, 10%, or none")] = None,
    expires: Annotated[
        str | None, typer.Option(help="how long the token is good for from now on: 30d, or never")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change a user's quota, or how long their token is good for; the token stays."""
    from discreet.errors import AccessDenied
    from discreet.home import declared_budget, require_whole
    from discreet.server.auth import edit_user

    require_whole(vault)
    if quota is None and expires is None:
        raise AccessDenied("say what is to change: --quota 10%, or --expires 30d")
    user = edit_user(vault, name, quota=quota, expires=expires)
    if as_json:
        print_json(user.to_json())
        return
    said = "without a quota" if user.quota is None else f"within {declared_budget(vault).in_words(user.quota)}"
    until = "until revoked" if user.expires is None else f"until {_clock(user.expires)} UTC"
    out.print(f"{escape(name)}, {user.role}: {said}, {until}.", soft_wrap=True)


@app.command()
@command
def rotate(vault: VaultPath, name: Name, as_json: Json = False) -> None:
    """Give a user another token, and print it: once. The one before opens nothing any more; quota and role stay."""
    from discreet.home import require_whole
    from discreet.server.auth import list_users, rotate_user

    require_whole(vault)
    token = rotate_user(vault, name)
    if as_json:
        [user] = [user for user in list_users(vault) if user.name == name]
        print_json({**user.to_json(), "token": token})
        return
    out.print(f"{escape(name)} has another token; the one before opens nothing any more. Shown this once:")
    out.print(token, soft_wrap=True)


@app.command()
@command
def revoke(vault: VaultPath, name: Name, as_json: Json = False) -> None:
    """Take a user's token back: it opens nothing from the next request on."""
    from discreet.home import require_whole
    from discreet.server.auth import revoke_user

    require_whole(vault)
    revoke_user(vault, name)
    if as_json:
        print_json({"revoked": name})
    else:
        out.print(f"{escape(name)} may no longer ask.")


@app.command()
@command
def log(
    vault: VaultPath,
    user: Annotated[str | None, typer.Option(help="only what this user asked")] = None,
    last: Annotated[int, typer.Option(min=1, help="so many lines, the last ones")] = 100,
    lines_of_json: Annotated[
        bool, typer.Option("--jsonl", help="all of it, a line of JSON for each: for a copy, or another log")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show who asked what through the server, and when. What was spent is in the journal, in the same names."""
    from discreet.home import require_whole
    from discreet.server.log import every_asked, last_asked

    require_whole(vault)
    if lines_of_json:
        for line in every_asked(vault, user):
            typer.echo(json.dumps(line, ensure_ascii=False))
        return
    lines = last_asked(vault, last, user)
    if as_json:
        print_json({"asked": lines})
        return
    rows = [
        (_clock(line.pop("at")), line.pop("user"), line.pop("verb"), ", ".join(f"{k} {v}" for k, v in line.items()))
        for line in lines
    ]
    table(f"asked of {vault}", ("at (UTC)", "user", "verb", "what"), rows, tight=("at (UTC)", "user", "verb"))


def _clock(at: str) -> str:
    """A time in UTC, without what every line would repeat."""
    return at.partition("+")[0].partition(".")[0].replace("T", " ")
