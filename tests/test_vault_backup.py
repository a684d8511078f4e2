"""A backup is whole whatever is asked meanwhile, and a vault that comes back gives back no budget without saying so."""

import json
import os
import shutil
import stat
import tarfile
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.errors import JournalRolledBack, VaultError
from discreet.release import archive
from discreet.server.auth import add_user, authenticate
from discreet.vault import Vault
from tests.conftest import PEOPLE_DOMAIN

ASK = "SELECT COUNT(*) FROM people WHERE age < {}"


@pytest.fixture
def vault(tmp_path):
    rows = range(600)
    columns = {"age": [i % 100 for i in rows], "sex": [("F", "M", None)[i % 3] for i in rows],
               "income": [float(i * 157 % 100_000) for i in rows]}  # fmt: skip
    pq.write_table(pa.table(columns), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(PEOPLE_DOMAIN)
    return Vault.init(tmp_path / "vault", table=tmp_path / "people.parquet", domain=tmp_path / "people.toml",
                      epsilon=10, neighbours="replace")  # fmt: skip


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Another machine, where nobody has seen the vault."""

    def go():
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))

    return go


def test_a_vault_comes_back_with_all_that_it_had(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "JOURNAL_CELLS", 1)  # so that a release has a file of its own
    token = add_user(vault.path, "ana", "analyst", quota="1")
    asked = vault.ask(f"SELECT sex, {ASK[7:].format(50)} GROUP BY sex", scale=10)
    (vault.path / "cubes").mkdir()
    vault.cubes.publish(vault.cubes.plan(epsilon=1, cuboids=1)).save(vault.path / "cubes" / "one")
    made = vault.backup(tmp_path / "backup.tar")
    assert stat.S_IMODE(os.stat(made.file).st_mode) == 0o600
    shutil.rmtree(vault.path)
    back = Vault.restore(made.file, vault.path)
    assert back.proof == "complete"
    again = Vault.open(vault.path)
    assert str(again.ledger.head) == str(made.receipt)
    assert [row.value for row in again.ask(asked.text, scale=10).rows] == [row.value for row in asked.rows]
    assert again.ask(ASK.format(7), scale=10).kind == "measured"
    assert authenticate(vault.path, token).name == "ana"
    assert (vault.path / "cubes" / "one" / "datapackage.json").is_file()
    assert stat.S_IMODE(os.stat(vault.path / "key").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(vault.path).st_mode) == 0o700


def test_a_backup_that_is_taken_while_questions_are_answered_is_whole(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "JOURNAL_CELLS", 0)
    over, begun = threading.Event(), threading.Event()

    def keep_asking(first):
        for number in range(first, 100, 4):
            vault.ask(ASK.format(number), scale=2000)
            begun.set()
            if over.is_set():
                return

    askers = [threading.Thread(target=keep_asking, args=(first,)) for first in range(1, 5)]
    for asker in askers:
        asker.start()
    begun.wait()
    made = [vault.backup(tmp_path / f"{number}.tar") for number in range(3)]
    over.set()
    for asker in askers:
        asker.join()
    shutil.rmtree(vault.path)
    for backup in made:
        home = tmp_path / f"back-{backup.file.stem}"
        assert Vault.restore(backup.file, home, accept_rollback=True).receipt == backup.receipt
        back = Vault.open(home)
        for charge, _ in back.ledger.answered():
            back.release(charge.id)  # raises unless its file is there, and is what the journal says
        assert audit_vault(home).holds


def test_what_was_spent_after_a_backup_is_not_given_back_in_silence(vault, tmp_path):
    made = vault.backup(tmp_path / "backup.tar")
    vault.ask(ASK.format(40), scale=10)
    shutil.rmtree(vault.path)
    with pytest.raises(JournalRolledBack, match=f"ends with entry {made.receipt.seq}; entry {made.receipt.seq + 2}"):
        Vault.restore(made.file, vault.path)
    assert not vault.path.exists()
    back = Vault.restore(made.file, vault.path, accept_rollback=True)
    assert back.proof == "accepted"
    again = Vault.open(vault.path)
    assert again.ledger.guarantee.epsilon == 20  # what was lost may have been all of it
    assert any(entry["kind"] == "rollback-accepted" for entry in again.entries())


def test_where_nobody_saw_the_vault_that_is_said_and_a_receipt_decides(vault, tmp_path, elsewhere):
    made = vault.backup(tmp_path / "backup.tar")
    vault.ask(ASK.format(40), scale=10)
    later = vault.ledger.head
    elsewhere()
    assert Vault.restore(made.file, tmp_path / "one").proof == "unknown"
    elsewhere()
    shutil.rmtree(tmp_path / "elsewhere")
    assert Vault.restore(made.file, tmp_path / "two", receipt=str(made.receipt)).proof == "complete"
    shutil.rmtree(tmp_path / "elsewhere")
    with pytest.raises(JournalRolledBack):
        Vault.restore(made.file, tmp_path / "three", receipt=str(later))
    assert Vault.restore(made.file, tmp_path / "three", receipt=str(later), accept_rollback=True).proof == "accepted"
    assert Vault.open(tmp_path / "three").ledger.guarantee.epsilon == 20
    with pytest.raises(VaultError, match="receipt looks like"):
        Vault.restore(made.file, tmp_path / "four", receipt="17")


def test_a_refresh_in_the_middle_begins_the_backup_anew(vault, tmp_path, monkeypatch):
    import discreet.vault.backup as under_test

    files, times = under_test._files, []

    def refreshed(home):
        if not times:
            times.append(vault.refresh())
        return files(home)

    monkeypatch.setattr(under_test, "_files", refreshed)
    made = vault.backup(tmp_path / "backup.tar")
    assert made.receipt == vault.ledger.head
    Vault.restore(made.file, tmp_path / "back")
    assert Vault.open(tmp_path / "back").ask(ASK.format(40), scale=10).kind == "measured"


def test_nothing_is_written_over_and_nothing_half_is_left(vault, tmp_path):
    made = vault.backup(tmp_path / "backup.tar")
    with pytest.raises(VaultError, match="already there"):
        vault.backup(made.file)
    with pytest.raises(VaultError, match="already there"):
        Vault.restore(made.file, vault.path)
    with pytest.raises(VaultError, match="no file"):
        Vault.restore(tmp_path / "none.tar", tmp_path / "back")
    with pytest.raises(VaultError, match="cannot be written"):
        vault.backup(tmp_path / "none" / "backup.tar")


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "outside", "link", "more"])
def test_a_damaged_backup_is_refused_and_leaves_nothing(vault, tmp_path, harm):
    made = vault.backup(tmp_path / "backup.tar")
    content = bytearray(made.file.read_bytes())
    if harm == "cut":
        content = content[: len(content) // 2]
    elif harm == "flipped":
        place = content.find(b"SQLite format 3") + 5000
        content[place] ^= 1
    elif harm == "empty":
        content = bytearray()
    made.file.write_bytes(content)
    if harm in ("outside", "link", "more"):
        info = tarfile.TarInfo("../stray" if harm == "outside" else "stray")
        info.type, info.linkname = (tarfile.SYMTYPE, "/etc/passwd") if harm == "link" else (tarfile.REGTYPE, "")
        with tarfile.open(tmp_path / "other.tar", "w") as other, tarfile.open(made.file) as whole:
            other.addfile(info)
            for member in whole:
                other.addfile(member, whole.extractfile(member))
        made.file.write_bytes((tmp_path / "other.tar").read_bytes())
    with pytest.raises(VaultError, match="no backup of a vault, or was damaged"):
        Vault.restore(made.file, tmp_path / "back")
    assert not (tmp_path / "back").exists()
    assert not (tmp_path / "stray").exists()


def test_both_are_one_command(vault, tmp_path):
    run = CliRunner().invoke
    made = run(app, ["backup", str(vault.path), str(tmp_path / "b.tar"), "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["receipt"] == str(vault.ledger.head)
    vault.ask(ASK.format(40), scale=10)
    refused = run(app, ["restore", str(tmp_path / "b.tar"), str(tmp_path / "back")])
    assert refused.exit_code == 1
    assert "would be spent again" in " ".join(refused.output.split())
    accepted = run(app, ["restore", str(tmp_path / "b.tar"), str(tmp_path / "back"), "--accept-rollback"])
    assert accepted.exit_code == 0
    assert "every guarantee counts it" in " ".join(accepted.output.split())
    told = run(app, ["backup", str(tmp_path / "back"), str(tmp_path / "c.tar")])
    assert "up to entry 2" in told.output
