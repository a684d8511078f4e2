"""Codebooks: published lists of codes with their labels and groups, from which a category takes its values.

A codebook is a file beside the domain's, `values_from = "icd9.csv"`: CSV with a column `code` and, where there are
some, `label` and `parent`; or JSON, a list of such entries, which may hold `children` instead of naming parents; or a
list in a file of DDI or SDMX. Codes that are nobody's parent are the values, in the order of the file, group by group.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from discreet.domain.attribute import Hierarchy
from discreet.errors import DomainError

MOST_LEVELS = 64
LABELLED = (".sav", ".zsav", ".dta")
"""Files that declare labels of their values, by variable."""
CATALOGUE = ".sas7bcat"
"""Files in which SAS keeps formats, the labels of values among them; a table's variables name theirs."""
XML = ".xml"
"""Files of DDI and SDMX."""
COLUMNS = ("code", "label", "parent")
WORDS = (*COLUMNS, "list")
"""What can be said of a codebook besides its file: its columns' names, or which of several lists is meant."""
SHOWN_CHARACTERS = 60
MOST_NAMED = 10
"""Lists of a file that a message names."""


@dataclass(frozen=True)
class CodebookLine:
    """One line of a codebook; `place` is where it stands, for people."""

    code: str
    label: str
    parent: str
    place: str


@dataclass(frozen=True)
class Codebook:
    """The values of a category: their labels, in the same order, and their groups, where they have some."""

    values: tuple[str, ...]
    titles: tuple[str, ...]
    hierarchy: Hierarchy | None
    source: str | None
    missing: tuple[str, ...] = ()
    """Codes that it declares to stand for missing values."""


@dataclass(frozen=True)
class _List:
    """What a file lists, before it is checked."""

    entries: list[CodebookLine]
    source: str | None = None
    missing: tuple[str, ...] = ()


def read_codebook(name: str, text: str, columns: Mapping[str, str], variable: str) -> Codebook:
    """Read a codebook; `columns` says what code, label and parent are called in it, and which `list` is meant in a file
    of several: else the one that is called like the variable. Raises DomainError with file, line and column of what is
    wrong."""
    listed = _listed(name, text, columns, columns.get("list", variable))
    by_code: dict[str, CodebookLine] = {}
    for entry in listed.entries:
        before = by_code.setdefault(entry.code, entry)
        if before is not entry:
            parents = "" if before.parent == entry.parent else " with another parent"
            _fail(name, entry, "code", f"{_shown(entry.code)!r} is listed before, {before.place}{parents}")
    if not by_code:
        raise DomainError("a codebook needs at least one code", file=name)
    _require_no_cycle(name, by_code)
    tree = _tree(by_code)
    groups = {entry.parent for entry in by_code.values() if entry.parent}
    values = tuple(_leaves(tree, groups))
    titles = tuple(by_code[value].label for value in values)
    _require_labels_apart(name, by_code, groups)
    hierarchy = _hierarchy(tree, by_code) if groups else None
    return Codebook(values, titles, hierarchy, listed.source, listed.missing)


def _listed(name: str, text: str, columns: Mapping[str, str], wanted: str) -> _List:
    ending = Path(name).suffix.lower()
    if ending in LABELLED:
        return _List(_of_labels(name, text, wanted))
    if ending == CATALOGUE:
        return _List(list(_flattened(name, _of_catalogue(name, text, wanted, "list" in columns), "", "")))
    if ending == XML:
        return _of_xml(name, text, wanted, "list" in columns)
    return _of_json(name, text, wanted, "list" in columns) if ending == ".json" else _List(_of_csv(name, text, columns))


