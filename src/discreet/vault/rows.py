"""Synthetic rows: drawn from the model of everything public, or of one published cube."""

from dataclasses import dataclass
from pathlib import Path

from discreet.cube.adaptive import widest
from discreet.cube.cube import Cube
from discreet.cube.journal import require_plan_for
from discreet.cube.modelled import require_model
from discreet.cube.plan import CubePlan
from discreet.cube.public_model import PublicModel, require_room
from discreet.domain.domain import Domain
from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.exact import Number
from discreet.ledger.ledger import Ledger
from discreet.model.everything import Everything
from discreet.notebook import FieldsView
from discreet.progress import Progress, silent
from discreet.synthetic.rows import SyntheticRows, require_rows, synthesise
from discreet.vault.cubes import VaultCubes
from discreet.vault.models import measurements_so_far, public_measurements, public_model
from discreet.vault.public import Public

NOTE = "rows"
NOTED = ("charge", "earlier", "rows", "seed", "digest")


@dataclass(frozen=True, repr=False)
class VaultRows(FieldsView):
    """A vault's synthetic rows."""

    domain: Domain
    ledger: Ledger
    cubes: VaultCubes
    public: Public

    def publish(
        self,
        cube: Cube | str | Path | None = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mu_squared: Number | None = None,
        rows: int | None = None,
        seed: int = 0,
        progress: Progress = silent,
    ) -> SyntheticRows:
        """Synthetic rows of the vault's columns, from the model of everything public: nothing is spent.

        With a cube that the vault published they are drawn from that one's model alone. With `epsilon` (or `rho`, or
        `mu_squared`) a cube is bought first: all pairs or triples of attributes, as `cubes.plan` with the planner model
        has it. `rows` are as many as the model expects where no number is given. The same model, number and seed give
        the same rows. That rows were drawn is journalled.
        """
        if seed < 0:
            raise UnsupportedQuery("a seed is a whole number, 0 or above")
        buys = not (epsilon is None and rho is None and mu_squared is None)
        if cube is not None and buys:
            raise InvalidBudget("rows are drawn from a cube that is there, or one is bought for them: leave out one")
        if rows is not None:
            require_rows(0, len(self.domain.attributes), rows)
        if buys:
            plan = self.cubes.plan(epsilon=epsilon, rho=rho, mu_squared=mu_squared, planner="model")
            _require_model(plan, measurements_so_far(self.public))
            self.cubes.publish(plan, progress=progress)
        if cube is None:
            drawn_from: Cube | PublicModel = public_model(public_measurements(self.public), self.public, progress)
        else:
            drawn_from = self._own(cube)
        made = synthesise(drawn_from, self.ledger.header["domain"], rows, seed, progress, self.ledger.table)
        self.ledger.note(NOTE, {key: made.about[key] for key in NOTED if key in made.about}, of_table=True)
        return made

    def _own(self, cube: Cube | str | Path) -> Cube:
        """A cube that this vault published."""
        own = cube if isinstance(cube, Cube) else Cube.load(cube)
        if self.ledger.promise_of(own.origin.charge, own.origin.receipt) is None:
            raise UnsupportedQuery(
                f"this vault's journal knows nothing of this cube of {own.origin.table}, receipt {own.origin.receipt}: "
                "name a cube that it published, or the vault that did. If this one did, an older journal was put back: "
                "`discreet audit vault` says more"
            )
        require_plan_for(own.plan, self.domain, self.ledger)
        return own


def _require_model(plan: CubePlan, before: Everything | None) -> None:
    """Refuse, before anything is spent, a plan that with what was released before makes too large a model."""
    if plan.candidates:
        plan = widest(plan)
    require_model(plan)
    # The plan has every attribute of two values or more.
    masks = list(plan.source_masks)
    if before is not None:
        masks += [plan.lattice.mask(*before.lattice.names_of(one.mask)) for one in before.measured]
    require_room(plan.lattice, masks)
