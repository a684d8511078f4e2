"""The custodian is told how a domain fits, at the terminal alone; a vault that would lose many rows is not made."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app, present

DOMAIN = """name = "people"
[attributes.town]
kind = "category"
values = ["Bern", "Chur"]
source = "s"
"""
INIT = (
    "init",
    "vault",
    "--table",
    "people.csv",
    "--domain",
    "people.toml",
    "--epsilon",
    "1",
    "--neighbours",
    "replace",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    Path("people.toml").write_text(DOMAIN)
    Path("people.csv").write_text("town,n\n" + "Bern,1\n" * 9 + "berne-by-lake,1\n")
    return tmp_path


def run(*arguments: str, typed: str | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, arguments, input=typed)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def held_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.usefixtures("folder")
def test_fit_says_what_is_lost_and_why() -> None:
    code, shown, _ = run("domain", "fit", "people.csv", "people.toml")
    assert code == 0
    assert shown.startswith("10 rows read, 9 kept, 1 lost (10.0%). exact and confidential")
    assert "berne-by-lake" in shown
    assert "nobody has 1 of its values: Chur" in shown
    found = json.loads(run("domain", "fit", "people.csv", "people.toml", "--json")[1])
    assert (found["rows"], found["kept"], found["lost"]) == (10, 9, 1)
    assert found["columns"][0]["odd"] == [{"text": "berne-by-lake", "rows": 1, "nearest": None}]


def test_init_stops_where_much_is_lost_and_makes_nothing(folder: Path) -> None:
    for more in ((), ("--json",)):
        code, shown, error = run(*INIT, *more)
        assert code == 1
        assert "more than 5% of the rows would be left out" in " ".join((shown + error).split())
        assert "berne" not in shown + error
        assert not (folder / "vault").exists()


@pytest.mark.parametrize("more", [("--accept-loss", "0.1"), ("--quiet",)])
def test_init_goes_on_where_the_loss_is_accepted_and_tells_a_pipe_nothing(folder: Path, more: tuple[str, ...]) -> None:
    code, shown, error = run(*INIT, *more)
    assert code == 0
    assert "rows read" not in shown + error
    assert b"berne-by-lake" not in held_in(folder / "vault")


@pytest.mark.parametrize(("typed", "made"), [("y\n", True), ("n\n", False)])
def test_whoever_sits_at_the_terminal_is_told_and_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str, made: bool
) -> None:
    monkeypatch.setattr(present.err, "is_interactive", True)
    monkeypatch.setattr("discreet.cli.vault.is_typed", lambda: True)
    code, shown, error = run(*INIT, typed=typed)
    assert (code == 0, (folder / "vault").exists()) == (made, made)
    assert "10 rows read, 9 kept, 1 lost" in error
    assert "Make the vault nevertheless?" in error
    assert "rows read" not in shown
    assert b"berne-by-lake" not in held_in(folder / "vault") + held_in(folder / "state")


@pytest.mark.parametrize("share", ["12", "120%", "-1", "some", "nan", "%"])
def test_a_loss_that_is_no_share_of_the_rows_is_refused_and_not_taken_for_any(folder: Path, share: str) -> None:
    code, shown, error = run(*INIT, f"--accept-loss={share}")
    assert (code, "is no share of the rows: 0.2 or 20%" in " ".join((shown + error).split())) == (1, True), error
    assert not (folder / "vault").exists()


@pytest.mark.parametrize(("share", "code"), [("9.9%", 1), ("10%", 0), ("1/10", 0)])
def test_a_loss_is_accepted_as_a_percentage_too(folder: Path, share: str, code: int) -> None:
    assert run(*INIT, "--accept-loss", share)[0] == code  # 1 of 10 rows is lost
    assert (folder / "vault").exists() == (code == 0)


def test_a_table_without_rows_makes_no_vault(folder: Path) -> None:
    Path("people.csv").write_text("town,n\n")
    assert run(*INIT)[0] == 1
    assert not (folder / "vault").exists()
    assert "no rows: a vault over it would be about nobody" in run("domain", "fit", "people.csv", "people.toml")[1]
    code, shown, error = run(*INIT, "--accept-loss", "1")
    assert code == 1
    assert "the table has no rows: no vault was made. Is it the right file? --quiet" in " ".join(
        (shown + error).split()
    )
    assert run(*INIT, "--quiet")[0] == 0


@pytest.mark.usefixtures("folder")
def test_a_domain_and_a_table_in_the_wrong_order_are_told_in_the_right_one() -> None:
    code, _, error = run("domain", "fit", "people.toml", "people.csv")
    assert code == 1
    assert "the table comes first: discreet domain fit people.csv people.toml" in " ".join(error.split())
    code, _, error = run("domain", "fit", "people.toml", "a=a.csv", "b=b.csv")
    assert code == 1
    assert "the table comes first: discreet domain fit a=a.csv b=b.csv people.toml" in " ".join(error.split())


VISITS = "town,who\n" + "Bern,a\n" * 6 + "Bern,\n" * 3 + "Chur,b\nberne-by-lake,b\n"
BY_PERSON = ("--id", "who", "--max-rows", "2")


@pytest.mark.usefixtures("folder")
def test_rows_without_an_id_and_rows_beyond_the_bound_are_told_and_count_as_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("people.csv").write_text(VISITS)
    assert run(*INIT, *BY_PERSON, "--accept-loss", "0.7")[0] == 1  # 8 of 11 are lost
    monkeypatch.setattr(present.err, "is_interactive", True)
    code, shown, error = run(*INIT, *BY_PERSON, "--accept-loss", "0.8")
    assert code == 0
    assert "11 rows read, 3 kept, 8 lost (72.7%). exact and confidential" in error
    assert "3 of those fit the domain, and name nobody" in error
    assert "4 of those fit the domain, and are beyond the rows that are kept of one person" in error
    assert "lost" not in shown


def test_refresh_stops_where_much_is_lost_and_the_snapshot_stays(folder: Path) -> None:
    assert run(*INIT, "--quiet")[0] == 0
    Path("lost.csv").write_text("town,n\n" + "berne-by-lake,1\n" * 9)
    before = held_in(folder / "vault")
    for more in ((), ("--json",), ("--accept-loss", "0.5"), ("--again", "--accept-loss", "0.5")):
        code, shown, error = run("refresh", "vault", "--table", "lost.csv", *more)
        assert code == 1
        assert "the vault stays over the snapshot that it has" in " ".join((shown + error).split())
        assert "berne" not in shown + error
    assert held_in(folder / "vault") == before
    for more in (("--accept-loss", "1"), ("--quiet", "--again"), ("--again",)):
        code, shown, error = run("refresh", "vault", "--table", "lost.csv", *more)
        assert code == 0
        assert "lost" not in (shown + error).replace("lost.csv", "")
    assert b"berne-by-lake" not in held_in(folder / "vault")


@pytest.mark.parametrize(("typed", "taken"), [("y\n", True), ("n\n", False)])
@pytest.mark.usefixtures("folder")
def test_whoever_refreshes_at_the_terminal_is_told_and_asked(
    monkeypatch: pytest.MonkeyPatch, typed: str, taken: bool
) -> None:
    assert run(*INIT, "--quiet")[0] == 0
    Path("lost.csv").write_text("town,n\nBern,1\nberne-by-lake,1\n")
    monkeypatch.setattr(present.err, "is_interactive", True)
    monkeypatch.setattr("discreet.cli.vault.is_typed", lambda: True)
    code, shown, error = run("refresh", "vault", "--table", "lost.csv", typed=typed)
    assert "2 rows read, 1 kept, 1 lost (50.0%). exact and confidential" in error
    assert "Take the snapshot nevertheless?" in error
    assert (code == 0, "now over snapshot 2" in " ".join(shown.split())) == (taken, taken)
    code, _, error = run("refresh", "vault", "--table", "lost.csv", "--again")  # told, and not asked
    assert code == 0
    assert "1 lost" in error
    assert "nevertheless" not in error


REGISTER = (
    DOMAIN + '\n[attributes.day]\nkind = "date"\nlow = 2026-01-01\nhigh = 2026-12-31\nperiod = "month"\ngrows = true\n'
    'source = "the calendar"\n'
)


@pytest.mark.parametrize(
    ("months", "refused"),
    [
        ({"2026-03": 9, "2026-02": 1}, True),  # February was skipped, and has a late row here
        ({"2026-03": 9}, True),
        ({"2026-01": 9}, True),  # January again
        ({"2026-01": 9, "2026-02": 3, "2026-03": 2}, False),  # all of the table as it is now
        ({"2026-02": 9}, False),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_month_is_not_closed_by_the_file_of_another_unless_that_is_accepted(
    months: dict[str, int], refused: bool
) -> None:
    Path("register.toml").write_text(REGISTER)
    Path("begin.csv").write_text("town,n,day\n" + "Bern,1,2026-01-03\n" * 9)
    Path("more.csv").write_text(
        "town,n,day\n" + "".join(f"Bern,1,{month}-07\n" * rows for month, rows in months.items())
    )
    begin = ("--table", "begin.csv", "--domain", "register.toml", "--epsilon", "1", "--neighbours", "add-remove")
    assert run("init", "register", *begin, "--through", "2026-01")[0] == 0
    code, shown, error = run("append", "register", "more.csv", "--accept-loss", "1")
    assert code == int(refused), shown + error
    if refused:
        assert "was a period skipped?" in " ".join((shown + error).split())
        code, shown, error = run("append", "register", "more.csv", "--quiet", "--json")
        assert (code, json.loads(shown)["closed"]) == (0, "2026-02")
    assert "by day: closed up to 2026-02, and at most to 2026-12" in run("describe", "register")[1]


@pytest.mark.usefixtures("folder")
def test_of_a_table_that_grows_neither_later_periods_nor_a_code_for_missing_ones_are_missed() -> None:
    Path("register.toml").write_text(REGISTER)
    Path("begin.csv").write_text("town,n,day\n" + "Bern,1,2026-01-03\nBern,1,2026-03-03\nBern,1,\n" * 3)
    [day] = [
        column
        for column in json.loads(run("domain", "fit", "begin.csv", "register.toml", "--json")[1])["columns"]
        if column["name"] == "day"
    ]
    assert (day["nobody"], day["nobody_has"], day["missing"]) == (1, ["2026-02"], 3)
    assert not [one for one in day["advice"] if one.startswith("null")]


@pytest.mark.usefixtures("folder")
def test_of_several_tables_each_is_told_by_its_name_and_why_rows_are_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    people, visits = DOMAIN.split("\n", 1)[1], 'kind = "category"\nvalues = ["a"]\nsource = "s"\n'
    Path("two.toml").write_text(
        '[tables.people]\nid = "n"\n'
        + people.replace("[attributes", "[tables.people.attributes")
        + '[tables.visits]\nparent = "people"\nid = "n"\nmax_rows = 2\n[tables.visits.attributes.ward]\n'
        + visits
    )
    Path("one.csv").write_text("town,n\n" + "".join(f"Bern,{n}\n" for n in range(9)))
    Path("visits.csv").write_text("n,ward\n1,a\n2,a\n77,a\n")
    tables = ("--table", "people=one.csv", "--table", "visits=visits.csv", "--domain", "two.toml")
    asked = ("init", "two", *tables, "--epsilon", "1", "--neighbours", "add-remove")
    given = ("people=one.csv", "visits=visits.csv")
    code, shown, _ = run("domain", "fit", *given, "two.toml")
    assert code == 0
    assert "people: 9 rows read, 9 kept, 0 lost." in shown
    assert "visits: 3 rows read, 2 kept, 1 lost (33.3%)." in shown
    [people_fit, visits_fit] = json.loads(run("domain", "fit", *given, "two.toml", "--json")[1])["tables"]
    assert (people_fit["table"], people_fit["kept"], visits_fit["nameless"], visits_fit["alike"]) == ("people", 9, 1, 0)
    for wrong, said in (
        (("domain", "fit", "one.csv", "two.toml"), "several tables are given by their names"),
        (("domain", "fit", *given, "people.toml"), "people.toml is of one table, and 2 sources are given"),
        (("domain", "fit", "two.toml", *given), "the table comes first"),
        (("domain", "propose", *given, "--name", "x"), "leave out --name"),
    ):
        code, _, error = run(*wrong)
        assert (code, said in " ".join(error.split())) == (1, True), error
    assert "[tables.visits]" in run("domain", "propose", *given)[1]
    code, shown, error = run(*asked)
    assert (code, "more than 5% of the rows of visits would be left out" in " ".join((shown + error).split())) == (
        1,
        True,
    )
    monkeypatch.setattr(present.err, "is_interactive", True)
    _, shown, error = run(*asked, "--accept-loss", "1")
    assert "people: 9 rows read, 9 kept, 0 lost." in error
    assert "visits: 3 rows read, 2 kept, 1 lost (33.3%)." in error
    assert "or one that is not of a row kept of the table above (parent)" in " ".join(error.split())
