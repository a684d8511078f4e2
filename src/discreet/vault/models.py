"""Models that a vault answers from: of everything public about its table, and of its published cubes. All public.

What is kept in `models/` of the vault are copies, for they take long to make: where one is gone, it is made again from
what was released, and is the same.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from discreet.cube.cube import Cube
from discreet.cube.modelled import ModelledCube
from discreet.cube.public_model import PublicModel, fit_everything
from discreet.cube.replicate_files import kept_models
from discreet.errors import UnsupportedQuery
from discreet.ledger.ledger import Ledger
from discreet.model.everything import Everything, everything
from discreet.model.model import Model
from discreet.private import private_folder
from discreet.progress import Progress, silent
from discreet.query.lattice import Lattice
from discreet.release.folder_beside import folder_beside
from discreet.vault.public import Public

NOTE, MODELS = "model", "models"
PUBLIC = "public-"
NOTHING = (
    "nothing that was released of this table tells rows apart, so there is no model of it: publish a cube, "
    "`discreet cube publish … --for model`, let rows buy one, `discreet rows publish … --epsilon 1`, or ask without "
    "the estimate modelled"
)


def note_model(cube: Cube, ledger: Ledger) -> None:
    """Journal that a cube's model was published, once."""
    charge = cube.origin.charge
    notes = (entry.parsed()["content"] for entry in ledger.notes(NOTE, charge))
    if charge not in (int(content["charge"]) for content in notes):
        ledger.note(NOTE, {"charge": charge}, of_table=True)


def public_measurements(vault: Public) -> Everything:
    """What the model of everything public is made of. Raises UnsupportedQuery where that is nothing."""
    made = measurements_so_far(vault)
    if made is None:
        raise UnsupportedQuery(NOTHING)
    return made


def measurements_so_far(vault: Public) -> Everything | None:
    """The same; None where nothing tells rows apart yet."""
    known, reach = vault._memory.everything, vault.ledger.reach
    try:
        return known[reach]
    except KeyError:
        found = everything(vault.facts._released_now(), vault.facts.current(), vault.domain)
    known.clear()
    known[reach] = found
    return found  # and not by its key: another thread may be further on by now


def public_model(of: Everything, vault: Public, progress: Progress = silent) -> PublicModel:
    """The model of everything public: a copy that is kept, else fitted and kept."""
    guarantee = vault.ledger.promise_of(of.all_releases[-1], of.receipt, of.all_releases[:-1])
    assert guarantee is not None, "these are this vault's own"
    with vault._memory.making:
        known = vault._memory.models
        if of.digest not in known:
            path = _public_folder(vault, of, "model")
            [model] = _kept(path, of.lattice, of.digest, lambda: (fit_everything(of, progress),), vault)
            for earlier in known:
                vault._memory.replicates.pop(earlier, None)
            known.clear()
            ranges = partial(_ranges, vault=vault)
            known[of.digest] = PublicModel(of, model, vault.domain.name, guarantee, ranges)
        return replace(known[of.digest], guarantee=guarantee)


def _ranges(model: PublicModel, vault: Public) -> tuple[Model, ...]:
    """The replicates that a model's ranges are made of."""
    with vault._memory.making:
        known, key = vault._memory.replicates, model.of.digest
        if key not in known:
            path = _public_folder(vault, model.of, "ranges")
            known[key] = _kept(path, model.of.lattice, key, model.simulated, vault)
        return known[key]


def modelled_cube(cube: Cube, vault: Public) -> ModelledCube:
    """A published cube, or a slice of one, read through its model, its ranges made of what is kept. Raises
    UnsupportedQuery where it was published without a model."""
    if cube.model is None:
        raise UnsupportedQuery(
            f"this cube was published without a model; `discreet cube publish … --charge {cube.origin.charge} "
            "--estimate modelled` publishes it with one, for nothing"
        )
    return ModelledCube(cube, cube.model, partial(_cube_ranges, vault=vault))


def _cube_ranges(modelled: ModelledCube, vault: Public) -> tuple[Model, ...]:
    """The replicates that the ranges of a published cube's model are made of."""
    cube, origin, known = modelled.cube, modelled.cube.origin, vault._memory.replicates
    key = str(origin.receipt)
    with vault._memory.making:
        if key not in known:
            own = vault.ledger.promise_of(origin.charge, origin.receipt) is not None
            path = vault.path / MODELS / f"{origin.charge}-ranges"
            known[key] = _kept(path, cube.plan.lattice, key, modelled.simulated, vault) if own else modelled.simulated()
        return known[key]


def _public_folder(vault: Public, of: Everything, what: str) -> Path:
    return vault.path / MODELS / f"{_public_names(vault)}{of.digest[:16]}-{what}"


def _public_names(vault: Public) -> str:
    """How the names of all copies of what is public of a table begin; a table's name has no dash."""
    return PUBLIC if vault.ledger.table is None else f"{PUBLIC}{vault.ledger.table}-"


def _kept(
    path: Path, lattice: Lattice, key: str, make: Callable[[], Sequence[Model]], vault: Public
) -> tuple[Model, ...]:
    """Models from their copy in the vault, else made and kept; copies of what is no longer all are removed."""

    def made() -> Sequence[Model]:
        models = make()
        with suppress(OSError):
            private_folder(vault.path / MODELS)
        return models

    is_new = not path.exists()
    models = kept_models(path, lattice, key, made)
    if is_new and path.exists() and path.name.startswith(PUBLIC):
        for old in (vault.path / MODELS).glob(f"{_public_names(vault)}*"):
            if old.name.rsplit("-", 1)[0] != path.name.rsplit("-", 1)[0]:
                _remove(old)
    return models


def _remove(folder: Path) -> None:
    """Remove a folder, all of it at once for whoever reads it."""
    with suppress(OSError), folder_beside(folder) as aside:
        folder.rename(aside / folder.name)
