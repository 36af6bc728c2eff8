"""Real URDFs with random damage: each is read or refused in one sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from symgen.description.canonical import to_toml
from symgen.description.loading import load
from symgen.pages.report.show import show
from symgen.support.errors import SymgenError
from tests.shared.descriptions import public_urdf

NAMES = (
    "panda.urdf",
    "ur5_robot.urdf",
    "double_pendulum.urdf",
    "so100.urdf",
    "finger_edu.urdf",
    "TwoDofs.urdf",
    "bolt.urdf",
    "z1.urdf",
)
TEXTS = {
    name: path.read_text(encoding="utf-8")
    for name in NAMES
    if (path := public_urdf(name)) is not None
}
EXAMPLES = 60
"""Number of damaged files; `make fuzz` and tests/adversary try more."""

_VALUES = re.compile(r'="([^"]*)"')
_NUMBERS = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:[eE][-+]?\d+)?(?![\w.])")
_LEAVES = re.compile(r"<[a-z]+ [^<>]*/>")
_BLOCKS = re.compile(r"<(link|joint|inertial|transmission)\b[^>]*[^/]>.*?</\1>", re.DOTALL)

number = st.one_of(
    st.floats(-10, 10).map(lambda x: f"{x:.6g}"),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["0", "-0.0", "1.5708", "3.1416", "180", "1e-17", "1e300", "-1"]),
)
odd = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "nan",
            "inf",
            "1e999999999",
            "0 0 0",
            "1,2,3",
            "0x1",
            "${x}",
            "$(find a)",
            "&lt;",
            "&#10;",
            "fixed",
            "floating",
            "prismatic",
            "revolute",
            "continuous",
            "planar",
            "__import__('os')",
            "9" * 5000,
        ]
    ),
    st.text(max_size=12),
)
change = st.one_of(
    st.tuples(st.just("number"), st.integers(0, 10**6), number),
    st.tuples(st.just("number"), st.integers(0, 10**6), number),
    st.tuples(
        st.sampled_from(
            [
                "value",
                "leaf-out",
                "leaf-twice",
                "block-out",
                "block-twice",
                "cut",
                "insert",
                "copy-value",
            ]
        ),
        st.integers(0, 10**6),
        odd,
    ),
)


def damaged(text: str, changes: list[tuple[str, int, str]]) -> str:
    """Apply each (kind, position, payload) of `changes`; positions wrap round at the last match."""
    for kind, position, payload in changes:
        pattern = {
            "number": _NUMBERS,
            "value": _VALUES,
            "copy-value": _VALUES,
            "leaf-out": _LEAVES,
            "leaf-twice": _LEAVES,
            "block-out": _BLOCKS,
            "block-twice": _BLOCKS,
        }.get(kind)
        if pattern is None:
            at = position % (len(text) + 1)
            text = text[:at] + ("" if kind == "cut" else payload + text[at:])
            continue
        spans = [match.span(1 if pattern is _VALUES else 0) for match in pattern.finditer(text)]
        if not spans:
            continue
        start, end = spans[position % len(spans)]
        another_value = text[slice(*spans[(position // len(spans) + 7 * position) % len(spans)])]
        twice = 2 * text[start:end]
        new = {
            "number": payload,
            "value": payload,
            "copy-value": another_value,
            "leaf-out": "",
            "block-out": "",
        }.get(kind, twice)
        text = text[:start] + new + text[end:]
    return text


@pytest.mark.skipif(not TEXTS, reason="example-robot-data is not installed")
def test_damaged_descriptions_are_read_or_refused(tmp_path: Path) -> None:
    tally = {"read": 0, "refused": 0}
    path, again = tmp_path / "r.urdf", tmp_path / "r.toml"

    # Cases that failed in earlier runs, or that seem likely to fail:
    @example("double_pendulum.urdf", [("value", 3, "9" * 5000)])
    @example("double_pendulum.urdf", [("number", 5, "1e300"), ("number", 9, "5e-324")])
    @example("bolt.urdf", [("number", 6129, "5.828006676677186e+84")])
    @example("panda.urdf", [("number", 288007, "1e300"), ("number", 1, "0")])
    @example(
        "double_pendulum.urdf",
        [("number", position, "6.452934911310197e-181") for position in (15724, 322330, 317)],
    )
    @example("ur5_robot.urdf", [("insert", 0, "\ufeff")])
    @example("ur5_robot.urdf", [("insert", 0, "\x00")])
    @example("ur5_robot.urdf", [("insert", 200, "\ud800")])
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.sampled_from(sorted(TEXTS)), st.lists(change, min_size=1, max_size=3))
    def check(name: str, changes: list[tuple[str, int, str]]) -> None:
        path.write_bytes(
            damaged(TEXTS.get(name, "<robot/>"), changes).encode("utf-8", "surrogatepass")
        )
        try:
            mechanism = load(path)
        except SymgenError as error:
            tally["refused"] += 1
            sentence = str(error)
            assert "\n" not in sentence
            assert "r.urdf" in sentence
            assert len(sentence) < 1000
            return
        tally["read"] += 1
        if tally["read"] % 4 == 0:  # every fourth mechanism is also written, read back and shown
            again.write_text(to_toml(mechanism), encoding="utf-8")
            assert replace(load(again), source_sha256=mechanism.source_sha256) == mechanism
            assert max(len(line) for line in show(mechanism).splitlines()) <= 100

    check()
    total = sum(tally.values())
    assert total >= 5 / 6 * EXAMPLES
    assert tally["read"] >= total / 5, tally
