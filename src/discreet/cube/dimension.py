"""What the axes of a cube are, and where it comes from."""

from dataclasses import dataclass

from discreet.domain.attribute import MISSING, Attribute, Category
from discreet.domain.spelled import spelled
from discreet.errors import UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.receipt import Receipt


@dataclass(frozen=True)
class Dimension:
    """One dimension of a cube: the labels of its codes, in order, and the public document that they come from."""

    name: str
    labels: tuple[str, ...]
    source: str
    groups: tuple[tuple[str | None, ...], ...] = ()
    """The group of each code, level by level, from the widest groups to the narrowest; None where it is in none."""

    @classmethod
    def of(cls, attribute: Attribute) -> "Dimension":
        levels = attribute.levels if isinstance(attribute, Category) else ()
        beyond = (None,) * (attribute.size - attribute.cells)
        return cls(attribute.name, attribute.labels, attribute.source, tuple((*level, *beyond) for level in levels))

    def code(self, label: object) -> int:
        """The code of a label; an unknown one raises with what there is."""
        text = MISSING if label is None else spelled(label)
        if text in self.labels:
            return self.labels.index(text)
        some = ", ".join(self.labels[:8]) + (", …" if len(self.labels) > 8 else "")
        raise UnsupportedQuery(f"{self.name} has no value {text!r}; there are {some}")


@dataclass(frozen=True)
class Origin:
    """Where a cube comes from: the table's name, what the release promises, and where the journal has it."""

    table: str
    guarantee: Guarantee
    charge: int
    receipt: Receipt
    earlier: tuple[int, ...] = ()
    """The charges before it that the cube cost as well, where it was bought in steps."""
