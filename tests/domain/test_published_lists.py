"""Lists of codes as statistical offices and archives publish them: DDI and SDMX, by name, with lines for mistakes."""

import json

import pytest
import sdmx
from sdmx.message import StructureMessage
from sdmx.model.common import Code, Codelist

from discreet.domain.read import domain_text, parse_domain, read_domain
from discreet.errors import DomainError

DDI = """\
<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5">
  <docDscr><citation><titlStmt><titl>Survey of trust 2026, codebook</titl></titlStmt></citation></docDscr>
  <dataDscr>
    <var ID="V1" name="sex"><labl>Sex of the respondent</labl>
      <catgry ID="C1"><catValu>1</catValu><labl>Male</labl><catStat type="freq">4711</catStat></catgry>
      <catgry ID="C2"><catValu>2</catValu><labl>Female</labl><catStat type="freq">4712</catStat></catgry>
      <catgry ID="C3" missing="Y"><catValu>9</catValu><labl>no answer</labl></catgry>
    </var>
    <var ID="V2" name="job">
      <catgryGrp ID="G1" catgry="J1 J2"><labl>office</labl></catgryGrp>
      <catgryGrp ID="G2" catgry="J3"/>
      <catgryGrp ID="G3" catGrp="G1 G2"><labl>paid</labl></catgryGrp>
      <catgryGrp ID="G4"><labl>of nobody</labl></catgryGrp>
      <catgry ID="J1"><catValu>11</catValu><labl>clerk</labl></catgry>
      <catgry ID="J2"><catValu>12</catValu><labl>manager</labl></catgry>
      <catgry ID="J3"><catValu>20</catValu><labl>farmer</labl></catgry>
      <catgry ID="J4"><catValu>30</catValu><labl>none</labl></catgry>
    </var>
    <var name="age"><labl>Age</labl></var>
  </dataDscr>
</codeBook>
"""


@pytest.fixture
def described(tmp_path):
    def describe(book, name="book.xml", said="", attribute="sex", source=""):
        (tmp_path / name).write_text(book, encoding="utf-8")
        lines = [
            'name = "t"',
            f"[attributes.{attribute}]",
            'kind = "category"',
            f"values_from = {said or json.dumps(name)}",
        ]
        (tmp_path / "t.toml").write_text("\n".join([*lines, source]), encoding="utf-8")
        return read_domain(tmp_path / "t.toml")[attribute]

    return describe


def test_a_variable_of_ddi_has_values_labels_missing_ones_and_a_source(described):
    sex = described(DDI)
    assert sex.labels == ("1 Male", "2 Female")
    assert sex.notation.missing == ("9",)
    assert sex.source == "Survey of trust 2026, codebook, Sex of the respondent"


def test_how_often_a_value_occurs_is_data_and_is_not_taken_along(described, tmp_path):
    described(DDI)
    kept = domain_text(tmp_path / "t.toml")
    assert "4711" not in kept
    assert parse_domain(kept) == read_domain(tmp_path / "t.toml")


def test_groups_of_categories_are_a_hierarchy_of_any_depth(described):
    job = described(DDI, said='{file = "book.xml", list = "job"}', attribute="work")
    assert job.values == ("30", "11", "12", "20")
    assert job.levels == ((None, "paid", "paid", "paid"), (None, "office", "office", "G2"))


def codelist(name, *codes):
    made = Codelist(id=name, name=f"List {name}", version="1.2", maintainer=sdmx.model.common.Agency(id="SDMX"))
    by_id = {}
    for code, label, parent in codes:
        by_id[code] = Code(id=code, name=label)
        if parent:
            by_id[parent].append_child(by_id[code])
        made.append(by_id[code])
    return made


SEX = ("CL_SEX", ("F", "Female", ""), ("M", "Male", ""))
AREA = ("CL_AREA", ("CH", "Switzerland", ""), ("ZH", "Zürich", "CH"), ("BE", "Bern", "CH"), ("FR", "France", ""))


def sdmx_ml(*lists):
    message = StructureMessage()
    for name, *codes in lists:
        message.codelist[name] = codelist(name, *codes)
    return sdmx.to_xml(message).decode()


def sdmx_json(*lists):
    listed = [
        {
            "id": name,
            "agencyID": "SDMX",
            "version": "1.2",
            "codes": [{"id": c, "name": label} | ({"parent": parent} if parent else {}) for c, label, parent in codes],
        }
        for name, *codes in lists
    ]
    return json.dumps({"meta": {}, "data": {"codelists": listed}})


