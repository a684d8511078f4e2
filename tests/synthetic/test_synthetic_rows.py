"""Synthetic rows: values that code back to what was drawn, files that say what they are, one entry in the journal."""

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.read import parse_domain
from discreet.errors import ArchiveError, InvalidBudget, UnsupportedQuery
from discreet.noise.bits import SeededBits
from discreet.synthetic.check import check_rows
from discreet.synthetic.rows import SyntheticRows, require_rows
from discreet.synthetic.values import codes_of, column_of
from discreet.table.coding import coders
from discreet.vault.vault import Vault

DOMAIN = """
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
outside = "other"
null = true
source = "form"
[attributes.age]
kind = "integer"
low = 18
high = 21
null = true
source = "form"
[attributes.income]
kind = "bins"
edges = [0, 10, 25, 60]
outside = "other"
source = "form"
[attributes.planet]
kind = "category"
values = ["earth"]
source = "atlas"
"""


def vault_in(folder) -> Vault:
    rng = np.random.default_rng(5)
    people = pa.table(
        {
            "sex": pa.array([["F", "M", None, "?"][k] for k in rng.choice(4, 800, p=[0.5, 0.4, 0.05, 0.05])]),
            "age": pa.array([None if k == 22 else int(k) for k in rng.integers(18, 23, 800)], pa.int64()),
            "income": rng.gamma(2, 12, 800),
            "planet": ["earth"] * 800,
        }
    )
    pq.write_table(people, folder / "people.parquet")
    (folder / "people.toml").write_text(DOMAIN)
    return Vault.init(
        folder / "vault",
        table=folder / "people.parquet",
        domain=folder / "people.toml",
        epsilon=10,
        neighbours="add-remove",
    )


@pytest.fixture
def vault(tmp_path, monkeypatch) -> Vault:
    monkeypatch.chdir(tmp_path)
    return vault_in(tmp_path)


def cube_of(vault: Vault):
    dimensions = ["sex", "age", "income"]
    return vault.cubes.publish(vault.cubes.plan(epsilon=1, planner="model", dimensions=dimensions), estimate="modelled")


