"""Published cubes and statistics, made again from what the journal has.

What everybody reads in a folder are numbers that were computed from the measured ones, with labels and variances beside
them; and whoever can write a folder can seal it anew. So the numbers are computed again from those of the journal, and
the files are written again, aside, and compared. The mathematics of cubes is Discreet's own, as it was when the folder
was published: that it is right is for its tests to show.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.facts.account import facts_of
from discreet.ledger.ledger import Ledger
from discreet.query.plan import Plan
from discreet.query.query import Choice, answer_shape
from discreet.release.archive import Archive
from discreet.release.package import PACKAGE
from discreet.release.release import Noisy, Release

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.model.model import Model

PUBLISH = "publish it again from its charge, which spends nothing: `discreet cube publish --charge`"
PUBLISH_STATISTICS = "publish it again from its charge, which spends nothing: `discreet sulq publish --charge`"
WITHDRAW = "take it back from whoever has it: it is not what this vault released"
READ_IT = "read it: what holds is the guarantee that stands below it"
MODEL_SAME = 0.2
"""The part of a standard deviation of the noise that two fits of one model may be apart."""
SAME = 1e-6
"""How far a sum of doubles may be off on another machine, in cells and as a share of the largest."""
ROUNDED = 2.0
"""… and how far whole counts may be: a cell that is rounded the other way moves what it is added to."""


class Unlike(Exception):
    """Why a folder is not what the journal says, and what to do."""

    def __init__(self, what: str, next: str = WITHDRAW) -> None:
        super().__init__(what)
        self.next = next


class Doubtful(Unlike):
    """Why it cannot be told whether it is, and what to do."""


def require_cube_again(path: Path, bought: Sequence[tuple[Any, Any]], account: Ledger, archive: Archive) -> None:
    """Raise Unlike unless a cube's folder is what the recorded numbers make. `bought` has the journal's plan and answer
    of each charge of it, of which choices decided what was measured, and are not in the cube."""
    from discreet.cube.cube import Cube
    from discreet.cube.folder import write_cube
    from discreet.cube.known_cuboids import known_tables
    from discreet.cube.memory import require_memory
    from discreet.cube.publish import cube_of, measurements_of

    cube = Cube.load(path)
    charge = account.charge_at(cube.origin.charge)
    domain = account.domain if charge is None else account.domain_of(charge.snapshot)
    steps = [(Plan.from_json(charged), recorded) for charged, recorded in bought]
    steps = [step for step in steps if not isinstance(step[0].measurements[0].query, Choice)]
    measured = Plan(tuple(each for plan, _ in steps for each in plan.measurements))
    if measurements_of(cube.plan, domain) != measured:
        raise Unlike("its plan is not the one that was charged")
    units = [
        cells
        for plan, recorded in steps
        for cells in archive.load(recorded, [answer_shape(each.query, domain) for each in plan.measurements])
    ]
    if any(
        not np.array_equal(cube.sources[mask], mine) for mask, mine in zip(cube.plan.source_masks, units, strict=True)
    ):
        raise Unlike("its measured cuboids are not the numbers that the journal has", PUBLISH)
    try:
        require_memory(cube.plan)
    except UnsupportedQuery:
        raise Doubtful("it is too large to be made again with the memory that is here", "audit it elsewhere") from None
    answers = zip(measured.measurements, units, strict=True)
    noisy = tuple(Noisy(each, each.query.grain(domain), mine) for each, mine in answers)
    release = Release(measured, noisy, cube.guarantee, cube.origin.charge, cube.origin.receipt)
    known = known_tables(cube.plan, facts_of(account, domain, archive)) if cube.plan.known else {}
    made = cube_of(cube.plan, domain, release, consistent=cube.consistent, known=known)
    _require_same(cube, made.reshaped(norm=cube.norm, counts=cube.counts))
    if cube.model is not None:
        _require_same_model(cube, made)
    _require_written(path, lambda aside: write_cube(cube, aside))


def _require_same_model(cube: "Cube", made: "Cube") -> None:
    """A fit ends where more would not matter beside the noise; other versions and machines may end elsewhere, near."""
    from discreet.cube.modelled import model_of

    assert cube.model is not None
    mine, theirs = model_of(made), cube.model
    off = apart(mine, theirs)
    if off <= SAME * (1 + mine.total):
        return
    if off <= MODEL_SAME * float(cube.plan.variances(cube.consistent).min()) ** 0.5:
        raise Doubtful("its model is not quite what this version makes of its measured cuboids", PUBLISH)
    raise Unlike("its model is not what its measured cuboids make", PUBLISH)


def apart(mine: "Model", theirs: "Model") -> float:
    """How far two models are from each other at most, in people; infinitely where they are of different kinds."""
    from discreet.model.mixture import ProductMixture

    if isinstance(mine, ProductMixture) or isinstance(theirs, ProductMixture):
        if (
            not (isinstance(mine, ProductMixture) and isinstance(theirs, ProductMixture))
            or mine.tables.shape != theirs.tables.shape
        ):
            return inf
        # Not what groups expect: one that is nobody's could say anything.
        off = (np.abs(mine.shares - theirs.shares), np.abs(mine.tables - theirs.tables))
        return mine.total * max(float(one.max(initial=0.0)) for one in off)
    if mine.potentials.keys() != theirs.potentials.keys():
        return inf
    return float(np.abs(mine.joint - theirs.joint).max(initial=0.0))


def _require_same(cube: "Cube", made: "Cube") -> None:
    if cube.dimensions != made.dimensions or cube.origin.table != made.origin.table:
        raise Unlike("its table or its dimensions are not those of the domain")
    apart = max(float(np.abs(cube.cuboids[mask] - cells).max(initial=0.0)) for mask, cells in made.cuboids.items())
    largest = max(float(np.abs(cells).max(initial=0.0)) for cells in made.cuboids.values())
    if apart <= SAME * (1 + largest):
        return
    # Where several cubes are as near to the sources, which of them a solver finds is a matter of its version.
    if cube.norm != "l2" or (cube.counts == "whole" and apart <= ROUNDED):
        raise Doubtful("its cuboids are not quite what this version makes of its measured ones", PUBLISH)
    raise Unlike("its cuboids are not what its measured ones make", PUBLISH)


def require_statistics_again(path: Path, charged: Any, recorded: Any, account: Ledger, archive: Archive) -> None:
    """The same for the statistics of a SuLQ database. How many people are in a subset is not counted again."""
    from discreet.mining.folder import write_statistics
    from discreet.mining.publish import measurements_of
    from discreet.mining.statistics import Statistics, StatisticsPlan, subsets_of

    found, measured = Statistics.load(path), Plan.from_json(charged)
    about = found.attributes, found.arity, len(found.seeds), found.people, found.trials
    plan = StatisticsPlan(*about, confidence=0.95)
    seeds = tuple(subset.seed for subset in subsets_of(plan))
    if measurements_of(plan, account.domain) != measured or found.seeds != seeds:
        raise Unlike("its attributes, its subsets or its noise are not those that were charged")
    if found.people != account.header["roster"]["people"]:
        raise Unlike("it is of another roster")
    units = archive.load(recorded, [answer_shape(each.query, account.domain) for each in measured.measurements])
    if not np.array_equal(found.counts.reshape(len(units), -1), np.stack(units)):
        raise Unlike("its counts are not the numbers that the journal has")
    promises = account.promised_so_far(measured.cost(account.domain, account.budget).peak)
    stated = [found.guarantee.startswith(str(replace(promise, remarks=()))) for promise in promises]
    if not any(stated):
        raise Unlike("it promises something else than its release")
    _require_written(path, lambda aside: write_statistics(found, aside))
    if not stated[-1]:
        raise Doubtful("it promises what held before an older journal was accepted", PUBLISH_STATISTICS)


def _require_written(path: Path, write: Callable[[Path], None]) -> None:
    """Whether files have the labels, variances and words that they would have if they were written now."""
    with tempfile.TemporaryDirectory() as name:
        aside = Path(name) / "again"
        try:
            write(aside)
        except ArchiveError:
            raise Doubtful("it cannot be written again to be compared", f"free some space in {name}") from None
        was, again = (json.loads((folder / PACKAGE).read_text(encoding="utf-8")) for folder in (path, aside))
        if any(was[key] != again[key] for key in ("title", "description")):
            # Another version may put it in other words.
            raise Doubtful("its title or its description is not what this version writes", READ_IT)
        for resource in again["resources"]:
            if not _alike(path / resource["path"], aside / resource["path"]):
                raise Unlike(f"{resource['path']} has other labels or variances than its numbers have")


def _alike(path: Path, again: Path) -> bool:
    names = pq.read_schema(again).names
    if pq.read_schema(path).names != names:
        return False
    for name in names:
        one, other = (pq.read_table(file, columns=[name]).column(0) for file in (path, again))
        if one.equals(other):
            continue
        if not pa.types.is_floating(other.type):
            one, other = (each.cast(pa.string()) for each in (one, other))
            if not one.equals(other):
                return False
        elif len(one) != len(other) or not np.allclose(one.to_numpy(), other.to_numpy(), rtol=SAME):
            return False
    return True
