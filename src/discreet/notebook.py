"""What notebooks show of a thing: a title and a few pairs, as text and as a table."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape

Pairs = Sequence[tuple[str, object]]


class NotebookView(ABC):
    """Something that is shown by what it says of itself, in a few lines."""

    @abstractmethod
    def _shown(self) -> tuple[str, Pairs]:
        """A title, and names with what they are; no more than a screen can hold."""

    def __repr__(self) -> str:
        title, pairs = self._shown()
        width = max((len(name) for name, _ in pairs), default=0)
        return "\n".join([f"<{title}>", *(f"  {name.ljust(width)}  {value}" for name, value in pairs)])

    def _repr_html_(self) -> str:
        title, pairs = self._shown()
        lines = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
            for name, value in pairs
        )
        return f"<b>{escape(title)}</b><table>{lines}</table>"
