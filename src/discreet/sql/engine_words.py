"""What the engine says of a statement that it cannot evaluate, in our words, and what to write instead.

The engine's own words name types and functions that nobody wrote, and tables of ours. They are read for what is wrong,
and never repeated, but for names that the analyst gave.
"""

import re

from discreet.sql.syntax import OWN
from discreet.sql.tokens import shown

SEVERAL = "a sub-query that stands for one value has several lines"
INSTEAD = "MAX(…) of it, or ORDER BY … LIMIT 1, has one"
ANY_OTHER = (
    "the statement cannot be evaluated; ask for its numbers first, each in a WITH of its own, and calculate after"
)

MEANINGS = (
    (r"More than one row returned by a subquery", f"{SEVERAL}; {INSTEAD}"),
    (r"Subquery returns \d+ columns", "a sub-query that stands for one value has one column; name that one alone"),
    (
        r"(?:Referenced column|does not have a column named|column named|Column) \"(?P<name>[^\"]*)\"",
        "there is no column {name} here; name one that the FROM beside it has",
    ),
    (
        r"Referenced table \"(?P<name>[^\"]*)\" not found",
        "there is no table {name} here; name one of the FROM beside it",
    ),
    (
        r"Ambiguous reference to column name \"(?P<name>[^\"]*)\"",
        "two of the results have a column {name}; say which, as in a.{plain}",
    ),
    (r"(?i)duplicate alias \"(?P<name>[^\"]*)\"", "two results are called {name}; give each a name of its own"),
    (
        r"column \"?(?P<name>[^\"]*?)\"? must appear in the GROUP BY",
        "{name} is neither in GROUP BY nor in an aggregate; add it to GROUP BY, or take MAX(…) of it",
    ),
    (
        r"(?i)(?:clause cannot contain|not allowed in|cannot contain) ?(?:the )?\w* ?(?:aggregate|window)"
        r"|(?:aggregate|window) function(?: call)?s? (?:calls )?(?:are |is )?(?:not allowed|cannot)"
        r"|Window functions are not supported here",
        "an aggregate or a window cannot stand here; calculate it in a WITH, and use its column",
    ),
    (
        r"No function matches|Could not choose a best candidate|no function matches",
        "a function or an operator has arguments of a kind that it does not take; CAST them to what it does",
    ),
    (
        r"Cannot (?:compare|mix) values|Cannot combine types|Cannot deduce|type mismatch|Type mismatch|explicit cast",
        "two values of different kinds stand side by side; CAST one of them to the kind of the other",
    ),
    (
        r"same number of result columns",
        "both sides of UNION, INTERSECT or EXCEPT have the same number of columns; name as many in each",
    ),
    (r"ORDER term out of range", "ORDER BY names a place that no output column has; name the column"),
    (
        r"(?i)could not (?:convert|parse|cast)|invalid (?:date|timestamp|time) field"
        r"|conversion error|unimplemented type",
        "a value cannot be read as the kind that it is compared or calculated with; TRY_CAST is NULL for those",
    ),
    (
        r"(?i)overflow|out of range|too large",
        "a number or a date becomes too large; CAST what is calculated with AS DOUBLE",
    ),
    (
        r"(?i)frame|Window (?:ROWS|RANGE|GROUPS)",
        "the frame of a window must begin before it ends, by numbers that are not negative; write constants",
    ),
    (
        r"(?i)regex|pattern|escape|missing [\])]|unexpected \)|perl operator|repetition"
        r"|character class|no argument for",
        "a pattern cannot be read; write \\ before each sign in it that stands for itself",
    ),
    (
        r"must be a constant|greater than zero|in the range",
        "an argument has to be a constant, within what the function takes",
    ),
    (
        r"window \"(?P<name>[^\"]*)\" does not exist",
        "there is no window {name}; write it out, as in OVER (PARTITION BY …)",
    ),
    (
        r"(?i)correlated|lateral",
        "a sub-query reads columns of the SELECT around it in a way that cannot be run; JOIN instead",
    ),
)


def in_our_words(words: str) -> str:
    """What an engine's error means for whoever wrote the statement."""
    for pattern, meaning in MEANINGS:
        found = re.search(pattern, words)
        if found is None:
            continue
        name = found.groupdict().get("name")
        if name is None or not name.startswith(OWN):
            return meaning.format(name=shown(name or ""), plain=name)
    return ANY_OTHER
