"""The vault: one directory that is made whole, opened by anyone who may, and never loses count."""

import errno
import json
import math
import os
import shutil
import sqlite3
import threading
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import (
    BudgetExceeded,
    DomainError,
    EngineError,
    InvalidBudget,
    InvalidNoise,
    JournalCorrupt,
    JournalError,
    JournalRolledBack,
    TableError,
    VaultError,
)
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Quantile
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault, propose_domain
from tests.power_cut import power_may_go


def init(**changes):
    settings = {"table": "people.parquet", "domain": "people.toml", "epsilon": 1, "neighbours": "replace", **changes}
    return Vault.init("vault", **settings)


@pytest.fixture
def vault(folder):  # noqa: ARG001
    return init()


class TestInit:
    def test_a_vault_does_what_the_readme_shows(self, folder):  # noqa: ARG002
        Vault.init("vault/", table="people.parquet", domain="people.toml", epsilon=1, neighbours="replace")
        vault = Vault.open("vault/")
        release = vault.measure(vault.count(age=(20, 50), sex="F"), scale=100)
        assert abs(release.value - 62) < 5000
        assert release.variance == pytest.approx(20_000, rel=1e-3)
        low, high = release.interval(0.95)
        assert (release.value - low, high - release.value) == (300, 300)
        assert release.guarantee.epsilon == Fraction(2, 100)
        assert str(release.receipt).startswith("3:")

    def test_the_directory_holds_these_files_and_keeps_the_private_ones_private(self, vault):
        modes = {path.name: path.stat().st_mode & 0o777 for path in vault.path.iterdir() if "-" not in path.name}
        assert set(modes) == {"vault.toml", "journal.sqlite", "key", "snapshots"}
        assert modes["journal.sqlite"] == modes["key"] == 0o600
        assert modes["snapshots"] == 0o700

    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"table": "nobody.parquet"}, TableError, "there is no file nobody.parquet"),
            ({"domain": "nobody.toml"}, DomainError, "cannot read nobody.toml"),
            ({"epsilon": 0}, InvalidBudget, "ε must be above 0"),
            ({"epsilon": -1}, InvalidBudget, "ε must be above 0"),
            ({"epsilon": math.nan}, InvalidBudget, "finite number above 0"),
            ({"epsilon": math.inf}, InvalidBudget, "finite number above 0"),
            ({"epsilon": "much"}, InvalidBudget, "finite number above 0"),
            ({"epsilon": "1e-30"}, InvalidBudget, "below what the ledger counts"),
            ({"epsilon": 10**9}, InvalidBudget, "ε is at most"),
            ({"neighbours": "bounded"}, InvalidBudget, "neighbours is one of add-remove, replace"),
            ({"table": 17}, TableError, "a table is a path, or"),
        ],
        ids=str,
    )
    def test_bad_input_is_refused_in_words_and_leaves_nothing(self, folder, changes, error, words):
        before = sorted(folder.iterdir())
        with pytest.raises(error, match=words):
            init(**changes)
        assert sorted(folder.iterdir()) == before

    def test_a_domain_that_does_not_match_the_columns_is_refused_by_name_and_type(self, folder):
        text = (folder / "people.toml").read_text()
        (folder / "other.toml").write_text(text.replace("attributes.sex", "attributes.gender"))
        with pytest.raises(DomainError, match="no column 'gender'; its columns are age, sex, income"):
            init(domain="other.toml")
        (folder / "other.toml").write_text(text.replace("attributes.sex", "attributes.income2"))
        pq.write_table(
            pa.table({"age": [1], "income": [1.0], "income2": pa.array([0], pa.timestamp("s"))}),
            folder / "people.parquet",
        )
        with pytest.raises(DomainError, match=r"column 'income2' is timestamp.*, but the domain says category"):
            init(domain="other.toml")
        assert not (folder / "vault").exists()

    def test_values_outside_the_domain_are_nobody_s_business(self, folder):
        pq.write_table(
            pa.table({"age": [-5, 500], "sex": ["X", "Y"], "income": [-1.0, 1e9]}), folder / "people.parquet"
        )
        vault = init()
        assert vault.measure(vault.count(), scale=100).charge == 2

    def test_what_is_there_already_is_left_alone(self, vault):
        before = (vault.path / "journal.sqlite").read_bytes()
        with pytest.raises(VaultError, match="vault is already there; open it, or choose another place"):
            init()
        assert (vault.path / "journal.sqlite").read_bytes() == before

    @pytest.mark.parametrize("step", ["fsync", "rename"])
    def test_a_full_disk_leaves_no_half_a_vault(self, folder, monkeypatch, step):
        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "rename")), full)
        before = sorted(folder.iterdir())
        with pytest.raises(VaultError, match="cannot be written; is there space"):
            init()
        assert sorted(folder.iterdir()) == before

    def test_all_of_a_new_vault_survives_a_power_cut(self, folder):
        with power_may_go(folder) as disk:
            vault = init()
        files = [path for path in vault.path.rglob("*") if path.is_file()]
        of_sqlite = {path for path in files if path.name.startswith("journal.sqlite")}  # which syncs what it writes
        assert [path for path in files if path not in of_sqlite and not disk.keeps(path)] == []
        assert disk.keeps_name(vault.path / "journal.sqlite")

    def test_a_vault_can_be_made_in_a_place_with_odd_letters(self, folder):
        odd = folder / 'it\'s "odd" [bold] ü'
        odd.mkdir()
        shutil.copy("people.parquet", odd / "pe*ple.parquet")
        vault = Vault.init(
            odd / "vault", table=odd / "pe*ple.parquet", domain="people.toml", epsilon=1, neighbours="replace"
        )
        assert Vault.open(vault.path).measure(vault.count(), scale=100).charge == 2


