"""discreet serve"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from discreet.cli.present import command, out
from discreet.errors import VaultError

if TYPE_CHECKING:
    from discreet.vault.vault import Vault


@command
def serve(
    vault: Annotated[Path, typer.Argument(help="the vault, or a folder of vaults: each is served below /v/NAME")],
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
    root_path: Annotated[
        str, typer.Option(help="serve below this path: /statistics; a proxy hands requests on with it")
    ] = "",
    force_plain: Annotated[
        bool, typer.Option("--force-plain", help="beyond this machine without TLS, where something else encrypts")
    ] = False,
) -> None:
    """Serve a vault, or every vault in a folder, over HTTP, and over MySQL if asked, to users with tokens, until
    interrupted."""
    try:
        from discreet.server.run import Pace, require_mysql
        from discreet.server.run import serve as run
    except ModuleNotFoundError:
        raise VaultError("serving needs FastAPI and uvicorn: pip install 'discreet[server]'") from None

    pace = Pace(rate, slot / 1000, deadline)
    if mysql_port is not None:
        require_mysql()  # before the vault is made ready, which takes its time
    run(
        _folder(vault, mysql_port is not None) if _is_folder(vault) else _vault(vault, mysql_port is not None),
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
        root_path=root_path,
        ready=lambda address: out.print(f"[bold]{escape(str(vault))}[/] answers at {address}", soft_wrap=True),
    )


def _is_folder(path: Path) -> bool:
    """Whether it is a folder with vaults in it, or to come; not a vault that has lost something."""
    from discreet.home import JOURNAL, KEY
    from discreet.private import is_vault

    return path.is_dir() and not is_vault(path) and not any((path / name).is_file() for name in (JOURNAL, KEY))


def _vault(path: Path, over_mysql: bool) -> "Vault":
    from discreet.vault.vault import Vault

    opened = Vault.open(path)
    opened.gate.warm()
    _tell_of_users(path, over_mysql)
    return opened


def _folder(path: Path, over_mysql: bool) -> Path:
    """A folder of vaults. What is wrong with one of them is said, and stops no other."""
    from discreet.errors import DiscreetError
    from discreet.server.folder import names_of_vaults, unserved

    for name in unserved(path):
        out.print(
            f"[dim]{escape(name)} is not served:[/] a name has up to 64 letters, digits, dashes and underscores, is "
            "none that SQL clients know as something else, and differs from the others by more than its case"
        )
    for name in names_of_vaults(path):
        try:
            _tell_of_users(path / name, over_mysql)
        except DiscreetError as error:
            out.print(f"[dim]{escape(name)} cannot be opened now:[/] {escape(str(error))}")
    return path.absolute()


def _tell_of_users(path: Path, over_mysql: bool) -> None:
    from discreet.server.auth import allow_mysql, list_users

    if not list_users(path):
        out.print(f"[dim]Nobody can ask yet:[/] discreet user add {escape(str(path))} NAME")
    if over_mysql and (before := allow_mysql(path)):
        out.print(
            f"[dim]Their tokens are older than the MySQL port, and do not open it:[/] {escape(', '.join(before))}; "
            f"discreet user rotate {escape(str(path))} NAME gives another"
        )
