"""The command line as a new user types it: readable in 80 columns, and as JSON with the field names of Python."""

import gc
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app, present
from discreet.ledger.asker import Asker
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault

INIT = "init vault --table people.parquet --domain people.toml --epsilon 1 --neighbours replace"


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch):
    for console in (present.out, present.err):
        monkeypatch.setattr(console, "_width", 80)


def run(line, exit_code=0):
    """Type a command; returns what it prints, or on failure what it says on standard error."""
    result = CliRunner().invoke(app, line if isinstance(line, list) else line.split())
    assert result.exit_code == exit_code, result.output + repr(result.exception)
    return result.stdout if exit_code == 0 else result.stderr


def run_json(line, exit_code=0):
    result = CliRunner().invoke(app, [*(line if isinstance(line, list) else line.split()), "--json"])
    assert result.exit_code == exit_code, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.fixture
def vault(folder):  # noqa: ARG001
    run(INIT)
    return Vault.open("vault")


@pytest.fixture
def used(vault):
    """A vault with two releases, one of them by groups."""
    vault.measure(vault.count(age=(20, 50), sex="F"), scale=100)
    vault.measure(vault.count(by=("sex", "income")), scale=200)
    return vault


class TestAsTyped:
    def test_from_a_file_to_a_budget(self, folder):
        proposal = run("domain propose people.parquet")
        assert "[attributes.age]" in proposal
        assert 'kind = "bins"  # the column is double' in proposal
        (folder / "proposed.toml").write_text(proposal)
        assert "attributes.age.source: required" in run("domain check proposed.toml", exit_code=1)
        assert "1,200 points; the domain is well formed." in run("domain check people.toml")
        assert "vault is ready: differential privacy, ε = 1, neighbours: replace" in run(INIT)
        described = run("describe vault")
        assert "age" in described
        assert "1,200 points in the domain" in described
        assert "ε 0 of 1 · 0%" in run("budget vault")
        assert "a vault over people" in " ".join(run("ledger show vault").split())
        assert "± " in run(["ask", "vault", "SELECT COUNT(*) FROM people WHERE age < 30"])
        assert "SELECT COUNT(*) FROM people WHERE age <= 29" in " ".join(run("release list vault").split())

    def test_the_command_is_installed(self, folder):  # noqa: ARG002
        command = Path(sys.executable).with_name("discreet")
        made = subprocess.run([command, *INIT.split()], capture_output=True, text=True, check=True)
        assert "vault is ready" in made.stdout
        missing = subprocess.run([command, "describe", "nowhere"], capture_output=True, text=True, check=False)
        assert (missing.returncode, missing.stdout) == (1, "")
        assert missing.stderr == "VaultError: nowhere is not a vault; make one with `discreet init`\n"

    def test_every_command_says_what_it_does(self):
        for words in ([], ["domain"], ["ledger"], ["release"]):
            assert "Usage:" in CliRunner().invoke(app, words).output
        assert "--neighbours" in run("init --help")


class TestEightyColumns:
    @pytest.mark.parametrize(
        "line",
        [
            "describe vault",
            "budget vault",
            "ledger show vault",
            "release list vault",
            "release show vault 4",
            "domain check people.toml",
        ],
    )
    def test_lines_fit_a_terminal(self, used, line):  # noqa: ARG002
        lines = run(line).splitlines()
        assert max(len(text) for text in lines if "receipt" not in text) <= 80

    def test_a_time_stays_on_one_line(self, used):  # noqa: ARG002
        first = next(line for line in run("ledger show vault").splitlines() if " init " in line)
        assert len(first.split()[1]) == len("2026-11-15")
        assert len(first.split()[2]) == len("10:45:39")

    def test_names_that_look_like_markup_are_names(self, folder):
        odd = "[bold]vault"
        shutil.copy(folder / "people.parquet", folder / "[red]people.parquet")
        line = INIT.replace(" vault ", f" {odd} ").replace("people.parquet", "[red]people.parquet")
        assert f"{odd} is ready" in run(line)
        assert "[red]people.parquet" in "".join(run(f"describe {odd}").split())
        assert odd in run(f"ledger show {odd}")


