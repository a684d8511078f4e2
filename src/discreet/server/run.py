"""A vault behind a socket: loopback unless said otherwise, and in the clear beyond it only by force."""

import ctypes
import gc
import ipaddress
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from discreet.answer.policy import usual_noise
from discreet.errors import VaultError
from discreet.ledger.budget import Budget
from discreet.noise.bits import Bits
from discreet.private import is_vault
from discreet.release.slots import Slots
from discreet.server.app import create_app
from discreet.server.below import Below, require_path
from discreet.server.desk import DEFAULT_DEADLINE, DEFAULT_RATE, DEFAULT_SLOT, FrontDesk, Turns
from discreet.server.folder import VAULTS, VaultFolder
from discreet.server.folder_app import FolderApp
from discreet.server.listening import PatientProtocol
from discreet.server.mysql.schemas import FolderSchemas, OneSchema, Schemas
from discreet.server.pace import Bucket
from discreet.server.shares import Shares
from discreet.vault.vault import Vault

MOST_WORKERS = 64
BACKLOG = 2048
"""Clients that the system lets wait to be taken."""
SWITCH_SECONDS = 0.0005
"""A thread that computes gives way to others so often. Python's own 5 ms is waited for at every look into the journal:
a question behind somebody's long plan would take seconds."""
M_ARENA_MAX, STORES = -8, 2
"""What glibc calls its limit of stores of memory, and how many there may be: with 32 analysts a worker held 23 MB in
others."""
LAST_SECONDS = 1
"""What is being answered when the service is to end has so long; what it charged is recorded or can be completed."""


@dataclass(frozen=True)
class Pace:
    """How fast one user may ask, after whole slots of which length measured answers leave, and how long a request may
    take until it is charged: requests a second, and seconds; no deadline is 0."""

    rate: float = DEFAULT_RATE
    slot: float = DEFAULT_SLOT
    deadline: float = DEFAULT_DEADLINE

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1e9 or not 0 <= self.slot <= 60 or not 0 <= self.deadline <= 86_400:
            raise VaultError(
                "a rate is 0 or more requests a second, a slot 0 to 60 seconds, a deadline 0 (none) to 86,400 seconds"
            )


def serve(
    vault: Vault | Path,
    host: str,
    port: int,
    *,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    force_plain: bool = False,
    workers: int = 1,
    pace: Pace | None = None,
    mysql_port: int | None = None,
    behind_proxy: str | None = None,
    access_log: Path | None = None,
    root_path: str = "",
    ready: Callable[[str], object] = print,
) -> None:
    """Serve a vault, or every vault in a folder, until interrupted. `ready` is told the address, once it takes
    requests. Port 0 is any that is free.

    With several workers each is a process with the vault opened for itself; they share the socket and the journal.
    MySQL is spoken on `mysql_port`, by this process alone. `behind_proxy` is the address of a proxy that speaks TLS to
    clients: what it says of them (X-Forwarded-Proto, X-Forwarded-For) is believed, and nobody else's word. Each request
    is a line of JSON at the end of `access_log`. Everything is below `root_path`, which a proxy hands on as it came.
    """
    if not 1 <= workers <= MOST_WORKERS:
        raise VaultError(f"there are 1 to {MOST_WORKERS} workers")
    _require_safe(host, certfile, keyfile, force_plain)
    listening, kept = _listen(host, port), pace or Pace()
    scheme = "http" if certfile is None else "https"
    root = require_path(root_path)
    served = _served(vault, kept, access_log, root)
    home = vault if isinstance(vault, Path) else vault.path
    app = _settled(served.app()) if workers == 1 else partial(_worker, home, kept, access_log, root)
    config = configured(app, workers, certfile, keyfile, behind_proxy)
    name = f"[{host}]" if ":" in host else host
    with ExitStack() as open_ports:
        open_ports.callback(served.slots.ending.set)
        spoken = None
        if mysql_port is not None:
            spoken, over_mysql = _over_mysql(served.schemas, host, mysql_port, certfile, keyfile)
            open_ports.enter_context(over_mysql)
        ready(f"{scheme}://{name}:{listening.getsockname()[1]}{root}")
        if spoken is not None:
            ready(f"mysql://{name}:{spoken}")
        if workers == 1:
            uvicorn.Server(config).run(sockets=[listening])
        else:
            _Workers(config, sockets=[listening]).run()


def serve_here(app: FastAPI, port: int, ready: Callable[[str], object]) -> None:
    """Serve an application to this machine alone until interrupted. `ready` is told the address."""
    listening = _listen("127.0.0.1", port)
    ready(f"http://127.0.0.1:{listening.getsockname()[1]}")
    uvicorn.Server(configured(app, workers=1)).run(sockets=[listening])


class _Workers(Multiprocess):
    """Worker processes; one that has ended is begun again. One that is busy is left in peace: uvicorn's own way is to
    wait five seconds for each to say that it lives, deaf to signals meanwhile, and then to kill it."""

    def keep_subprocess_alive(self) -> None:
        if not all(worker.process.is_alive() for worker in self.processes):
            super().keep_subprocess_alive()


