"""`make wheelhouse`: every file that a lock names, for some versions of Python, to install where there is no network.

pip reads a lock's markers for the Python that runs it, also where it downloads for another one, so they are read here.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement

SOURCES = ("pyspark",)
"""Published without wheels. What builds them, setuptools, is in the lock as well."""
DOWNLOAD = [sys.executable, "-m", "pip", "download", "-q", "--require-hashes", "--no-deps"]


def pinned(lock: Path, python: str) -> dict[Requirement, str]:
    """What a lock has for a version of Python, such as 3.12, on this system: each requirement, with its lines."""
    here = {**default_environment(), "python_version": python, "python_full_version": f"{python}.99"}
    found = {}
    for lines in re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8").strip()):
        head, _, hashes = lines.partition("\\\n")
        requirement = Requirement(head)
        if requirement.marker is None or requirement.marker.evaluate(here):
            found[requirement] = f"{requirement.name}{requirement.specifier} \\\n{hashes}"
    return found


def download(lock: Path, pythons: list[str], folder: Path) -> None:
    """Download what is pinned, checked by its hashes: wheels for each version of Python, and the sources once."""
    for python in pythons:
        wheels = {name: lines for name, lines in pinned(lock, python).items() if name.name not in SOURCES}
        _download(wheels.values(), folder, "--only-binary", ":all:", "--python-version", python)
    if sources := [lines for name, lines in pinned(lock, pythons[0]).items() if name.name in SOURCES]:
        _download(sources, folder, "--no-binary", ":all:")


def _download(requirements: Iterable[str], folder: Path, *options: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
        wanted.write("\n".join(requirements))
        wanted.flush()
        subprocess.run([*DOWNLOAD, *options, "-d", folder, "-r", wanted.name], check=True)


if __name__ == "__main__":
    download(Path(sys.argv[1]), sys.argv[3:], Path(sys.argv[2]))
