"""What atheris feeds, following the branches that inputs reach: python -m tests.trust.coverage_guided sql -runs=1000"""

import sys
from collections.abc import Callable

import atheris

FOLLOWED = {"sql": ["discreet.sql", "sqlglot.parser"], "toml": ["discreet.domain", "tomllib"]}

with atheris.instrument_imports(include=FOLLOWED[sys.argv[1]]):
    from discreet.domain.read import parse_domain, read_domain
    from discreet.sql.parse import parse

from tests.trust.fuzzing import FIXTURES, fuzz  # noqa: E402


def sql() -> Callable[[bytes], object]:
    people = read_domain(FIXTURES / "people.toml")
    return lambda data: parse(data.decode("utf-8", "replace"), people)


def toml() -> Callable[[bytes], object]:
    return lambda data: parse_domain(data.decode("utf-8", "replace"))


def main() -> None:
    target, *options = sys.argv[1:]
    feed = {"sql": sql, "toml": toml}[target]()
    atheris.Setup([sys.argv[0], *options], lambda data: fuzz([data], feed))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
