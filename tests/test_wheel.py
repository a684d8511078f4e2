"""The wheel, installed where there is nothing but what it says it needs; and the locks that environments come from.

The empty environment gets the wheel by pip. What the wheel depends on is linked from the environment of the tests, one
distribution after the other, as the wheel's own metadata name them: nothing is downloaded, and nothing else is there.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from discreet.vault import Vault
from tools.wheelhouse import pinned

ROOT = Path(__file__).parents[1]
PYTHON = "{}.{}".format(*sys.version_info)
EXTRAS = ("formats", "ibis", "mysql", "postgres", "sdmx", "server", "spark")
pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", folder / "project/src", ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "project")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "-o", folder, folder / "project"]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def variables() -> dict[str, str]:
    """The process's, but for those that tell Python where to look."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


@dataclass(frozen=True)
class Environment:
    """A virtual environment in a folder, the folders of links that its processes see, and where they work."""

    folder: Path
    work: Path
    seen: tuple[Path, ...] = ()

    def run(self, *words: str, exit_code: int = 0) -> str:
        """What a program of the environment prints, errors included."""
        own = {"XDG_STATE_HOME": str(self.work / "state"), "PYTHONPATH": os.pathsep.join(map(str, self.seen))}
        command = [self.folder / "bin" / words[0], *words[1:]]
        done = subprocess.run(command, cwd=self.work, env={**variables(), **own}, capture_output=True, text=True)
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def with_extra(self, extra: str) -> "Environment":
        """The same with what an extra of the package needs besides."""
        linked = self.folder / "extras" / extra
        if not linked.exists():
            linked.mkdir(parents=True)
            for found in needed(self.package, extra).values():
                link(found, linked)
        return Environment(self.folder, self.work, (linked,))

    @property
    def packages(self) -> Path:
        return self.folder / f"lib/python{PYTHON}/site-packages"

    @property
    def package(self) -> Distribution:
        return Distribution.at(next(self.packages.glob("discreet-*.dist-info")))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel, installed without extras, beside what `discreet demo` makes there, and a published cube."""
    made = Environment(tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("work"))
    venv.create(made.folder, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", made.folder / "bin/python"]
    install = [*pip, "install", "-q", "--no-deps", "--no-index", wheel]
    subprocess.run(install, env=variables(), check=True, capture_output=True)
    for found in needed(made.package, "").values():
        link(found, made.packages)
    made.run("discreet", "demo", "--people", "5000")
    given = {"table": made.work / "demo/people.parquet", "domain": made.work / "demo/people.toml"}
    vault = Vault.init(made.work / "published", **given, epsilon=1, neighbours="replace")  # kernels are compiled here
    vault.cubes.publish(vault.cubes.plan(epsilon="0.5", dimensions=["sex"])).save(made.work / "cube")
    return made


def needed(package: Distribution, extra: str) -> dict[str, Distribution]:
    """All that a package needs, by its metadata and theirs, found among what the tests run with."""
    found: dict[str, Distribution] = {}
    todo = [(package, frozenset([extra]))]
    seen = set()
    while todo:
        user, extras = todo.pop()
        for text in user.requires or ():
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            if not any(requirement.marker is None or requirement.marker.evaluate({"extra": one}) for one in extras):
                continue
            found[name] = package if name == "discreet" else distribution(name)
            step = (name, frozenset(["", *requirement.extras]))
            if step not in seen:
                seen.add(step)
                todo.append((found[name], step[1]))
    found.pop("discreet", None)
    return found


def link(found: Distribution, folder: Path) -> None:
    """Link the files of a distribution. A folder that two of them share is there with the first."""
    for name in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
        if not (folder / name).exists():
            (folder / name).symlink_to(Path(str(found.locate_file(name))))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    files = (path for path in (source / "discreet").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert held == {path.relative_to(source).as_posix() for path in files}


def test_the_command_says_its_version(bare: Environment) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert bare.run("discreet", "--version") == f"discreet {version}\n"


def test_the_demo_runs_where_only_the_wheel_is_installed(bare: Environment) -> None:
    assert "3" in re.findall(r"charges +(\d+)", bare.run("discreet", "demo", "again", "--people", "3000"))
    assert "fastapi" not in {path.name for path in bare.packages.iterdir()}


INIT = ("init", "new", "--domain", "demo/people.toml", "--epsilon", "1", "--neighbours", "replace", "--table")


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("formats", ("cube", "export", "cube", "cube.nc")),
        ("formats", ("cube", "export", "cube", "cube.zarr")),
        ("postgres", (*INIT, "postgres://keeper@127.0.0.1:1/census?table=people")),
        ("postgres", (*INIT, "demo/people.parquet", "--ledger", "postgres://keeper@127.0.0.1:1/census")),
        ("sdmx", ("cube", "export", "cube", "cube.csv")),
        ("server", ("serve", "demo/vault", "--port", "0")),
        ("server", ("demo", "--console", "--port", "0")),
        ("spark", (*INIT, "spark+parquet:demo/people.parquet")),
    ],
)
def test_what_needs_an_extra_names_it(bare: Environment, extra: str, words: tuple[str, ...]) -> None:
    assert f"pip install 'discreet[{extra}]'" in bare.run("discreet", *words, exit_code=1)
    assert not (bare.work / "new").exists()


def test_the_port_for_bi_tools_names_its_extra_where_only_the_server_is_there(bare: Environment) -> None:
    words = ("discreet", "serve", "demo/vault", "--port", "0", "--mysql-port", "0")
    assert "pip install 'discreet[mysql]'" in bare.with_extra("server").run(*words, exit_code=1)


SERVED = (
    "from discreet.server.app import create_app; from discreet.vault import Vault; create_app(Vault.open('demo/vault'))"
)
OF_IBIS = """
import ibis
from discreet.vault import Vault
people = ibis.duckdb.connect().read_parquet("demo/people.parquet").filter(ibis._.age < 30)
Vault.init("of-ibis", table=people, domain="demo/people.toml", epsilon=1, neighbours="replace")
"""


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("formats", ("discreet", "cube", "export", "cube", "cube.nc")),
        ("formats", ("discreet", "cube", "export", "cube", "cube.zarr")),
        ("ibis", ("python", "-c", OF_IBIS)),
        ("mysql", ("python", "-c", f"import discreet.server.wire; {SERVED}")),
        ("postgres", ("python", "-c", "import psycopg; assert psycopg.pq.__impl__ == 'binary'")),
        ("sdmx", ("discreet", "cube", "export", "cube", "cube.csv")),
        ("server", ("python", "-c", SERVED)),
        ("spark", ("python", "-c", "from pyspark.sql import SparkSession; import discreet.table.spark")),
    ],
)
def test_an_extra_brings_what_it_is_for(bare: Environment, extra: str, words: tuple[str, ...]) -> None:
    bare.with_extra(extra).run(*words)


def test_every_extra_is_tried(bare: Environment) -> None:
    assert tuple(sorted(bare.package.metadata.get_all("Provides-Extra") or ())) == EXTRAS


def test_the_demo_is_installed_with_what_it_needs_and_what_builds_it(bare: Environment) -> None:
    locked = {canonicalize_name(found.name) for found in pinned(ROOT / "requirements-demo.lock", PYTHON)}
    assert locked == {*needed(bare.package, ""), *needed(bare.package, "server"), "setuptools"}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-demo.lock"])
def test_a_lock_names_versions_and_hashes_and_no_address(name: str) -> None:
    line = re.compile(r"[\w.-]+==[\w.]+(?: ; [\w'. <>=!]+)? \\|    --hash=sha256:[0-9a-f]{64}(?: \\)?")
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    assert [text for text in lines if not line.fullmatch(text)] == []
    for wanted, text in pinned(ROOT / name, PYTHON).items():
        assert "--hash" in text, wanted


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_both_environments_have_the_same_versions(python: str) -> None:
    small, whole = (
        {(found.name, str(found.specifier)) for found in pinned(ROOT / f"requirements{name}.lock", python)}
        for name in ("-demo", "")
    )
    assert small < whole
