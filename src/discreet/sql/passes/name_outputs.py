"""Name outputs: every output column has a name that no other has."""

from sqlglot import exp

from discreet.sql.passes.tree import is_star, name_of, output_of


def name_outputs(public: exp.Query) -> exp.Query:
    """The same query; one with a * is left as it is."""
    select = _first_select(public)
    if any(map(is_star, select.expressions)):
        return public
    taken: set[str] = set()
    for output in list(select.expressions):
        name = free = name_of(output)
        number = 1
        while free.lower() in taken:
            number += 1
            free = f"{name}_{number}"
        taken.add(free.lower())
        if free != output.alias or not isinstance(output, exp.Alias):
            output.replace(output_of(output.unalias(), free))
    return public


def output_names(public: exp.Query) -> tuple[str, ...]:
    """The names of the output columns; none where a * has them unnamed."""
    outputs = _first_select(public).expressions
    return () if any(map(is_star, outputs)) else tuple(output.alias for output in outputs)


def _first_select(query: exp.Query) -> exp.Select:
    """The SELECT whose names a query's columns have."""
    while not isinstance(query, exp.Select):
        query = query.this
    return query