def configured(
    app: ASGIApp | Callable[[], ASGIApp],
    workers: int,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    behind_proxy: str | None = None,
) -> uvicorn.Config:
    """How uvicorn is to run an application, or one that each of several workers makes for itself."""
    return uvicorn.Config(
        app,
        factory=workers > 1,
        workers=workers,
        loop="discreet.server.listening:Loop",
        http=PatientProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_SECONDS,
        proxy_headers=behind_proxy is not None,
        forwarded_allow_ips=_addresses(behind_proxy or ""),
        ssl_certfile=certfile,
        ssl_keyfile=None if keyfile is None else str(keyfile),
    )


def _addresses(text: str) -> list[str]:
    """Addresses, or networks, of proxies. Not a star: whoever is believed has a name."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    try:
        for address in found:
            ipaddress.ip_network(address)
    except ValueError:
        raise VaultError(f"{text!r} is no address of a proxy; it looks like 127.0.0.1, or 10.0.0.0/8") from None
    return found


def require_mysql() -> None:
    """Raise VaultError unless what speaks MySQL is installed."""
    try:
        import discreet.server.wire  # noqa: F401
    except ModuleNotFoundError:
        raise VaultError("the MySQL port needs mysql-mimic: pip install 'discreet[mysql]'") from None


def _over_mysql(
    schemas: Schemas, host: str, port: int, certfile: Path | None, keyfile: Path | None
) -> tuple[int, AbstractContextManager[None]]:
    """The MySQL port's number, and what keeps it open."""
    require_mysql()
    from discreet.server.wire import serving_mysql, tls_context

    tls, listening = tls_context(certfile, keyfile), _listen(host, port, "--mysql-port")
    return listening.getsockname()[1], serving_mysql(schemas, listening, tls)


@dataclass(frozen=True)
class Served:
    """What one process serves: over HTTP by an application, over MySQL by schemas."""

    slots: Slots
    schemas: Schemas
    app: Callable[[], ASGIApp]


def _served(vault: Vault | Path, pace: Pace, access_log: Path | None, root: str) -> Served:
    if isinstance(vault, Path):
        return many(vault, pace, access_log, root)
    return one(vault, pace, access_log, root)


def _worker(home: Path, pace: Pace, access_log: Path | None, root: str) -> ASGIApp:
    """The application of a process that opens for itself what it serves."""
    if not is_vault(home):
        return _settled(many(home, pace, access_log, root).app())
    vault = Vault.open(home)
    vault.gate.warm()
    return _settled(one(vault, pace, access_log, root).app())


def one(vault: Vault, pace: Pace, access_log: Path | None, root: str) -> Served:
    desk = FrontDesk(vault, Bucket(pace.rate), Slots(pace.slot), pace.deadline or None)
    return Served(desk.slots, OneSchema(desk), lambda: _below(_app(desk, access_log, root), root))


def many(path: Path, pace: Pace, access_log: Path | None, root: str) -> Served:
    """Every vault of a folder. A user's rate and share are of the process: one name is one user, in whatever vaults."""
    bucket, slots, shares, deadline = Bucket(pace.rate), Slots(pace.slot), Shares(), pace.deadline or None

    def make_app(desk: FrontDesk, name: str) -> FastAPI:
        app = _app(desk, access_log, f"{root}{VAULTS}/{name}")
        app.state.is_one_of_many = True
        return app

    folder = VaultFolder(path, lambda vault: FrontDesk(vault, bucket, slots, deadline, shares), make_app)
    schemas = FolderSchemas(folder, Turns(bucket, shares, deadline))
    return Served(slots, schemas, lambda: _below(FolderApp(folder, bucket, slots, access_log, root), root))


def _below(app: ASGIApp, root: str) -> ASGIApp:
    return Below(app, root) if root else app


def _app(desk: FrontDesk, access_log: Path | None, root: str = "") -> FastAPI:
    app = create_app(
        desk.vault,
        slot=desk.slots,
        bucket=desk.bucket,
        deadline=desk.deadline,
        shares=desk.shares,
        access_log=access_log,
        root=root,
    )
    sys.setswitchinterval(SWITCH_SECONDS)
    _share_memory()
    app.state.shelf.warm()
    _load_sampler(desk.vault.ledger.budget)
    return app


def _share_memory() -> None:
    """Have threads share what they take and give back. The C library lets each have a store of its own, and each store
    keeps the most that it ever had; here one thread computes at a time."""
    with suppress(AttributeError, OSError):  # other C libraries have no such stores
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, STORES)


def _settled(app: ASGIApp) -> ASGIApp:
    """The same, when all is loaded that stays: looking for garbage in it would hold up an answer for a tenth of a
    second."""
    gc.collect()
    gc.freeze()
    return app


def _load_sampler(budget: Budget) -> None:
    """Load the compiled code that draws noise before anybody waits for it."""
    usual_noise(budget).sample(1, Bits())


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
        listening.listen(BACKLOG)
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
