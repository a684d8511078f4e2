"""Synthetic rows: drawn from the model of a published cube, or of one that is published for them."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.exact import Number
from discreet.progress import Progress, silent
from discreet.verbs.cubes import CubeVerbs

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.synthetic.rows import SyntheticRows

NOTE = "rows"


class RowVerbs(CubeVerbs):
    """What a vault does with synthetic rows."""

    def rows(
        self,
        cube: "Cube | str | Path | None" = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rows: int | None = None,
        seed: int = 0,
        progress: Progress = silent,
    ) -> "SyntheticRows":
        """Synthetic rows of the vault's columns, from the model of a cube that it published: nothing is spent.

        Instead of a cube, `epsilon` (or `rho`) buys one first: all pairs or triples of attributes, as `plan_cube` with
        the planner model has it. `rows` are as many as the model expects where no number is given. The same cube,
        number and seed give the same rows. That rows were drawn is journalled.
        """
        from discreet.synthetic.rows import require_rows, synthesise

        if seed < 0:
            raise UnsupportedQuery("a seed is a whole number, 0 or above")
        if (cube is None) == (epsilon is None and rho is None):
            raise InvalidBudget("say which cube rows are drawn from, or what may be spent on one: epsilon=1")
        if rows is not None:
            require_rows(0, len(self.domain.attributes), rows)
        drawn_from = self._cube_for_rows(epsilon, rho, progress) if cube is None else self._own_cube(cube)
        made = synthesise(drawn_from, self.ledger.header["domain"], rows, seed, progress)
        self.ledger.note(NOTE, {key: made.about[key] for key in ("charge", "rows", "seed", "digest")})
        return made

    def _cube_for_rows(self, epsilon: Number | None, rho: Number | None, progress: Progress) -> "Cube":
        dimensions = [attribute.name for attribute in self.domain.attributes if attribute.size > 1]
        plan = self.plan_cube(epsilon=epsilon, rho=rho, planner="model", dimensions=dimensions)
        return self.publish_cube(plan, estimate="modelled", progress=progress)

    def _own_cube(self, cube: "Cube | str | Path") -> "Cube":
        """A cube that this vault published."""
        from discreet.cube.cube import Cube
        from discreet.cube.journal import require_plan_for

        own = cube if isinstance(cube, Cube) else Cube.load(cube)
        self.ledger.check_receipt(own.origin.receipt)
        require_plan_for(own.plan, self.domain, self.ledger)
        return own
