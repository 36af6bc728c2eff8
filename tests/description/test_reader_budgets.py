"""Budgets of the readers: work is linear in the file size, and errors state every limit."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import symgen
from symgen.benchmarks.compare import compare
from symgen.description import assembly, tree
from symgen.description.assembly import assemble
from symgen.description.canonical import to_toml
from symgen.description.loading import load
from symgen.description.parsing.xml import are_equal
from symgen.description.readers import reader
from symgen.description.snapping import Snapper
from symgen.description.tip import choose_tip
from symgen.description.tree import Connection, Inertial, Link, Tree
from symgen.inspection import parameters
from symgen.ir.loops import LoopProgram
from symgen.mechanism.mechanism import Mechanism, Mimic
from symgen.pages.report.show import show
from symgen.pipeline.build import build_form, program
from symgen.support.errors import SymgenError
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Angle, Shift, Turn, compose, compose_merged
from tests.shared.call_counts import calls
from tests.shared.descriptions import joint, link, robot
from tests.shared.reader_growths import BODY, GROWTHS, chain

MEGABYTES = 700
"""Address space (MB) of the child process that reads files which once took gigabytes."""


def reading(form: str, data: bytes) -> Callable[[], object]:
    def read_and_assemble() -> object:
        snapper = Snapper()
        return assemble(
            replace(reader(f".{form}", data).read(data, "r", snapper), name="r"), snapper=snapper
        )

    return read_and_assemble


@pytest.mark.parametrize(
    ("form", "growth"), [(form, growth) for form in GROWTHS for growth in GROWTHS[form]]
)
def test_calls_are_linear_in_the_file_size(form: str, growth: str) -> None:
    """Calls at sizes 8, 16, 24 lie on a line; a call per pair of elements would add 2·8² = 128."""
    write = GROWTHS[form][growth]
    _, small, medium, large = (calls(reading(form, write(n).encode())) for n in (24, 8, 16, 24))
    assert large - medium <= max(medium - small, 0) + 20 + large // 500, (small, medium, large)


class Counted(str):
    """A name that counts how often it is looked up."""

    looked = 0

    def __hash__(self) -> int:
        Counted.looked += 1
        return str.__hash__(self)

    def __eq__(self, value: object) -> bool:
        Counted.looked += 1
        return str.__eq__(self, value)


def lookups(n: int, star: bool) -> int:
    """Count the name comparisons and hashes of `assemble` for `n` links."""
    names = [Counted(f"l{i}") for i in range(n)]
    links = tuple(Link(name, (Inertial(Fraction(1), (Fraction(1),) * 6, ()),)) for name in names)
    parents = [names[0 if star else i] for i in range(n - 1)]
    joints = tuple(
        Connection(
            Counted(f"j{i}"),
            ("revolute", "fixed")[i % 2],
            parent,
            child,
            mimic=Mimic(Counted("j0"), *PAIR),
            unapplied=(("damping", Fraction(1)),),
        )
        for i, (parent, child) in enumerate(zip(parents, names[1:], strict=True))
    )
    Counted.looked = 0
    assemble(Tree(Counted("r"), links, joints))
    return Counted.looked


PAIR = (Fraction(1), Fraction(0))


@pytest.mark.parametrize("star", [False, True])
def test_lookups_are_linear_in_the_number_of_links(star: bool) -> None:
    """Count look-ups, not calls: one call that builds a set for each link looks at every link."""
    small, medium, large = (lookups(n, star) for n in (40, 80, 120))
    assert abs(large - 2 * medium + small) <= 100, (small, medium, large)


@pytest.mark.parametrize("name", ["l", "hand"])
@pytest.mark.parametrize("star", [False, True])
def test_choosing_the_tip_is_linear_in_the_number_of_links(star: bool, name: str) -> None:
    robots = [load(chain(n, star=star).replace('"l', f'"{name}')) for n in (36, 12, 24, 36)]
    _, small, medium, large = (
        calls(lambda robot=robot: choose_tip.__wrapped__(robot)) for robot in robots
    )
    assert large - medium <= medium - small + 20, (small, medium, large)


# -- limits ----------------------------------------------------------------------------------------


def refused(text: str, **options: Any) -> str:
    with pytest.raises(SymgenError) as caught:
        load(text, **options)
    sentence = str(caught.value)
    assert sentence.isprintable()
    assert len(sentence) < 1000
    return sentence


def test_the_depths_of_keys_and_brackets_are_limited() -> None:
    assert load(
        BODY + f"[[note]]\nkind = 'info'\ntext = '{'a.' * 100}'   # {'a.' * 100}{'[' * 100}\n"
    ).joints
    assert "a key has more than 16 parts" in refused(f"\n{'a.' * 16}b = 1\n#")
    assert "not known here" in refused(f"\n{'a.' * 15}b = 1\n#")
    assert "nested more than 64 deep" in refused(f"\nx = {'[' * 65}{']' * 65}\n#")
    assert "nested more than 64 deep" in refused(f"\nx = {'{a=' * 65}1{'}' * 65}\n#")
    assert "not known here" in refused(f"\nx = {'[' * 64}{']' * 64}\n#")


@pytest.mark.parametrize("quote", ['"', "'", '"""', "'''"])
def test_dots_and_brackets_in_a_string_do_not_count(quote: str) -> None:
    inside = "\\" + quote if quote == '"' else ""
    text = (
        BODY + f"[[note]]\nkind = 'info'\ntext = {quote}{inside}{'a . ' * 100}{'[' * 100}{quote}\n"
    )
    assert len(load(text).joints) == 1


