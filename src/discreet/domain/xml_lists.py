"""Lists of codes in files of DDI (Codebook 1 to 2.5) and SDMX: what a category takes its values from, and no more.

A DDI file may also hold how often each value occurs. That is data, and nothing of it is read.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.domain.xml_nodes import Element, parse_xml
from discreet.errors import DomainError

DDI, SDMX = "codeBook", "Structure"
YES = ("Y", "y", "yes", "true", "1")


def lists_text(path: Path) -> str:
    """The lists of an XML file as JSON: `kind`, and of each list by its name the codes with their lines, the codes that
    stand for missing values, and a source."""
    try:
        content = path.read_bytes()
    except OSError:
        raise DomainError(f"cannot read the codebook {path}; a path is taken from where the domain is") from None
    root = parse_xml(str(path), content)
    if root.name == DDI:
        found = dict(_of_ddi(root))
    elif root.name == SDMX:
        found = {str(said["id"]): said for said in _of_sdmx(root)}
    else:
        raise DomainError(
            f"{path}: line {root.line}: neither DDI (codeBook) nor SDMX (Structure), but {root.name[:60]}"
        )
    return json.dumps({"kind": root.name, "lists": found}, ensure_ascii=False)


def _of_ddi(root: Element) -> Iterator[tuple[str, dict[str, Any]]]:
    """The categories of each variable, by its name."""
    titles = [node.says("titl") for node in root.below("titlStmt")]
    title = next(filter(None, titles), "")
    for variable in (node for part in root.all("dataDscr") for node in part.all("var")):
        name = variable.attributes.get("name", "")
        parents = _groups(variable)
        codes, missing = [], []
        for category in variable.all("catgry"):
            code = category.says("catValu")
            if category.attributes.get("missing") in YES:
                missing.append(code)
                continue
            entry = {"code": code, "label": category.says("labl"), "line": category.line}
            parent = parents.get(category.attributes.get("ID", ""))
            codes.append({**entry, "parent": parent} if parent else entry)
        above = {entry["parent"] for entry in codes if "parent" in entry}
        codes += _groups_above(variable, parents, above)
        if name and codes:
            source = ", ".join(filter(None, (title, variable.says("labl") or name)))
            yield name, {"codes": codes, "missing": missing, "source": source}


def _groups(variable: Element) -> dict[str, str]:
    """The group of every category and group that lies in one, by their IDs."""
    found: dict[str, str] = {}
    for group in variable.all("catgryGrp"):
        members = group.attributes.get("catgry", "").split() + group.attributes.get("catGrp", "").split()
        found.update(dict.fromkeys(members, _group_name(group)))
    return found


def _group_name(group: Element) -> str:
    return group.says("labl") or group.attributes.get("ID", "")


def _groups_above(variable: Element, parents: dict[str, str], used: set[Any]) -> list[dict[str, Any]]:
    """Groups with values in them, or with such groups, that lie in other groups themselves."""
    found: list[dict[str, Any]] = []
    waiting = {_group_name(group): group for group in variable.all("catgryGrp")}
    while ready := [name for name in waiting if name in used]:
        for name in ready:
            group = waiting.pop(name)
            if parent := parents.get(group.attributes.get("ID", "")):
                found.append({"code": name, "parent": parent, "line": group.line})
                used.add(parent)
    return found


def _of_sdmx(root: Element) -> Iterator[dict[str, Any]]:
    """The code lists of a structure message, of SDMX 2.0 to 3.0."""
    for listed in root.below("Codelist") + root.below("CodeList"):
        about = listed.attributes
        version = f"({about['version']})" if "version" in about else ""
        source = f"SDMX code list {about.get('agencyID', '')}:{about.get('id', '')}{version}"
        codes = [
            {
                "code": code.attributes.get("id") or code.attributes.get("value", ""),
                "label": code.says("Name") or code.says("Description"),
                "parent": _parent(code),
                "line": code.line,
            }
            for code in listed.all("Code")
        ]
        yield {"id": about.get("id", ""), "codes": codes, "source": source}


def _parent(code: Element) -> str:
    named = code.all("Parent")
    if not named:
        return code.attributes.get("parentCode", "")
    refs = named[0].all("Ref")
    return refs[0].attributes.get("id", "") if refs else named[0].text.strip()
