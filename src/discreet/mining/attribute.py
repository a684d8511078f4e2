"""Boolean attributes: what functions are learnt of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BooleanAttribute:
    """A Boolean attribute: its name in functions, and the condition on the table's columns that it stands for.

    Who does not meet the condition lacks the attribute, also where SQL would say unknown.
    """

    name: str
    condition: str