def test_the_numbers_of_links_inertias_rows_and_frames_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(load(chain(4)).joints) == 5
    monkeypatch.setattr(tree, "MOST_LINKS", 6)
    assert len(load(chain(4)).joints) == 5
    assert (
        "there are more than 6 links, the most that symgen reads; give a smaller robot"
        in refused(chain(5))
    )
    body_text = BODY.replace("mass = 1\n", "") + "[[body.part]]\nmass = 1\n" * 7
    assert "more than 6 inertias" in refused(body_text)
    rows = 'convention = "dh"\n[[row]]\nrepeat = 4\n[[row.part]]\nmass = 1\n'
    assert "more than 6 rows and parts" in refused(rows)
    assert "more than 6 frames" in refused(
        BODY + "".join(f"[[frame]]\nname = 'f{i}'\nbody = 'b'\n" for i in range(7))
    )


def test_the_number_of_steps_of_poses_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MOST_STEPS", 200)
    fixed = '<origin xyz="0.1 0.2 0.3" rpy="0.3 0.1 0.2"/>'
    assert len(load(chain(4, "fixed", fixed)).joints) == 1
    assert "joint 'j7': the poses of links have more than 200 steps up to here" in refused(
        chain(20, "fixed", fixed)
    )


def test_the_number_of_moving_joints_is_limited_except_in_looped_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = load(chain(4))
    monkeypatch.setattr(sys.modules["symgen.derivation.model.reframe"], "MOST_JOINTS", 4)
    message = (
        "r: 5 joints move, and symgen writes rows for at most 4; generate, verify, cost and inspect"
        " take --form looped"
    )
    for call in (
        lambda: program(mechanism, "inverse_dynamics"),
        lambda: compare(mechanism, ["inverse_dynamics"]),
    ):
        with pytest.raises(SymgenError, match=message):
            call()
    assert isinstance(
        build_form(mechanism, "inverse_dynamics", None, ProgramOptions(form="looped")), LoopProgram
    )


def test_the_number_of_rows_of_an_inspected_formula_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parameters, "MOST_ROWS", 5)
    with pytest.raises(
        SymgenError,
        match=r"mass_matrix of .* by .* has more than 5 operations before simplification",
    ):
        symgen.inspect(load(chain(9)), "M[0,1]", form="multiangle")


def test_the_number_of_unapplied_entries_is_limited() -> None:
    many = ", ".join(f"d{i} = 1" for i in range(65))
    assert "it has 65 entries, but symgen reads at most 64" in refused(
        BODY.replace("1] }", f"1], unapplied = {{ {many} }} }}")
    )
    ratios = "".join(f"<mechanicalReduction>{i}</mechanicalReduction>" for i in range(2, 22))
    mechanism = load(
        robot(
            link("a"),
            link("b"),
            joint("j", "a", "b"),
            f'<transmission name="t"><joint name="j"/>{ratios}</transmission>',
        )
    )
    assert len(mechanism.joints[0].unapplied) == 16
    assert any(
        "only the first 16 of its 20 ratios and inertias are shown" in note.text
        for note in mechanism.notes
    )


@pytest.mark.parametrize("name", ["n" * 201, "a\x1b[31m"])
def test_a_robot_name_that_cannot_be_printed_is_refused(name: str) -> None:
    escaped = name.replace("\x1b", "\\u001b")
    assert "not a valid name; give 1 to 200 printable characters" in refused(
        BODY.replace('"r"', f'"{escaped}"')
    )


@pytest.mark.parametrize("name", ["n" * 201, " ", "\u202e"])
def test_a_link_name_of_an_inertia_that_cannot_be_printed_is_refused(name: str) -> None:
    def declared(link: str) -> str:
        return (
            BODY.replace("mass = 1\n", "")
            + f'[[body.part]]\nlink = "{link}"\nmass = 1\ninertia = [1, 0, 0, 1, 0, 1]\n'
        )

    assert load(declared("hand")).bodies[0].parts[0].link == "hand"
    assert "not a valid name; give 1 to 200 printable characters" in refused(declared(name))


def test_equal_elements_are_recognised_beyond_the_recursion_limit() -> None:
    deep = [
        etree.fromstring("<a>" * 250 + inside + "</a>" * 250) for inside in ("<b/>", "<b/>", "<c/>")
    ]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200 + len(inspect.stack()))
    try:
        assert are_equal(deep[0], deep[1])
        assert not are_equal(deep[0], deep[2])
    finally:
        sys.setrecursionlimit(limit)


