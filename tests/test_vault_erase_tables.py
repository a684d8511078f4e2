"""Erasure over several tables: a person goes out of all of them, and nobody else's row moves in any."""

import json
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app, present
from discreet.errors import DomainError, EngineError, TableError
from discreet.home import left_behind
from discreet.ledger import checkpoint
from discreet.table.erase import erased_in
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from discreet.vault.succession import current_snapshots
from tests.domain.test_read_tables import ALL

PEOPLE = 60


def hospital(people=range(PEOPLE)):
    """Of everybody three encounters, each with two prescriptions; keys that are the same whoever else is there."""
    encounters = [(one, 100 * one + n, "abc"[n]) for one in people for n in range(3)]
    return {
        "patients": pd.DataFrame(
            {"patient": [*people], "sex": ["FM"[p % 2] for p in people], "age": [1 for _ in people]}
        ),
        "encounters": pd.DataFrame(encounters, columns=["patient", "encounter", "ward"]),
        "prescriptions": pd.DataFrame(
            [(key, drug) for _, key, _ in encounters for drug in "xy"], columns=["encounter", "drug"]
        ),
    }


def gone(*ids, column="patient"):
    return pa.table({column: pa.array([str(each) for each in ids], pa.string())})


@pytest.fixture
def vault(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(present.out, "_width", 200)
    (tmp_path / "hospital.toml").write_text(ALL)
    for name, frame in hospital().items():
        frame.to_parquet(f"{name}.parquet")
    files = {name: f"{name}.parquet" for name in hospital()}
    return Vault.init("vault", table=files, domain="hospital.toml", neighbours="add-remove", epsilon=1000)


def rows_of(vault):
    """What is kept in each table: columns with everybody's key, in their order."""
    found = {}
    for one in current_snapshots(vault):
        columns = [name for name in sorted(one.manifest["columns"]) if name.startswith(("codes", "units"))]
        keys = one.column("people")[one.column("person")]
        found[one.folder.name] = list(zip(keys.tolist(), *(one.column(name).tolist() for name in columns), strict=True))
    return found


def sizes(vault):
    return {name: len(rows) for name, rows in rows_of(vault).items()}


def run(*line, fails=False):
    result = CliRunner().invoke(app, line)
    assert (result.exit_code != 0) == fails, result.output + repr(result.exception)
    return " ".join(result.output.split())


def test_a_persons_rows_go_from_all_tables_and_every_other_row_is_where_it_was(vault):
    before = rows_of(vault)
    vault.erase(gone(0, 7, "nobody"))
    after = rows_of(vault)
    [patients] = {len(before["patients"]) - len(after["patients"])}
    assert patients == 2
    out = {row[0] for row in before["patients"]} - {row[0] for row in after["patients"]}
    assert after == {name: [row for row in rows if row[0] not in out] for name, rows in before.items()}
    assert [path.name[:6] for path in (vault.path / "snapshots").iterdir()] == ["000002"]
    assert {path.stat().st_mode & 0o777 for path in (vault.path / "snapshots").glob("*/*/*")} == {0o600}


def test_nothing_is_levelled_and_what_was_released_answers_nothing_new(vault):
    sql = "SELECT COUNT(*) FROM encounters WHERE sex = 'F'"
    vault.ask(sql, scale=30)
    left, promise = vault.table("patients").ledger.left_by((0,)).tolist(), vault.ledger.guarantee
    vault.erase(gone(0))
    for seen in (vault, Vault.open("vault")):
        assert seen.table("patients").ledger.left_by((0,)).tolist() == left
        assert seen.ledger.guarantee == promise
    assert vault.ask("SELECT COUNT(*) FROM encounters", scale=30).rows[0].kind == "measured"
    assert audit_vault(vault).holds


def test_it_is_opened_from_a_checkpoint_as_it_was(vault, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 3)
    vault.erase(gone(0))
    for scale in range(20, 30):
        vault.ask("SELECT COUNT(*) FROM prescriptions WHERE drug = 'x'", scale=scale, relax=False)
    again = Vault.open("vault")
    assert again.ledger._followed.state.begun_at.seq > 2
    assert sizes(again) == {"patients": 59, "encounters": 177, "prescriptions": 295}
    assert again.budget() == vault.budget()


def test_a_charge_that_was_cut_off_before_it_is_closed(vault, monkeypatch):
    def die(*_):
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr(Snapshot, "evaluate", die)
        with pytest.raises(EngineError, match="stands"):
            vault.ask("SELECT COUNT(*) FROM encounters", scale=30)
    vault.erase(gone(0))
    assert vault.complete() == []
    assert vault.ledger.closed() == [2]


class TestWhoComesBack:
    def test_a_refresh_leaves_them_out_of_every_table_and_says_so_to_the_custodian(self, vault):
        vault.erase(gone(0, 1))
        seen = []
        vault.refresh(fitted=seen.append)
        assert sizes(vault) == {"patients": 58, "encounters": 174, "prescriptions": 290}
        lost = {fit.table: (fit.erased, fit.nameless) for fit in seen}
        # Also of the rows below that have no id of their own: they are known by their parents.
        assert lost == {"patients": (2, 0), "encounters": (6, 0), "prescriptions": (12, 0)}
        assert not any(fit.loses_more_than(0.2) for fit in seen)

    def test_sources_without_them_are_those_that_the_vault_is_over(self, vault):
        vault.erase(gone(0, 1))
        head = vault.ledger.head
        assert vault.refresh(hospital(range(2, PEOPLE)), unless_same=True) == head
        assert vault.refresh(unless_same=True) == head

    def test_they_may_be_taken_back_by_a_refresh_which_levels(self, vault):
        vault.ask("SELECT COUNT(*) FROM patients WHERE sex = 'F'", scale=4)
        vault.erase(gone(0, 1))
        spent = vault.ledger.spent_max
        vault.refresh(readmit=True)
        assert sizes(vault)["patients"] == PEOPLE
        left = vault.table("patients").ledger.left_by((0,)).tolist()
        assert left == [vault.ledger.budget.limit - spent] * 2
        assert erased_in(current_snapshots(vault)[0]) is None

    def test_the_mark_outlives_a_backup(self, vault):
        vault.erase(gone(0))
        vault.backup("backup.tar")
        again = Vault.open(Vault.restore("backup.tar", "back").vault)
        again.refresh()
        assert sizes(again)["encounters"] == 3 * PEOPLE - 3

    def test_where_the_mark_is_lost_nobody_comes_back_unsaid(self, vault):
        vault.erase(gone(0))
        [mark] = (vault.path / "snapshots").glob("*/patients/erased")
        mark.unlink()
        again = Vault.open("vault")
        with pytest.raises(TableError, match="whom to leave out stands in its snapshot, which cannot be read"):
            again.refresh()
        assert again.ledger.head == vault.ledger.head


class TestIdsOfManyNames:
    """Each table may call its column of ids differently."""

    @pytest.fixture
    def vault(self, vault):
        (vault.path.parent / "other.toml").write_text(ALL.replace('id = "patient"\nparent', 'id = "person"\nparent'))
        tables = hospital()
        tables["encounters"] = tables["encounters"].rename(columns={"patient": "person"})
        return Vault.init("other", table=tables, domain="other.toml", neighbours="add-remove", epsilon=1)

    @pytest.mark.parametrize("column", ["patient", "person"])
    def test_a_file_has_one_of_them(self, vault, column):
        vault.erase(gone(0, column=column))
        assert sizes(vault) == {"patients": 59, "encounters": 177, "prescriptions": 295}

    @pytest.mark.parametrize(
        ("columns", "said"),
        [(["who"], "called as that of a table: patient, person; it has none"), (["patient", "person"], "leave one in")],
    )
    def test_one_that_has_none_or_both_is_refused(self, vault, columns, said):
        with pytest.raises(DomainError, match=said):
            vault.erase(pa.table({column: ["0"] for column in columns}))
        assert vault.ledger.head.seq == 1


@pytest.mark.parametrize("ids", [(0,), (1, 3, 5), ("nobody",), ()], ids=["one", "three", "nobody there", "no id"])
def test_the_journal_and_the_command_say_the_same_whoever_is_named(vault, ids):
    with open("gone.csv", "w") as file:
        file.write("patient\n" + "".join(f"{each}\n" for each in ids))
    said = run("erase", "vault", "--ids", "gone.csv")
    [entry] = list(vault.ledger.entries())[1:]
    body = entry.parsed()
    assert (entry.kind, sorted(body), sorted(body["content"])) == ("erase", ["at", "content", "v"], ["snapshot"])
    assert said.startswith("The vault is now over snapshot 2, without those whom gone.csv names.")
    places = ", ".join(f"{vault.path.parent.absolute()}/{name}.parquet" for name in hospital())
    assert f"- the tables themselves, {places}, and the file of ids: a refresh leaves out whom they still name" in said


def test_as_json(vault):
    with open("gone.csv", "w") as file:
        file.write("patient\n7\n")
    told = json.loads(run("erase", "vault", "--ids", "gone.csv", "--json"))
    assert (sorted(told), told["snapshot"]) == (["beyond", "receipt", "snapshot"], 2)
    assert sizes(vault)["prescriptions"] == 5 * (PEOPLE - 1)


KILLED = """
import os, signal, sys
from discreet.ledger.ledger import Ledger
from discreet.table import take
from discreet.vault import Vault, succession
import pyarrow as pa

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
whole, calls = take.ColumnFiles.about, []
def second(files):
    calls.append(files)
    return whole(files) if len(calls) < 2 else die()
match sys.argv[1]:
    case "between two tables":
        take.ColumnFiles.about = second
    case "before it is journalled":
        Ledger.note_erasure = die
    case "before the old one is removed":
        succession.forget_snapshots = die
Vault.open("vault").erase(pa.table({"patient": ["0"]}))
"""


@pytest.mark.parametrize(
    ("moment", "done"),
    [("between two tables", False), ("before it is journalled", False), ("before the old one is removed", True)],
)
def test_one_that_was_killed_is_done_in_all_tables_or_in_none(vault, moment, done):
    killed = subprocess.run([sys.executable, "-c", KILLED, moment], check=False)
    assert killed.returncode == -signal.SIGKILL
    again = Vault.open("vault")
    assert sizes(again) == {
        "patients": PEOPLE - done,
        "encounters": 3 * (PEOPLE - done),
        "prescriptions": 5 * (PEOPLE - done),
    }
    assert (again.ledger.snapshot.number, left_behind(vault.path, again.ledger.snapshot)) == (1 + done, [])
    again.erase(gone(0))
    assert np.unique([*sizes(again).values()]).tolist() == [59, 177, 295]
