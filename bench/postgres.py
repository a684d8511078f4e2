"""A Postgres of our own, on a free port of this machine, for as long as a benchmark or the tests need it."""

import os
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

PASSWORD = "p@ss/w:rd#1?"
"""With everything in it that a URI would stumble over."""
PATIENCE = 300
"""Seconds that a step of starting and stopping may take: a busy machine is not a failure."""
INSTALL = "Postgres is not here; install it: apt install postgresql"


@dataclass(frozen=True)
class Postgres:
    """A server with a database `people`, owned by `keeper`."""

    programs: Path
    port: int
    control: tuple[str | Path, ...] = ()
    """The command that starts and stops it, without the verb."""
    password: str = PASSWORD

    def restart(self) -> None:
        """Stop it as a crash would, and start it again."""
        run([*self.control, "-m", "immediate", "restart"], Path("/"))

    def uri(self, table: str, password: str = PASSWORD, **options: str) -> str:
        """Where a table is."""
        more = "".join(f"&{key}={value}" for key, value in options.items())
        return f"{self.ledger(password=password)}?table={quote(table)}{more}"

    def ledger(
        self, name: str = "people", port: int | None = None, user: str = "keeper", password: str = PASSWORD
    ) -> str:
        """Where a database of this server is; by another port for a detour to it."""
        return f"postgres://{user}:{quote(password, safe='')}@localhost:{port or self.port}/{name}"

    def connect(self) -> Any:
        import psycopg

        address = {"host": "localhost", "port": self.port, "user": "keeper", "password": PASSWORD, "dbname": "people"}
        return psycopg.connect(**address, autocommit=True)

    def execute(self, *statements: str) -> None:
        with self.connect() as session:
            for statement in statements:
                session.execute(statement)

    def psql(self, script: str) -> str:
        """What psql prints for a script."""
        command = [self.programs / "psql", "-h", "localhost", "-p", str(self.port), "-U", "keeper", "-qX", "people"]
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        done = subprocess.run(command, input=script, capture_output=True, text=True, check=True, env=environment)
        return done.stdout


def find_programs() -> Path | None:
    """Where Debian's newest server is, or any on the PATH."""
    found = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None) or shutil.which("initdb")
    return None if found is None else Path(found).parent


@contextmanager
def serving() -> Iterator[Postgres]:
    """Started as the user `postgres` where we are root, since it refuses to run as root; gone at the end."""
    programs = find_programs()
    if programs is None:
        raise FileNotFoundError(INSTALL)
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    (folder / "password").write_text(PASSWORD)
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if become:
        shutil.chown(folder, "postgres")
        shutil.chown(folder / "password", "postgres")
    port = free_port()
    data = folder / "data"
    create = [programs / "initdb", "-D", data, "-U", "keeper", "-A", "scram-sha-256", "-E", "UTF8", "--no-sync"]
    control = [*become, programs / "pg_ctl", "-D", data, "-s", "-w", "-t", str(PATIENCE), "-l", folder / "log"]
    server = Postgres(programs, port, tuple(control))
    try:
        run([*become, *create, "--locale=C.UTF-8", f"--pwfile={folder / 'password'}"], folder)
        run([*control, "-o", f"-p {port} -k {folder} -c listen_addresses=localhost", "start"], folder)
        address = ["-h", "localhost", "-p", str(port), "-U", "keeper"]
        run([programs / "createdb", *address, "people"], folder, env={**os.environ, "PGPASSWORD": PASSWORD})
        yield server
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], cwd=folder, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A port that nobody has, and that the system gives nobody by itself while the server is made, or made again: below
    those of outgoing connections, where there are some."""
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    below = range(10_000, int(given.read_text().split()[0]) if given.exists() else 1 << 15)
    for port in (*random.sample(below, min(len(below), 100)), 0):
        with socket.socket() as free, suppress(OSError):
            free.bind(("localhost", port))
            return int(free.getsockname()[1])
    raise OSError("this machine has no port left")


def run(command: list[Any], folder: Path, **options: Any) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=PATIENCE, **options)
