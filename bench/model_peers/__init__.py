"""How near other tools' models and synthetic rows are: `python -m bench.model_peers`, run once, kept in results.json.

OpenDP's AIM and MST, over mbi, in a virtual environment of their own (see bench/peers), as their documentation teaches:
the same coded rows, every value of every attribute given, and a budget of ρ as large as ours. What is there already is
not run again, so that a comparison that was cut off goes on. Processor time and memory are those of the whole process
of a run, importing and compiling included.

`worker` is run by the peer's interpreter, so it needs nothing else of ours.
"""

from collections.abc import Iterator

from bench.figure import Figure


def figures() -> Iterator[Figure]:
    """What `python -m bench model_peers` shows: what was kept, beside our models now."""
    from bench.model_peers.compare import peer_figures  # a peer's interpreter has not what this needs

    return peer_figures()