ATTRIBUTES = [
    Category(name="a", source="s", values=("x", "y")),
    Category(name="a", source="s", values=("x", "(other)"), outside="other", null=True),
    Integer(name="a", source="s", low=-3, high=4, outside="other", null=True),
    Bins(name="a", source="s", edges=(Fraction(0), Fraction(1, 3), Fraction(5)), outside="other", null=True),
    Bins(name="a", source="s", edges=(None, Fraction(1), Fraction(3), None)),
    Bins(name="a", source="s", edges=(None, None), null=True),
    Bins(name="a", source="s", edges=(None, Fraction(2)), outside="other"),
    Bins(name="a", source="s", edges=(Fraction(0), Fraction(10), None), grain=Fraction(1, 2)),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_values_code_back_to_what_was_drawn(attribute):
    codes = np.arange(attribute.size * 50, dtype=np.int64) % attribute.size
    column = pa.chunked_array([column_of(attribute, codes, SeededBits(1))])
    np.testing.assert_array_equal(codes_of(attribute, column), codes)


def test_the_vaults_own_coding_reads_rows_as_they_were_drawn(vault):
    made = vault.rows.publish(cube_of(vault), rows=500)
    domain = parse_domain(DOMAIN)
    read = coders(lambda name: made.table.schema.field(name).type, domain)
    for name, codes in made.codes().items():
        np.testing.assert_array_equal(read[name](made.table.column(name).combine_chunks()).codes, codes)


def test_a_value_that_the_domain_does_not_declare_is_no_synthetic_row():
    attribute = Category(name="a", source="s", values=("x", "y"))
    with pytest.raises(ValueError, match="does not declare"):
        codes_of(attribute, pa.chunked_array([["x", "z"]]))


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_files_say_what_they_are_and_read_back(vault, tmp_path, name):
    cube = cube_of(vault)
    made = vault.rows.publish(cube, seed=4)
    made.save(tmp_path / name)
    back = SyntheticRows.load(tmp_path / name)
    assert back.about == made.about
    assert back.table.to_pylist() == made.table.to_pylist()
    assert "No row is a person" in back.about["what"]
    assert back.about["receipt"] == str(cube.origin.receipt)
    assert set(back.table.column("planet").to_pylist()) == {"earth"}
    assert len(made) == round(cube.modelled.model.total)
    with pytest.raises(ArchiveError, match="already there"):
        made.save(tmp_path / name)


def test_a_file_that_was_touched_is_found(vault, tmp_path):
    made = vault.rows.publish(cube_of(vault), rows=50)
    changed = made.table.set_column(1, "age", pa.array([18] * 50))
    SyntheticRows(changed.replace_schema_metadata(made.table.schema.metadata), made.about).save(tmp_path / "x.parquet")
    with pytest.raises(ArchiveError, match="changed"):
        SyntheticRows.load(tmp_path / "x.parquet")
    with pytest.raises(ArchiveError):
        SyntheticRows.load(tmp_path / "people.parquet")
    with pytest.raises(ArchiveError, match=r"there is no .*/nothing\.csv; name a file of synthetic rows"):
        SyntheticRows.load(tmp_path / "nothing.csv")
    made.save(tmp_path / "y.csv")
    (tmp_path / "y.csv-metadata.json").rename(tmp_path / "elsewhere.json")
    with pytest.raises(ArchiveError, match=r"has no y\.csv-metadata\.json beside it, .* copy both"):
        SyntheticRows.load(tmp_path / "y.csv")


def test_rows_of_a_published_cube_cost_nothing_and_are_journalled(vault):
    cube = cube_of(vault)
    spent, head = vault.ledger.spent_max, vault.ledger.head.seq
    first, again = vault.rows.publish(cube, rows=200, seed=1), vault.rows.publish(cube, rows=200, seed=1)
    assert first.table.equals(again.table)
    assert vault.ledger.spent_max == spent
    [one, _] = list(vault.entries(head))
    assert one["kind"] == "rows"
    assert "200 synthetic rows" in json.dumps(one)


def test_rows_can_buy_their_own_cube(vault):
    spent = vault.ledger.spent_max
    made = vault.rows.publish(epsilon=1)
    assert vault.ledger.spent_max > spent
    assert made.table.column_names == ["sex", "age", "income", "planet"]
    assert made.to_pandas().attrs["discreet"]["what"].startswith("No row")


def test_bad_requests_are_refused_and_spend_nothing(vault, tmp_path):
    (tmp_path / "b").mkdir()
    other = vault_in(tmp_path / "b")
    foreign = cube_of(other)
    head = vault.ledger.head
    with pytest.raises(UnsupportedQuery, match="nothing that was released"):
        vault.rows.publish()
    with pytest.raises(InvalidBudget, match="leave out one"):
        vault.rows.publish(foreign, epsilon=1)
    with pytest.raises(UnsupportedQuery, match="at least 1 row"):
        vault.rows.publish(epsilon=1, rows=0)
    with pytest.raises(UnsupportedQuery, match="a seed"):
        vault.rows.publish(epsilon=1, seed=-1)
    with pytest.raises(UnsupportedQuery, match="ask for at most"):
        vault.rows.publish(epsilon=1, rows=10**15)
    with pytest.raises(UnsupportedQuery, match=r"knows nothing of this cube of people, .* or the vault that did"):
        vault.rows.publish(foreign)
    assert vault.ledger.head == head
    with pytest.raises(UnsupportedQuery, match="ask for at most 2"):
        require_rows(0, 1, 1000, available=100)


def test_rows_are_near_what_was_released_in_every_cuboid(vault):
    cube = cube_of(vault)
    checked = check_rows(vault.rows.publish(cube), cube)
    assert checked.same_release
    for one in checked.distances:
        assert one.largest_in_rows <= 4
        assert one.from_model < 0.03  # 800 rows rounded into 100 cells
    assert [one["dimensions"] for one in checked.by_dimensions()] == [1, 2, 3]
    [triple] = [one for one in checked.distances if len(one.dimensions) == 3]
    assert not triple.measured_together
    assert triple.from_least_squares is None


def test_rows_on_the_command_line(vault, tmp_path):
    cube_of(vault).save(tmp_path / "census")

    def run(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["rows", *arguments])
        assert result.exit_code == code, result.output
        return result.output

    told = run("publish", "vault", "--from", "census", "--rows", "300", "--out", "x.parquet")
    assert "No row is a person" in told
    about = json.loads(run("publish", "vault", "--epsilon", "2", "--out", "y.csv", "--json"))
    assert about["file"] == "y.csv"
    checked = json.loads(run("check", "x.parquet", "--against", "census", "--json"))
    assert checked["rows"] == 300
    assert checked["same_release"]
    assert "other releases" in run("check", "y.csv", "--against", "census")
    everything = json.loads(run("publish", "vault", "--out", "z.parquet", "--rows", "50", "--json"))
    assert everything["model"]["releases"] == [*everything["earlier"], everything["charge"]]
    assert "ends in .parquet or .csv" in run("publish", "vault", "--from", "census", "--out", "x.xlsx", code=1)


def interrupted(*_arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "cut_off", ["cube.public_model.fit_model", "synthetic.rows.draw_rows", "synthetic.rows.sync_folder"]
)
def test_what_was_bought_for_rows_is_not_bought_again_after_an_interruption(cut_off, vault, tmp_path, monkeypatch):
    asked = ["rows", "publish", "vault", "--epsilon", "2", "--out", "x.parquet", "--json"]
    before = {*tmp_path.iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr(f"discreet.{cut_off}", interrupted)
        cut = CliRunner().invoke(app, asked)
    assert cut.exit_code == 1
    [charge] = [entry.seq for entry in vault.ledger.entries() if entry.kind == "charge"]
    words = f"interrupted; charge {charge} stands: the same command again goes on without a further one"
    assert json.loads(cut.output)["message"] == words
    assert {*tmp_path.iterdir()} <= before | {tmp_path / "x.parquet"}
    spent = Vault.open("vault").ledger.spent_max
    (tmp_path / "x.parquet").unlink(missing_ok=True)
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert Vault.open("vault").ledger.spent_max == spent


ODD = """
name = "till"

[notation]
decimal = ","
thousands = "."
missing = ["NA"]

[attributes.day]
kind = "date"
low = 2025-01-01
high = 2026-12-31
period = "month"
format = "DD.MM.YYYY"
outside = "other"
source = "s"

[attributes.amount]
kind = "bins"
edges = [0, 2, 10, 100, 2000]
grain = 0.01
null = true
source = "s"

[attributes.paid]
kind = "category"
values = [false, true]
booleans = "ja/nein"
null = true
source = "s"
"""


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_the_same_domain_reads_the_rows_however_it_says_that_values_are_written(name, tmp_path):
    till = "day;amount;paid\n" + "31.01.2025;1.234,50;ja\n01.02.2026;12,95;nein\n01.12.2027;NA;NA\n" * 200
    (tmp_path / "till.csv").write_text(till)
    (tmp_path / "till.toml").write_text(ODD)
    vault = Vault.init(tmp_path / "vault", table=tmp_path / "till.csv", domain=tmp_path / "till.toml", epsilon=2000,
                       neighbours="replace")  # fmt: skip
    made = vault.rows.publish(epsilon=1000)
    made.save(tmp_path / name)
    again = SyntheticRows.load(tmp_path / name)
    assert again.table.equals(made.table)
    over = Vault.init(tmp_path / "over", table=tmp_path / name, domain=tmp_path / "till.toml", epsilon=2000,
                      neighbours="replace")  # fmt: skip
    drawn = Counter(zip(*(codes.tolist() for codes in again.codes().values()), strict=True))
    counts = over.ask("SELECT day, amount, paid, COUNT(*) AS n FROM till GROUP BY day, amount, paid", scale="0.01")
    domain = parse_domain(ODD)
    labels = {tuple(a.label(c) for a, c in zip(domain.attributes, codes, strict=True)): n for codes, n in drawn.items()}
    assert {row.labels: row.value for row in counts.rows if row.value} == labels
    assert all(
        abs(100 * x - round(100 * x)) < 1e-9 and len(f"{x!r}") < 8 for x in again.table["amount"].to_pylist() if x
    )
