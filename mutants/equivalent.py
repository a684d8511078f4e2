"""Mutants that change nothing that a test could notice, each with the reason. They are not tried, and not counted."""

EQUIVALENT: dict[tuple[str, str], str] = {}
"""A file of the package, and what `mutants` prints for a survivor; the reason. By content: lines may move."""
