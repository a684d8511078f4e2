"""Every exception of Discreet. Messages carry public facts only, and say what to do next."""


class DiscreetError(Exception):
    """The root: catching it catches everything that Discreet raises on purpose."""

    may_pass = False
    """Whether the same may go well at another time, since it depends on how busy the machine is, too."""


class DomainError(DiscreetError):
    """A domain description is malformed, maybe at a place in a file, or does not fit the table's columns."""

    def __init__(
        self, problem: str, line: int | None = None, column: int | None = None, file: str | None = None
    ) -> None:
        place = None if line is None else f"line {line}" if column is None else f"line {line}, column {column}"
        super().__init__(": ".join(part for part in (file, place, problem) if part is not None))
        self.problem, self.line, self.column, self.file = problem, line, column, file

    def in_file(self, file: str) -> "DomainError":
        """The same, of this file where it does not name one yet: a domain's codebook is another."""
        return self if self.file is not None else DomainError(self.problem, self.line, self.column, file)


class TableError(DiscreetError):
    """A table cannot be opened, or is not the one that the vault was made for."""


class Refreshed(TableError):
    """The vault is over another snapshot of its table than the one that something was meant for."""


class EngineError(DiscreetError):
    """The engine failed while evaluating. The message never quotes the engine: its words may hold data."""


class UnsupportedQuery(DiscreetError):
    """The query asks for something outside what can be answered privately."""


class InvalidNoise(DiscreetError):
    """A noise parameter is not a positive, finite, exact number, or is beyond what the sampler takes."""


class BudgetExceeded(DiscreetError):
    """A charge does not fit. Names what is left, and where."""


class QuotaExceeded(DiscreetError):
    """A charge does not fit what its asker may spend of the vault's budget."""


class JournalError(DiscreetError):
    """The journal cannot be written or read: `what` went wrong, and in the message after it, what to do about it."""

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(f"{what}; {advice}" if advice else what)
        self.what = what


class JournalCorrupt(JournalError):
    """The journal's entries do not chain: it was damaged or edited."""


class JournalRolledBack(JournalError):
    """The journal is older than a receipt that was seen: an old copy was put back."""


class VaultError(DiscreetError):
    """A vault directory is missing, already there, or malformed."""


class InvalidBudget(DiscreetError):
    """A budget is not a positive, finite, exact number, or is beyond what the ledger counts."""


class InvalidFact(DiscreetError):
    """A fact or a constraint makes no sense, contradicts others, or is beyond what can be accounted for."""


class ArchiveError(DiscreetError):
    """A released array on disk cannot be written, is missing or is damaged."""


class InvalidLimits(DiscreetError):
    """Limits of sensitive values are malformed, below a frequency, or beyond what buckets within the sizes can keep."""


class PartyError(DiscreetError):
    """A party of a mining task cannot be reached, has too few queries left, or holds another roster."""


class AccessDenied(DiscreetError):
    """A token is missing, unknown, expired or revoked, its role does not allow this, or a user cannot be made."""


class TooManyRequests(DiscreetError):
    """A user asks faster than the server lets one."""

    def __init__(self, words: str, wait_seconds: int = 1) -> None:
        super().__init__(words)
        self.wait_seconds = wait_seconds


class UnknownTable(UnsupportedQuery):
    """A statement asks of a table that there is none of."""


class DeadlinePassed(DiscreetError):
    """Something takes longer than a server gives it, or nobody waits for it any more; it was stopped, unspent."""


class NotFound(DiscreetError):
    """Nothing is there by the name or number that was asked for."""


class ServerError(DiscreetError):
    """A server cannot be reached, or does not answer as `discreet serve` does."""


class PictureError(DiscreetError):
    """A picture cannot be written."""