class TestJson:
    def test_describe_budget_and_domain_have_the_names_of_python(self, used):
        described = {**used.describe(), "source": used.source_state()}
        assert run_json("describe vault") == json.loads(json.dumps(described))
        report = run_json("budget vault")
        assert report == {
            "guarantee": {"kind": "pure", "epsilon": "1", "neighbours": "replace", "max_rows": 1},
            "spent": "0.03",
            "left": "0.97",
            "elsewhere": "0.99",
            "charges": 2,
            "pending": [],
            "by_user": {},
        }
        assert set(report) == set(vars(used.budget()))
        checked = run_json("domain check people.toml")
        assert checked["attributes"][1] == {
            "name": "sex",
            "kind": "category",
            "codes": 3,
            "labels": ["F", "M", "(missing)"],
        }

    def test_releases_have_the_names_of_python(self, used):
        shown = run_json("release show vault 2")
        assert shown == json.loads(json.dumps(used.release(2).to_json()))
        assert run_json("release list vault")["releases"][0] == shown
        assert len(run_json("release show vault 4")["answers"][0]["value"]) == 3

    def test_the_journal_is_there_entry_by_entry(self, used):
        journal = run_json("ledger show vault")
        assert [entry["kind"] for entry in journal["entries"]] == ["init", "charge", "record", "charge", "record"]
        assert journal["receipt"] == str(used.ledger.head)
        assert [entry["seq"] for entry in run_json("ledger show vault --after 3")["entries"]] == [4, 5]
        checked = run_json(f"ledger check vault --receipt {used.ledger.head}")
        assert checked == {"receipt": str(used.ledger.head), "guarantee": used.ledger.guarantee.to_json()}
        assert run_json("ledger complete vault") == {"completed": [], "closed": []}

    def test_init_and_refresh_answer_too(self, folder):
        assert run_json(INIT)["points"] == 1200
        shutil.copy("people.parquet", "copy.parquet")
        refreshed = run_json("refresh vault --table copy.parquet --again")
        assert refreshed["table"] == str(folder / "copy.parquet")
        assert refreshed["receipt"].startswith("2:")

    def test_errors_are_objects_too(self, folder):  # noqa: ARG002
        assert run_json("describe nowhere", exit_code=1) == {
            "error": "VaultError",
            "message": "nowhere is not a vault; make one with `discreet init`",
        }

    def test_a_wide_attribute_is_not_listed_value_by_value(self, folder):
        text = (folder / "people.toml").read_text().replace("high = 99", f"high = {2**53}")
        (folder / "people.toml").write_text(text)
        assert run_json("domain check people.toml")["attributes"][0]["labels"] is None


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (("people.parquet", "nobody.parquet"), "TableError: there is no file nobody.parquet"),
            (("people.toml", "nobody.toml"), "DomainError: cannot read nobody.toml"),
            (("--epsilon 1", "--epsilon 0"), "InvalidBudget: ε must be above 0"),
            (("--epsilon 1", "--epsilon -1"), "InvalidBudget: ε must be above 0"),
            (("--epsilon 1", "--epsilon nan"), "InvalidBudget: ε must be a finite number above 0"),
            (("--epsilon 1", "--epsilon inf"), "InvalidBudget: ε must be a finite number above 0"),
            (("replace", "both"), "InvalidBudget: --neighbours is add-remove"),
            (("init vault", "init people.toml"), "VaultError: people.toml is already there"),
            (("people.parquet", "people.toml"), "TableError: people.toml: not a kind of file"),
        ],
        ids=lambda case: case[1] if isinstance(case, tuple) else "",
    )
    def test_init_refuses_in_words_and_makes_nothing(self, folder, change, words):
        before = sorted(folder.iterdir())
        assert run(INIT.replace(*change), exit_code=1).startswith(words)
        assert sorted(folder.iterdir()) == before

    def test_neighbours_have_to_be_chosen(self, folder):  # noqa: ARG002
        assert "--neighbours is add-remove" in run(INIT.replace(" --neighbours replace", ""), exit_code=1)

    @pytest.mark.parametrize("line", ["describe x", "budget x", "ledger show x", "release list x", "refresh x"])
    def test_a_vault_that_is_not_there(self, folder, line):  # noqa: ARG002
        assert run(line, exit_code=1) == "VaultError: x is not a vault; make one with `discreet init`\n"

    def test_a_release_or_a_receipt_that_is_not_there(self, used):  # noqa: ARG002
        assert run("release show vault 17", exit_code=1).startswith("VaultError: there is no release 17")
        assert run("ledger check vault --receipt 17", exit_code=1).startswith("VaultError: a receipt looks like")
        other = "2:" + "ab" * 32
        assert run(f"ledger check vault --receipt {other}", exit_code=1).startswith("JournalRolledBack")

    def test_an_index_that_lost_an_answer(self, used):
        used.ledger.close()
        gc.collect()  # a vault that somebody still holds open keeps its entries in the log
        with closing(sqlite3.connect("vault/journal.sqlite")) as journal:
            [root] = journal.execute("SELECT rootpage FROM sqlite_master WHERE type = 'index'").fetchone()
        with open("vault/journal.sqlite", "r+b") as file:
            file.seek((root - 1) * 4096)
            file.write(b"\x0a\0\0\0\0\x10\0\0" + bytes(4088))  # a page of an index with nothing in it
        said = run("ledger check vault", exit_code=1)
        assert said.startswith("JournalCorrupt: the journal cannot find the record of charge 2")

    def test_a_changed_table_is_nothing_to_the_vault_until_it_is_taken_in(self, vault):
        pq.write_table(pa.table({"age": [34], "sex": ["Ann"], "income": [12345.0]}), "people.parquet")
        assert "written to since the snapshot" in run("describe vault")
        assert "stays over the snapshot that it has" in run("refresh vault", exit_code=1)
        assert "is now over snapshot 2" in run("refresh vault --accept-loss 1")
        assert "not written to since the snapshot" in run("describe vault")
        assert vault.ledger.snapshot.number == 2

    def test_an_engine_that_fails_quotes_no_data_and_can_be_finished(self, vault, monkeypatch):
        def fail(*_):
            raise ValueError("Could not convert string 'Ann, 34' to INT64")

        with monkeypatch.context() as broken:
            broken.setattr(Snapshot, "evaluate", fail)
            said = run(["ask", "vault", "SELECT COUNT(*) FROM people"], exit_code=1)
        assert said == (
            "EngineError: the answer could not be computed; charge 2 stands, and `discreet ledger complete` finishes "
            "it without a further charge\n"
        )
        spent = vault.budget().spent
        assert "unfinished" in run("budget vault")
        assert "charge 2 is complete" in run("ledger complete vault")
        assert "Nothing was left unfinished." in run("ledger complete vault")
        assert vault.budget().spent == spent > 0

    def test_a_damaged_journal(self, vault):
        vault.ledger.close()
        journal = Path("vault/journal.sqlite")
        whole = journal.read_bytes()
        journal.write_bytes(whole[:200])
        assert run("describe vault", exit_code=1).startswith("JournalCorrupt: ")
        journal.write_bytes(whole)
        with sqlite3.connect(journal) as connection:
            connection.execute("DROP TRIGGER entries_stay")
            connection.execute("""UPDATE entries SET body = REPLACE(body, '"epsilon":"1"', '"epsilon":"9"')""")
        connection.close()
        assert "damaged or was edited at entry 1" in run("budget vault", exit_code=1)

    def test_a_journal_older_than_the_last_receipt(self, vault):
        vault.ledger.close()
        shutil.copytree("vault", "backup")
        run(["ask", "vault", "SELECT COUNT(*) FROM people"])
        shutil.rmtree("vault")
        shutil.copytree("backup", "vault")
        said = run("budget vault", exit_code=1)
        assert said.startswith("JournalRolledBack: ")
        assert "`discreet ledger check --accept-rollback`" in said
        said = run("ledger check vault --accept-rollback")
        assert "The journal is whole and goes on from here" in said
        assert "everything that was ever released is bounded by ε = 2" in said
        assert "an older journal" in run("ledger show vault")
        for command in ("budget vault", "describe vault", "audit vault vault"):
            assert "ε = 2" in run(command)

    def test_a_journal_older_than_a_receipt_that_was_kept_elsewhere(self, vault, monkeypatch, tmp_path):
        vault.ledger.close()
        shutil.copytree("vault", "backup")
        run(["ask", "vault", "SELECT COUNT(*) FROM people"])
        kept = run_json("ledger show vault")["receipt"]
        shutil.rmtree("vault")
        shutil.copytree("backup", "vault")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a rebuilt machine"))
        assert run(f"ledger check vault --receipt {kept}", exit_code=1).startswith("JournalRolledBack: ")
        assert "ε = 2" in run(f"ledger check vault --receipt {kept} --accept-rollback")
        assert run_json("budget vault")["guarantee"]["epsilon"] == "2"

    def test_a_limit_on_file_sizes_spends_nothing_unjournalled(self, vault):
        """A full disk as the operating system makes it: writes fail half-way."""
        vault.ledger.close()

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        command = [Path(sys.executable).with_name("discreet"), "ask", "vault", "SELECT COUNT(*) FROM people"]
        environment = {**os.environ, "NUMBA_CACHE_DIR": "/dev/null"}
        done = subprocess.run(
            command, capture_output=True, text=True, preexec_fn=small_files, check=False, env=environment
        )
        assert done.returncode == 1
        assert done.stderr.startswith("JournalError: the journal at vault/journal.sqlite failed: ")
        again = Vault.open("vault")
        assert again.budget().spent == 0
        assert again.measure(again.count(), scale=100).charge == 2


