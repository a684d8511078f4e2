"""Which tests a room's mutants are tried with: its own, and those of rooms that stand on it where it is used whole."""

from pathlib import Path

from mutants.mutant import ROOT, Mutant

BESIDE = {
    "release": ("tests/table/test_snapshot.py", "tests/cube/test_folder.py", "tests/test_vault_snapshots.py"),
    "ledger": ("tests/release/test_purchase.py",),
    "query": ("tests/release/test_gate.py", "tests/cube/test_planners.py"),
    "noise": ("tests/release/test_gate.py", "tests/statistical/test_noise_laws.py"),
    "answer": ("tests/test_vault.py", "tests/test_vault_sulq.py"),
    "table": ("tests/release/test_gate.py", "tests/release/test_taking.py"),
    "facts": ("tests/test_vault_facts.py",),
    "cube": ("tests/test_vault_cube.py", "tests/statistical/test_cube_noise.py"),
}
"""Test files of other rooms, by room."""

FASTEST = 5
"""So many files are tried first for a file of the package that has none of its own."""


def suite_of_room(room: str) -> list[str]:
    own = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / room).glob("test_*.py"))
    return [*own, *BESIDE[room]]


def suites_of(mutant: Mutant, seconds: dict[str, float]) -> list[list[str]]:
    """The test files for a mutant, to be run one list after the other: the one named after its file, or the fastest
    ones of its room; all others, the fastest first."""
    own = f"tests/{mutant.room}"

    def order(file: str) -> tuple[bool, str, float]:
        folder = str(Path(file).parent)  # pytest loses fixtures where files of a folder do not stand together
        return folder != own, folder, seconds.get(file, 0.0)

    files = sorted(suite_of_room(mutant.room), key=order)
    first = [file for file in files if file == f"{own}/test_{Path(mutant.path).stem}.py"] or files[:FASTEST]
    return [first, [file for file in files if file not in first]]
