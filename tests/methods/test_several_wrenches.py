"""Several run-time wrenches in one call: against the reference, one at a time, a foreign judge, and on every road to C."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.certificate.ranges import declared_ranges
from symgen.derivation.linkage import Linkage
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import derive
from symgen.pipeline.choose import methods_for
from symgen.reference.adaptive_precision import _with_digits
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array, arb
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, RequestError
from symgen.verification.evaluating import machine_runner
from symgen.verification.proof import prove
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.shared.analysers import tool
from tests.shared.feet import FEET
from tests.shared.folders import run as run_tool
from tests.shared.folders import selftest
from tests.shared.planted_rows import caught_by
from tests.shared.robots_for_tests import BALLS, draw, largest, robot, run
from tests.shared.wrench_cases import FELT, TREE, UNFELT, check_against_reference, close

FOUR = ("tool", "world", "link0", "link3")
"""Of TREE: two on one body, displaced against each other, one that its joint carries alone, and one on the base."""
ROBOTS: dict[str, tuple[Mechanism, tuple[str, ...]]] = {
    "feet": (robot("quadruped"), FEET),
    "a tree": (TREE, FOUR),
}
Written = tuple[Path, dict[str, Any]]


def one_by_one(at: dict[str, Array], k: int) -> dict[str, Array]:
    return {**at, "wrench": at["wrench"][:, k]}


def test_the_links_are_what_they_are_called() -> None:
    assert [TREE.frame(link).body for link in FOUR] == [3, -1, 0, 3]
    assert TREE.frame("tool").pose != TREE.frame("link3").pose
    assert len(TREE.children(0)) > 1


# -- against the reference, and against one at a time ----------------------------------------------------------------------------


@pytest.mark.parametrize("function", FELT)
def test_every_method_counts_all_wrenches(function: str) -> None:
    at = draw(TREE, 1, BALLS, wrench=FOUR)
    assert at["wrench"].shape == (1, 4, 6)
    for method in methods_for(TREE, function):
        check_against_reference(TREE, function, method, at, wrench=FOUR)


@pytest.mark.parametrize(
    "wrenches", [("link1", "tool"), ("tool", "link1"), ("link2", "link3", "tool")]
)
def test_two_and_three_count_with_a_payload(wrenches: tuple[str, ...]) -> None:
    at = draw(TREE, 1, BALLS, payload="link2", wrench=wrenches)
    for function in ("inverse_dynamics", "interbody_forces"):
        check_against_reference(TREE, function, None, at, payload="link2", wrench=wrenches)


@pytest.mark.parametrize(
    ("which", "function", "method", "result"),
    [
        ("feet", "bias_force", "newton_euler", "c"),
        ("a tree", "inverse_dynamics", "newton_euler", "tau"),
        ("a tree", "forward_dynamics", "riccati:fd3", "a"),
        ("a tree", "interbody_forces", "constraint_force", "F"),
    ],
)
def test_they_add_up(which: str, function: str, method: str, result: str) -> None:
    """What several change is the sum of what each changes alone, by a Program of its own."""
    mechanism, links = ROBOTS[which]
    at = draw(mechanism, 1, BALLS, wrench=links)
    free = run(symgen.program(mechanism, function, method), at, BALLS)[result]
    together = run(symgen.program(mechanism, function, method, wrench=links), at, BALLS)[result]
    with BALLS.working():
        expected = together - free
        for k, link in enumerate(links):
            alone = run(
                symgen.program(mechanism, function, method, wrench=link), one_by_one(at, k), BALLS
            )[result]
            assert (largest(alone - free) > 1e-3) == (link != "world")
            expected = expected - (alone - free)
        assert largest(expected) <= 1e-40 * largest(together)


def test_the_order_of_naming_is_the_order_of_the_rows() -> None:
    at = draw(TREE, 1, BALLS, wrench=FOUR)
    turned = {**at, "wrench": at["wrench"][:, ::-1]}
    found, back = (
        run(symgen.program(TREE, "bias_force", wrench=links), given, BALLS)["c"]
        for links, given in ((FOUR, at), (FOUR[::-1], turned))
    )
    assert close(found, back)
    assert not close(
        found, run(symgen.program(TREE, "bias_force", wrench=FOUR), turned, BALLS)["c"]
    )


@pytest.mark.parametrize("which", ROBOTS)
def test_pinocchio_counts_them_so(which: str) -> None:
    """`fext` of rnea and aba: on a joint, the sum of what its links feel."""
    pin = pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism, links = ROBOTS[which]
    at = {name: x.astype(float)[0] for name, x in draw(mechanism, 1, FLOAT, wrench=links).items()}
    of = pinocchio_answers.built(mechanism, links[0])
    external = [pin.Force.Zero() for _ in range(of.model.njoints)]
    for link, wrench in zip(links, at["wrench"], strict=True):
        frame = mechanism.frame(link)
        if frame.body >= 0:
            there = pin.SE3(*(np.asarray(x) for x in Reference(mechanism).pose(frame.pose)))
            external[of.ids[frame.body]] += there.act(pin.Force(wrench[3:], wrench[:3]))
    q, v, a, tau = of.position(at["q"]), *(of.velocity(at[name]) for name in ("v", "a", "tau"))
    expected = {
        "tau": np.array(pin.rnea(of.model, of.data, q, v, a, external))[of.order],
        "a": np.array(pin.aba(of.model, of.data, q, v, tau, external))[of.order],
    }
    for function, method, result in (
        ("inverse_dynamics", "newton_euler", "tau"),
        ("forward_dynamics", "riccati:fd3", "a"),
    ):
        program = symgen.program(mechanism, function, method, wrench=links)
        found = machine_runner(program)({name: x[None] for name, x in at.items()})[result][0]
        assert np.abs(found - expected[result]).max() <= 1e-9 * np.abs(expected[result]).max(), (
            function
        )


@pytest.mark.usefixtures("polished_here")
def test_a_push_on_a_foot_costs_fourteen_operations() -> None:
    """Of whatever feels it, since the way in to the trunk is there without it."""
    for function, method in (
        ("inverse_dynamics", "newton_euler"),
        ("forward_dynamics", "riccati:fd3"),
    ):
        none, four = (
            symgen.program(ROBOTS["feet"][0], function, method, wrench=wrench).cost
            for wrench in (None, FEET)
        )
        assert four - none <= 4 * 14


# -- who takes them --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_one_link_in_a_list_is_that_link(function: str) -> None:
    assert (
        ProgramOptions(wrench=["tool"])
        == ProgramOptions(wrench="tool")
        != ProgramOptions(wrench=["tool", "link0"])
    )
    assert symgen.program(TREE, function, wrench=["tool"]) == symgen.program(
        TREE, function, wrench="tool"
    )


def test_states_and_references_of_one_in_a_list_are_those_of_one() -> None:
    one, listed, two = (
        draw_states(TREE, 3, 5, None, links) for links in ("tool", ["tool"], ["tool", "link0"])
    )
    assert all((one[name] == listed[name]).all() for name in one)
    assert (one["wrench"].shape, two["wrench"].shape) == ((3, 6), (3, 2, 6))
    assert {tuple(row) for row in one["wrench"][:1]} == {tuple(row) for row in two["wrench"][:1, 0]}
    at = {name: one[name].astype(float) for name in ("q", "v", "wrench")}
    found = [
        Reference(TREE, wrench=links).bias_force(at["q"], at["v"], wrench=at["wrench"])
        for links in ("tool", ["tool"])
    ]
    assert (found[0] == found[1]).all()


def test_a_reference_of_more_digits_speaks_of_the_same_links() -> None:
    asked = Reference(TREE, arb(40), frame=["tool", "link0"], payload="link2", wrench=FOUR)
    found = _with_digits(asked, 80)
    assert (found.frames, found.payload, found.wrenches) == (
        asked.frames,
        asked.payload,
        asked.wrenches,
    )
    assert len(found.wrenches) == 4


@pytest.mark.parametrize("wrench", [None, np.zeros(6), np.zeros((3, 6)), np.zeros((2, 5))])
def test_a_reference_of_two_refuses_what_are_not_two(wrench: Array | None) -> None:
    with pytest.raises(
        ArgumentError,
        match="has an external wrench on 'tool', 'link0'; pass six numbers of each as `wrench`",
    ):
        Reference(TREE, wrench=["tool", "link0"]).bias_force(
            np.zeros(TREE.nq), np.zeros(TREE.nv), wrench=wrench
        )


def test_what_does_not_feel_them_does_not_take_them() -> None:
    for function in ("gravity_force", "jacobian", "centroidal_momentum_rate"):
        assert function in UNFELT
        assert symgen.program(TREE, function, wrench=FOUR) == symgen.program(TREE, function)


def test_all_on_the_base_are_felt_by_nothing_and_some_keep_their_rows() -> None:
    fixed = replace(TREE, frames=(*TREE.frames, replace(TREE.frame("world"), name="floor")))
    for way in (
        ("inverse_dynamics", "newton_euler"),
        ("forward_dynamics", "riccati"),
        ("interbody_forces", "riccati"),
    ):
        assert symgen.program(fixed, *way, wrench=["world", "floor"]) == symgen.program(fixed, *way)
        program = symgen.program(fixed, *way, wrench=["world", "tool", "floor"])
        assert [(port.name, port.shape) for port in program.inputs][-1] == ("wrench", (3, 6))
        read = {
            row.value[1]
            for row in program.rows
            if row.op == "input" and row.value[0] == len(program.inputs) - 1
        }
        assert read == set(range(6, 12))
    assert symgen.verify(
        fixed, ["inverse_dynamics"], states=1, wrench=["world", "floor"], compiled=False
    ).passed


@pytest.mark.parametrize(
    ("wrench", "sentence"),
    [
        (["link1", "link1"], "the link 'link1' is named twice for a wrench; name every link once"),
        (["link1", "lnk2"], "no link is named 'lnk2'; did you mean 'link2'?"),
        ([], "no link is named for a wrench; name one or more, or give None for no wrench"),
    ],
)
@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix"])
def test_what_cannot_be_named_is_refused_in_a_sentence(
    function: str, wrench: list[str], sentence: str
) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.program("planar_arm", function, wrench=wrench)
    assert str(refused.value) == sentence


# -- verified, and proved --------------------------------------------------------------------------------------------------------


def test_sizes_and_answers_are_those_of_each_together() -> None:
    """A size is what is there without wrenches, and each one's share; none is smaller than the answer."""
    together, alone = (
        Truth(TREE, 2, frame="tool", wrench=FOUR),
        [Truth(TREE, 2, frame="tool", wrench=link) for link in FOUR],
    )
    for k, one in enumerate(alone):
        one.floats["wrench"] = together.floats["wrench"][:, k]
    v, a = together.floats["v"], together.floats["a"]
    shares = sum(one.scales.wrench_torques() for one in alone)
    np.testing.assert_allclose(together.scales.wrench_torques(), shares, rtol=1e-12)
    still = Truth(TREE, 2, frame="tool")
    bare = still.scales.wrenches(v, a)
    shares = sum(one.scales.wrenches(v, a) - bare for one in alone)
    np.testing.assert_allclose(together.scales.wrenches(v, a), bare + shares, rtol=1e-12)
    for function, result in (
        ("inverse_dynamics", "tau"),
        ("bias_force", "c"),
        ("interbody_forces", "F"),
    ):
        answers = together.rough.evaluate(function, together.arguments(function, together.floats))[
            result
        ]
        assert (together.scales.of(function, result) >= np.abs(answers) * (1 - 1e-12)).all(), (
            function
        )


