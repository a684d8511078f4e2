"""The model of everything public about a table: what `ask` and synthetic rows are read from. Public, and free.

What is in it says `model/everything.py`. It is fitted as a cube's model is (`model/fit.py`), and its ranges come from
simulating all of those releases and the fit.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.cube.memory import available_bytes, gigabytes
from discreet.cube.modelled import Modelled, labelled, require_readable
from discreet.errors import UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.model.either import fit_model, model_bytes, replicates
from discreet.model.everything import Everything
from discreet.model.model import Model
from discreet.noise.bits import SeededBits
from discreet.progress import Progress, silent
from discreet.query.lattice import Label, Lattice

if TYPE_CHECKING:
    import xarray as xr

Cells = NDArray[np.float64]

TOTAL = (
    "nothing that was released tells how many rows there are, and a model starts from that: ask for COUNT(*), or "
    "publish a cube"
)
NOTE = "biased towards an even spread, and sharper; what `ask` says without it is not biased"


@dataclass(frozen=True, eq=False)
class PublicModel(Modelled):
    """Cuboids of everything public: `vault.model["sex", "age"]`.

    `guarantee` is that of everything that was released of the table, together.
    """

    of: Everything
    model: Model
    table: str
    guarantee: Guarantee
    kept: "Callable[[PublicModel], tuple[Model, ...]] | None" = None

    def simulated(self) -> tuple[Model, ...]:
        bits = SeededBits(int(self.of.digest[:15], 16))
        return replicates(self.model, self.of.measured, lambda one: self.of.noise(one, bits))

    def is_measured(self, *names: Label) -> bool:
        return self.of.is_measured(tuple(map(str, names)))

    def describe(self) -> dict[str, Any]:
        """The model in public terms: which releases and facts are in it."""
        return {**super().describe(), **self.of.describe(), "guarantee": str(self.guarantee), "note": NOTE}

    def _read(self, names: tuple[Label, ...], model: Model) -> Cells:
        mask = self.of.lattice.mask(*names)
        require_readable(self.of.lattice, mask)
        return np.asarray(model.cuboid(mask))

    def _labelled(self, names: tuple[Label, ...], cells: Cells) -> "xr.DataArray":
        lattice = self.of.lattice
        asked = [str(name) for name in names]
        labels = {str(name): self.of.domain[str(name)].labels for name in lattice.names_of(lattice.mask(*asked))}
        return labelled(cells, labels, self.is_measured(*names), self.guarantee).transpose(*asked)


def fit_everything(of: Everything, progress: Progress = silent) -> Model:
    """The model of everything public. Deterministic. Raises UnsupportedQuery where it does not fit in memory."""
    require_fit(of)
    return fit_model(of.lattice, of.measured, progress)


def require_fit(of: Everything, available: int | None = None) -> None:
    """Refuse what no model can be fitted to, before anything is computed."""
    if not of.has_total:
        raise UnsupportedQuery(TOTAL)
    require_room(of.lattice, [one.mask for one in of.measured], available)


def require_room(lattice: Lattice, masks: Iterable[int], available: int | None = None) -> None:
    """Refuse a model of everything public that does not fit in memory."""
    there = available_bytes() if available is None else available
    needed = model_bytes(lattice, masks)
    if needed > there:
        raise UnsupportedQuery(
            f"a model of everything public, {prod(lattice.sizes):.2g} cells of {lattice.dimensions} attributes, needs "
            f"about {gigabytes(needed)} of memory and {gigabytes(there)} are free; nothing was spent: a model of one "
            "cube of fewer attributes may fit: `discreet cube publish … --for model --dimensions a,b,c --estimate "
            "modelled`, then `discreet rows publish … --from DIR` or `discreet cube show DIR … --estimate modelled`"
        )
