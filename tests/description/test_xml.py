"""The root of an XML text: encodings, comments, declarations, and names of elements."""

from __future__ import annotations

from typing import Any

import pytest

from symgen.description.parsing.foreign import by_root, by_suffix
from symgen.description.parsing.xml import (
    are_equal,
    full_name,
    is_xacro,
    loose_text,
    parse,
    root_name,
    tag,
    text_of,
    text_without,
)
from symgen.support.errors import DescriptionError


def root(text: str) -> Any:
    return parse(text.encode(), "r.xml")[0]


def refusal(data: bytes, form: str = "a URDF") -> str:
    with pytest.raises(DescriptionError) as caught:
        parse(data, "r.xml", form)
    return str(caught.value)


# -- names of the root -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<robot/>", "robot"),
        ("<robot name='a'><link/></robot>", "robot"),
        ("  \n<a:robot/>", "robot"),
        ("<?xml version='1.0'?><sdf>", "sdf"),
        ("<?a <b> ?>\n<!-- <c> > -->\n<!-- -- --><mujoco model='>'/>", "mujoco"),
        ("<!DOCTYPE x><robot>", "robot"),
        ("<!--<b--><?<c?><![CDATA[<d]]><robot>", "robot"),
        ("<![CDATA[<a>]]><robot>", "robot"),
        ("text<robot", "robot"),
        ("<!-- <robot>", ""),
        ("<?xml <robot>", ""),
        ("<!DOCTYPE <robot", ""),
        ("< robot/>", ""),
        ("no element", ""),
        ("", ""),
    ],
)
def test_the_name_of_the_first_element_is_found_without_parsing(text: str, name: str) -> None:
    assert root_name(text.encode()) == name
    assert root_name(text.encode("utf-16")) == name


# -- encodings -------------------------------------------------------------------------------------

AUTHOR = "<a name='Jörg'/>"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-16le"]
)
def test_unicode_is_read_in_each_form(encoding: str) -> None:
    element, notes = parse(AUTHOR.encode(encoding), "r.xml")
    assert (element.get("name"), notes) == ("Jörg", [])
    swapped = b"\xfe\xff" + AUTHOR.encode("utf-16-be")
    assert parse(swapped, "r.xml")[0].get("name") == "Jörg"
    assert text_of(AUTHOR.encode(encoding)) == AUTHOR


def test_a_declared_encoding_is_used_for_text_that_is_not_utf_8() -> None:
    declared = '<?xml version="1.0" encoding="{}"?>' + AUTHOR
    for encoding in ("iso-8859-1", "ISO8859-15", "latin1", "windows-1252", "cp1250"):
        element, notes = parse(declared.format(encoding).encode(encoding), "r.xml")
        assert (element.get("name"), notes) == ("Jörg", [])
    greek = "<?xml version='1.0' encoding='iso-8859-7'?><a name='ω'/>".encode("iso-8859-7")
    assert parse(greek, "r.xml")[0].get("name") == "ω"
    japanese = "<?xml encoding='shift_jis'?><a name='腕'/>".encode("shift_jis")
    assert parse(japanese, "r.xml")[0].get("name") == "腕"
    # UTF-8 is read as such, whatever it declares
    assert parse(declared.format("iso-8859-7").encode(), "r.xml")[0].get("name") == "Jörg"


@pytest.mark.parametrize(
    "declaration",
    [
        b"",
        b"<?xml version='1.0'?>",
        b"<?xml encoding='utf-8'?>",
        b"<?xml encoding='utf-7'?>",
        b"<?xml encoding='koi8-r'?>",
        b"<?xml encoding='us-ascii'?>",
        b"<?xml encoding='iso-8859-99'?>",
        b" " * 1000 + b"<?xml encoding='iso-8859-7'?>",
        b"<?xml encoding='iso-8859-7'?>".rjust(1003),  # the name ends at byte 1001
    ],
)
def test_other_bytes_are_latin_1_with_a_note(declaration: bytes) -> None:
    data = declaration + b"<r>\n\n<a name='J\xf6rg'/></r>"
    element, notes = parse(data, "r.xml")
    assert element[0].get("name") == "Jörg"
    offset = data.index(b"\xf6")
    (note,) = notes
    assert note.kind == "info"
    assert note.text == f"line 3: byte {offset} is not UTF-8 text; read as ISO-8859-1"


# -- comments and declarations ---------------------------------------------------------------------


def test_comments_and_declarations_change_no_lines() -> None:
    text = (
        "<!-- of\ntwo lines -- with -->\n<?xml version='0.0'\n?>\n"
        "<r><!--\n--><a/><![CDATA[<!-- \n -->]]><?p <!-- \n?><b/>\n<c/></r>\n\0 "
    )
    element = root(text)
    assert [(tag(child), child.sourceline) for child in element] == [("a", 6), ("b", 8), ("c", 9)]
    assert element[0].tail == "<!-- \n -->"


def test_a_comment_that_does_not_end_is_refused() -> None:
    assert "r.xml:2: not well-formed XML" in refusal(b"<r>\n<!-- <a/></r>")
    assert "not well-formed XML" in refusal(b"<r><![CDATA[ <!-- --> </r>")


