"""Everything in a vault is its owner's alone, whatever the umask; and no file of it has an exact count."""

import ast
import os
import re
import stat
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.audit.report import audit_vault
from discreet.errors import InvalidLimits
from discreet.noise.bits import KEY_BYTES, Bits
from discreet.private import SETTINGS, is_in_vault, private_file, private_folder, write_private
from discreet.release.archive import Archive
from discreet.server.app import create_app
from discreet.server.auth import add_user, allow_mysql
from discreet.server.jobs import UNSAID, find_job
from discreet.vault import Vault
from discreet.vault.backup import backup_vault, restore_vault
from tests.patience import wait_until

DOMAIN = """\
name = "people"
[attributes.region]
kind = "category"
values = ["Arden", "Belmont", "Carrow"]
source = "map"
[attributes.illness]
kind = "category"
values = ["none", "flu", "HIV"]
source = "form"
"""
REGIONS = {"Arden": 41_893, "Belmont": 17_093, "Carrow": 13_007}
ILLNESSES = {"none": 52_711, "flu": 15_391, "HIV": 3_891}
COUNTS = [71_993, *REGIONS.values(), *ILLNESSES.values()]
"""Recognisable, and nowhere but in the rows."""
PUBLISHED = re.compile(r"vault/buckets/\w+/")
"""Rows that were published: on purpose, with their counts."""
UMASKS = pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)


def modes_under(home):
    """Everything that is there and not its owner's alone."""
    found = [home, *home.rglob("*")]
    return {
        str(path.relative_to(home.parent)): oct(mode)
        for path in found
        if (mode := stat.S_IMODE(path.stat().st_mode)) != (0o700 if path.is_dir() else 0o600)
    }