def _swapped(right: Any, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    """The first two rows in each other's place."""
    given = linkage.inputs["wrench"]
    other = {id(given[0]): given[6:12], id(given[6]): given[:6]}.get(id(wrench[0]), wrench)
    return right(linkage, frame, other)


def _dropped(right: Any, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    n, f = right(linkage, frame, wrench)
    return (n, f) if frame.name != "link3" else (linkage.zeros, linkage.zeros)


def _first_row_alone(right: Any, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    return right(linkage, frame, linkage.inputs["wrench"][:6])


def _at_another_frame(right: Any, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    return right(
        linkage, linkage.model.frame(TREE, "tool") if frame.name == "link3" else frame, wrench
    )


@pytest.mark.parametrize("plant", [_swapped, _dropped, _first_row_alone, _at_another_frame, None])
@pytest.mark.parametrize(
    ("function", "method"), [("inverse_dynamics", "newton_euler"), ("forward_dynamics", "riccati")]
)
def test_wrenches_confused_are_caught(
    monkeypatch: pytest.MonkeyPatch, plant: Any, function: str, method: str
) -> None:
    options = ProgramOptions(frame="tool", wrench=("tool", "link0", "link3"))
    others = (
        "inverse_dynamics" if function == "forward_dynamics" else "forward_dynamics",
        "jacobian",
    )
    helpers = {
        name: derive.derive(TREE, name, methods_for(TREE, name)[0], options) for name in others
    }
    if plant is not None:
        right = Linkage._wrench_on_link
        monkeypatch.setattr(Linkage, "_wrench_on_link", lambda *given: plant(right, *given))
    wrong = derive.derive(TREE, function, method, options)
    report = verify_programs(
        Subject(TREE, {function: wrong}, options, states=1, compiled=False, helpers=helpers)
    )
    assert caught_by(report) >= ({"algebra", "floating", "identities"} if plant else set()), str(
        report
    )
    assert report.passed == (plant is None)


def test_a_quadruped_pushed_at_its_feet_is_verified() -> None:
    quadruped, options = robot("quadruped"), ProgramOptions(wrench=FEET, frame=FEET)
    ways = {"bias_force": "newton_euler", "mass_matrix_and_bias": "composite_body"}
    programs = {
        name: symgen.program(quadruped, name, method, wrench=FEET) for name, method in ways.items()
    }
    report = verify_programs(Subject(quadruped, programs, options, states=1, compiled=False))
    assert report.passed, str(report)
    assert {check.subject for check in report.of("identities")} == {"c in one pass = c"}


def test_what_is_proved_holds_of_each_wrench() -> None:
    assert (
        declared_ranges(robot("scara"), wrenches=2).of["wrench"]
        == declared_ranges(robot("scara")).of["wrench"] * 2
    )
    links = {"frame": "link4", "wrench": ("link4", "link2")}
    proofs = [
        prove(
            robot("scara"),
            ["bias_force=newton_euler"],
            ProgramOptions(**(links | changed)),
            states=50,
            compiled=False,
        )
        for changed in ({}, {"wrench": "link4"})
    ]
    assert all(proof.holds for proof in proofs)
    both, one = (proof.functions[0].round_off.bound["c"].max() for proof in proofs)
    assert both > one > 0
    assert any("wrench: moments up to 10" in text for text in proofs[0].assumptions)


# -- the folder ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("wrenches") / "planar_arm"
    return folder, symgen.generate(
        "planar_arm",
        folder,
        [*FELT[:3], "gravity_force"],
        wrench=["link2", "base", "link1"],
        wrap=["cpp17"],
    )


def test_the_folder_names_the_links_in_order(written: Written) -> None:
    folder, manifest = written
    said = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert json.loads(said["manifest.json"])["options"]["wrench"] == ["link2", "base", "link1"]
    assert manifest["functions"]["bias_force"]["arguments"][-1] == {
        "name": "wrench",
        "shape": [3, 6],
    }
    assert "#define planar_arm_NW 3\n" in said["planar_arm.h"]
    assert "const double wrench[planar_arm_NW*6]" in said["planar_arm_inverse_dynamics.c"]
    order = "The wrenches, in order, on: link2, base (on the base: felt by nothing), link1."
    assert {name for name, text in said.items() if order in text} == {
        f"planar_arm_{function}.c" for function in FELT[:3]
    }
    assert (
        said["planar_arm.h"].count(
            "the wrenches, in order, on: link2, base (on the base: felt by nothing), link1\n"
        )
        == 3
    )
    assert "wrench: for each link in turn: moment (3, N" in said["planar_arm.h"]
    assert "inline constexpr std::size_t NW = planar_arm_NW;\n" in said["planar_arm.hpp"]
    assert "std::array<real, NW * 6> &wrench" in said["planar_arm.hpp"]
    assert "holds planar_arm_NW = 3 wrenches, one after the other" in said["README.md"]
    assert (
        "`link2`, `base` (on the base: felt by nothing), `link1`. Each is its moment"
        in said["README.md"]
    )
    assert "each wrench is in its own link's axes" in said["README.md"]
    assert "wrench = `link2, base, link1`" in said["README.md"]
    assert "--wrench link2 --wrench base --wrench link1" in said["README.md"].replace(" \\\n ", "")


def test_the_folder_holds_and_its_command_makes_it_again(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, manifest = written
    done = selftest(folder)
    assert done.returncode == 0, done.stdout
    assert symgen.verify(folder, states=1).passed
    monkeypatch.chdir(folder)
    assert cli.main([*str(manifest["command"]).split()[1:], "-q"]) == 0
    again = folder.parent / "planar_arm-again"
    assert all((again / path.name).read_bytes() == path.read_bytes() for path in folder.iterdir())


def test_one_link_in_a_list_is_the_same_folder(tmp_path: Path) -> None:
    for name, wrench in (("one", "link2"), ("listed", ["link2"])):
        assert (
            symgen.generate("planar_arm", tmp_path / name, ["bias_force"], wrench=wrench)[
                "options"
            ]["wrench"]
            == "link2"
        )
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "listed" / path.name).read_bytes()
        assert "NW" not in path.read_text(encoding="utf-8")


def _confused(text: str) -> str:
    """Link 2 reads the wrench of link 1, and the other way about."""
    head, brace, body = text.partition("{")
    return (
        head
        + brace
        + re.sub(r"wrench\[(\d+)\]", lambda found: f"wrench[{(int(found[1]) + 12) % 24}]", body)
    )


@pytest.mark.parametrize(
    ("file", "change", "kinds"),
    [
        ("planar_arm.h", lambda text: text.replace("_NW 3", "_NW 2"), {"text"}),
        ("planar_arm.h", lambda text: text.replace("_NW 3", "_NW 3 + 0"), {"text"}),
        ("planar_arm_bias_force.c", _confused, {"text"}),
        (
            "manifest.json",
            lambda text: re.sub(r'"link2",(\s+"base",\s+)"link1"', r'"link1",\1"link2"', text),
            {"text"},
        ),
    ],
)
def test_a_folder_that_is_another_is_seen(
    written: Written, file: str, change: Callable[[str], str], kinds: set[str], tmp_path: Path
) -> None:
    folder = tmp_path / "planar_arm"
    shutil.copytree(written[0], folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert change(text) != text
    (folder / file).write_text(change(text), encoding="utf-8")
    report = symgen.verify(folder, ["bias_force"], states=1, compiled=False)
    assert caught_by(report) >= kinds, str(report)


def test_the_header_of_cpp_compiles(written: Written, tmp_path: Path) -> None:
    tool("g++")
    (tmp_path / "use.cpp").write_text(
        '#include "planar_arm.hpp"\n'
        "using namespace planar_arm;\n"
        "std::array<real, NV> felt(const std::array<real, NQ> &q, const std::array<real, NV> &v,\n"
        "                          const std::array<real, NW * 6> &wrench) { return bias_force(q, v, wrench); }\n"
        "static_assert(NW == 3);\n",
        encoding="utf-8",
    )
    checked = ("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    built = run_tool(*checked, f"-I{written[0]}", "use.cpp", cwd=tmp_path)
    assert built.returncode == 0, built.stderr


def test_a_solver_takes_an_array_of_them() -> None:
    solver = symgen.compile(
        "planar_arm", ["bias_force"], wrench=["link2", "base", "link1"], optimize=0
    )
    draws = np.random.default_rng(2)
    q, v, wrench = (
        draws.normal(size=(5, 2)),
        draws.normal(size=(5, 2)),
        draws.normal(size=(5, 3, 6)),
    )
    found = solver.bias_force(q, v, wrench)
    reference = Reference(robot("planar_arm"), wrench=["link2", "base", "link1"])
    np.testing.assert_allclose(
        found, reference.bias_force(q, v, wrench=wrench), rtol=1e-12, atol=1e-12
    )
    wrench[:, 1] = np.nan
    assert (solver.bias_force(q, v, wrench) == found).all()
    with pytest.raises(
        RequestError, match=r"wrench has shape \(6,\); it must have \(\.\.\., 3, 6\)"
    ):
        solver.bias_force(q, v, np.zeros(6))


def test_the_command_line_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    named = ["--wrench", "link2", "--wrench", "link1"]
    assert (
        cli.main(["verify", "planar_arm", "-f", "inverse_dynamics", "--states", "1", *named]) == 0
    )
    assert capsys.readouterr().out.endswith("planar_arm: verified\n")
    assert (
        cli.main(["verify", "planar_arm", "-f", "inverse_dynamics", *named, "--wrench", "link1"])
        == 2
    )
    assert "the link 'link1' is named twice for a wrench" in capsys.readouterr().err


def test_the_table_of_functions_says_what_is_stacked() -> None:
    stacked = {
        array.name: array.each
        for function in FUNCTIONS.values()
        for array in (*function.depends_on, *function.results)
        if array.each
    }
    assert stacked == {"wrench": "NW", "R": "NF", "p": "NF", "J": "NF", "Jdot_v": "NF"}
