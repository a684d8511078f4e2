"""One vault with a codebook, through every door: the same labels, in the same order, wherever people read them."""

import csv
import html
import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cube.cube import Cube
from discreet.cube.export import read_export
from discreet.domain.read import parse_domain
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.synthetic.rows import SyntheticRows
from discreet.vault import Vault
from tests.server.mysql_clients import serving

BOOK = '''code,label,parent
A,"Agriculture, ""green""",
01,"Crops, roots & 'tubers'",A
02,Forêt à Zürich <b>,A
B,"Mining; all",
05,"Coal [hard] \\ ""soft""",B
06,100% oil | gas,B
07,,B
'''
LABELS = [
    "01 Crops, roots & 'tubers'",
    "02 Forêt à Zürich <b>",
    '05 Coal [hard] \\ "soft"',
    "06 100% oil | gas",
    "07",
]
GROUPS = ['Agriculture, "green"', "Mining; all"]
CODES = ["01", "02", "05", "06", "07"]
TITLES = ["Crops, roots & 'tubers'", "Forêt à Zürich <b>", 'Coal [hard] \\ "soft"', "100% oil | gas"]
DOMAIN = """name = "work"

[attributes.job]
kind = "category"
values_from = "jobs.csv"
source = "NACE"

[attributes.before]
kind = "category"
values_from = "jobs.csv"
source = "NACE, of the job before: the same labels in another column"

[attributes.age]
kind = "integer"
low = 0
high = 3
source = "s"
"""
ASKED = "SELECT job, COUNT(*) AS n FROM work GROUP BY job"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The vault, with a cube and synthetic rows."""
    folder = tmp_path_factory.mktemp("labels")
    (folder / "jobs.csv").write_text(BOOK, encoding="utf-8")
    (folder / "work.toml").write_text(DOMAIN, encoding="utf-8")
    rows = range(500)
    jobs = {"job": [CODES[i % 5] for i in rows], "before": [CODES[i // 5 % 5] for i in rows]}
    table = {**jobs, "age": [i % 4 for i in rows]}
    pq.write_table(pa.table(table), folder / "work.parquet")
    vault = Vault.init(folder / "vault", table=folder / "work.parquet", domain=folder / "work.toml", epsilon=10**4,
                       neighbours="replace")  # fmt: skip
    vault.ask(ASKED, scale="0.01")
    (vault.path / "cubes").mkdir()
    vault.cubes.publish(vault.cubes.plan(epsilon=1000, dimensions=["job", "before"])).save(vault.path / "cubes" / "c")
    return vault


@pytest.fixture
def cube(made):
    return Cube.load(made.path / "cubes" / "c")


def run(*arguments):
    found = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.output
    return found.output


def in_csv(text, column="job"):
    return [row[column] for row in csv.DictReader(io.StringIO(text))]


def test_an_answer_in_python_and_as_a_frame_text_and_page(made):
    answer = made.ask(ASKED, scale="0.01")
    assert [labels[0] for labels, _ in answer.lines] == LABELS
    assert answer.to_arrow()["job"].to_pylist() == answer.to_pandas()["job"].tolist() == LABELS
    assert in_csv(answer.to_csv()) == LABELS
    assert all(label in str(answer) for label in LABELS)
    page = answer._repr_html_()
    assert all(html.escape(label) in page or html.escape(label, quote=False) in page for label in LABELS)
    assert "<b>" not in page


def test_the_command_line_as_table_and_as_json(made, tmp_path):
    shown = run("ask", made.path, ASKED, "--scale", "0.01")
    assert [line for label in LABELS for line in shown.splitlines() if line.strip().startswith(f"{label}  ")]
    assert all(f" {label}  " in shown for label in LABELS)
    rows = json.loads(run("ask", made.path, ASKED, "--scale", "0.01", "--json"))["rows"]
    assert [row["labels"]["job"] for row in rows] == LABELS
    run("ask", made.path, ASKED, "--scale", "0.01", "--out", tmp_path / "out.csv")
    assert in_csv((tmp_path / "out.csv").read_text()) == LABELS


@pytest.mark.parametrize("code", range(4))
def test_a_value_is_asked_by_code_title_or_both(made, code):
    for text in (CODES[code], TITLES[code], LABELS[code]):
        written = text.replace("'", "''")
        for asked in (
            f"SELECT COUNT(*) AS n FROM work WHERE job = '{written}'",
            f"SELECT COUNT(*) AS n FROM work WHERE '{written}' IN (job)",
            f"SELECT n FROM (SELECT job, COUNT(*) AS n FROM work GROUP BY job) WHERE job = '{written}'",
            f"SELECT SUM(CASE WHEN job = '{written}' THEN 1 ELSE 0 END) AS n FROM work",
        ):
            assert made.ask(asked, scale="0.01").value == pytest.approx(100, abs=1), asked


@pytest.fixture(scope="module")
def http(made):
    client = TestClient(create_app(made, slot=0, rate=0, deadline=None))
    token = add_user(made.path, "ana", "analyst")
    client.post("/login", data={"token": token}, headers={"origin": "http://testserver"})
    client.headers["authorization"] = f"Bearer {token}"
    return client


def test_http_answers_cubes_and_downloads(http):
    rows = http.post("/api/v1/ask", json={"sql": ASKED, "scale": "0.01"}).json()["rows"]
    assert [row["labels"]["job"] for row in rows] == LABELS
    assert http.get("/api/v1/cubes/c").json()["labels"]["job"] == LABELS
    assert http.get("/api/v1/cubes/c/cuboid", params={"by": "job"}).json()["labels"]["job"] == LABELS
    groups = http.get("/api/v1/cubes/c/groups", params={"by": "job_group1"}).json()
    assert groups["labels"]["job_group1"] == GROUPS
    for label in LABELS:
        sliced = http.get("/api/v1/cubes/c/cuboid", params={"by": "before", "slice": f"job={label}"})
        assert sliced.json()["slice"] == {"job": label}, sliced.text
    taken = http.get("/api/v1/cubes/c/download", params={"by": "job", "format": "csv"})
    assert in_csv(taken.text) == LABELS
    taken = http.get("/api/v1/cubes/c/download", params={"by": "job", "format": "parquet"})
    table = pq.read_table(io.BytesIO(taken.content))
    assert table["job"].to_pylist() == LABELS


def labels_in(page):
    return [html.unescape(text) for text in re.findall(r'<th scope="row">(?:<a [^>]*>)?([^<]*)', page)]


def test_the_consoles_answer_its_charts_and_its_downloads(http):
    fields = {"sql": ASKED, "scale": "0.01"}
    page = http.get("/ask", params=fields).text
    assert labels_in(page) == LABELS
    for form in ("csv", "parquet", "json", "svg"):
        content = http.get("/ask/download", params={**fields, "format": form}).content
        if form == "csv":
            assert in_csv(content.decode()) == LABELS
        elif form == "parquet":
            assert pq.read_table(io.BytesIO(content))["job"].to_pylist() == LABELS
        elif form == "json":
            assert [row["labels"]["job"] for row in json.loads(content)["rows"]] == LABELS
        else:
            shown = html.unescape(content.decode())
            assert all(label in shown for label in LABELS), shown


def test_the_consoles_cube_by_values_by_groups_and_in_slices(http):
    assert labels_in(http.get("/cube/c", params={"d.job": "*", "view": "table"}).text) == LABELS
    assert labels_in(http.get("/cube/c", params={"d.job": "*1", "view": "table"}).text) == GROUPS
    heat = html.unescape(http.get("/cube/c", params={"d.job": "*", "d.before": "*", "view": "heat"}).text)
    assert all(label[:12] in heat for label in LABELS)
    for place, label in enumerate(LABELS):
        page = http.get("/cube/c", params={"d.job": str(place), "d.before": "*", "view": "table"}).text
        download = html.unescape(re.search(r'href="([^"]*/download[^"]*csv)"', page)[1])
        assert in_csv(http.get(download).text, "before") == LABELS, label


def test_a_cube_in_python_and_in_its_files(cube, tmp_path):
    assert cube["job"].coords["job"].values.tolist() == LABELS
    assert cube.slice(job=LABELS[2])["before"].values.sum() == pytest.approx(100, abs=5)
    for name in ("c.nc", "c.zarr"):
        cube.export(tmp_path / name)
        assert read_export(tmp_path / name)["count_by_job"].coords["job"].values.tolist() == LABELS


def test_a_cube_of_the_command_line(made, tmp_path):
    folder = made.path / "cubes" / "c"
    shown = run("cube", "show", folder, "job")
    assert all(f" {label}  " in shown for label in LABELS), shown
    assert json.loads(run("cube", "show", folder, "job", "--json"))
    run("cube", "export", folder, tmp_path / "c.csv")
    assert (tmp_path / "c.csv").exists()


def test_sdmx_names_each_code_by_its_label(cube, tmp_path):
    import sdmx

    cube.export(tmp_path / "c.csv")
    [structure] = [path for path in tmp_path.iterdir() if path.suffix == ".xml"]
    message = sdmx.read_sdmx(structure)
    names = {str(code.name) for codes in message.codelist.values() for code in codes}
    assert set(LABELS) <= names


def test_mysql(made):
    with serving(made) as server, server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(ASKED)
        assert [label for label, _ in cursor.fetchall()] == LABELS
        for label in LABELS:
            cursor.execute("SELECT COUNT(*) FROM work WHERE job = %s", (label,))
            assert cursor.fetchone()[0] == pytest.approx(100, abs=5)


def test_synthetic_rows_have_codes_as_the_table_has_and_their_domain_the_labels(made, tmp_path):
    rows = made.rows.publish(made.path / "cubes" / "c", rows=400, seed=3)
    for name in ("r.csv", "r.parquet"):
        rows.save(tmp_path / name)
        again = SyntheticRows.load(tmp_path / name)
        assert set(again.table["job"].to_pylist()) == set(CODES)
        assert parse_domain(again.about["domain"])["job"].labels == tuple(LABELS)


def test_what_was_released_and_facts(made, tmp_path):
    [number, *_] = [one["charge"] for one in json.loads(run("release", "list", made.path, "--json"))["releases"]]
    shown = run("release", "show", made.path, number) + run("describe", made.path)
    assert all(label in shown for label in LABELS)
    lines = [["job", "count"], *([label, 100] for label in LABELS)]
    with (tmp_path / "known.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    assert json.loads(run("fact", "add", made.path, tmp_path / "known.csv", "--cuboid", "job", "--dry-run", "--json"))
