"""All that is wrong with a domain's text, not only the first of it: for whoever is writing one."""

from dataclasses import dataclass
from pathlib import Path

from discreet.domain.attribute import Attribute
from discreet.domain.domain import Domain
from discreet.domain.lines import place_of
from discreet.domain.read import codebook_text, codebooks_named, parse_document, parts_of
from discreet.errors import DomainError


@dataclass(frozen=True)
class Problem:
    """Something to mend, and at which line."""

    line: int
    message: str


@dataclass(frozen=True)
class Inspection:
    """What a text says so far: its attributes that are right, with their lines, and all problems, in order."""

    attributes: tuple[tuple[int, Attribute], ...] = ()
    problems: tuple[Problem, ...] = ()
    domain: Domain | None = None
    """The domain, where nothing is wrong."""


def inspect_domain(text: str, folder: Path) -> Inspection:
    """Read a domain's text as far as it goes; codebooks are looked for in a folder. Never raises DomainError."""
    try:
        document = parse_document(text)
        unread = {}
        if "codebooks" not in document:
            books = {}
            for name in codebooks_named(document):
                try:
                    books[name] = codebook_text(folder / name)
                except DomainError as error:
                    unread[name] = error
            document["codebooks"] = books
        parts = parts_of(text, document)
    except DomainError as error:
        return Inspection(problems=(_problem(error, 1),))
    attributes, problems = [], []
    for reader in parts.readers:
        line, _ = place_of(text, ("attributes", reader.name))
        try:
            file = reader.codebook_file()
            if file in unread:
                raise unread[file]
            attributes.append((line, reader.attribute()))
        except DomainError as error:
            problems.append(_problem(error, line))
    right = tuple(attribute for _, attribute in attributes)
    domain = None if problems else Domain(parts.name, right, parts.null_ids)
    return Inspection(tuple(attributes), tuple(sorted(problems, key=lambda problem: problem.line)), domain)


def _problem(error: DomainError, line: int) -> Problem:
    """An error's own line where it has one; that of what it is about where it is of another file."""
    if error.line is None or error.file is not None:
        return Problem(line, str(error))
    return Problem(error.line, error.problem)
