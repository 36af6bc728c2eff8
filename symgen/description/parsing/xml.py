"""The root element of an XML text. Parts that no reader uses (comments, declaration, foreign
prefixes) cause no errors.

Writers of descriptions are not strict: a comment or an empty line precedes the declaration. The
version is `0.0`, a comment contains `--`, a NUL ends the file, a plugin uses an undeclared prefix,
an author's name is Latin-1. Other readers (TinyXML in urdfdom and PyBullet) accept all of that, and
none of it changes a robot.

The file is data. A DOCTYPE is refused, so that there are no entities; the network and external
files are never accessed. The text that is searched for a DOCTYPE is the text that is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lxml import etree

from symgen.description.quantities import Location, quote
from symgen.mechanism.mechanism import Note

_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
_ENCODING = re.compile(rb"""<\?xml\b[^>]*\bencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_ACCEPTED_ENCODINGS = re.compile(
    r"(iso-?8859-\d+|latin-?1|windows-125\d|cp125\d|us-ascii|gb2312|gbk|gb18030"
    r"|big5|shift[-_]jis|euc-(jp|kr))",
    re.IGNORECASE,
)
"""Declared encodings that are accepted. None of them can hide a `<` from the search."""
_DOCTYPE = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_NO_DOCTYPE = (
    "a DOCTYPE or entity declaration is not accepted in a description",
    "remove it and write the values out",
)
_TAG_OR_SKIPPED = re.compile(r"<(?:!--|\?|!|([^\s<>/?!]+))")
_CLOSES = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_OPENS = re.compile("|".join(map(re.escape, _CLOSES)))
_POINTER = "version https://git-lfs.github.com/"
_WORDS = {
    "Extra content at the end of the document": (
        "not well-formed XML: there is content after the end of the root element",
        "keep only one root element in the file",
    ),
    "Excessive depth in document: 256, use XML_PARSE_HUGE option": (
        "its elements are nested more than 256 deep",
        "write it flat, a long chain as URDF or TOML",
    ),
    "Start tag expected, '<' not found": (
        "this is not well-formed XML: it does not begin with '<'",
        "give a URDF file",
    ),
}


def parse(data: bytes, file: str, form: str = "a URDF") -> tuple[Any, list[Note]]:
    """Return (root element, notes) of the XML `data`, a document of the format `form`. The root
    contains only elements, no comments or instructions.

    DescriptionError names file and line of invalid XML.
    """
    text, notes = _decode(data)
    location = Location(file)
    if text.startswith(_POINTER):
        raise location.error(
            "this is a pointer of Git LFS, not the file itself", "fetch the file: git lfs pull"
        )
    text = _without_declaration(_without_comments(text.rstrip("\0 \t\r\n")))
    doctype = _DOCTYPE.search(text)
    if doctype is not None:
        line = text.count("\n", 0, doctype.start()) + 1
        raise Location(file, line).error(*_NO_DOCTYPE)
    try:
        root = _tree(text.encode())
    except etree.XMLSyntaxError as error:
        reason = re.sub(
            r", line \d+, column \d+.*", "", str(error.msg or "it ends early"), flags=re.DOTALL
        )
        fault, hint = _WORDS.get(
            reason,
            (
                f"not well-formed XML: {quote(reason, 100)[1:-1]}",
                "check that the file is complete and is a URDF",
            ),
        )
        raise Location(file, error.lineno or None).error(
            fault, hint.replace("a URDF", form)
        ) from None
    if root is None:
        raise location.error("the file holds no XML element", f"give {form} file")
    if root.getroottree().docinfo.doctype:  # the parser confirms the search above
        raise location.error(*_NO_DOCTYPE)
    return root, notes


def text_of(data: bytes) -> str:
    """Return the text of an XML file, as `parse` decodes it."""
    return _decode(data)[0]


def root_name(data: bytes) -> str:
    """Return the name of the first element, without a prefix; empty if there is none. The rest is
    not examined.
    """
    text, position = _decode(data)[0], 0
    while (match := _TAG_OR_SKIPPED.search(text, position)) is not None and match[1] is None:
        position = text.find(_CLOSES.get(match[0], ">"), match.end())
        if position < 0:
            return ""
    return match[1].rpartition(":")[2] if match is not None else ""


