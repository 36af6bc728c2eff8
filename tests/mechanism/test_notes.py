"""Similar notes combined into one line."""

from __future__ import annotations

import pytest

from symgen.mechanism.notes import KINDS, LOUD, NAMED, Note, combined_notes


def lines(*texts: str, named: int | None = NAMED) -> list[str]:
    return combined_notes([Note("info", text) for text in texts], "info", named)


def test_only_notes_of_the_kind_are_combined() -> None:
    notes = [Note("info", "a text"), Note("warning", "a text")]
    assert combined_notes(notes, "warning") == ["a text"]
    assert combined_notes(notes, "snap") == []
    assert {*LOUD} < {*KINDS}
    assert [*KINDS][-1] == LOUD[-1] == "warning"


def test_texts_that_differ_in_names_and_numbers_share_a_line() -> None:
    assert lines("link 'a' has 3 parts", "link 'b' has -0.5 parts") == [
        "link 'a' has 3 parts; the same of b"
    ]
    assert lines("joint a1 at pi/2 moves", "joint b2 at -3*pi/4 moves") == [
        "joint a1 at pi/2 moves; the same of b2"
    ]
    assert lines("body a is 1e-3 long", "body b is 2.5 long") == [
        "body a is 1e-3 long; the same of b"
    ]


def test_other_texts_have_lines_of_their_own_in_order() -> None:
    texts = ["link 'a' is heavy", "link 'a' is light", "mesh3 is heavy", "mesh4 is heavy"]
    assert lines(*texts) == texts  # a number within a word is part of it


def test_texts_without_names_are_counted() -> None:
    assert lines("line 3 is empty") == ["line 3 is empty"]
    assert lines("line 3 is empty", "line 4 is empty", "line 5 is empty") == [
        "line 3 is empty; and 2 more like it"
    ]


def test_further_names_are_listed_once_each_up_to_a_number() -> None:
    texts = [f"link '{name}' is far" for name in "abcdefgb"]
    assert lines(*texts) == ["link 'a' is far; the same of b, c, d, e and 2 more"]
    assert lines(*texts, named=None) == ["link 'a' is far; the same of b, c, d, e, f, g"]
    assert lines(*texts, named=5) == ["link 'a' is far; the same of b, c, d, e, f and 1 more"]
    assert lines("link 'a' is far", "link 'a' is far") == ["link 'a' is far; and 1 more like it"]


@pytest.mark.parametrize("largest", range(3))
def test_of_changed_rotations_the_largest_is_shown(largest: int) -> None:
    angles = ["1.0e-09"] * 3
    angles[largest] = "3.0e-09"
    texts = [f"link '{'abc'[k]}' (moved by {angle} rad)" for k, angle in enumerate(angles)]
    others = ", ".join(name for k, name in enumerate("abc") if k != largest)
    assert lines(*texts) == [f"{texts[largest]}; the same of {others}"]
