"""Every exception of Discreet. Messages carry public facts only, and say what to do next."""


class DiscreetError(Exception):
    """The root: catching it catches everything that Discreet raises on purpose."""


class DomainError(DiscreetError):
    """A domain description is malformed or does not fit the table's columns."""


class TableError(DiscreetError):
    """A table cannot be opened, or is not the one that the vault was made for."""


class EngineError(DiscreetError):
    """The engine failed while evaluating. The message never quotes the engine: its words may hold data."""


class UnsupportedQuery(DiscreetError):
    """The query asks for something outside what can be answered privately."""


class InvalidNoise(DiscreetError):
    """A noise parameter is not a positive, finite, exact number, or is beyond what the sampler takes."""


class BudgetExceeded(DiscreetError):
    """A charge does not fit. Names what is left, and where."""


class JournalError(DiscreetError):
    """The journal cannot be written or read."""


class JournalCorrupt(JournalError):
    """The journal's entries do not chain: it was damaged or edited."""


class JournalRolledBack(JournalError):
    """The journal is older than a receipt that was seen: an old copy was put back."""


class VaultError(DiscreetError):
    """A vault directory is missing, already there, or malformed."""


class InvalidBudget(DiscreetError):
    """A budget is not a positive, finite, exact number, or is beyond what the ledger counts."""


class ArchiveError(DiscreetError):
    """A released array on disk cannot be written, is missing or is damaged."""


class PictureError(DiscreetError):
    """A picture cannot be written."""
