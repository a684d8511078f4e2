"""Run what is not there yet, and keep it: `python -m bench.model_peers [aim] [mst]`. A run that fails is told of, and
the next one begun."""

import sys
from functools import partial

from bench.model_peers.compare import run_what_is_left


def main() -> int:
    run_what_is_left(partial(print, flush=True), tuple(sys.argv[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
