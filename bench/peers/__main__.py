"""Compare, and write docs/explain/peers.md: `python -m bench.peers [--full | --limit SECONDS] [--page] [PEER …]`.

The page is one run of all peers. With names, only those run, and their tables are printed: nothing is kept. `--page`
writes the page anew from the run that was kept. `--full` lets each task take an hour.
"""

import argparse
import sys

from rich.console import Console
from rich.markdown import Markdown

from bench.peers.compare import LIMIT_SECONDS, PEOPLE, RESULTS, compare, tables
from bench.peers.environment import PEERS
from bench.peers.outcome import Comparison
from bench.peers.page import BLOCKS, write_page

FULL_SECONDS = 3600.0


def main() -> int:
    options = arguments()
    console = Console()
    if options.page:
        write_page(Comparison.load(RESULTS))
        return 0
    chosen = [peer for peer in PEERS if not options.peers or peer.tool in options.peers]
    with console.status("starting") as status:
        comparison = compare(chosen, tables(options.people), options.limit, status.update)
    for block in BLOCKS.values():
        console.print(Markdown(block(comparison)))
    if not options.peers:
        comparison.save(RESULTS)
        write_page(comparison)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=", ".join(peer.tool for peer in PEERS))
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds for a task (%(default)s)")
    parser.add_argument("--full", dest="limit", action="store_const", const=FULL_SECONDS, help="an hour for a task")
    parser.add_argument("--people", type=int, default=PEOPLE, help="rows to ask about (%(default)s)")
    parser.add_argument("--page", action="store_true", help="only write the page, from what was measured last")
    options = parser.parse_args()
    if unknown := sorted(set(options.peers) - {peer.tool for peer in PEERS}):
        parser.error(f"no peer is called {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
