"""Synthetic rows: drawn from the model of a published cube, or of one that is published for them."""

from dataclasses import dataclass
from pathlib import Path

from discreet.cube.cube import Cube
from discreet.cube.journal import require_plan_for
from discreet.domain.domain import Domain
from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.exact import Number
from discreet.ledger.ledger import Ledger
from discreet.notebook import FieldsView
from discreet.progress import Progress, silent
from discreet.synthetic.rows import SyntheticRows, require_rows, synthesise
from discreet.vault.cubes import VaultCubes

NOTE = "rows"


@dataclass(frozen=True, repr=False)
class VaultRows(FieldsView):
    """A vault's synthetic rows."""

    domain: Domain
    ledger: Ledger
    cubes: VaultCubes

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
        """Synthetic rows of the vault's columns, from the model of a cube that it published: nothing is spent.

        Instead of a cube, `epsilon` (or `rho`, or `mu_squared`) buys one first: all pairs or triples of attributes, as
        `cubes.plan` with the planner model has it. `rows` are as many as the model expects where no number is given.
        The same cube, number and seed give the same rows. That rows were drawn is journalled.
        """
        if seed < 0:
            raise UnsupportedQuery("a seed is a whole number, 0 or above")
        if (cube is None) == (epsilon is None and rho is None and mu_squared is None):
            raise InvalidBudget("say which cube rows are drawn from, or what may be spent on one: epsilon=1")
        if rows is not None:
            require_rows(0, len(self.domain.attributes), rows)
        drawn_from = self._bought(epsilon, rho, mu_squared, progress) if cube is None else self._own(cube)
        made = synthesise(drawn_from, self.ledger.header["domain"], rows, seed, progress)
        self.ledger.note(NOTE, {key: made.about[key] for key in ("charge", "rows", "seed", "digest")})
        return made

    def _bought(
        self, epsilon: Number | None, rho: Number | None, mu_squared: Number | None, progress: Progress
    ) -> Cube:
        plan = self.cubes.plan(epsilon=epsilon, rho=rho, mu_squared=mu_squared, planner="model")
        return self.cubes.publish(plan, estimate="modelled", progress=progress)

    def _own(self, cube: Cube | str | Path) -> Cube:
        """A cube that this vault published."""
        own = cube if isinstance(cube, Cube) else Cube.load(cube)
        self.ledger.check_receipt(own.origin.receipt)
        require_plan_for(own.plan, self.domain, self.ledger)
        return own
