"""What a cube needs in memory, known before anything is spent."""

import math
import os
import resource
from pathlib import Path

from discreet.cube.plan import CubePlan
from discreet.cube.wide import closure_cells, is_wide
from discreet.errors import UnsupportedQuery

NUMBER = 8
"""Bytes of a count, exact, noisy or consistent."""


TABLE = 3000
"""Bytes that a measured table takes beside its numbers: its query, its noise, its place in the answer."""


def needed_bytes(plan: CubePlan) -> int:
    """An upper estimate of the most that publishing a plan keeps in memory at once."""
    cells = sum(plan.lattice.cells(mask) for mask in plan.source_masks)
    # While measuring: the exact and the noisy sources. Then: the noisy sources and the one array, or all components.
    computing = closure_cells(plan) if is_wide(plan) else plan.lattice.cube_bytes // NUMBER
    return NUMBER * (cells + max(cells, computing)) + TABLE * len(plan.source_masks)


def require_memory(plan: CubePlan, available: int | None = None) -> None:
    """Raise UnsupportedQuery where publishing the plan needs more memory than there is."""
    needed = needed_bytes(plan)
    there = available_bytes() if available is None else available
    if needed > there:
        raise UnsupportedQuery(
            f"this cube needs about {gigabytes(needed)} of memory and {gigabytes(there)} are free; "
            f"nothing was spent: choose {_what_would_fit(plan, there)}"
        )


def _what_would_fit(plan: CubePlan, there: int) -> str:
    """The most dimensions of a cuboid such that all cuboids of so many fit, where that is what was chosen."""
    lattice, most = plan.lattice, max(mask.bit_count() for mask in plan.published)
    if len(plan.published) < sum(math.comb(lattice.dimensions, count) for count in range(most + 1)):
        return "fewer dimensions or fewer cuboids"
    # cells[k]: those of all cuboids of k dimensions; a product of (1 + size·x), one factor a dimension.
    cells = [1]
    for size in lattice.sizes:
        cells = [a + size * b for a, b in zip([*cells, 0], [0, *cells], strict=True)][: most + 1]
    fits = [k for k in range(most) if NUMBER * 2 * sum(cells[: k + 1]) <= there]
    if not fits:
        return "fewer dimensions"
    return f"cuboids of at most {fits[-1]} dimension{'s' if fits[-1] != 1 else ''}, or fewer dimensions"


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


def gigabytes(size: int) -> str:
    """Bytes in words."""
    return f"{size / 1e9:,.1f} GB" if size < 1e15 else f"{size / 1e9:.0e} GB"
