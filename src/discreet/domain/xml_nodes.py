"""XML as a tree whose nodes know their lines. Names are without namespaces; entities of a file's own are refused."""

from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from discreet.errors import DomainError

MOST_DEPTH = 200


@dataclass
class Element:
    """An element: what it is called, says and holds, and where it begins."""

    name: str
    line: int
    attributes: dict[str, str]
    children: "list[Element]" = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> "list[Element]":
        """The children of a name."""
        return [child for child in self.children if child.name == name]

    def below(self, name: str) -> "list[Element]":
        """The elements of a name anywhere below, in order."""
        found, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            waiting += reversed(node.children)
            if node.name == name:
                found.append(node)
        return found

    def says(self, name: str) -> str:
        """The text of the first child of a name, that in English first where there are several languages."""
        there = self.all(name)
        english = [child for child in there if child.attributes.get("lang", "").startswith("en")]
        return " ".join((english or there)[0].text.split()) if there else ""


def parse_xml(name: str, content: bytes) -> Element:
    """The root of an XML text. Raises DomainError with the file and the line where it is not well formed."""
    parser = expat.ParserCreate()
    root = Element("", 1, {})
    path = [root]

    def begin(element: str, attributes: dict[str, str]) -> None:
        if len(path) > MOST_DEPTH:
            fail("elements are nested too deeply")
        plain = {_local(key): value for key, value in attributes.items()}
        node = Element(_local(element), parser.CurrentLineNumber, plain)
        path[-1].children.append(node)
        path.append(node)

    def end(_element: str) -> None:
        path.pop()

    def say(text: str) -> None:
        path[-1].text += text

    def fail(problem: str) -> NoReturn:
        raise DomainError(f"{name}: line {parser.CurrentLineNumber}: {problem}")

    parser.buffer_text = True
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = say
    parser.EntityDeclHandler = lambda *_: fail("declares entities of its own, which are not read")
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        line = getattr(error, "lineno", 1)
        raise DomainError(
            f"{name}: line {line}: not XML, or in an encoding that is not read: save it in UTF-8"
        ) from None
    return root.children[0]


def _local(name: str) -> str:
    return name.rpartition(":")[2]
