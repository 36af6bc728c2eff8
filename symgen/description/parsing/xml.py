"""The text of an XML file to its root element. Parts that no reader uses (comments, declaration, foreign prefixes) never stop it.

Writers of descriptions are not strict. A comment or an empty line stands before the declaration, the version is `0.0`, a comment
holds `--`, a NUL ends the file, a plugin uses a prefix that nobody declared, an author's name is Latin-1. The field's own readers
(TinyXML in urdfdom and PyBullet) take all of that, and none of it changes a robot.

The file is data: a DOCTYPE is refused, so that no entity exists; the network and external files are never asked. The text that is
searched for a DOCTYPE is the very text that is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lxml import etree

from symgen.description.quantities import Place, shown
from symgen.mechanism.mechanism import Note

_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
_ENCODING = re.compile(rb"""<\?xml\b[^>]*\bencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_KNOWN = re.compile(
    r"(iso-?8859-\d+|latin-?1|windows-125\d|cp125\d|us-ascii|gb2312|gbk|gb18030|big5|shift[-_]jis|euc-(jp|kr))",
    re.IGNORECASE,
)
"""Declared encodings that are accepted. None of them can hide a `<` from the search."""
_DOCTYPE = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_NO_DOCTYPE = (
    "a DOCTYPE or entity declaration is not accepted in a description",
    "remove it and write the values out",
)
_FIRST = re.compile(r"<(?:!--|\?|!|([^\s<>/?!]+))")
_CLOSES = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_OPENS = re.compile("|".join(map(re.escape, _CLOSES)))
_POINTER = "version https://git-lfs.github.com/"
_WORDS = {
    "Extra content at the end of the document": (
        "not well-formed XML: more stands behind the end of the root element",
        "keep one robot in the file and nothing behind it",
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
    """(root element, remarks) of the XML `data`, to be `form`. DescriptionError names file and line of what is not XML."""
    text, notes = _decoded(data)
    place = Place(file)
    if text.startswith(_POINTER):
        raise place.error(
            "this is a pointer of Git LFS, not the file itself", "fetch the file: git lfs pull"
        )
    text = _declared(_without_comments(text.rstrip("\0 \t\r\n")))
    doctype = _DOCTYPE.search(text)
    if doctype is not None:
        line = text.count("\n", 0, doctype.start()) + 1
        raise Place(file, line).error(*_NO_DOCTYPE)
    try:
        root = _tree(text.encode())
    except etree.XMLSyntaxError as error:
        reason = re.sub(
            r", line \d+, column \d+.*", "", str(error.msg or "it ends early"), flags=re.DOTALL
        )
        what, hint = _WORDS.get(
            reason,
            (
                f"not well-formed XML: {shown(reason, 100)[1:-1]}",
                "check that the file is complete and is a URDF",
            ),
        )
        raise Place(file, error.lineno or None).error(what, hint.replace("a URDF", form)) from None
    if root is None:
        raise place.error("the file holds no XML element", f"give {form} file")
    if root.getroottree().docinfo.doctype:  # the parser's own word for what was searched for above
        raise place.error(*_NO_DOCTYPE)
    return root, notes


def text_of(data: bytes) -> str:
    """The text of an XML file, as `parse` decodes it."""
    return _decoded(data)[0]


def root_name(data: bytes) -> str:
    """The name of the first element, without a prefix; empty where there is none. The rest is not looked at."""
    text, position = _decoded(data)[0], 0
    while (found := _FIRST.search(text, position)) is not None and found[1] is None:
        closes = _CLOSES.get(found[0], ">")
        end = text.find(closes, found.end())
        if end < 0:
            return ""
        position = end + len(closes)
    return found[1].rpartition(":")[2] if found is not None else ""


def tag(element: Any) -> str:
    """The name of an element without its namespace. A prefix that nobody declared stays in it."""
    return str(element.tag).rpartition("}")[2]


def full_name(element: Any) -> str:
    """The name of an element with its prefix, declared or not."""
    return f"{element.prefix}:{tag(element)}" if element.prefix is not None else tag(element)


def loose_text(element: Any) -> str:
    """The text that stands directly in an element, before and between its children."""
    return " ".join(
        " ".join(filter(None, (element.text, *(child.tail for child in element)))).split()
    )


def text_without(root: Any, elements: Iterable[Any]) -> str:
    """The text of a document without some of its elements. What stands behind each of them stays."""
    for element in elements:
        parent, before = element.getparent(), element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + (element.tail or "")
        else:
            parent.text = (parent.text or "") + (element.tail or "")
        parent.remove(element)
    return str(etree.tostring(root, encoding="unicode"))


def is_xacro(element: Any) -> bool:
    """Whether an element is a macro, its prefix declared or not."""
    namespace, brace, name = str(element.tag).rpartition("}")
    return "xacro" in namespace if brace else name.startswith("xacro:")


def alike(one: Any, other: Any) -> bool:
    """Whether two elements say the same: name, attributes, text and everything inside."""
    waiting = [(one, other)]
    while waiting:
        mine, theirs = waiting.pop()
        if (
            mine.tag != theirs.tag
            or dict(mine.attrib) != dict(theirs.attrib)
            or len(mine) != len(theirs)
            or (mine.text or "").strip() != (theirs.text or "").strip()
        ):
            return False
        waiting += zip(mine, theirs, strict=True)
    return True


def _decoded(data: bytes) -> tuple[str, list[Note]]:
    """The text: UTF-16 by its first bytes, UTF-8 wherever it is valid UTF-8, else as declared, else byte for byte."""
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
    found = _ENCODING.search(data[:1000])
    if found is not None and _KNOWN.fullmatch(found[1].decode()):
        try:
            return data.decode(found[1].decode()), []
        except (UnicodeDecodeError, LookupError):
            pass
    line = data.count(b"\n", 0, first) + 1
    return data.decode("latin-1"), [
        Note("info", f"line {line}: byte {first} is not UTF-8 text; read as ISO-8859-1")
    ]


def _without_comments(text: str) -> str:
    """`text` with each comment replaced by the line breaks in it. What looks like one inside a CDATA section or an instruction
    is none. What never ends stays, so that the parser refuses it.
    """
    kept, position = [], 0
    while (found := _OPENS.search(text, position)) is not None:
        start, closes = found.start(), _CLOSES[found[0]]
        end = text.find(closes, found.end())
        if end < 0:
            break
        end += len(closes)
        kept.append(
            text[position:start] + "\n" * text.count("\n", start, end)
            if closes == "-->"
            else text[position:end]
        )
        position = end
    return "".join([*kept, text[position:]])


def _declared(text: str) -> str:
    """`text` without its declaration, on the same lines. The version and encoding in it decide nothing here."""
    match = _DECLARATION.match(text)
    return text if match is None else "\n" * match[0].count("\n") + text[match.end() :]


def _tree(data: bytes) -> Any:
    """The root. Text with no error but in its namespaces is read all the same."""
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
    return len(parser.error_log) > 0 and all(
        entry.domain == etree.ErrorDomains.NAMESPACE for entry in parser.error_log
    )


def _parser(recover: bool) -> Any:
    # The encoding is forced, so that no declaration can make the parser read another text than was searched.
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
