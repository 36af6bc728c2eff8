"""Vocabularies of formats: the treatment of names that an element does not know."""

from __future__ import annotations

import pytest

from symgen.description.parsing.words import Kind, Unread, Words
from symgen.description.quantities import Location
from symgen.support.errors import DescriptionError

ROBOT = Location("r.urdf", 3, "joint 'a'")
OPEN = Kind(
    Words(("damping", "friction"), ("comment",), refused={"spring": ("it is a spring", "omit it")}),
    Words(("origin", "axis"), ("visual",), refused={"mimics": ("it is old", "write mimic")}),
)
CLOSED = Kind(Words(("value", "unit"), closed=True), Words(("entry",), closed=True))
BARE = Kind(Words(closed=True), Words())


def read(
    kind: Kind, attributes: tuple[str, ...] = (), child: str = "", text: str = ""
) -> list[str]:
    """Return the notes on one element; a refusal raises DescriptionError."""
    unread = Unread("a URDF")
    unread.check(kind, "joint", attributes, ROBOT)
    if child:
        unread.child(kind, "joint", child, ROBOT)
    unread.words(kind, "joint", text, ROBOT)
    return [note.text for note in unread.notes()]


def refusal(kind: Kind, attributes: tuple[str, ...] = (), child: str = "", text: str = "") -> str:
    with pytest.raises(DescriptionError) as caught:
        read(kind, attributes, child, text)
    return str(caught.value).removeprefix("r.urdf:3: joint 'a': ")


def test_known_names_and_names_of_other_namespaces_give_no_note() -> None:
    assert read(OPEN, ("damping", "comment", "{http://a.b}damp", "a:dampin"), "origin") == []
    assert read(OPEN, child="visual") == []
    assert read(CLOSED, ("value", "{http://a.b}x", "a:x"), "entry") == []


def test_an_unlike_name_is_left_out_with_a_note() -> None:
    beginning = "line 3, joint 'a': "
    ending = "is not known in a URDF, and is left out"
    assert read(OPEN, ("colour",)) == [f"{beginning}the attribute 'colour' of <joint> {ending}"]
    assert read(OPEN, child="sensor") == [f"{beginning}<sensor> in <joint> {ending}"]


def test_a_name_like_an_ignored_one_is_left_out_with_a_suggestion() -> None:
    (note,) = read(OPEN, ("comments",))
    assert note.endswith("and is left out; did you mean 'comment'?")
    (note,) = read(OPEN, child="visuals")
    assert note.endswith(
        "<visuals> in <joint> is not known in a URDF, and is left out; did you mean 'visual'?"
    )


def test_a_name_like_one_that_is_read_is_refused() -> None:
    assert refusal(OPEN, ("dampin",)) == (
        "the attribute 'dampin' is not known here; did you mean 'damping'?"
    )
    assert refusal(OPEN, child="orgin") == "<orgin> is not known here; did you mean 'origin'?"


def test_a_misspelt_name_beside_the_correct_one_is_not_a_misspelling() -> None:
    """An attribute that is present already cannot be meant by another one."""
    assert len(read(OPEN, ("damping", "dampin"))) == 1
    assert len(read(OPEN, ("friction", "dampins", "damping"))) == 1
    assert "did you mean" in refusal(OPEN, ("friction", "dampins"))


def test_names_with_a_prefix_are_like_no_other_name() -> None:
    words = Words(("origin",))
    assert words.nearest("orgin") == "origin"
    assert words.nearest("x:orgin") is None
    assert words.nearest("orgin", ("origin",)) is None
    assert Words((), ("origin",)).nearest("orgin") == "origin"
    assert words.nearest("wheel") is None
    (note,) = read(OPEN, child="x:origin")
    assert note.endswith("<x:origin> in <joint> is not known in a URDF, and is left out")


def test_any_unknown_name_in_a_closed_element_is_refused() -> None:
    assert refusal(CLOSED, ("colour",)) == (
        "the attribute 'colour' is not known here; there are: value, unit"
    )
    assert refusal(CLOSED, child="wheel") == "<wheel> is not known here; there are: entry"
    assert refusal(BARE, ("colour",)) == "the attribute 'colour' is not known here; remove it"


def test_an_attribute_with_the_name_of_an_element_is_refused_and_vice_versa() -> None:
    assert refusal(OPEN, ("axis",)) == (
        "the attribute 'axis' is not known here; write it as an element: <axis …/>"
    )
    assert refusal(OPEN, child="damping") == (
        '<damping> is not known here; write it as an attribute: damping="…"'
    )
    # the names that are ignored have no other form
    assert len(read(OPEN, ("visual",))) == len(read(OPEN, child="comment")) == 1


def test_names_with_a_declared_fault_are_refused_with_it() -> None:
    assert refusal(OPEN, ("spring",)) == "it is a spring; omit it"
    assert refusal(OPEN, child="mimics") == "it is old; write mimic"


def test_text_is_refused_where_attributes_change_the_robot() -> None:
    assert refusal(CLOSED, text="0 0 1") == (
        "<joint> contains the text '0 0 1', but it takes only attributes; "
        'write <joint value="…" unit="…"/>'
    )
    assert refusal(BARE, text="x").endswith("but it takes only attributes; remove the text")
    note = "line 3, joint 'a': the text '{}' in <joint> is not read"
    assert read(CLOSED, text=">/<") == [note.format(">/<")]
    assert read(OPEN, text="0 0 1") == [note.format("0 0 1")]
    assert read(OPEN, text="") == []
    assert read(Kind(CLOSED.attributes, text=True), text="0 0 1") == []


def test_a_kind_knows_no_names_and_no_text_unless_declared() -> None:
    assert len(read(Kind(), ("x",), "y", "z")) == 3


def test_one_note_counts_all_places_of_a_name() -> None:
    unread = Unread("an SDF")
    for line in (5, 6, 6, 9):
        unread.child(OPEN, "joint", "sensor", Location("r.sdf", line, "joint 'b'"))
    unread.leave_out("the rest", Location("r.sdf", 7), "look")
    unread.leave_out("the rest", Location("r.sdf", 7))
    assert [(note.kind, note.text) for note in unread.notes()] == [
        (
            "warning",
            "line 5, joint 'b': <sensor> in <joint> is not known in an SDF, and is left out "
            "(and 2 more)",
        ),
        ("warning", "line 7: the rest; look"),
        ("warning", "line 7: the rest"),
    ]
