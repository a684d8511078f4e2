"""Run what is not there yet, and keep it: `python -m bench.model_peers [aim] [mst]`."""

import sys

from bench.model_peers.compare import Found, run_what_is_left


def main() -> int:
    run_what_is_left(tell, tuple(sys.argv[1:]))
    return 0


def tell(found: Found) -> None:
    seconds = found.about["cpu_seconds"]
    print(found.run, f"model {found.model}, rows {found.rows}, {seconds:.0f} CPU s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