def labels_text(path: Path) -> str:
    """The value labels that a file of SPSS or Stata declares, by variable, as JSON. No row is read."""
    try:
        import pyreadstat
    except ImportError:
        raise DomainError("value labels of SPSS or Stata need pyreadstat: pip install 'discreet[statistics]'") from None
    read = pyreadstat.read_dta if path.suffix.lower() == ".dta" else pyreadstat.read_sav
    try:
        _, about = read(str(path), metadataonly=True, user_missing=True)
    except Exception:  # its own exceptions are of many kinds, and may quote the file
        raise DomainError(f"cannot read the codebook {path}; is it a whole file of SPSS or Stata?") from None
    return json.dumps(labels_of(about), ensure_ascii=False)


def catalogue_text(path: Path) -> str:
    """The labels of values in a format catalogue of SAS, by format, as JSON."""
    try:
        import pyreadstat
    except ImportError:
        raise DomainError("formats of SAS need pyreadstat: pip install 'discreet[statistics]'") from None
    try:
        _, about = pyreadstat.read_sas7bcat(str(path))
    except Exception:  # its own exceptions are of many kinds, and may quote the file
        raise DomainError(
            f"cannot read the codebook {path}; some catalogues only SAS itself reads: write the formats out there, "
            "with PROC FORMAT CNTLOUT, save them as CSV, and take the catalogue away"
        ) from None
    formats = {
        name: [{"code": _code_text(code), "label": str(label)} for code, label in values.items() if code == code]
        for name, values in about.value_labels.items()
    }
    return json.dumps({name: codes for name, codes in formats.items() if codes}, ensure_ascii=False)


def labels_of(about: Any) -> dict[str, list[dict[str, str]]]:
    """The labelled values of each variable, as pyreadstat has them. One that is declared to be missing is no value: it
    is read as missing."""
    found = {}
    for variable, values in about.variable_value_labels.items():
        missing = [*about.missing_ranges.get(variable, ()), *about.missing_user_values.get(variable, ())]
        codes = {code: label for code, label in values.items() if not any(_is_in(code, one) for one in missing)}
        if about.readstat_variable_types.get(variable) != "string":  # .a to .z of Stata are missing, labelled or not
            codes = {code: label for code, label in codes.items() if not isinstance(code, str)}
        if codes:
            found[variable] = [{"code": _code_text(code), "label": str(label)} for code, label in codes.items()]
    return found


def _is_in(code: float | str, missing: Any) -> bool:
    """Whether a code is a value, or lies in a range, that is declared to be missing."""
    if not isinstance(missing, dict):
        return bool(code == missing)
    low, high = missing["lo"], missing["hi"]
    if isinstance(code, str) or isinstance(low, str) or isinstance(high, str):
        return bool(code == low == high)
    return bool(low <= code <= high)


def _code_text(code: object) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _of_labels(name: str, text: str, variable: str) -> list[CodebookLine]:
    try:
        declared = json.loads(text)
    except (ValueError, RecursionError):
        declared = None
    listed = declared.get(variable) if isinstance(declared, dict) else None
    if not isinstance(listed, list):
        raise DomainError(f"declares no value labels for {_shown(variable)}; list its values", file=name)
    return list(_flattened(name, listed, "", ""))


def _of_catalogue(name: str, text: str, wanted: str, is_said: bool) -> list[Any]:
    try:
        formats = json.loads(text)
    except (ValueError, RecursionError):
        formats = None
    if not isinstance(formats, dict) or not all(isinstance(codes, list) for codes in formats.values()):
        raise DomainError("not the formats of a catalogue of SAS", file=name)
    codes: list[Any] = _chosen(name, formats, wanted, is_said)
    return codes


def _of_csv(name: str, text: str, columns: Mapping[str, str]) -> list[CodebookLine]:
    reader = csv.reader(io.StringIO(text), delimiter=max(",;\t|", key=text.partition("\n")[0].count), strict=True)
    try:
        header = next(reader, [])
        places = {}
        for column in COLUMNS:
            said = columns.get(column, column)
            if said in header:
                places[column] = header.index(said)
            elif column == "code" or column in columns:
                raise DomainError(f"line 1: there is no column {said!r}; there are {', '.join(header)}", file=name)
        entries = []
        for row in reader:
            if row:
                given = {column: row[at].strip() if at < len(row) else "" for column, at in places.items()}
                entries.append(_entry(name, given, f"line {reader.line_num}"))
    except csv.Error:
        raise DomainError(f"line {reader.line_num}: not CSV: is a quote left open?", file=name) from None
    return entries


