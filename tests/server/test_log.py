"""The audit log: whole lines by many writers, in files of bounded size, read from the last one back."""

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.server import log
from discreet.server.log import ASIDE, LOG, RequestOrigin, last_asked, log_asked, log_denied


def asked(home, number, user="ana"):
    log_asked(home, user, "ask", {"sql": f"SELECT {number}"})


@pytest.fixture
def small(monkeypatch):
    """Files of some ten lines, of which three full ones are kept."""
    monkeypatch.setattr(log, "FILE_BYTES", 900)
    monkeypatch.setattr(log, "KEPT", 3)


@pytest.mark.usefixtures("small")
def test_a_full_file_is_set_aside_and_the_oldest_goes(tmp_path):
    for number in range(100):
        asked(tmp_path, number)
    assert len(list(tmp_path.glob(ASIDE))) == 3
    assert sum(file.stat().st_size for file in tmp_path.glob("asked*")) < 4 * 1100
    numbers = [int(line["sql"].split()[1]) for line in last_asked(tmp_path, 1000)]
    assert numbers == list(range(numbers[0], 100))
    assert len(numbers) >= 30


@pytest.mark.usefixtures("small")
def test_the_last_lines_are_read_across_files_of_one_user_where_named(tmp_path):
    for number in range(40):
        asked(tmp_path, number, "ana" if number % 3 else "ben")
    assert [line["sql"] for line in last_asked(tmp_path, 15)] == [f"SELECT {number}" for number in range(25, 40)]
    assert [line["sql"] for line in last_asked(tmp_path, 5, "ben")] == [f"SELECT {n}" for n in (27, 30, 33, 36, 39)]
    assert last_asked(tmp_path, 5, "eve") == []
    assert last_asked(tmp_path / "elsewhere", 5) == []


def test_a_line_that_was_cut_off_is_left_out_and_odd_ends_of_lines_split_none(tmp_path):
    log_asked(tmp_path, "ana", "ask", {"sql": "SELECT 'a\u2028b\x85c'"})
    with open(tmp_path / LOG, "a", encoding="utf-8") as file:
        file.write('{"at": "2026')
    assert [line["sql"] for line in last_asked(tmp_path, 9)] == ["SELECT 'a\u2028b\x85c'"]


def test_a_very_long_question_is_cut_and_who_asked_it_is_not(tmp_path):
    log_asked(tmp_path, "ana", "ask", {"sql": "x" * 100_000})
    [line] = last_asked(tmp_path, 9)
    assert (line["user"], len(line["cut"])) == ("ana", log.MOST_BYTES)


def _many(home, user):
    log.FILE_BYTES, log.KEPT = 20_000, 1000
    for number in range(300):
        asked(home, number, user)


def test_a_cut_is_counted_in_bytes(tmp_path):
    log_asked(tmp_path, "ana", "ask", {"sql": "ü" * log.MOST_BYTES})
    [line] = last_asked(tmp_path, 9)
    assert len(line["cut"].encode()) == log.MOST_BYTES
    assert "ü" * 100 in line["cut"]


@pytest.mark.parametrize("path", ["/" + "x" * 100_000, "/" + "ü" * 100_000, '/"' + "\\" * 100_000])
def test_who_is_turned_away_from_a_very_long_path_is_in_the_log_with_its_beginning(tmp_path, path):
    log_denied(tmp_path, RequestOrigin("here"), None, "401", {"method": "GET", "path": path, "status": 401})
    [line] = last_asked(tmp_path, 9)
    assert (line["user"], line["method"], line["status"], line["outcome"]) == (None, "GET", 401, "401")
    assert path.startswith(line["path"])
    assert 500 < len(line["path"].encode()) < log.MOST_BYTES
    assert len(line["sha256"]) == 64


def test_what_is_0_is_said_and_what_is_not_there_is_not(tmp_path):
    log_asked(tmp_path, "ana", "cube", {"number": 0, "share": 0.0, "again": False, "name": None, "empty": ""})
    [line] = last_asked(tmp_path, 9)
    assert (line["number"], line["share"], line["empty"]) == (0, 0.0, "")
    assert not {"again", "name"} & line.keys()


def test_of_many_processes_that_write_and_set_aside_no_line_is_lost(tmp_path):
    users = [f"user{i}" for i in range(4)]
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("fork")) as pool:
        list(pool.map(partial(_many, tmp_path), users))
    assert len(list(tmp_path.glob(ASIDE))) > 1
    for user in users:
        found = [line["sql"] for line in last_asked(tmp_path, 10_000, user)]
        assert sorted(found) == sorted(f"SELECT {number}" for number in range(300))


@pytest.mark.usefixtures("small")
def test_the_command_line_reads_across_files(people):
    for number in range(30):
        asked(people.path, number)
    output = CliRunner().invoke(app, ["user", "log", str(people.path), "--last", "25", "--json"]).output
    assert [line["sql"] for line in json.loads(output)["asked"]] == [f"SELECT {number}" for number in range(5, 30)]


def test_a_number_that_json_has_not_comes_back_as_text(tmp_path):
    log_asked(tmp_path, "ana", "ask", {"sql": "SELECT 1", "scale": float("nan"), "within": float("inf")})
    [line] = last_asked(tmp_path, 9)
    assert (line["scale"], line["within"]) == ("NaN", "Infinity")