@pytest.mark.parametrize(("write", "name"), [(sdmx_ml, "lists.xml"), (sdmx_json, "lists.json")])
class TestSdmx:
    def test_the_only_list_is_meant_where_none_is_named(self, described, write, name):
        sex = described(write(SEX), name)
        assert sex.labels == ("F Female", "M Male")
        assert sex.source == "SDMX code list SDMX:CL_SEX(1.2)"

    def test_one_of_several_is_named_and_parents_are_groups(self, described, write, name):
        area = described(write(SEX, AREA), name, said=f'{{file = "{name}", list = "CL_AREA"}}', source='source = "map"')
        assert area.values == ("ZH", "BE", "FR")
        assert area.levels == (("Switzerland", "Switzerland", None),)
        assert area.source == "map"

    def test_a_list_that_is_not_there_is_refused_with_those_that_are(self, described, write, name):
        for said in ("", f'{{file = "{name}", list = "CL_AGE"}}'):
            with pytest.raises(DomainError, match=r"has no list '(sex|CL_AGE)'; there are CL_SEX, CL_AREA: "):
                described(write(SEX, AREA), name, said=said)


def test_older_and_newer_spellings_of_sdmx_are_read(described):
    two = (
        '<Structure><CodeLists><CodeList id="L"><Code value="a" parentCode="g"><Description>A</Description></Code>'
        "</CodeList></CodeLists></Structure>"
    )
    assert described(two).levels == (("g",),)
    three = (
        '<m:Structure xmlns:m="x" xmlns:c="z"><s:Codelist xmlns:s="y" id="L"><s:Code id="a">'
        '<c:Name xml:lang="de">Ah</c:Name><c:Name xml:lang="en">A</c:Name><s:Parent>g</s:Parent></s:Code>'
        "</s:Codelist></m:Structure>"
    )
    found = described(three)
    assert found.labels == ("a A",)
    assert found.levels == (("g",),)


@pytest.mark.parametrize(
    ("book", "message"),
    [
        (DDI.replace("</codeBook>", ""), r"book\.xml: line 23: not XML"),
        (DDI.replace("<catValu>2<", "<catValu>1<"), r"book\.xml: line 7: code: '1' is listed before, line 6"),
        (DDI.replace(">Female<", ">Male<"), r"book\.xml: line 7: label: 'Male' is the label of '1' too, line 6"),
        (DDI.replace("<catValu>2</catValu>", ""), r"book\.xml: line 7: code: is empty"),
        (DDI.replace('name="sex"', 'name="gender"'), r"book\.xml: has no list 'sex'; there are gender, job"),
        ("<data/>", r"book\.xml: line 1: neither DDI \(codeBook\) nor SDMX \(Structure\), but data"),
        ('<!DOCTYPE codeBook [<!ENTITY a "b">]>\n' + DDI.partition("\n")[2], r"line 1: declares entities of its own"),
        ("<a>" * 300 + "</a>" * 300, r"line 1: elements are nested too deeply"),
        ("", r"book\.xml: line 1: not XML"),
        (
            '<Structure><Codelist id="L"><Code id="a"><Parent><Ref id="b"/></Parent></Code>\n'
            '<Code id="b"><Parent><Ref id="a"/></Parent></Code></Codelist></Structure>',
            r"book\.xml: line 1: parent: 'a' is its own parent",
        ),
    ],
    ids=["cut off", "twice", "labels", "no code", "no list", "other XML", "entities", "deep", "empty", "cycle"],
)
def test_what_is_wrong_is_named_by_file_and_line(described, book, message):
    with pytest.raises(DomainError, match=message):
        described(book)


@pytest.mark.parametrize(
    "book", ['{"data": {}}', '{"data": {"codelists": [1]}}', '{"data": {"codelists": [{"id": "a", "codes": [{}]}]}}']
)
def test_a_message_of_sdmx_without_lists_is_refused(described, book):
    with pytest.raises(DomainError, match=r"lists\.json: not a structure message of SDMX with codelists"):
        described(book, "lists.json")


def test_labels_of_another_variable_are_named_too(tmp_path):
    import pandas as pd
    import pyreadstat

    pyreadstat.write_sav(pd.DataFrame({"v1": [1.0]}), tmp_path / "s.sav", variable_value_labels={"v1": {1.0: "yes"}})
    (tmp_path / "t.toml").write_text(
        'name = "t"\n[attributes]\nx = {kind = "category", values_from = {file = "s.sav", list = "v1"}, source = "q"}\n'
    )
    assert read_domain(tmp_path / "t.toml")["x"].labels == ("1 yes",)


def test_an_xml_file_may_be_in_latin_1(tmp_path):
    text = DDI.replace("UTF-8", "ISO-8859-1").replace("Female", "Größe")
    (tmp_path / "book.xml").write_bytes(text.encode("latin-1"))
    (tmp_path / "t.toml").write_text('name = "t"\n[attributes.sex]\nkind = "category"\nvalues_from = "book.xml"\n')
    assert read_domain(tmp_path / "t.toml")["sex"].labels == ("1 Male", "2 Größe")


def test_a_list_of_very_many_codes_is_read(tmp_path):
    codes = "".join(f'<Code id="c{n}"><Name>n{n}</Name></Code>\n' for n in range(20_000))
    (tmp_path / "big.xml").write_text(f'<Structure><Codelist id="L">{codes}</Codelist></Structure>')
    (tmp_path / "t.toml").write_text('name = "t"\n[attributes.x]\nkind = "category"\nvalues_from = "big.xml"\n')
    assert read_domain(tmp_path / "t.toml")["x"].cells == 20_000
