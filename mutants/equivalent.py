"""Mutants that change nothing that a test could notice, each with the reason. They are not tried, and not counted."""

EQUIVALENT = {
    (
        "cube/given.py",
        """\
- left -= (-1) ** (size + 1) * variances(common) / spread**2
+ left -= (-1) ** ((size - 1)) * variances(common) / spread**2""",
    ): "one more and one less are odd or even alike",
    (
        "noise/exponential.py",
        """\
- slack = _limbs(candidates * error, 3)
+ slack = _limbs(candidates * error, 4)""",
    ): "the same number, with one more limb of 0",
    (
        "facts/moves.py",
        """\
- if vectors[j, column] > 0 and (alike & active) == 0 and (size < total - size or i > j):
+ if vectors[j, column] > 0 and (alike & active) == 0 and (size < total - size or (i >= j)):""",
    ): "a member has its own signs: with itself the condition before fails",
    (
        "ledger/standing.py",
        """\
- return points if versions == 1 else max(points, min(points ** min(versions, 50), MANY))
+ return points if versions == 1 else max(points, min(points ** min(versions, 51), MANY))""",
    ): "2 to the power of 50 is above MANY already",
}
"""By a file of the package, and what `mutants` prints of a survivor in it: the reason. Lines may move."""
