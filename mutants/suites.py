"""Which tests a room's mutants are tried with: its own, and those of rooms that stand on it where it is used whole."""

from pathlib import Path

from mutants.mutant import ROOT, Mutant

BESIDE = {
    "release": ("tests/table/test_snapshot.py", "tests/cube/test_folder.py", "tests/test_vault_snapshots.py"),
    "ledger": ("tests/release/test_purchase.py",),
    "query": ("tests/release/test_gate.py", "tests/cube/test_planners.py"),
    "noise": ("tests/release/test_gate.py", "tests/statistical/test_noise_laws.py"),
    "answer": ("tests/test_vault.py",),
    "table": ("tests/release/test_gate.py", "tests/release/test_taking.py"),
    "facts": ("tests/test_vault_facts.py",),
    "cube": ("tests/test_vault_cube.py", "tests/statistical/test_cube_noise.py"),
}
"""Test files of other rooms, by room."""


def suite_of_room(room: str) -> list[str]:
    own = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / room).glob("test_*.py"))
    return [*own, *BESIDE[room]]


def suite_of(mutant: Mutant, seconds: dict[str, float]) -> list[str]:
    """The test files for a mutant: the one named after its file, then its room's, then others; the fastest first."""
    stem, own = Path(mutant.path).stem, Path("tests", mutant.room)

    def order(file: str) -> tuple[bool, bool, float]:
        return Path(file).stem != f"test_{stem}", Path(file).parent != own, seconds.get(file, 0.0)

    return sorted(suite_of_room(mutant.room), key=order)
