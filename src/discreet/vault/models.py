"""Models that a vault published: named in its journal, and kept in its folder for whoever asks them. All public.

The journal has a note for each, so that it is a model of this vault wherever its cube's folder went. What is kept in
`models/` of the vault is a copy: where it is gone, it is made again from what was released.
"""

import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from discreet.cube.adaptive import cube_of_run
from discreet.cube.cube import Cube
from discreet.cube.journal import noted_plan
from discreet.cube.known_cuboids import known_tables
from discreet.cube.modelled import ModelledCube, PublishedModel
from discreet.cube.publish import cube_of
from discreet.cube.replicate_files import read_replicates, write_replicates
from discreet.cube.runs import read_run, run_holding
from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, Record
from discreet.ledger.ledger import Ledger
from discreet.model.model import Model
from discreet.private import private_folder
from discreet.release.release import Release
from discreet.vault.public import Public

NOTE, MODELS = "model", "models"
_MAKING = threading.Lock()
"""Replicates take long to make: whoever needs the same waits for them."""


def note_model(cube: Cube, ledger: Ledger, home: Path) -> None:
    """Journal that a cube's model was published, once, and keep a copy of it in the vault where there is room."""
    charge = cube.origin.charge
    if charge not in _noted(ledger, charge):
        ledger.note(NOTE, {"charge": charge})
    with suppress(ArchiveError):
        _keep(cube, home)


def published_models(vault: Public) -> list[PublishedModel]:
    """The models of the table as it is now, in the order in which they were published."""
    now, since, _ = vault.ledger.reach
    found = []
    for number in _noted(vault.ledger, since):
        charge = vault.ledger.charge_at(number) if number > since else None
        if charge is not None and charge.snapshot == now and vault.ledger.recorded(number) is not None:
            found.append(_published(vault, charge))
    return found


def with_ranges(model: PublishedModel, vault: Public) -> PublishedModel:
    """The same with the replicates that its ranges are made of: read where they are kept, else made and kept."""
    return replace(model, cube=replace(model.cube, simulated=_replicates(model.cube, vault)))


def modelled_cube(cube: Cube, vault: Public) -> ModelledCube:
    """A published cube, or a slice of one, read through its model, its ranges made of what is kept. Raises
    UnsupportedQuery where it was published without a model."""
    if cube.model is None:
        raise UnsupportedQuery(
            f"this cube was published without a model; `discreet cube publish … --charge {cube.origin.charge} "
            "--estimate modelled` publishes it with one, for nothing"
        )
    modelled = ModelledCube(cube, cube.model)
    return replace(modelled, simulated=_replicates(modelled, vault))


def _replicates(cube: ModelledCube, vault: Public) -> tuple[Model, ...]:
    """The replicates of a cube's model. Those of this vault's own cubes are kept beside the model."""
    origin, known = cube.cube.origin, vault._memory.replicates
    key = str(origin.receipt)
    with _MAKING:
        if key not in known:
            own = vault.ledger.promise_of(origin.charge, origin.receipt) is not None
            path = vault.path / MODELS / f"{origin.charge}-ranges"
            known[key] = read_replicates(cube, path) if own and path.exists() else cube.replicates
            if own and not path.exists():
                with suppress(ArchiveError):
                    _make_folder(vault.path)
                    write_replicates(cube, path)
        return known[key]


def _noted(ledger: Books, after: int) -> list[int]:
    """The charges whose models were published after an entry."""
    notes = (entry.parsed()["content"] for entry in ledger.entries(after) if entry.kind == NOTE)
    return list(dict.fromkeys(int(content["charge"]) for content in notes))


def _published(vault: Public, charge: Charge) -> PublishedModel:
    known = vault._memory.models
    if charge.id not in known:
        known[charge.id] = _read(vault, charge)
    cube = known[charge.id]
    origin = cube.cube.origin
    guarantee = vault.ledger.promise_of(charge.id, origin.receipt, origin.earlier) or origin.guarantee
    earlier = [vault.ledger.charge_at(number) for number in origin.earlier]
    spent = sum((one.cost for one in earlier if one is not None), charge.cost)
    return PublishedModel(cube, guarantee, spent.peak)


def _read(vault: Public, charge: Charge) -> ModelledCube:
    """A model from its copy in the vault; without one, fitted again, which gives the same."""
    path = vault.path / MODELS / str(charge.id)
    cube = Cube.load(path) if path.exists() else _made_again(vault, charge)
    if cube.origin.charge != charge.id or vault.ledger.promise_of(charge.id, cube.origin.receipt) is None:
        raise ArchiveError(f"{path} is another vault's; remove it: it is made again from what was released")
    return cube.modelled


def _made_again(vault: Public, charge: Charge) -> Cube:
    record = vault.ledger.recorded(charge.id)
    assert record is not None, "only models of what was released are read"
    cube = _cube(vault, charge, record).with_model()
    with suppress(ArchiveError):
        _keep(cube, vault.path)
    return cube


def _cube(vault: Public, charge: Charge, record: Record) -> Cube:
    """The cube of a charge: of the run that it ended, where it is of one."""
    number = run_holding(charge, vault.ledger)
    if number is not None:
        run = read_run(number, vault.ledger, lambda one: _recalled(vault, one))
        return cube_of_run(run, vault.domain, known_tables(run.plan, vault.facts.of_all_tables()), vault.ledger.promise)
    plan = noted_plan(charge, vault.domain, vault.ledger)
    release = vault._memory.recall(charge, record)
    return cube_of(plan, vault.domain, release, known=known_tables(plan, vault.facts.of_all_tables()))


def _recalled(vault: Public, charge: Charge) -> Release:
    record = vault.ledger.recorded(charge.id)
    if record is None:
        raise ArchiveError(f"charge {charge.id} has no answer: `discreet ledger complete` gets it for nothing")
    return vault._memory.recall(charge, record)


def _keep(cube: Cube, home: Path) -> None:
    _make_folder(home)
    path = home / MODELS / str(cube.origin.charge)
    if not path.exists():
        cube.save(path)


def _make_folder(home: Path) -> None:
    try:
        private_folder(home / MODELS)
    except OSError:
        raise ArchiveError(f"{home / MODELS} cannot be made; is there space on the vault's disk?") from None
