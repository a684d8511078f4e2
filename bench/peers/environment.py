"""The peers, and a virtual environment for each."""

import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

OUT = Path(__file__).parents[1] / "out" / "peers"
INSTALL_SECONDS = 600


@dataclass(frozen=True)
class Peer:
    """A tool to be measured: its module in `tools`, its packages (none: it runs here), the tasks it takes part in."""

    tool: str
    title: str
    packages: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ("noise", "pairs", "cuboids", "counts")


CUBES_ONLY = ("pairs", "cuboids")
PEERS = (
    Peer("discreet_vault", "Discreet"),
    Peer("discreet_whole", "Discreet, whole numbers", tasks=("cuboids",)),
    Peer("opendp_arrays", "OpenDP, arrays", ("opendp[polars]", "numpy")),
    Peer("opendp_polars", "OpenDP, Polars", ("opendp[polars]", "numpy"), (*CUBES_ONLY, "counts")),
    # scikit-learn 1.9 took away a name that diffprivlib 0.6.6 imports.
    Peer("diffprivlib_tools", "diffprivlib", ("diffprivlib", "scikit-learn<1.9")),
    Peer("smartnoise_sql", "SmartNoise SQL", ("smartnoise-sql",), (*CUBES_ONLY, "counts")),
    Peer("pipelinedp_local", "PipelineDP", ("pipeline-dp",)),
    Peer("tumult_spark", "Tumult Analytics", ("tmlt.analytics", "pyarrow")),
    Peer("numpy_floor", "NumPy, not private"),
)


class NotInstalled(Exception):
    """A peer that is not to be had here; the message says why, in a line."""


def interpreter(peer: Peer) -> str:
    """The Python that runs the peer: this one, or that of an environment which is made if it is not there."""
    if not peer.packages:
        return sys.executable
    folder = OUT / "environments" / peer.packages[0].partition("[")[0]
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join(peer.packages)
    if not installed.exists() or installed.read_text(encoding="utf-8") != wanted:
        venv.create(folder, clear=True, with_pip=True)
        install(str(python), peer.packages)
        installed.write_text(wanted, encoding="utf-8")
    return str(python)


def install(python: str, packages: Sequence[str]) -> None:
    """By name, from the index that pip is set up with."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"pip was not done after {INSTALL_SECONDS} s") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise NotInstalled(said[-1].removeprefix("ERROR: ") if said else f"pip ended with {done.returncode}")