def tag(element: Any) -> str:
    """Return the name of an element without its namespace. An undeclared prefix is kept."""
    return str(element.tag).rpartition("}")[2]


def full_name(element: Any) -> str:
    """Return the name of an element with its prefix, declared or not."""
    return f"{element.prefix}:{tag(element)}" if element.prefix is not None else tag(element)


def loose_text(element: Any) -> str:
    """Return the text directly in an element, before and between its children."""
    return " ".join(
        " ".join(filter(None, (element.text, *(child.tail for child in element)))).split()
    )


def text_without(root: Any, elements: Iterable[Any]) -> str:
    """Return a document's text without some of its elements. Text after each of them is kept."""
    for element in elements:
        parent, before = element.getparent(), element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + (element.tail or "")
        else:
            parent.text = (parent.text or "") + (element.tail or "")
        parent.remove(element)
    return str(etree.tostring(root, encoding="unicode"))


def is_xacro(element: Any) -> bool:
    """True if an element is a macro, with a declared prefix or not."""
    namespace, brace, name = str(element.tag).rpartition("}")
    return "xacro" in namespace if brace else name.startswith("xacro:")


def are_equal(first: Any, second: Any) -> bool:
    """True if two elements are equal: name, attributes, text and content."""
    waiting = [(first, second)]
    while waiting:
        left, right = waiting.pop()
        if (
            left.tag != right.tag
            or dict(left.attrib) != dict(right.attrib)
            or len(left) != len(right)
            or (left.text or "").strip() != (right.text or "").strip()
        ):
            return False
        waiting += zip(left, right, strict=True)
    return True


def _decode(data: bytes) -> tuple[str, list[Note]]:
    """Return (text, notes): UTF-16 by its first bytes, else UTF-8 if valid, else the declared
    encoding, else Latin-1.
    """
    for start, name in (
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
        (b"<\0", "utf-16-le"),
        (b"\0<", "utf-16-be"),
    ):
        if data.startswith(start):
            return data.decode(name, errors="replace"), []
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        first = error.start
    declared = _ENCODING.search(data[:1000])
    if declared is not None and _ACCEPTED_ENCODINGS.fullmatch(declared[1].decode()):
        try:
            return data.decode(declared[1].decode()), []
        except (UnicodeDecodeError, LookupError):
            pass
    line = data.count(b"\n", 0, first) + 1
    return data.decode("latin-1"), [
        Note("info", f"line {line}: byte {first} is not UTF-8 text; read as ISO-8859-1")
    ]


def _without_comments(text: str) -> str:
    """Return `text` with each comment replaced by its line breaks.

    Text that looks like a comment in a CDATA section or an instruction is kept. An unclosed comment
    is kept too, so that the parser refuses it.
    """
    passages, position = [], 0
    while (match := _OPENS.search(text, position)) is not None:
        start, closes = match.start(), _CLOSES[match[0]]
        end = text.find(closes, match.end())
        if end < 0:
            break
        end += len(closes)
        passages.append(
            text[position:start] + "\n" * text.count("\n", start, end)
            if closes == "-->"
            else text[position:end]
        )
        position = end
    return "".join([*passages, text[position:]])


def _without_declaration(text: str) -> str:
    """Return `text` without its declaration, on the same lines. The version and encoding in it have
    no effect.
    """
    match = _DECLARATION.match(text)
    return text if match is None else "\n" * match[0].count("\n") + text[match.end() :]


def _tree(data: bytes) -> Any:
    """Return the root. Text whose only errors concern namespaces is accepted."""
    strict = _parser(recover=False)
    try:
        return etree.fromstring(data, strict)
    except etree.XMLSyntaxError:
        if not _only_namespaces(strict):
            raise
    lenient = _parser(recover=True)
    root = etree.fromstring(data, lenient)
    return root if _only_namespaces(lenient) else etree.fromstring(data, _parser(recover=False))


def _only_namespaces(parser: Any) -> bool:
    """True if all errors of a parser concern namespaces."""
    return len(parser.error_log) > 0 and all(
        entry.domain == etree.ErrorDomains.NAMESPACE for entry in parser.error_log
    )


def _parser(recover: bool) -> Any:
    # The encoding is forced, so that the parser reads exactly the text that was searched.
    """Return a parser that accesses no other files."""
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        recover=recover,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
