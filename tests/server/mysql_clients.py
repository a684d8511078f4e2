"""A vault behind a MySQL port of the loopback, in this process, and clients of it."""

import socket
from contextlib import contextmanager
from dataclasses import dataclass

import pymysql

from discreet.release.slots import Slots
from discreet.server.auth import add_user, allow_mysql
from discreet.server.desk import FrontDesk
from discreet.server.pace import Bucket
from discreet.server.wire import serving_mysql
from discreet.vault import Vault
from tests.patience import PATIENCE


@dataclass(frozen=True)
class Served:
    """A served vault, and the token of the analyst `ada`."""

    vault: Vault
    port: int
    token: str

    def connect(self, user="ada", password=None, **options):
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=user, password=self.token if password is None else password,
            connect_timeout=PATIENCE, read_timeout=PATIENCE, **options
        )  # fmt: skip

    @property
    def entries(self):
        """How long the journal is: what spends nothing leaves it as it is."""
        return len(list(self.vault.entries()))


@contextmanager
def served_over_mysql(folder, tls=None, *, epsilon=10, delta=None, quota=None, rate=0):
    vault = Vault.init(folder / "vault", table=folder / "people.parquet", domain=folder / "people.toml",
                       epsilon=epsilon, delta=delta, neighbours="add-remove")  # fmt: skip
    with serving(vault, tls, quota=quota, rate=rate) as served:
        yield served


@contextmanager
def serving(vault, tls=None, *, quota=None, rate=0):
    allow_mysql(vault.path)
    token = add_user(vault.path, "ada", "analyst", quota=quota)
    listening = socket.create_server(("127.0.0.1", 0))
    with serving_mysql(FrontDesk(vault, Bucket(rate), slots=Slots(), deadline=None), listening, tls):
        yield Served(vault, listening.getsockname()[1], token)


def rows(connection, sql, *arguments):
    """The rows of a statement, and the names of its columns."""
    with connection.cursor() as cursor:
        cursor.execute(sql, *arguments)
        return list(cursor.fetchall()), [column[0] for column in cursor.description or ()]
