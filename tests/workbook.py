"""Workbooks to read: the least that is one, also with a password."""

import struct
import zipfile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(path, sheets):
    """The least that is a workbook, with dates in its second style."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/s{n}.xml"/>'
            for n, _ in enumerate(sheets, 1)
        )
        + f'<Relationship Id="styles" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/>'
        "</cellXfs></styleSheet>",
    }
    for n, cells in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/s{n}.xml"] = f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return path


SECTOR, FREE, END, FAT = 512, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def protected_workbook(path):
    """What Excel writes of a workbook with a password: a compound file that holds how it was encrypted, and what."""
    streams = [("EncryptionInfo", b"\x04\x00\x04\x00\x40\x00\x00\x00" + bytes(4088)), ("EncryptedPackage", bytes(4096))]
    header = struct.pack("<8s16sHHHHH6sIIIIIIIIII", bytes.fromhex("D0CF11E0A1B11AE1"), bytes(16), 0x3E, 3, 0xFFFE, 9, 6,
        bytes(6), 0, 1, 1, 0, 4096, END, 0, END, 0, 0)  # fmt: skip
    header += struct.pack("<108I", *[FREE] * 108)
    sectors = [len(content) // SECTOR for _, content in streams]
    table, entries, first = [FAT, END], [_entry("Root Entry", 5, 1, FREE, END, 0)], 2
    for place, ((name, content), many) in enumerate(zip(streams, sectors, strict=True), start=1):
        table += [*range(first + 1, first + many), END]
        entries.append(_entry(name, 2, FREE, place + 1 if place < len(streams) else FREE, first, len(content)))
        first += many
    table += [FREE] * (SECTOR // 4 - len(table))
    directory = b"".join(entries).ljust(SECTOR, b"\0")
    path.write_bytes(header + struct.pack("<128I", *table) + directory + b"".join(content for _, content in streams))
    return path


def _entry(name, kind, child, right, first, size):
    """A line of a compound file's directory."""
    text = name.encode("utf-16-le") + b"\0\0"
    return struct.pack(
        "<64sHBBIII16sIQQIQ", text, len(text), kind, 1, FREE, right, child, bytes(16), 0, 0, 0, first, size
    )