def _of_xml(name: str, text: str, wanted: str, is_said: bool) -> _List:
    """A list of what `xml_lists.lists_text` made of a file of DDI or SDMX."""
    try:
        document = json.loads(text)
        lists, kind = document["lists"], document["kind"]
    except (ValueError, RecursionError, LookupError, TypeError):
        raise DomainError("not a codebook of DDI or SDMX", file=name) from None
    said = _chosen(name, lists, wanted, is_said or kind != "Structure")
    entries = [
        _entry(name, {**code, "parent": code.get("parent", "")}, f"line {code['line']}") for code in said["codes"]
    ]
    return _List(entries, said["source"], tuple(said.get("missing", ())))


def _chosen(name: str, lists: Mapping[str, Any], wanted: str, is_named: bool) -> Any:
    """The list that is meant: the one by its name, or the only one where none is named."""
    if wanted in lists:
        return lists[wanted]
    if len(lists) == 1 and not is_named:
        return next(iter(lists.values()))
    there = ", ".join(map(_shown, list(lists)[:MOST_NAMED])) or "none"
    more = ", …" if len(lists) > MOST_NAMED else ""
    raise DomainError(
        f'has no list {_shown(wanted)!r}; there are {there}{more}: {{file = "{name}", list = "…"}} says which',
        file=name,
    )


def _of_json(name: str, text: str, wanted: str, is_said: bool) -> _List:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise DomainError("not JSON: a codebook is a list of codes", file=name) from None
    if isinstance(document, dict) and isinstance(document.get("data"), dict):
        return _of_sdmx_json(name, document["data"], wanted, is_said)
    source = document.get("source") if isinstance(document, dict) else None
    listed = document.get("codes") if isinstance(document, dict) else document
    if not isinstance(listed, list) or not isinstance(source, str | None):
        raise DomainError('a codebook is a list of codes, or {"source": "…", "codes": […]}', file=name)
    return _List(list(_flattened(name, listed, "", "")), source)


def _of_sdmx_json(name: str, data: Mapping[str, Any], wanted: str, is_said: bool) -> _List:
    """A code list of a structure message in SDMX-JSON."""
    try:
        lists = {str(one["id"]): one for one in data["codelists"]}
        said = _chosen(name, lists, wanted, is_said)
        codes = [
            {"code": code["id"], "label": code.get("name", ""), "parent": code.get("parent", "")}
            for code in said["codes"]
        ]
        source = f"SDMX code list {said.get('agencyID', '')}:{said['id']}({said.get('version', '')})"
    except (LookupError, TypeError, AttributeError):
        raise DomainError("not a structure message of SDMX with codelists", file=name) from None
    return _List(list(_flattened(name, codes, "", "")), source)


def _flattened(name: str, listed: list[Any], parent: str, above: str) -> Iterator[CodebookLine]:
    for number, given in enumerate(listed, start=1):
        place = f"{above}entry {number}"
        if place.count("entry") > MOST_LEVELS:
            raise DomainError(f"more than {MOST_LEVELS} levels", file=name)
        if not isinstance(given, dict):
            raise DomainError(f'{place}: must be {{"code": …, "label": …, "parent": …}}', file=name)
        unknown = [key for key in given if key not in (*COLUMNS, "children")]
        if unknown:
            raise DomainError(
                f"{place}: unknown key {_shown(unknown[0])!r}; allowed: {', '.join(COLUMNS)}, children", file=name
            )
        texts = {key: given[key] for key in COLUMNS if given.get(key) is not None}
        if not all(isinstance(text, str | int) and not isinstance(text, bool) for text in texts.values()):
            raise DomainError(f"{place}: code, label and parent are texts", file=name)
        entry = _entry(name, {"parent": parent, **{key: str(text) for key, text in texts.items()}}, place)
        yield entry
        children = given.get("children", [])
        if not isinstance(children, list):
            raise DomainError(f"{place}: children is a list of codes", file=name)
        yield from _flattened(name, children, entry.code, f"{place}, ")