def test_declarations_of_entities_are_refused_where_the_parser_would_read_them() -> None:
    message = (
        "r.xml:{}: a DOCTYPE or entity declaration is not accepted in a description; "
        "remove it and write the values out"
    )
    for text, line in (
        ("<!DOCTYPE r><r/>", 1),
        ("<?xml version='1.0'?>\n\n<!doctype r><r/>", 3),
        ("<r>\n<! ENTITY a></r>", 2),
    ):
        assert refusal(text.encode()) == message.format(line)
    assert tag(root("<!-- <!DOCTYPE r> --><r/>")) == "r"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version https://git-lfs.github.com/spec/v1\n", "r.xml: this is a pointer of Git LFS"),
        ("<a/>\n<b/>", "r.xml:2: not well-formed XML: there is content after the end of the root"),
        ("<a>" * 300, "r.xml:1: its elements are nested more than 256 deep; write it flat"),
        ("arm", "this is not well-formed XML: it does not begin with '<'; give an SDF file"),
        (
            "<a>\n<b></a>",
            "r.xml:2: not well-formed XML: Opening and ending tag mismatch: b line 2 ",
        ),
        ("<a", "not well-formed XML"),
        ("<a b='<'/>", "not well-formed XML"),
    ],
)  # fmt: skip
def test_text_that_is_no_xml_is_refused_with_its_line(text: str, message: str) -> None:
    refused = refusal(text.encode(), "an SDF")
    assert refused.startswith("r.xml:")
    assert message in refused
    assert "a URDF" not in refused


def test_prefixes_need_no_declaration() -> None:
    element = root("<r><a:b c:d='1'/><e/></r>")
    assert [full_name(child) for child in element] == ["a:b", "e"]
    declared = root("<r xmlns:a='http://a.b'><a:b/></r>")
    assert (tag(declared[0]), full_name(declared[0])) == ("b", "a:b")
    assert (tag(element[0]), full_name(element[1])) == ("a:b", "e")
    assert "not well-formed" in refusal(b"<r><a:b></r>")
    assert "not well-formed" in refusal(b"<r><a:b/><e></r>")


def test_macros_have_the_prefix_or_the_namespace_of_xacro() -> None:
    for text, expected in (
        ("<r><xacro:arm/></r>", True),
        ("<r xmlns:x='http://www.ros.org/wiki/xacro'><x:arm/></r>", True),
        ("<r xmlns:xacro='http://other'><xacro:arm/></r>", False),
        ("<r><xacro/></r>", False),
        ("<r><myxacro:arm/></r>", False),
    ):
        assert is_xacro(root(text)[0]) is expected


# -- content of elements ---------------------------------------------------------------------------


def test_loose_text_is_that_between_the_children() -> None:
    assert loose_text(root("<r> a \n b<c>inside</c> d <e/>\n\nf</r>")) == "a b d f"
    assert loose_text(root("<r><c>inside</c></r>")) == ""


def test_elements_are_removed_and_the_text_after_them_is_kept() -> None:
    text = "<r>0<a>x</a>1<b/>2<c><a/>3<d/><a/>4</c>5<a/></r>"
    element = root(text)
    without = text_without(element, [*element.iter("a")])
    assert without == "<r>01<b/>2<c>3<d/>4</c>5</r>"
    adjacent = root("<r><a/>1<a/>2<a/></r>")
    assert text_without(adjacent, list(adjacent)) == "<r>12</r>"
    no_text = root("<r><b/><a/></r>")
    assert text_without(no_text, [no_text[1]]) == "<r><b/></r>"
    before = root("<r><b/>1<a/>2</r>")
    assert text_without(before, [before[1]]) == "<r><b/>12</r>"


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("<a/>", "<a/>", True),
        ("<a x='1' y='2'> t </a>", "<a y='2' x='1'>t</a>", True),
        ("<a>\n<b/> tail</a>", "<a><b/></a>", True),
        ("<a/>", "<b/>", False),
        ("<a x='1'/>", "<a x='2'/>", False),
        ("<a x='1'/>", "<a/>", False),
        ("<a>t</a>", "<a>u</a>", False),
        ("<a><b/></a>", "<a><b/><b/></a>", False),
        ("<a><b/><c/></a>", "<a><c/><b/></a>", False),
        ("<a><b><c>1</c></b></a>", "<a><b><c>2</c></b></a>", False),
        ("<a><b>1</b><c/></a>", "<a><b>2</b><c/></a>", False),
    ],
)
def test_equal_elements_have_equal_names_attributes_text_and_content(
    first: str, second: str, equal: bool
) -> None:
    assert are_equal(root(first), root(second)) is equal


def test_files_of_other_formats_are_recognised_by_their_root_or_suffix() -> None:
    web_page = ("this is a web page, not the file itself", "download the raw file")
    assert by_root("html") == by_root("HTML") == web_page
    for fault in (by_root("COLLADA"), by_suffix(".dae"), by_suffix(".STL")):
        assert fault is not None
        assert fault[0] == (
            "this is geometry, without joints and masses, which symgen does not read"
        )
    assert by_root("robot") is None
    assert by_suffix(".txt") is None


def test_a_root_contains_only_elements() -> None:
    element = root("<?a b?><r><!-- c --><a><?d e?><b/><!-- f --></a>g &amp; &#65;<?h i?></r>")
    assert [tag(descendant) for descendant in element.iter()] == ["r", "a", "b"]
    assert element[0].tail == "g & A"
    assert "not well-formed XML" in refusal(b"<r>&unknown;</r>")