# -- computed values can be written and read back --------------------------------------------------


def read_back(mechanism: Mechanism) -> Mechanism:
    return replace(load(to_toml(mechanism)), source_sha256=mechanism.source_sha256)


def test_merging_poses_at_their_joint_is_composition() -> None:
    turn, turn_back, shift = (
        Turn(Z_AXIS, Angle(Fraction(1))),
        Turn(Z_AXIS, Angle(Fraction(-1))),
        Shift((Fraction(1),) * 3),
    )
    turn_about_x, unshift = Turn(X_AXIS, Angle(Fraction(1))), Shift((Fraction(-1),) * 3)
    steps = [
        (),
        (turn,),
        (shift,),
        (shift, turn),
        (turn_back, unshift),
        (turn_back, unshift, turn_about_x),
        (turn_about_x, shift, turn),
        (unshift, turn_back),
    ]
    for first in steps:
        for second in steps:
            assert compose_merged(first, second) == compose(first, second)


@pytest.mark.parametrize(
    ("mass", "centre"), [("1e-200", '"1e-200"'), ("1", '"1/3"'), ('"1/7"', '"0.1"')]
)
def test_moments_about_a_frame_are_read_back_or_refused(mass: str, centre: str) -> None:
    text = BODY.replace("mass = 1", f"mass = {mass}\nabout = 'frame'\ncentre = [0, 0, {centre}]")
    if mass == "1e-200":
        assert (
            "inertia: about the centre it needs numbers beyond a double, or of more than 1500"
            " digits" in refused(text)
        )
    else:
        assert read_back(load(text)) == load(text)


@pytest.mark.parametrize(
    "value",
    ["1/1e-330", "1e-300/1e300", "pi/5e-324", "1e300*1e300", "*".join(["0." + "7" * 900] * 3)],
)
def test_a_quotient_or_product_beyond_a_double_is_refused(value: str) -> None:
    sentence = refused(BODY.replace("axis =", f"rpy = ['{value}', 0, 0], axis ="))
    assert "joint.rpy" in sentence
    if "pi" not in value and "*" not in value:
        assert "mass" in refused(BODY.replace("mass = 1", f"mass = '{value}'"))


def test_a_pose_beyond_a_double_is_refused() -> None:
    origin = '<origin xyz="1.7e308 0 0"/>'
    assert (
        "joint 'j2': its pose on the body that carries it needs numbers beyond a double"
        in refused(chain(2, "fixed", origin))
    )


def test_a_mimic_whose_leader_was_locked_is_read_back() -> None:
    text = robot(
        link("a"),
        link("b"),
        link("c"),
        joint("j", "a", "b", inside='<mimic joint="k"/>'),
        joint("k", "b", "c"),
    )
    mechanism = load(text, lock={"k": "1/3"})
    assert read_back(mechanism) == mechanism


def test_notes_and_shown_lines_hold_no_control_characters() -> None:
    wild = BODY.replace("1] }", '1], mimic = { joint = "x\\u001b[31m" } }').replace(
        '"r"', '"r"\nsource = "\\u001b[2J\\n"'
    )
    assert all(note.text.isprintable() for note in load(wild).notes)
    assert any("mimics joint x" in note.text for note in load(wild).notes)
    mechanism = load(wild + f"[[note]]\nkind = 'info'\ntext = '{'9' * 300}'\n")
    assert all(line.isprintable() and len(line) <= 100 for line in show(mechanism).splitlines())


@pytest.mark.parametrize("name", ["x" * 300, "\u00fc" * 200, "a\0b"])
def test_a_manifest_that_names_an_impossible_file_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"robot": name}))
    assert "which does not exist" in refused(str(tmp_path))


def test_a_manifest_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    assert "its manifest.json cannot be read: this is not a regular file" in refused(str(tmp_path))


# -- memory ----------------------------------------------------------------------------------------

BOMBS = """
import resource, sys
from symgen.description.loading import load
from symgen.support.errors import SymgenError
from tests.shared.reader_growths import TOML, URDF
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 20,) * 2)
for text in (
    TOML["a key of many parts"](20_000) + "\\n#",
    TOML["nested arrays"](100_000),
    URDF["fixed links in a chain"](1000),
    'convention = "dh"\\n[[row]]\\nrepeat = 2000\\n' + "[[row.part]]\\nmass = 1\\n" * 3000,
    URDF["joints of one transmission"](3000),
):
    try:
        print(len(load(text).joints))
    except SymgenError as error:
        print(error)
"""


@pytest.mark.slow
def test_files_that_once_took_gigabytes_are_handled_in_little_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOMBS, str(MEGABYTES)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    key, arrays, fixed, rows, ratios = done.stdout.splitlines()
    assert "16 parts" in key
    assert "64 deep" in arrays
    assert "steps" in fixed
    assert "rows and parts" in rows
    assert ratios == "1"
