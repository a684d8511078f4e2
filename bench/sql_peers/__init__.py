"""How many of the listed questions other tools answer: `python -m bench.sql_peers`, run once, kept in results.json.

Each tool has a virtual environment of its own (see bench/peers), the same decoded rows, in a Postgres of their own, and
the metadata that its documentation asks for. It is asked in three spellings (the list's, DuckDB's, plain Postgres), and
the best of its answers counts. A refusal or an exception is no answer, and an answer is right within a hundredth, at a
large ε. Tumult Analytics takes no SQL: `tools/tumult.py` writes what an analyst would, splits statements into what is
private and what is not, and is asked a ninth of the list, since Spark takes ten seconds a query.

`tools/` holds one file a tool, run by the tool's interpreter; `worker` is run by it too, so it needs nothing else.
"""

from collections.abc import Iterator

from bench.figure import Figure


def figures() -> Iterator[Figure]:
    """What `python -m bench sql_peers` shows: what was kept, beside Discreet's answers now."""
    from bench.sql_peers.figures import peer_figures  # a peer's interpreter has not what this needs

    return peer_figures()
