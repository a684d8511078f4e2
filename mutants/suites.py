"""Which tests a room's mutants are tried with: its own, and those of rooms that stand on it where it is used whole."""

from pathlib import Path

from mutants.mutant import ROOT, Mutant

BESIDE = {
    "release": (
        "tests/table/test_snapshot.py",
        "tests/cube/test_folder.py",
        "tests/test_vault_snapshots.py",
        "tests/test_vault_discover.py",
    ),
    "ledger": ("tests/release/test_purchase.py", "tests/answer/test_concentrated.py"),
    "query": ("tests/release/test_gate.py", "tests/cube/test_planners.py"),
    "noise": ("tests/release/test_gate.py", "tests/statistical/test_noise_laws.py"),
    "answer": ("tests/test_vault.py", "tests/test_vault_sulq.py"),
    "table": ("tests/release/test_gate.py", "tests/release/test_taking.py"),
    "facts": ("tests/test_vault_facts.py",),
    "lattice": ("tests/facts/test_generic.py",),
    "refinement": ("tests/test_vault_facts.py",),
    "cube": ("tests/test_vault_cube.py", "tests/statistical/test_cube_noise.py"),
}
"""Test files of other rooms, by room."""


def suite_of_room(room: str) -> list[str]:
    """A room's test files, in the order in which they are run: with a mutant as without, so that whatever a test leaves
    behind for the next is the same. Files of a folder stand together, or pytest loses their fixtures."""
    own = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / room).glob("test_*.py"))
    return [*own, *BESIDE[room]]


def suites_of(mutant: Mutant) -> list[list[str]]:
    """The test files for a mutant, one list after the other: the one named after its file; all of its room."""
    own = f"tests/{mutant.room}/test_{Path(mutant.path).stem}.py"
    everything = suite_of_room(mutant.room)
    return [[own], everything] if own in everything else [everything]
