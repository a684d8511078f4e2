"""discreet buckets publish | check | ask, and audit attack: every command, the same fields as in Python."""

import json

import pytest
from typer.testing import CliRunner

from discreet.attacks.corruption import attack_by_corruption
from discreet.attacks.definetti import attack_by_learning
from discreet.attacks.negative import attack_by_exclusion
from discreet.cli import app
from discreet.demo.census import census_domain_path, write_census
from discreet.errors import UnsupportedQuery
from discreet.microdata.buckets import Buckets
from discreet.vault import Vault

PUBLISH = (
    "buckets",
    "publish",
    "vault",
    "--sensitive",
    "occupation",
    "--limits",
    "min(1, 4*f + 0.05)",
    "--out",
    "buckets",
)


@pytest.fixture(scope="module")
def census(tmp_path_factory):
    path = tmp_path_factory.mktemp("census") / "people.parquet"
    write_census(path, 3_000)
    return path


@pytest.fixture(autouse=True)
def folder(census, tmp_path, monkeypatch):
    """The working directory, with a vault of ε = 10."""
    monkeypatch.chdir(tmp_path)
    Vault.init("vault", table=census, domain=census_domain_path(), epsilon=10, neighbours="replace")
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_publish_check_and_ask():
    shown = run(*PUBLISH, "--limit", "manager=0.2", "--min-size", "5", "--sizes", "two")
    for words in ("F'-privacy; not differential privacy", "manager 0.2", "exact frequency", "strongest belief"):
        assert words in shown
    assert "Everything holds" in run("buckets", "check", "buckets")
    assert json.loads(run("buckets", "check", "buckets", "--json"))["holds"]
    sql = "SELECT sex, COUNT(*) AS n FROM people WHERE age < 30 AND occupation = 'student' GROUP BY sex"
    shown = run("buckets", "ask", "buckets", sql)
    assert "95% of pairings" in shown
    assert "truth may lie far outside" in shown
    answer = json.loads(run("buckets", "ask", "buckets", sql, "--json"))
    assert answer["columns"] == ["sex", "n"]
    assert answer["rows"][0][1].keys() == {"value", "deviation", "low", "high"}


def test_publish_as_json_has_the_fields_of_python():
    published = json.loads(run(*PUBLISH, "--similar", "--columns", "age,sex", "--json"))
    buckets = Buckets.load("buckets")
    assert published == {**buckets.describe(), "folder": "buckets"}
    assert published["columns"] == ["age", "sex"]
    assert published["learnt"].keys() == {"people", "blind", "order", "definetti"}
    assert "microdata in buckets" in run("ledger", "show", "vault")


def test_the_integer_program_loses_no_more_than_several_sizes():
    several = json.loads(run(*PUBLISH, "--json"))
    best = json.loads(run(*PUBLISH[:-1], "best", "--sizes", "optimal", "--again", "--json"))
    assert several["least"] <= best["least"] <= best["loss"] <= several["loss"]
    shown = run(*PUBLISH[:-1], "again", "--sizes", "optimal", "--again")
    assert f"least      {best['least']:,} are lost with any sizes that were allowed" in shown
    assert "Everything holds" in run("buckets", "check", "best")


def test_check_fails_where_a_file_was_changed(folder):
    run(*PUBLISH)
    path = folder / "buckets" / "datapackage.json"
    path.write_text(path.read_text().replace('"similar": false', '"similar": true'))
    assert "BROKEN" in run("buckets", "check", "buckets", code=1)
    assert not json.loads(run("buckets", "check", "buckets", "--json", code=1))["holds"]


BAD = [
    (("--limits", "0.01", "--out", "b"), "InvalidLimits"),
    (("--limits", "f*f", "--out", "b"), "InvalidLimits"),
    (("--limits", "0.5", "--columns", "age,occupation", "--out", "b"), "DomainError"),
    (("--limits", "min(1, 4*f + 0.05)", "--limit", "manager", "--out", "b"), "InvalidLimits"),
    (("--limits", "min(1, 4*f + 0.05)", "--sizes", "many", "--out", "b"), "InvalidLimits"),
    (("--limits", "min(1, 4*f + 0.05)", "--out", "vault"), "ArchiveError"),
]


@pytest.mark.parametrize(("choice", "error"), BAD, ids=[" ".join(case[0]) for case in BAD])
def test_bad_input_is_refused_by_name(choice, error):
    said = json.loads(run("buckets", "publish", "vault", "--sensitive", "occupation", *choice, "--json", code=1))
    assert said["error"] == error


def test_the_second_publication_needs_to_be_wanted():
    run(*PUBLISH)
    said = json.loads(run(*PUBLISH[:-1], "other", "--json", code=1))
    assert (said["error"], "published before" in said["message"]) == ("VaultError", True)
    run(*PUBLISH[:-1], "other", "--again")


def test_attacks_on_buckets_with_their_pictures(folder):
    run(*PUBLISH, "--fakes", "1", "--limits", "0.34")
    buckets = Buckets.load("buckets")
    for kind, found in (
        ("corruption", attack_by_corruption(buckets, 2)),
        ("negative", attack_by_exclusion(buckets)),
        ("definetti", attack_by_learning(buckets)),
    ):
        said = json.loads(run("audit", "attack", "buckets", "--kind", kind, "--known", "2", "--json"))
        assert said == {**json.loads(json.dumps(found.to_json())), "warns": found.warns}
        run("audit", "attack", "buckets", "--kind", kind, "--known", "2", "--plot", f"{kind}.png")
        assert (folder / f"{kind}.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(UnsupportedQuery, match="from 0 to"):
        attack_by_corruption(buckets, -1)


def test_the_inference_attack_warns_of_what_a_vault_has_answered(folder):
    run("ask", "vault", "SELECT occupation, COUNT(*) FROM people WHERE age >= 70 GROUP BY occupation", "--scale", "3")
    shown = run("audit", "attack", "vault", "--kind", "inference", "--sensitive", "occupation", "--plot", "i.png")
    assert "occupation = 'retired'" in shown
    assert "Warning" in shown
    assert (folder / "i.png").exists()
    said = json.loads(run("audit", "attack", "vault", "--kind", "inference", "--threshold", "1", "--json"))
    assert said["rules"][0].keys() == {"group", "value", "x", "y", "share", "low", "high", "mean", "variance"}


def test_an_unknown_attack_is_refused():
    assert "there are corruption" in run("audit", "attack", "vault", "--kind", "guess", code=1)
    run("audit", "attack", "vault", "--kind", "definetti", code=1)