def counts_in(path):
    """The planted counts that a file has: in its text, in its arrays, in its tables."""
    content = path.read_bytes()
    text = {
        count
        for count in COUNTS
        for form in (f"{count}", f"{count:,}")
        if re.search(rb"(?<![\w.])" + form.encode() + rb"(?!\w)", content)
    }
    numbers = [np.frombuffer(content, kind, len(content) // np.dtype(kind).itemsize) for kind in ("<i2", "<i4", "<i8")]
    if path.suffix == ".parquet":
        columns = [column for column in pq.read_table(path).columns if not pa.types.is_string(column.type)]
        numbers = [column.to_numpy() for column in columns if not pa.types.is_dictionary(column.type)]
    elif path.suffix != ".bin":
        numbers = []
    return text | {count for count in COUNTS for array in numbers if (array == count).any()}


def files_with_counts(home):
    files = [path for path in home.rglob("*") if path.is_file() and path.name != "key"]
    named = {str(path.relative_to(home.parent)): path for path in files if "snapshots" not in path.parts}
    return {name: found for name, path in named.items() if not PUBLISHED.match(name) and (found := counts_in(path))}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A table with recognisable counts; noise that is the same on every run; a home and a temporary folder."""
    keys = iter(range(1, 1 << 30))
    monkeypatch.setattr(Bits, "_key", lambda _: next(keys).to_bytes(KEY_BYTES, "big"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    regions, illnesses = (np.repeat(list(of), list(of.values())) for of in (REGIONS, ILLNESSES))
    # Each region has all illnesses: rows of one list are dealt to those of the other.
    dealt = illnesses[np.arange(len(regions)) * 5 % len(regions)]
    pq.write_table(pa.table({"person": range(len(regions)), "region": regions, "illness": dealt}), "people.parquet")
    Path("people.toml").write_text(DOMAIN)
    return tmp_path


@pytest.fixture
def under(umask):
    before = os.umask(umask)
    yield umask
    os.umask(before)


def ended(client, name):
    return wait_until(lambda: job if (job := client.get(f"jobs/{name}").json())["state"] != "running" else None)


def do_everything(place, monkeypatch):
    """A vault that asked, published, failed, served and went on, still open."""
    monkeypatch.setattr("discreet.release.archive.JOURNAL_CELLS", 2)
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=10, neighbours="replace")
    vault.ask("SELECT region, COUNT(*) FROM people GROUP BY region", scale=10**6)
    with pytest.raises(InvalidLimits, match=r"52711|52,711|71993|71,993"):
        vault.buckets.publish(sensitive="illness", limits="0.7", out=place / "vault" / "refused")
    vault.facts.add("SELECT COUNT(*) FROM people WHERE region = 'Arden' OR illness = 'HIV'", 43_000)
    vault.cubes.publish(vault.cubes.plan(epsilon="0.00001")).save(place / "outside")
    token = add_user(vault.path, "boss", "custodian")
    add_user(vault.path, "ana", "analyst", quota="1/2")
    allow_mysql(vault.path)
    app = create_app(vault, slot=0, rate=0, deadline=None)
    boss = TestClient(app, headers={"Authorization": f"Bearer {token}"}, base_url="http://testserver/api/v1")
    assert boss.post("ask", json={"sql": "SELECT COUNT(*) FROM people", "scale": 10**6}).status_code == 200
    assert boss.post("cubes/c", json={"epsilon": "0.00001"}).status_code == 202
    assert ended(boss, "c")["state"] == "done"
    assert boss.post("buckets/bad", json={"sensitive": "illness", "limits": "0.7"}).status_code == 202
    bad = ended(boss, "bad")
    assert bad["state"] == "failed"
    assert re.search(r"52,?711|71,?993", bad["error"]["message"])
    assert boss.post("buckets/good", json={"sensitive": "illness", "limits": "0.9"}).status_code == 202
    assert ended(boss, "good")["state"] == "done"
    assert boss.post("buckets/again", json={"sensitive": "illness", "limits": "0.7", "again": True}).status_code == 202
    assert ended(boss, "again")["state"] == "failed"
    vault.refresh("people.parquet")
    vault.ask("SELECT illness, COUNT(*) FROM people GROUP BY illness", scale=10**6)
    return vault


@UMASKS
def test_a_vault_that_did_everything_is_its_owners_alone_and_has_no_exact_count(place, under, monkeypatch):
    vault = do_everything(place, monkeypatch)
    walked = {str(path.relative_to(place / "vault")) for path in (place / "vault").rglob("*")}
    assert walked > {"key", "vault.toml", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "releases",
                     "users.json", "asked.jsonl", "jobs/bad.json", "cubes/c/cuboids.parquet", "mysql.served",
                     "buckets/good/st.parquet"}, under  # fmt: skip
    assert any(name.startswith("releases/") for name in walked)
    assert modes_under(place / "vault") == {}
    assert modes_under(place / "state" / "discreet") == {}
    assert {stat.S_IMODE(left.stat().st_mode) for left in (place / "temporary").iterdir()} <= {0o700}
    assert files_with_counts(place / "vault") == {}
    assert files_with_counts(place / "state") == {}
    assert audit_vault(vault)["files"].findings == ()


def publish_what_models_are_of(boss):
    """A cube by rounds, a modelled one with its ranges, synthetic rows of it, and an answer from it."""
    for name, order in (("run", {"planner": "adaptive"}), ("modelled", {"estimate": "modelled", "planner": "model"})):
        assert boss.post(f"cubes/{name}", json={"epsilon": "0.01", **order}).status_code == 202
        assert ended(boss, name)["state"] == "done", ended(boss, name)
    assert boss.get("cubes/modelled/cuboid?by=region&estimate=modelled").status_code == 200
    assert boss.post("rows/drawn", json={"cube": "modelled", "seed": 1}).status_code == 202
    assert ended(boss, "drawn")["state"] == "done", ended(boss, "drawn")
    sql = "SELECT region, illness, COUNT(*) FROM people GROUP BY region, illness"
    assert boss.post("ask", json={"sql": sql, "estimate": "modelled"}).status_code == 200


@pytest.mark.parametrize("umask", [0o000], ids=oct)
def test_runs_models_rows_checkpoints_and_backups_are_their_owners_alone_too(place, under, monkeypatch):
    monkeypatch.setattr("discreet.release.archive.JOURNAL_CELLS", 2)
    monkeypatch.setattr("discreet.ledger.checkpoint.EVERY", 5)
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=10, neighbours="replace")
    token = add_user(vault.path, "boss", "custodian")
    app = create_app(vault, slot=0, rate=0, deadline=None)
    boss = TestClient(app, headers={"Authorization": f"Bearer {token}"}, base_url="http://testserver/api/v1")
    publish_what_models_are_of(boss)
    backup_vault(vault.path, place / "vault.backup")
    restore_vault(place / "vault.backup", place / "restored")
    walked = {str(path.relative_to(place / "vault")) for path in (place / "vault").rglob("*")}
    assert walked > {"cubes/run/cuboids.parquet", "rows/drawn.parquet", "underway.lock"}, under
    assert any(name.startswith("models/") and "-ranges/" in name for name in walked)
    assert {"checkpoint", "round", "model", "rows"} <= {entry.kind for entry in vault.ledger.entries()}
    assert (
        modes_under(place / "vault") == modes_under(place / "restored") == modes_under(place / "state/discreet") == {}
    )
    assert any(path.name.endswith(".checkpoint") for path in (place / "state").rglob("*"))
    assert stat.S_IMODE((place / "vault.backup").stat().st_mode) == 0o600
    for home in ("vault", "restored", "state"):
        assert files_with_counts(place / home) == {}


@UMASKS
def test_statistics_and_a_roster_too(place, under):
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", queries=100, delta=2, id="person",
                       roster=pa.table({"person": range(71_993)}))  # fmt: skip
    plan = vault.sulq.plan(["ill: illness <> 'none'", "arden: region = 'Arden'"], arity=1, subsets=16)
    statistics = vault.sulq.publish(plan)
    statistics.save(place / "vault" / "statistics")
    statistics.save(place / "outside")
    assert modes_under(place / "vault") == {}, under
    readable_by_all(place / "outside")


def readable_by_all(folder):
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o644}


@UMASKS
def test_what_is_published_outside_of_a_vault_is_for_others_to_read_and_not_to_write(place, under):
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=10, neighbours="replace")
    vault.cubes.publish(vault.cubes.plan(epsilon="0.00001")).save(place / "cube")
    vault.buckets.publish(sensitive="illness", limits="0.9", out=place / "buckets")
    for name in ("cube", "buckets"):
        assert under == os.umask(under)
        readable_by_all(place / name)


@UMASKS
def test_settings_that_a_refresh_rewrites_stay_their_owners(place, under):
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=1, neighbours="replace")
    (place / "people.parquet").rename(place / "moved.parquet")
    vault.refresh("moved.parquet")
    assert modes_under(place / "vault") == {}, under


@pytest.mark.usefixtures("place")
def test_why_a_publication_failed_is_in_the_memory_of_its_process_alone(monkeypatch):
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=10, neighbours="replace")
    token = add_user(vault.path, "boss", "custodian")
    app = create_app(vault, slot=0, rate=0, deadline=None)
    boss = TestClient(app, headers={"Authorization": f"Bearer {token}"}, base_url="http://testserver/api/v1")
    boss.post("buckets/bad", json={"sensitive": "illness", "limits": "0.7"})
    assert "52" in ended(boss, "bad")["error"]["message"]
    monkeypatch.setattr("discreet.server.jobs._why", {})
    elsewhere = find_job(vault.path, "bad")
    assert elsewhere.error == {"kind": "InvalidLimits", "message": UNSAID}
    assert "discreet buckets publish" in UNSAID


class TestFilesAndFolders:
    @UMASKS
    def test_are_their_owners_alone_from_the_first_moment_on(self, tmp_path, under):
        private_folder(tmp_path / "folder")
        write_private(tmp_path / "folder" / "file", b"mine")
        os.close(private_file(tmp_path / "folder" / "lock", os.O_RDWR))
        assert modes_under(tmp_path / "folder") == {}, under
        with pytest.raises(FileExistsError):
            write_private(tmp_path / "folder" / "file", b"yours")

    def test_a_file_that_somebody_opened_up_and_that_holds_something_stays_so(self, tmp_path):
        """Whose it is to decide may have decided it: the audit says so."""
        file = tmp_path / "log"
        file.write_bytes(b"a line")
        file.chmod(0o640)
        os.close(private_file(file, os.O_WRONLY | os.O_APPEND))
        assert stat.S_IMODE(file.stat().st_mode) == 0o640

    def test_a_folder_that_is_there_stays_as_it_is_and_a_file_in_its_place_is_refused(self, tmp_path):
        tmp_path.chmod(0o750)
        private_folder(tmp_path)
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o750
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(FileExistsError):
            private_folder(tmp_path / "file")

    def test_a_place_is_in_a_vault_where_any_folder_above_it_is_one(self, tmp_path):
        assert not is_in_vault(tmp_path / "vault" / "cubes" / "c")
        (tmp_path / "vault" / "cubes").mkdir(parents=True)
        (tmp_path / "vault" / SETTINGS).write_text("")
        assert is_in_vault(tmp_path / "vault" / "cubes" / "c")
        assert not is_in_vault(tmp_path / "vault")


MAKERS = {"mkdir", "makedirs", "write_text", "write_bytes", "touch", "mkstemp", "mkdtemp", "TemporaryDirectory"}
NAMED_BY_A_USER = {
    "answer/view.py": "answers as CSV",
    "cli/audit_vault.py": "a report",
    "cli/demo.py": "the demo's folder",
    "cli/standing.py": "the folder of what was published",
    "cube/export.py": "exports",
    "cube/sdmx.py": "exports",
    "demo/console.py": "the demo's folder",
    "remote/cubes.py": "what was downloaded",
    "remote/published.py": "what was downloaded",
}
FOR_THEIR_OWNER = {
    "empirical/copies.py": "a temporary folder, mode 700 as Python makes it",
    "audit/recomputed.py": "a temporary folder",
    "audit/report.py": "a temporary folder",
    "home.py": "the folders above a vault",
    "native.py": "locks beside compiled kernels: no data",
    "ledger/receipt.py": "the folders above the user's receipts",
    "release/archive.py": "a temporary file, mode 600 as Python makes it",
    "release/folder_beside.py": "a temporary folder",
    "synthetic/rows.py": "in a temporary folder, from which files get their mode and their name at the end",
    "release/package.py": "in a temporary folder that gets its mode and its name at the end",
    "table/duck.py": "a temporary folder",
}


def test_nothing_else_makes_files_and_folders_by_the_umask():
    """A module that does so is named here with its reason, or takes them from `private.py`."""
    source = Path(discreet.__file__).parent
    making = {
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _makes(node)
    }
    assert making == {*NAMED_BY_A_USER, *FOR_THEIR_OWNER, "private.py"}


def _makes(call):
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    mode = next((a.value for a in call.args[1:2] if isinstance(a, ast.Constant)), "")
    return name in MAKERS or (name == "open" and isinstance(mode, str) and set(mode) & set("wax+") != set())


def test_a_count_that_is_planted_is_found(tmp_path):
    """The search itself: in words, in JSON, in arrays, in tables; and not within other numbers, or hashes."""
    home = tmp_path / "vault"
    home.mkdir()
    (home / "words").write_text("of 71,993 rows")
    (home / "json").write_text('{"counts":[3891]}')
    (home / "other").write_text("171993 a71993f 0.71993")
    pq.write_table(pa.table({"n": [1, 17_093]}), home / "t.parquet")
    Archive(home / "releases").save(1, [np.full(5000, 41_893)])
    found = {name.split("/")[1]: counts for name, counts in files_with_counts(home).items()}
    assert found == {"words": {71_993}, "json": {3_891}, "t.parquet": {17_093}, "releases": {41_893}}
