"""discreet serve"""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.present import VaultPath, command, out
from discreet.errors import VaultError


@command
def serve(
    vault: VaultPath,
    port: Annotated[int, typer.Option(help="0 takes any that is free, and says which")] = 8801,
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    certfile: Annotated[Path | None, typer.Option(help="TLS: the certificate")] = None,
    keyfile: Annotated[Path | None, typer.Option(help="TLS: its key")] = None,
    mysql_port: Annotated[
        int | None, typer.Option(help="speak MySQL on this port as well, for BI tools; 0 takes any that is free")
    ] = None,
    workers: Annotated[int, typer.Option(help="processes that answer; each opens the table for itself")] = 1,
    slot: Annotated[
        int, typer.Option(help="milliseconds: measured answers leave after whole slots of this length; 0 for at once")
    ] = 50,
    rate: Annotated[float, typer.Option(help="requests a second that one user may send; 0 for any number")] = 100,
    deadline: Annotated[
        float, typer.Option(help="seconds that a request may take until it is charged; 0 for any number")
    ] = 30,
    behind_proxy: Annotated[
        str | None,
        typer.Option(
            help="the address of a proxy that speaks TLS to clients: 127.0.0.1; what it says of them is believed"
        ),
    ] = None,
    access_log: Annotated[
        Path | None, typer.Option(help="a file to which each HTTP request is appended, as a line of JSON")
    ] = None,
    force_plain: Annotated[
        bool, typer.Option("--force-plain", help="beyond this machine without TLS, where something else encrypts")
    ] = False,
) -> None:
    """Serve a vault over HTTP, and over MySQL if asked, to users with tokens, until interrupted."""
    from discreet.vault.vault import Vault

    try:
        from discreet.server.auth import allow_mysql, list_users
        from discreet.server.run import Pace, require_mysql
        from discreet.server.run import serve as run
    except ModuleNotFoundError:
        raise VaultError("serving needs FastAPI and uvicorn: pip install 'discreet[server]'") from None

    pace = Pace(rate, slot / 1000, deadline)
    if mysql_port is not None:
        require_mysql()  # before the vault is made ready, which takes its time
    opened = Vault.open(vault)
    opened.gate.warm()
    if not list_users(vault):
        out.print(f"[dim]Nobody can ask yet:[/] discreet user add {escape(str(vault))} NAME")
    if mysql_port is not None and (before := allow_mysql(vault)):
        out.print(
            f"[dim]Their tokens are older than the MySQL port, and do not open it:[/] {escape(', '.join(before))}; "
            f"discreet user rotate {escape(str(vault))} NAME gives another"
        )
    run(
        opened,
        host,
        port,
        certfile=certfile,
        keyfile=keyfile,
        force_plain=force_plain,
        workers=workers,
        pace=pace,
        mysql_port=mysql_port,
        behind_proxy=behind_proxy,
        access_log=None if access_log is None else access_log.absolute(),
        ready=lambda address: out.print(f"[bold]{escape(str(vault))}[/] answers at {address}", soft_wrap=True),
    )
