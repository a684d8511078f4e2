"""discreet cube publish --each: a cube of every period, in a folder of folders."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.present import print_json, say, table
from discreet.errors import ArchiveError

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.cube.plan import CubePlan
    from discreet.vault.standing import VaultStanding


def publish_each(
    standing: "VaultStanding",
    folder: Path,
    plan: "CubePlan",
    periods: tuple[str, str | None, str | None],
    through: str | None,
    as_json: bool,
) -> None:
    """Declare cubes of each period where they are not yet, publish those of periods that have ended, and write the ones
    that the folder has not. `periods` is their attribute, the first and the last."""
    each, first, last = periods
    declared = standing.require_declarable(plan, each, first=first, last=last, through=through)
    _require_room(folder, declared is not None)
    number = standing.declare(plan, each, first=first, last=last).number
    found = standing.publish(number, through=through)
    folder.mkdir(exist_ok=True)
    new = [period for period, cube in found.cubes.items() if not _is_there(folder / period, cube)]
    for period in new:
        found.cubes[period].save(folder / period)
    told = {"number": found.number, "open": found.open, "periods": list(found.periods)}
    if as_json:
        folders = {period: str(folder / period) for period in found.cubes}
        print_json({**told, "folders": folders, "written": new, "guarantee": found.guarantee.to_json()})
        return
    table("", ("period", "cube"), [(period, str(folder / period)) for period in found.cubes], tight=("cube",))
    say(f"Standing cubes {found.number}: {len(found.cubes):,} of {len(found.periods):,} periods are published.")
    say(str(found.guarantee))


def _require_room(folder: Path, declared: bool) -> None:
    """Raise ArchiveError unless a folder can hold these cubes, before anything is set aside for them."""
    from discreet.release.package import require_new_folder

    if not folder.exists():
        require_new_folder(folder, "the cubes")
    elif not folder.is_dir():
        raise ArchiveError(f"{folder} is no folder; choose another place for the cubes")
    elif not declared and any(folder.iterdir()):
        raise ArchiveError(
            f"{folder} has something in it, and these cubes are not declared yet: nothing was set aside. To go on with "
            "cubes that were, repeat all that was said then, but --through (a refresh or an erasure ends them); new "
            "ones go to a new folder"
        )


def _is_there(folder: Path, cube: "Cube") -> bool:
    """Whether a cube was written before. Raises ArchiveError where another is in its place."""
    from discreet.cube.cube import Cube

    if not folder.exists():
        return False
    if Cube.load(folder).origin.receipt != cube.origin.receipt:
        raise ArchiveError(f"{folder} has another cube; choose another place")
    return True
