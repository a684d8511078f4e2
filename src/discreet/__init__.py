"""Discreet: a private statistical database.

The rooms, from the ground up; each may import those before it:
errors · domain (what is public about the table), noise (exact samplers), picture (plots of public numbers) · ledger
(budget and journal) · query (what can be measured) · sql, table (how it is asked; the sensitive rows) · release (THE
GATE) · facts (least squares) · cube (plan, publish, reconcile) · answer (what to do with a question) · home (a vault's
directory) · vault · cli · demo.
"""

from discreet.cube.cube import Cube
from discreet.errors import BudgetExceeded, DiscreetError
from discreet.vault import Vault

__all__ = ["BudgetExceeded", "Cube", "DiscreetError", "Vault"]
