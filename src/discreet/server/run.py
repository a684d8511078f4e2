"""A vault behind a socket: loopback unless said otherwise, and in the clear beyond it only by force."""

import ipaddress
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from discreet.errors import VaultError
from discreet.server.app import create_app
from discreet.server.desk import DEFAULT_RATE, DEFAULT_SLOT, FrontDesk
from discreet.server.pace import Bucket
from discreet.vault import Vault

MOST_WORKERS = 64


@dataclass(frozen=True)
class Pace:
    """How fast one user may ask, and on which grid measured answers leave: requests a second, and seconds."""

    rate: float = DEFAULT_RATE
    slot: float = DEFAULT_SLOT

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1e9 or not 0 <= self.slot <= 60:
            raise VaultError("a rate is 0 or more requests a second, and a slot 0 to 60 seconds")


def serve(
    vault: Vault,
    host: str,
    port: int,
    *,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    force_plain: bool = False,
    workers: int = 1,
    pace: Pace | None = None,
    mysql_port: int | None = None,
    ready: Callable[[str], object] = print,
) -> None:
    """Serve until interrupted. `ready` is told the address, once it takes requests. Port 0 is any that is free.

    With several workers each is a process with the vault opened for itself; they share the socket and the journal.
    MySQL is spoken on `mysql_port`, by this process alone.
    """
    if not 1 <= workers <= MOST_WORKERS:
        raise VaultError(f"there are 1 to {MOST_WORKERS} workers")
    _require_safe(host, certfile, keyfile, force_plain)
    listening, kept = _listen(host, port), pace or Pace()
    scheme = "http" if certfile is None else "https"
    config = uvicorn.Config(
        _app(vault, kept) if workers == 1 else partial(_open_app, vault.path, kept),  # made in each process by itself
        factory=workers > 1,
        workers=workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        ssl_certfile=certfile,
        ssl_keyfile=None if keyfile is None else str(keyfile),
    )
    name = f"[{host}]" if ":" in host else host
    with ExitStack() as open_ports:
        spoken = None
        if mysql_port is not None:
            spoken, over_mysql = _over_mysql(vault, kept, host, mysql_port, certfile, keyfile)
            open_ports.enter_context(over_mysql)
        ready(f"{scheme}://{name}:{listening.getsockname()[1]}")
        if spoken is not None:
            ready(f"mysql://{name}:{spoken}")
        if workers == 1:
            uvicorn.Server(config).run(sockets=[listening])
        else:
            Multiprocess(config, sockets=[listening]).run()


def _over_mysql(
    vault: Vault, pace: Pace, host: str, port: int, certfile: Path | None, keyfile: Path | None
) -> tuple[int, AbstractContextManager[None]]:
    """The MySQL port's number, and what keeps it open."""
    try:
        from discreet.server.wire import serving_mysql, tls_context
    except ModuleNotFoundError:
        raise VaultError("the MySQL port needs mysql-mimic: pip install 'discreet[mysql]'") from None
    tls, listening = tls_context(certfile, keyfile), _listen(host, port, "--mysql-port")
    desk = FrontDesk(vault, Bucket(pace.rate), pace.slot)
    return listening.getsockname()[1], serving_mysql(desk, listening, tls)


def _open_app(home: Path, pace: Pace) -> FastAPI:
    vault = Vault.open(home)
    vault.gate.table()
    return _app(vault, pace)


def _app(vault: Vault, pace: Pace) -> FastAPI:
    app = create_app(vault, slot=pace.slot, rate=pace.rate)
    app.state.shelf.warm()
    return app


def _require_safe(host: str, certfile: Path | None, keyfile: Path | None, force_plain: bool) -> None:
    if (certfile is None) != (keyfile is None):
        raise VaultError("TLS takes both: --certfile and --keyfile")
    for file in (certfile, keyfile):
        if file is not None and not file.is_file():
            raise VaultError(f"there is no file {file}; TLS takes a certificate and its key")
    if certfile is None and not force_plain and not _is_loopback(host):
        raise VaultError(
            f"{host} is beyond this machine, and tokens and answers would travel in the clear; give --certfile and "
            "--keyfile, or --force-plain where something else encrypts"
        )


def _listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """A bound socket that listens already: a client that connects now waits, and is not refused."""
    try:
        if not 0 <= port < 2**16:
            raise OverflowError
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except (OSError, OverflowError):
        raise VaultError(
            f"{host} port {port} cannot be listened on; is it taken? Choose another with {option}"
        ) from None
    return listening


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
