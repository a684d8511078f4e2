"""A cube's source marginals from rows that stay where they are: 50,000,000 people in Parquet, Spark with little memory.

    python -m experiments.spark_scale [--rows N] [--memory 1g] [--folder DIR]

Prints how long each part took and the peak memory of Spark's process and of this one. In local mode the driver is the
executor, so `--memory` caps both: Java's heap cannot grow beyond it. The table in memory would take about 100 bytes a
row: 5 GB for 50,000,000 rows.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.demo.census import census_domain_path, write_census
from discreet.vault import Vault


def main() -> None:
    options = _options()
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {options.memory} pyspark-shell"
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.environ["XDG_STATE_HOME"] = folder
        file = Path(folder) / "people.parquet"
        with _timed(f"{options.rows:,} people written"):
            write_census(file, options.rows)
        print(f"  {file.stat().st_size / 1e6:,.0f} MB of Parquet")
        with _timed("Spark started, files looked at, vault made"):
            vault = Vault.init(
                Path(folder) / "vault",
                table=f"spark+parquet:{file}",
                domain=census_domain_path(),
                epsilon=1,
                neighbours="replace",
                live=True,
            )
        plan = vault.cubes.plan(epsilon=1, cuboids=2)
        with _timed("source marginals measured, cube published"):
            cube = vault.cubes.publish(plan)
        total = float(cube[()].values)
        print(f"  total {total:,.0f}, published with noise; {len(cube.names)} dimensions")
        print(f"  Spark's peak memory {_peak_of_java():,.0f} MB, heap capped at {options.memory}")
        print(f"  this process's peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--memory", default="1g", help="the cap on Spark's heap")
    parser.add_argument("--folder", type=Path, default=None, help="where the table is written, and removed again")
    return parser.parse_args()


@contextmanager
def _timed(what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - started:.1f} s", flush=True)


def _peak_of_java() -> float:
    """The most memory that a Java process under this one has had, in MB, heap and all."""
    children = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "pid="], capture_output=True, text=True, check=False
    )
    peaks = [0.0]
    for process in children.stdout.split():
        status = Path(f"/proc/{process}/status")
        if status.exists() and "Name:\tjava" in (text := status.read_text()):
            peaks += [float(line.split()[1]) / 1e3 for line in text.splitlines() if line.startswith("VmHWM")]
    return max(peaks)


if __name__ == "__main__":
    main()