@pytest.mark.parametrize("odd", ["[/]", "[red]x", "[link=a]b"])
@pytest.mark.usefixtures("folder")
def test_brackets_in_a_name_are_shown_and_are_no_markup(odd):
    run(INIT)
    assert odd in run(["ask", "vault", f'SELECT sex, COUNT(*) AS "{odd}" FROM people GROUP BY sex', "--scale", "50"])
    Vault.open("vault").asked_by(Asker(odd)).ask("SELECT COUNT(*) FROM people WHERE age < 9", scale=90)
    assert f"by {odd}" in run("audit vault vault")
    assert odd in run("budget vault")


@pytest.mark.usefixtures("folder")
def test_a_vault_of_mu_is_made_asked_and_spent_on_a_cube():
    run(f"{INIT.partition(' --epsilon')[0]} --mu 1 --neighbours replace --quiet")
    count = run_json(["ask", "vault", "SELECT COUNT(*) FROM people", "--scale", "10"])
    assert count["guarantee"]["kind"] == "gaussian"
    assert run_json("budget vault")["guarantee"]["mu_squared"] == "1"
    assert run_json("cube plan vault --mu-squared 1/2 --dimensions sex")["affordable"]
    said = run("cube publish vault --mu-squared 1 --dimensions sex --out cube", 1)
    assert "(--mu-squared) at most 0.9" in " ".join(said.split())
    assert "mu_squared=…" in run("cube plan vault --rho 1/2", 1)


def test_notes_are_wrapped_between_words_and_paths_stay_whole(capsys):
    from rich.console import Console

    from discreet.cli.present import say

    words = "a note that is much longer than a line of the terminal, " * 3 + "/a/very/long/path" * 8
    say(words, to=Console(width=40))
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines) == words
    assert all(len(line) <= 40 for line in lines[:-1])
    assert lines[-1] == "/a/very/long/path" * 8
