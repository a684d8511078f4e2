"""The demo's people for the console: a vault with a cube, buckets, users and some questions to look at."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.demo.census import census_domain_path, write_census
from discreet.ledger.asker import Asker
from discreet.private import private_folder
from discreet.progress import Progress, silent
from discreet.server.auth import add_user, list_users, revoke_user
from discreet.server.shelf import BUCKETS, CUBES
from discreet.vault.vault import Vault

CUBE = ("age", "sex", "region", "education", "occupation")
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SELECT region, COUNT(*) FROM people WHERE age >= 65 GROUP BY region", {"within": "400"}),
    ("SELECT education, AVG(income) FROM people WHERE age BETWEEN 25 AND 64 GROUP BY education", {"scale": "300"}),
    ("SELECT COUNT(*) FROM people WHERE region = 'Arden' AND age BETWEEN 30 AND 60", {"scale": "3.2"}),
)
"""The last spends nearly all that is left in its region, so that questions near it are relaxed."""
USERS = {"demo": "custodian", "ana": "analyst", "otto": "auditor"}


def prepare(folder: Path, people: int, progress: Progress = silent) -> Vault:
    """The vault with all that it is to show. Each step is done once; one that was cut off is done again."""
    table, home = folder / "people.parquet", folder / "console"
    folder.mkdir(parents=True, exist_ok=True)
    if not table.is_file():
        write_census(table, people, progress=progress)
    if not home.exists():
        domain = census_domain_path()
        Vault.init(home, table=table, domain=domain, epsilon="1", neighbours="replace", progress=progress)
    vault = Vault.open(home)
    _once(home / CUBES / "census", lambda path: _publish_cube(vault, path))
    _once(home / BUCKETS / "occupation", lambda path: _publish_buckets(vault, path))
    analyst = vault.asked_by(Asker("ana"))
    for sql, wish in QUESTIONS:
        analyst.ask(sql, **wish)
    return vault


def _once(path: Path, publish: Callable[[Path], object]) -> None:
    private_folder(path.parent)
    if not path.exists():
        publish(path)


def _publish_cube(vault: Vault, path: Path) -> None:
    vault.cubes.publish(vault.cubes.plan(epsilon="0.3", dimensions=CUBE)).save(path)


def _publish_buckets(vault: Vault, path: Path) -> None:
    columns = ["age", "sex", "region"]
    vault.buckets.publish(sensitive="occupation", limits="min(1, 3*f + 0.05)", columns=columns, out=path, again=True)


def new_tokens(vault: Vault) -> dict[str, str]:
    """Fresh tokens of the demo's users for half a day: they are shown once, so that old ones are of no use."""
    known = {user.name for user in list_users(vault.path)}
    for name in USERS.keys() & known:
        revoke_user(vault.path, name)
    return {name: add_user(vault.path, name, role, expires="12h") for name, role in USERS.items()}
