"""The model of everything public about a table: what `ask` and synthetic rows are read from. Public, and free.

What is in it says `model/everything.py`. It is fitted as a cube's model is (`model/fit.py`), and its ranges come from
simulating all of those releases and the fit.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.cube.memory import available_bytes, gigabytes
from discreet.cube.model_files import ESTIMATE
from discreet.cube.modelled import MIXTURES, REPLICATES, bounds, labelled, parameters_in_words
from discreet.errors import UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.model.everything import Everything
from discreet.model.fit import fit, needed_bytes
from discreet.model.mixture import ProductMixture
from discreet.model.mixture_fit import fit_mixture, mixture_bytes
from discreet.model.model import Model
from discreet.model.replicates import replicates
from discreet.model.size import MOST_CELLS, is_mixture
from discreet.noise.bits import SeededBits
from discreet.noise.spread import require_confidence
from discreet.progress import Progress, silent
from discreet.query.lattice import Lattice

if TYPE_CHECKING:
    import xarray as xr

Cells = NDArray[np.float64]

TOTAL = (
    "nothing that was released tells how many rows there are, and a model starts from that: ask for COUNT(*), or "
    "publish a cube"
)
NOTE = "biased towards an even spread, and sharper; what `ask` says without it is not biased"


@dataclass(frozen=True, eq=False)
class PublicModel:
    """Cuboids by attributes, as the model has them: `vault.model["sex", "age"]`. All say that they are modelled.

    `guarantee` is that of everything that was released of the table, together.
    """

    of: Everything
    model: Model
    table: str
    guarantee: Guarantee
    kept: "Callable[[PublicModel], tuple[Model, ...]] | None" = None
    """Where its replicates are kept, which take long to make."""

    def __getitem__(self, names: str | tuple[str, ...]) -> "xr.DataArray":
        """A cuboid with labels, its axes in the order of the names."""
        asked = names if isinstance(names, tuple) else (names,)
        return self._labelled(asked, self.cells(*asked))

    def cells(self, *names: str) -> Cells:
        """The same without labels, its axes in the order of the domain."""
        return np.asarray(self.model.cuboid(self._mask(names)))

    def range(self, *names: str, confidence: float = 0.95) -> "tuple[xr.DataArray, xr.DataArray]":
        """A model range for each cell, as of a cube's model: it cannot have what the model does not know of."""
        level, mask = require_confidence(confidence), self._mask(names)
        made = np.array([one.cuboid(mask) for one in self.replicates])
        low, high = bounds(self.cells(*names), made, level)
        return self._labelled(names, low), self._labelled(names, high)

    def is_measured(self, *names: str) -> bool:
        """Whether a table of these attributes was released."""
        return self.of.is_measured(names)

    @cached_property
    def replicates(self) -> tuple[Model, ...]:
        """Its simulated releases, from where they are kept."""
        return self.simulated() if self.kept is None else self.kept(self)

    def simulated(self) -> tuple[Model, ...]:
        """What these releases and the fit would have made of a table that is as the model says. Deterministic."""
        bits = SeededBits(int(self.of.digest[:15], 16))
        times = MIXTURES if isinstance(self.model, ProductMixture) else REPLICATES
        return tuple(replicates(self.model, self.of.measured, lambda one: self.of.noise(one, bits), times))

    def describe(self) -> dict[str, Any]:
        """The model in public terms: which releases and facts are in it."""
        return {
            "estimate": ESTIMATE,
            "total": self.model.total,
            "strengths": list(self.model.strengths),
            **parameters_in_words(self.model),
            **self.of.describe(),
            "guarantee": str(self.guarantee),
            "note": NOTE,
        }

    def _mask(self, names: tuple[str, ...]) -> int:
        mask = self.of.lattice.mask(*names)
        if self.of.lattice.cells(mask) > MOST_CELLS:
            raise UnsupportedQuery(
                f"a cuboid of {', '.join(names)} has {self.of.lattice.cells(mask):,} cells, and at most {MOST_CELLS:,} "
                "are read from a model; name fewer attributes"
            )
        return mask

    def _labelled(self, names: tuple[str, ...], cells: Cells) -> "xr.DataArray":
        lattice = self.of.lattice
        in_order = map(str, lattice.names_of(lattice.mask(*names)))
        labels = {name: self.of.domain[name].labels for name in in_order}
        return labelled(cells, labels, self.is_measured(*names), self.guarantee).transpose(*names)


def fit_everything(of: Everything, progress: Progress = silent) -> Model:
    """The model of everything public. Deterministic. Raises UnsupportedQuery where it does not fit in memory."""
    require_fit(of)
    return (fit_mixture if is_mixture(of.lattice) else fit)(of.lattice, of.measured, progress)


def require_fit(of: Everything, available: int | None = None) -> None:
    """Refuse what no model can be fitted to, before anything is computed."""
    if not of.has_total:
        raise UnsupportedQuery(TOTAL)
    require_room(of.lattice, [one.mask for one in of.measured], available)


def require_room(lattice: Lattice, masks: Iterable[int], available: int | None = None) -> None:
    """Refuse a model of everything public that does not fit in memory."""
    there = available_bytes() if available is None else available
    needed = (mixture_bytes if is_mixture(lattice) else needed_bytes)(lattice, masks)
    if needed > there:
        raise UnsupportedQuery(
            f"a model of everything public, {prod(lattice.sizes):.2g} cells of {lattice.dimensions} attributes, needs "
            f"about {gigabytes(needed)} of memory and {gigabytes(there)} are free; a model of one cube may fit: "
            "`discreet rows publish … --from DIR`, `discreet cube show DIR … --estimate modelled`"
        )
