"""What a cube needs in memory, known before anything is spent."""

import os
import resource
from pathlib import Path

from discreet.cube.plan import CubePlan
from discreet.cube.wide import closure_cells, is_wide
from discreet.errors import UnsupportedQuery

NUMBER = 8
"""Bytes of a count, exact, noisy or consistent."""


def needed_bytes(plan: CubePlan) -> int:
    """An upper estimate of the most that publishing a plan keeps in memory at once."""
    cells = [plan.lattice.cells(mask) for mask in plan.source_masks]
    # While measuring: the exact and the noisy sources. Then: the noisy sources and the one array, or all components.
    measuring = 2 * sum(cells)
    published = sum(plan.lattice.cells(mask) for mask in plan.published)
    computing = closure_cells(plan) + published if is_wide(plan) else plan.lattice.cube_bytes // NUMBER
    return NUMBER * max(measuring, sum(cells) + computing)


def require_memory(plan: CubePlan, available: int | None = None) -> None:
    """Raise UnsupportedQuery where publishing the plan needs more memory than there is."""
    needed = needed_bytes(plan)
    there = available_bytes() if available is None else available
    if needed > there:
        raise UnsupportedQuery(
            f"this cube needs about {_gigabytes(needed)} of memory and {_gigabytes(there)} are free; "
            "nothing was spent: choose fewer dimensions"
        )


def available_bytes() -> int:
    """The memory that this process may still take, as far as the system tells."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass  # not Linux, or no limit is set
    return min(limits)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size < 1e15 else f"{size / 1e9:.0e} GB"
