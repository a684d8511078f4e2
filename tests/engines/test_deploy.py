"""What is in deploy/, run as a script in an empty folder: no image is built, for there is no Docker here.

The commands are those of the files and of the how-to, with their folders and hosts put in the place of this machine's.
What is left out is what changes a machine: `useradd`, and downloads (dependencies are those of the tests).
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import yaml

from discreet.demo.census import census_domain_path
from tests.patience import wait_until

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
WORDS = {name: [] for name in ("RUN", "COPY", "CMD", "ENTRYPOINT", "HEALTHCHECK")}
for line in re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text()).splitlines():
    if (verb := line.partition(" ")[0]) in WORDS:
        WORDS[verb].append(line.partition(" ")[2])
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The folder that the Dockerfile's steps fill, with the program in `bin`."""
    folder = tmp_path_factory.mktemp("image")
    project = folder / "project"
    project.mkdir()
    for copied in WORDS["COPY"]:
        if copied.startswith("--from"):
            continue  # the second stage sees the first one's wheels
        *names, _ = copied.split()
        for name in names:
            if (ROOT / name).is_file():
                shutil.copy(ROOT / name, project / name)
            else:
                left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(ROOT / name, project / name, ignore=left_out)
    venv.create(folder, with_pip=True)
    # What an environment brings along is older than what the package is built with.
    subprocess.run([folder / "bin/pip", "uninstall", "-qy", "setuptools"], check=True)
    links = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (links / "tests.pth").write_text(sysconfig.get_path("purelib"))  # the dependencies, by a link
    here = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0"}  # fmt: skip
    here.pop("PYTHONPATH", None)
    for step in WORDS["RUN"]:
        if step.startswith("useradd"):
            continue
        run = subprocess.run(["sh", "-ec", step.replace("/wheels", f"{folder}/wheels")], cwd=project, env=here,
                             capture_output=True, text=True)  # fmt: skip
        assert run.returncode == 0, run.stderr
    for kept in (ROOT / "src/discreet").rglob("*.nb?"):  # a compiled kernel is known by what it is, wherever it stands
        place = links / "discreet" / kept.relative_to(ROOT / "src/discreet")
        place.parent.mkdir(exist_ok=True)
        shutil.copy(kept, place)
    return folder, here


def test_the_versions_are_those_of_the_lock_and_the_extras_are_there(image):
    folder, _ = image
    versions = (folder / "wheels/versions.txt").read_text().splitlines()
    assert len(versions) == len(re.findall(r"(?m)^\S+==", (ROOT / "requirements.lock").read_text())) > 50
    for needed in ("fastapi==", "mysql-mimic==", "psycopg=="):
        assert any(version.startswith(needed) for version in versions)
    assert "[mysql,postgres]" in "".join(WORDS["RUN"])


def test_the_commands_of_compose_make_serve_and_ask_a_vault_over_postgres(image, postgres, tmp_path):
    _, here = image
    (tmp_path / "offices").mkdir()
    (tmp_path / "state").mkdir()
    shutil.copy(census_domain_path(), tmp_path / "offices/people.toml")
    fill(postgres)
    service = COMPOSE["services"]["discreet"]
    assert [place.partition(":")[2] for place in service["volumes"]] == ["/offices", "/state"]
    assert service["environment"].keys() == {"PGPASSWORD"}
    assert COMPOSE["services"]["db"]["environment"]["POSTGRES_USER"] == "keeper"
    environment = {**here, "PGPASSWORD": postgres.password, "XDG_STATE_HOME": str(tmp_path / "state")}

    def placed(word):
        return word.replace("/offices", str(tmp_path / "offices")).replace("@db:5432", f"@localhost:{postgres.port}")

    [entry] = [json.loads(words) for words in WORDS["ENTRYPOINT"]]
    token = None
    for command in typed("docker compose run --rm discreet "):
        run = subprocess.run([*entry, *map(placed, command)], env=environment, cwd=tmp_path, capture_output=True,
                             text=True)  # fmt: skip
        assert run.returncode == 0, run.stderr
        token = run.stdout.split()[-1]
    command = [*entry, *map(placed, json.loads(WORDS["CMD"][0]))]
    for option in ("--port", "--mysql-port"):
        command[command.index(option) + 1] = "0"
    command += ["--deadline", "0"]  # nobody has compiled a kernel there yet
    environment["COLUMNS"] = "200"
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = next(line for line in server.stdout if "answers at http" in line).rpartition(":")[2].strip()
            probe = WORDS["HEALTHCHECK"][0].partition("CMD ")[2].replace(":8801", f":{port}")
            check = json.loads(probe)
            wait_until(lambda: subprocess.run(check, env=environment, capture_output=True).returncode == 0)
            body = json.dumps({"sql": "SELECT COUNT(*) FROM people"}).encode()
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            asked = Request(f"http://127.0.0.1:{port}/v/people/api/v1/ask", body, headers)
            assert json.load(urlopen(asked))["rows"][0]["kind"] == "measured"
        finally:
            server.terminate()


def fill(postgres):
    from discreet.demo.census import write_census

    folder = Path(os.environ["XDG_STATE_HOME"])
    write_census(folder / "people.parquet", 500)
    import duckdb

    with duckdb.connect() as engine:
        rows = engine.execute(f"SELECT * FROM '{folder / 'people.parquet'}'").fetchall()
        columns = engine.execute(f"DESCRIBE SELECT * FROM '{folder / 'people.parquet'}'").fetchall()
    kinds = {"VARCHAR": "text", "DOUBLE": "double precision"}
    made = ", ".join(f'"{name}" {kinds.get(kind, kind)}' for name, kind, *_ in columns)
    postgres.execute("DROP TABLE IF EXISTS people", f"CREATE TABLE people ({made})")
    marks = ", ".join(["%s"] * len(columns))
    with postgres.connect() as session, session.cursor() as cursor:
        cursor.executemany(f"INSERT INTO people VALUES ({marks})", rows)


def typed(beginning):
    """The commands of the how-to that begin so, without their beginning."""
    page = (ROOT / "docs/how-to/deploy.md").read_text().replace("\\\n", " ")
    return [shlex.split(line.removeprefix(beginning)) for line in page.splitlines() if line.startswith(beginning)]


def test_the_unit_is_one_that_systemd_takes_and_starts_what_there_is(tmp_path):
    text = (DEPLOY / "discreet.service").read_text()
    [command] = re.findall(r"(?m)^ExecStart=(.*)$", text)
    program, verb, folder, *options = command.split()
    assert (Path(program).name, verb, folder) == ("discreet", "serve", "/var/lib/discreet/offices")
    shown = subprocess.run([sys.executable, "-c", "from discreet.cli import main; main()", "serve", "--help"],
                           capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})  # fmt: skip
    assert all(option in shown.stdout for option in options if option.startswith("--"))
    if (systemd := shutil.which("systemd-analyze")) is not None:
        (tmp_path / "discreet.service").write_text(text.replace(program, "/bin/true"))
        verified = subprocess.run(
            [systemd, "verify", str(tmp_path / "discreet.service")], capture_output=True, text=True
        )
        assert "discreet.service" not in verified.stderr