def _entry(name: str, given: Mapping[str, str], place: str) -> CodebookLine:
    entry = CodebookLine(given.get("code", ""), given.get("label", ""), given.get("parent", ""), place)
    if not entry.code:
        _fail(name, entry, "code", "is empty")
    return entry


def _require_no_cycle(name: str, entries: Mapping[str, CodebookLine]) -> None:
    whole: set[str] = set()
    for start in entries.values():
        path: dict[str, None] = {}
        at: CodebookLine | None = start
        while at is not None and at.code not in whole:
            if at.code in path:
                _fail(name, start, "parent", f"{_shown(at.code)!r} is its own parent, by way of others or not")
            path[at.code] = None
            at = entries.get(at.parent)
        if len(path) > MOST_LEVELS:
            _fail(name, start, "parent", f"lies more than {MOST_LEVELS} levels deep")
        whole.update(path)


def _require_labels_apart(name: str, entries: Mapping[str, CodebookLine], groups: set[str]) -> None:
    """A label may be asked for in place of its code, so it has to be one thing only: among the values, and among the
    groups of each depth, which are columns of their own. A group and the one code in it may be called the same."""
    meant: dict[tuple[int, str], CodebookLine] = {}
    depths = {entry.code: _depth(entry, entries) if entry.code in groups else 0 for entry in entries.values()}
    for entry in entries.values():
        if entry.label and entry.label != entry.code:
            depth, by_code = depths[entry.code], entries.get(entry.label)
            is_code = by_code is not None and depths[by_code.code] == depth
            other = by_code if is_code else meant.setdefault((depth, entry.label), entry)
            if other is not None and other is not entry:
                what = "the label" if other.label == entry.label else "the code"
                _fail(
                    name,
                    entry,
                    "label",
                    f"{_shown(entry.label)!r} is {what} of {_shown(other.code)!r} too, {other.place}",
                )


def _depth(entry: CodebookLine, entries: Mapping[str, CodebookLine]) -> int:
    """How deep a group lies: 1 at the top, or below a parent that is no code itself."""
    depth = 1
    while entry.parent:
        depth += 1
        if entry.parent not in entries:
            break
        entry = entries[entry.parent]
    return depth


Tree = dict[str, Any]


def _tree(entries: Mapping[str, CodebookLine]) -> Tree:
    """Codes under their parents, in the order in which they come. A parent that is no code itself is a group too."""
    nodes: dict[str, Tree] = {code: {} for code in entries}
    roots: Tree = {}
    for code, entry in entries.items():
        if entry.parent:
            if entry.parent not in nodes:
                nodes[entry.parent] = roots[entry.parent] = {}
            nodes[entry.parent][code] = nodes[code]
        else:
            roots[code] = nodes[code]
    return roots


def _leaves(tree: Tree, groups: set[str]) -> Iterator[str]:
    for code, children in tree.items():
        if code in groups:
            yield from _leaves(children, groups)
        else:
            yield code


def _hierarchy(tree: Tree, entries: Mapping[str, CodebookLine]) -> Hierarchy:
    """Groups are called by their labels where they have some."""
    return tuple(
        (entries[code].label or code if code in entries else code, _hierarchy(children, entries)) if children else code
        for code, children in tree.items()
    )


def _fail(name: str, entry: CodebookLine, column: str, problem: str) -> NoReturn:
    raise DomainError(f"{entry.place}: {column}: {problem}", file=name)


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