class TestOpen:
    @pytest.mark.parametrize("name", ["nowhere", "people.toml", "."])
    def test_what_is_no_vault_is_said_to_be_none(self, folder, name):  # noqa: ARG002
        with pytest.raises(VaultError, match="is not a vault; make one with `discreet init`"):
            Vault.open(name)

    @pytest.mark.parametrize("lost", ["journal.sqlite", "vault.toml"])
    def test_a_vault_that_lost_a_file_is_not_made_again(self, vault, lost):
        (vault.path / lost).unlink()
        with pytest.raises(VaultError, match=f"has lost its {lost}; restore it from a backup"):
            Vault.open(vault.path)

    def test_a_vault_without_its_key_reads_no_rows(self, vault):
        (vault.path / "key").unlink()
        with pytest.raises(VaultError, match="without it the table cannot be recognised"):
            Vault.open(vault.path).measure(vault.count(), scale=100)
        assert vault.budget().spent == 0

    @pytest.mark.parametrize(
        "text", ["", "[table", "[table]\n", "table = 1", "[policy]\nconfidence = 2\n", b"\xff\xfe"]
    )
    def test_unreadable_settings_are_an_error_in_words(self, vault, text):
        (vault.path / "vault.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(VaultError, match=r"vault\.toml"):
            Vault.open(vault.path)

    @pytest.mark.parametrize("added", ["epsilon = 1000\n", '[budget]\nepsilon = "1000"\n', "[domain]\nname = 'x'\n"])
    def test_settings_cannot_change_the_budget_or_the_domain(self, vault, added):
        settings = vault.path / "vault.toml"
        settings.write_text(added + settings.read_text())
        with pytest.raises(VaultError, match=r"has no \[\w+\]; it takes \[table\]"):
            Vault.open(vault.path)

    def test_the_domain_is_the_one_that_the_vault_was_made_with(self, vault):
        Path("people.toml").write_text("name = 'changed'")
        assert Vault.open(vault.path).domain == vault.domain

    def test_receipts_and_answers_come_back(self, vault):
        release = vault.measure(vault.count(by="sex"), scale=100)
        again = Vault.open(vault.path)
        [listed] = again.releases()
        assert listed.value.tolist() == release.value.tolist()
        assert again.release(release.charge).receipt == release.receipt
        with pytest.raises(VaultError, match="there is no release 17"):
            again.release(17)


class TestMeasure:
    @pytest.mark.parametrize("scale", [0, -5, math.nan, math.inf, "lots", None])
    def test_noise_that_is_none_is_refused_and_costs_nothing(self, vault, scale):
        with pytest.raises((InvalidNoise, VaultError)):
            vault.measure(vault.count(), scale=scale)
        assert [entry.kind for entry in vault.ledger.entries()] == ["init"]

    def test_a_plan_has_its_own_scales(self, vault):
        plan = Plan((Measurement(vault.count(), Laplace(Fraction(100))),))
        with pytest.raises(VaultError, match="a plan has its own scales"):
            vault.measure(plan, scale=7)
        assert vault.measure(plan).variance == vault.measure(vault.count(), scale=100).variance

    def test_a_charge_beyond_the_budget_is_refused_with_what_is_left_and_where(self, vault):
        vault.measure(vault.count(sex="F"), scale=4)
        with pytest.raises(BudgetExceeded, match=r"ε = 1/2 left \(.*sex F\) and the query needs 1;"):
            vault.measure(vault.count(), scale=2)
        assert vault.budget().spent == Fraction(1, 2)
        vault.measure(vault.count(sex="M"), scale=2)

    def test_conditions_say_which_people(self, vault):
        query = vault.count(age=(20, 50), sex=["F", None], income=(10_000, 50_000))
        assert query.where.volume == 31 * 2 * 2
        assert vault.count(by="sex") == vault.count(by=("sex",)) == vault.count(by=["sex"])
        assert vault.sum("income", sex="F", by="age").of == "income"

    @pytest.mark.parametrize(
        ("conditions", "words"),
        [
            ({"aeg": 5}, "did you mean age"),
            ({"age": "old"}, "age takes a whole number"),
            ({"sex": "X"}, "sex has no value 'X'; there are F, M"),
            ({"income": (1, 2)}, "no edge at 1"),
            ({"age": None}, "age has no code for missing values"),
            ({"by": "sx"}, "did you mean sex"),
        ],
        ids=str,
    )
    def test_conditions_that_the_domain_does_not_know_are_refused(self, vault, conditions, words):
        with pytest.raises(DomainError, match=words):
            vault.count(**conditions)

    def test_quantiles_are_measured_like_everything_else(self, vault):
        release = vault.measure(Quantile("age", Fraction(1, 2), vault.domain.everything), scale=10)
        assert 0 <= release.value <= 99

    def test_many_threads_share_one_budget(self, vault):
        refused = []

        def spend():
            opened = Vault.open(vault.path)
            for _ in range(5):
                try:
                    opened.measure(opened.count(), scale=20)
                except BudgetExceeded:
                    refused.append(1)

        threads = [threading.Thread(target=spend) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 10
        assert vault.budget().spent == 1
        assert len(list(vault.releases())) == 10


class TestCompletion:
    def test_an_engine_that_fails_half_way_keeps_the_charge_and_complete_finishes_it(self, vault, monkeypatch):
        def fail(*_):
            raise RuntimeError("row 17: Ann, 34, F")

        with monkeypatch.context() as broken:
            broken.setattr(Snapshot, "evaluate", fail)
            with pytest.raises(EngineError, match="charge 2 stands") as raised:
                vault.measure(vault.count(), scale=100)
        assert "Ann" not in str(raised.value)
        report = Vault.open(vault.path).budget()
        assert (report.spent, report.charges, report.pending) == (Fraction(1, 50), 1, (2,))
        [finished] = Vault.open(vault.path).complete()
        assert finished.charge == 2
        assert vault.budget().pending == ()
        assert vault.budget().spent == Fraction(1, 50)
        assert vault.complete() == []

    def test_a_full_disk_spends_nothing_that_was_not_journalled(self, vault, monkeypatch):
        def full(self, entry):  # noqa: ARG001
            raise JournalError("the journal failed: the disk is full", "nothing was written: free some space")

        with monkeypatch.context() as broken:
            broken.setattr("discreet.ledger.sqlite.SQLiteJournal.append", full)
            broken.setattr(Snapshot, "evaluate", lambda *_: pytest.fail("was read"))
            with pytest.raises(JournalError, match="the disk is full"):
                vault.measure(vault.count(), scale=100)
        assert vault.budget().spent == 0
        assert vault.measure(vault.count(), scale=100).charge == 2


class TestJournalInBadShape:
    def test_a_truncated_journal_is_refused(self, vault):
        vault.ledger.close()
        journal = vault.path / "journal.sqlite"
        journal.write_bytes(journal.read_bytes()[:100])
        with pytest.raises(JournalCorrupt):
            Vault.open(vault.path)

    def test_a_journal_of_garbage_is_refused(self, vault):
        vault.ledger.close()
        (vault.path / "journal.sqlite").write_bytes(b"not a journal" * 1000)
        with pytest.raises(JournalCorrupt, match="damaged"):
            Vault.open(vault.path)

    @pytest.mark.parametrize("seq", [1, 2, 3])
    def test_an_edited_entry_is_noticed(self, vault, seq):
        vault.measure(vault.count(), scale=100)
        vault.ledger.close()
        with sqlite3.connect(vault.path / "journal.sqlite") as connection:
            connection.execute("DROP TRIGGER entries_stay")
            connection.execute("UPDATE entries SET body = REPLACE(body, '1', '2') WHERE seq = ?", (seq,))
        with pytest.raises(JournalCorrupt, match=f"damaged or was edited at entry {seq}"):
            Vault.open(vault.path)

    def test_an_old_copy_put_back_is_noticed_and_can_be_accepted_on_the_record(self, vault):
        vault.ledger.close()
        shutil.copytree(vault.path, "backup")
        seen = Vault.open(vault.path)
        receipt = seen.measure(seen.count(), scale=100).receipt
        seen.ledger.close()
        shutil.rmtree(vault.path)
        shutil.copytree("backup", vault.path)
        with pytest.raises(JournalRolledBack, match="an older copy was put back"):
            Vault.open(vault.path)
        accepted = Vault.open(vault.path, accept_rollback=True)
        assert [line["kind"] for line in accepted.entries()] == ["init", "rollback-accepted"]
        with pytest.raises(JournalRolledBack):
            accepted.check_receipt(receipt)
        assert Vault.open(vault.path).budget().spent == 0

    def test_a_receipt_that_is_none_is_refused(self, vault):
        with pytest.raises(VaultError, match="a receipt looks like 17:ab12"):
            vault.check_receipt("17")
        vault.check_receipt(str(vault.ledger.head))


class TestRefresh:
    def change(self, rows=5):
        frame = pa.table({"age": [1] * rows, "sex": ["F"] * rows, "income": [1.0] * rows})
        pq.write_table(frame, "people.parquet")

    def test_what_the_source_does_is_nothing_to_the_vault_until_refresh_takes_it_in(self, vault):
        vault.measure(vault.count(), scale=100)
        rows = vault.gate._table().rows.size
        assert vault.source_state() == "not written to since the snapshot"
        self.change()
        assert vault.source_state().startswith("written to since the snapshot")
        assert vault.gate._table().rows.size == rows
        os.unlink("people.parquet")
        assert vault.source_state() == "cannot be reached"
        self.change()
        vault.refresh()
        assert vault.gate._table().rows.size == 5
        release = vault.measure(vault.count(), scale=4)
        assert abs(release.value - 5) < 400
        assert vault.budget().spent == Fraction(2, 100) + Fraction(1, 2)

    def test_another_holder_reads_the_new_table_after_a_refresh(self, vault):
        other = Vault.open(vault.path)
        for _ in range(3):  # from memory by now
            other.measure(other.count(), scale=100)
        self.change(rows=200_000)
        vault.refresh()
        assert abs(other.measure(other.count(), scale=100).value - 200_000) < 10_000

    def test_a_holder_follows_the_table_to_another_place(self, vault):
        other = Vault.open(vault.path)
        other.measure(other.count(), scale=100)
        shutil.move("people.parquet", "moved.parquet")
        vault.refresh("moved.parquet")
        assert other.measure(other.count(), scale=100).charge
        assert Vault.open(vault.path).location.endswith("moved.parquet")

    @pytest.mark.parametrize("damage", [False, True])
    def test_the_very_rows_under_another_name_are_recognised_where_that_is_wanted(self, vault, damage):
        bought = vault.ask("SELECT COUNT(*) FROM people", scale=100)
        shutil.copy("people.parquet", "copy.parquet")
        snapshot, head = vault.ledger.snapshot, vault.ledger.head
        if damage:  # then a new one is what is needed
            [codes] = (vault.path / "snapshots").glob("*/codes-0")
            codes.chmod(0o600)
            codes.write_bytes(codes.read_bytes()[:-1] + b"\x07")
            vault = Vault.open(vault.path)
        receipt = vault.refresh("copy.parquet", unless_same=True)
        assert (vault.ledger.snapshot == snapshot, receipt == head) == (not damage, not damage)
        assert vault.location.endswith("copy.parquet")
        assert len(list((vault.path / "snapshots").iterdir())) == 1
        if not damage:
            again = vault.ask("SELECT COUNT(*) FROM people", scale=100)
            assert (again.kind, again.rows[0].value) == ("repeated", bought.rows[0].value)
        self.change()
        vault.refresh("people.parquet", unless_same=True)
        assert vault.ledger.snapshot.number == snapshot.number + 1 + damage

    def test_the_command_stays_over_the_very_rows_unless_it_is_told_again(self, vault):
        def refresh(*more):
            done = CliRunner().invoke(app, ["refresh", str(vault.path), *more])
            assert done.exit_code == 0, done.output
            return done.output

        assert "has the very rows of snapshot 1: the vault stays over it" in refresh()
        assert json.loads(refresh("--json"))["same"] is True
        again = json.loads(refresh("--json", "--again"))
        assert (again["same"], again["snapshot"]) == (False, 2)

    def test_settings_other_than_the_location_survive(self, vault):
        settings = vault.path / "vault.toml"
        settings.write_text(settings.read_text().replace("confidence = 0.95", "confidence = 0.9  # mine"))
        shutil.copy("people.parquet", "copy.parquet")
        vault.refresh("copy.parquet")
        assert "confidence = 0.9  # mine" in settings.read_text()
        assert f'location = "{Path("copy.parquet").absolute()}"' in settings.read_text()
        assert [path.name for path in vault.path.glob(".*")] == []

    def test_settings_in_another_layout_are_not_guessed_at(self, vault):
        (vault.path / "vault.toml").write_text('table = {location = "people.parquet"}\n')
        shutil.copy("people.parquet", "copy.parquet")
        with pytest.raises(VaultError, match="is not laid out as it was made"):
            Vault.open(vault.path).refresh("copy.parquet")

    def test_a_table_with_other_columns_is_refused(self, vault):
        pq.write_table(pa.table({"age": [1]}), "other.parquet")
        with pytest.raises(DomainError, match="no column 'sex'"):
            vault.refresh("other.parquet")
        assert vault.measure(vault.count(), scale=100).charge == 2

    def test_moving_the_file_needs_only_its_new_place(self, vault):
        shutil.move("people.parquet", "moved.parquet")
        settings = vault.path / "vault.toml"
        settings.write_text(settings.read_text().replace("people.parquet", "moved.parquet"))
        again = Vault.open(vault.path)
        assert again.measure(again.count(), scale=100).charge == 2


class TestFrames:
    @pytest.fixture
    def frame(self, folder):  # noqa: ARG002
        return pq.read_table("people.parquet")

    def test_a_frame_is_handed_over_once(self, frame):
        vault = init(table=frame.to_pandas())
        assert vault.measure(vault.count(), scale=100).charge == 2
        again = Vault.open(vault.path)
        assert again.measure(again.count(), scale=100).charge == 4

    def test_another_frame_is_taken_in_by_refresh_only(self, frame):
        vault = init(table=frame)
        changed = Vault.open(vault.path, table=frame.slice(0, 100))
        assert changed.measure(changed.count(), scale=100).charge == 2
        assert changed.ledger.snapshot.number == 1
        changed.refresh()
        assert vault.ledger.snapshot.number == 2
        assert vault.gate._table().rows.size == 100

    def test_refresh_without_the_frame_asks_for_it(self, frame):
        init(table=frame)
        with pytest.raises(TableError, match="hand it over again"):
            Vault.open("vault").refresh()

    def test_a_frame_can_give_way_to_a_file(self, frame):
        vault = init(table=frame)
        vault.refresh("people.parquet")
        assert Vault.open("vault").measure(vault.count(), scale=100).charge == 3


class TestWords:
    def test_the_description_is_public_and_plain_json(self, vault):
        described = json.loads(json.dumps(vault.describe()))
        assert described["name"] == "people"
        assert described["points"] == 100 * 3 * 4
        assert [a["values"] for a in described["attributes"]] == [
            "0, 1, 2, …, 97, 98, 99",
            "F, M, (missing)",
            "[0, 10000), [10000, 25000), [25000, 50000), [50000, 100000)",
        ]

    def test_a_wide_attribute_is_described_at_once(self, folder):
        text = (folder / "people.toml").read_text().replace("high = 99", f"high = {2**53}")
        (folder / "people.toml").write_text(text)
        assert init().describe()["attributes"][0]["values"].endswith(f"…, {2**53 - 2}, {2**53 - 1}, {2**53}")

    def test_the_journal_speaks_sql(self, vault):
        vault.measure(vault.count(age=(20, 50), sex="F", by="age"), scale="12.5")
        vault.measure(Plan((Measurement(vault.count(), Laplace(Fraction(100))),) * 3))
        words = [line["what"] for line in vault.entries()]
        assert words[0].startswith("a vault over people: differential privacy, ε = 1, neighbours: replace")
        assert words[1] == (
            "SELECT age, COUNT(*) FROM people WHERE age BETWEEN 20 AND 50 AND sex = 'F' GROUP BY age, scale 12.5"
        )
        assert words[2] == "the answer of 2"
        assert words[3] == "SELECT COUNT(*) FROM people, scale 100; and 2 more"

    @pytest.mark.parametrize(
        ("file", "name"),
        [
            ("people.parquet", "people"),
            ("my people.v2.parquet", "my_people"),
            ("2024.parquet", "t_2024"),
            ("ü.parquet", "t__"),
        ],
    )
    def test_a_proposal_takes_its_name_from_the_file(self, folder, file, name):
        if file != "people.parquet":
            shutil.copy("people.parquet", file)
        assert f'name = "{name}"' in propose_domain(file)
        assert f'name = "{name}"' in propose_domain(folder / file)
        assert 'name = "chosen"' in propose_domain(file, "chosen")


@pytest.mark.parametrize(
    ("there", "words"),
    [("folder", "a folder with other things in it"), ("empty", "an empty folder"), ("file", "no vault")],
)
def test_a_vault_is_never_made_over_something_else(tmp_path, there, words):
    home = tmp_path / "here"
    if there == "file":
        home.write_text("mine")
    else:
        home.mkdir()
    if there == "folder":
        (home / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(VaultError, match=f"{words}.*nothing was touched; give a place that is not there yet"):
        Vault.init(home, table="none.csv", domain="none.toml", epsilon=1, neighbours="replace")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
