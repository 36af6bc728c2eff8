"""Several run-time wrenches in one call: the reference, single wrenches, Pinocchio, proofs, folders
and planted errors.
"""

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
from symgen.verification.exact_results import ExactResults
from symgen.verification.proof import prove
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
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
"""Links of TREE: two frames of one body at different poses, the body of one joint, and the base."""
ROBOTS: dict[str, tuple[Mechanism, tuple[str, ...]]] = {
    "feet": (robot("quadruped"), FEET),
    "a tree": (TREE, FOUR),
}
Written = tuple[Path, dict[str, Any]]


def with_one_wrench(states: dict[str, Array], k: int) -> dict[str, Array]:
    return {**states, "wrench": states["wrench"][:, k]}


def test_the_links_of_the_tree_have_their_named_properties() -> None:
    assert [TREE.frame(link).body for link in FOUR] == [3, -1, 0, 3]
    assert TREE.frame("tool").pose != TREE.frame("link3").pose
    assert len(TREE.children(0)) > 1


# -- the reference and single wrenches -------------------------------------------------------------


@pytest.mark.parametrize("function", FELT)
def test_every_method_with_several_wrenches_equals_the_reference(function: str) -> None:
    states = draw(TREE, 1, BALLS, wrench=FOUR)
    assert states["wrench"].shape == (1, 4, 6)
    for method in methods_for(TREE, function):
        check_against_reference(TREE, function, method, states, wrench=FOUR)


@pytest.mark.parametrize(
    "wrenches", [("link1", "tool"), ("tool", "link1"), ("link2", "link3", "tool")]
)
def test_two_and_three_wrenches_with_a_payload_equal_the_reference(
    wrenches: tuple[str, ...],
) -> None:
    at = draw(TREE, 1, BALLS, payload="link2", wrench=wrenches)
    for function in ("inverse_dynamics", "interbody_forces"):
        check_against_reference(TREE, function, None, at, payload="link2", wrench=wrenches)


@pytest.mark.parametrize(
    ("robot_name", "function", "method", "result"),
    [
        ("feet", "bias_force", "newton_euler", "c"),
        ("a tree", "inverse_dynamics", "newton_euler", "tau"),
        ("a tree", "forward_dynamics", "riccati:fd3", "a"),
        ("a tree", "interbody_forces", "constraint_force", "F"),
    ],
)
def test_changes_by_several_wrenches_add_up(
    robot_name: str, function: str, method: str, result: str
) -> None:
    """The change by several wrenches is the sum of the changes by each wrench, computed by its own
    Program.
    """
    mechanism, links = ROBOTS[robot_name]
    states = draw(mechanism, 1, BALLS, wrench=links)
    free = run(symgen.program(mechanism, function, method), states, BALLS)[result]
    with_all = run(symgen.program(mechanism, function, method, wrench=links), states, BALLS)[result]
    with BALLS.working():
        expected = with_all - free
        for k, link in enumerate(links):
            with_one = run(
                symgen.program(mechanism, function, method, wrench=link),
                with_one_wrench(states, k),
                BALLS,
            )[result]
            assert (largest(with_one - free) > 1e-3) == (link != "world")
            expected = expected - (with_one - free)
        assert largest(expected) <= 1e-40 * largest(with_all)


def test_rows_of_wrenches_are_in_the_order_of_the_option() -> None:
    drawn_states = draw(TREE, 1, BALLS, wrench=FOUR)
    reversed_wrenches = {**drawn_states, "wrench": drawn_states["wrench"][:, ::-1]}
    bias, reversed_bias = (
        run(symgen.program(TREE, "bias_force", wrench=links), states, BALLS)["c"]
        for links, states in ((FOUR, drawn_states), (FOUR[::-1], reversed_wrenches))
    )
    assert close(bias, reversed_bias)
    assert not close(
        bias, run(symgen.program(TREE, "bias_force", wrench=FOUR), reversed_wrenches, BALLS)["c"]
    )


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_several_wrenches_equal_pinocchio(robot_name: str) -> None:
    """In Pinocchio, `fext` of a joint is the sum of the wrenches on its links."""
    pin = pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism, links = ROBOTS[robot_name]
    at = {name: x.astype(float)[0] for name, x in draw(mechanism, 1, FLOAT, wrench=links).items()}
    judge = pinocchio_answers.built(mechanism, links[0])
    external = [pin.Force.Zero() for _ in range(judge.model.njoints)]
    for link, wrench in zip(links, at["wrench"], strict=True):
        frame = mechanism.frame(link)
        if frame.body >= 0:
            placement = pin.SE3(*(np.asarray(x) for x in Reference(mechanism).pose(frame.pose)))
            external[judge.ids[frame.body]] += placement.act(pin.Force(wrench[3:], wrench[:3]))
    q, v, a, tau = (
        judge.position(at["q"]),
        *(judge.velocity(at[name]) for name in ("v", "a", "tau")),
    )
    expected = {
        "tau": np.array(pin.rnea(judge.model, judge.data, q, v, a, external))[judge.order],
        "a": np.array(pin.aba(judge.model, judge.data, q, v, tau, external))[judge.order],
    }
    for function, method, result in (
        ("inverse_dynamics", "newton_euler", "tau"),
        ("forward_dynamics", "riccati:fd3", "a"),
    ):
        program = symgen.program(mechanism, function, method, wrench=links)
        actual = machine_runner(program)({name: x[None] for name, x in at.items()})[result][0]
        assert np.abs(actual - expected[result]).max() <= 1e-9 * np.abs(expected[result]).max(), (
            function
        )


@pytest.mark.slow
@pytest.mark.usefixtures("polished_here")
def test_a_wrench_on_a_foot_costs_at_most_fourteen_operations() -> None:
    """The inward sweep exists without wrenches, so one wrench adds at most 14 operations to each
    function.
    """
    for function, method in (
        ("inverse_dynamics", "newton_euler"),
        ("forward_dynamics", "riccati:fd3"),
    ):
        without_wrench, with_four = (
            symgen.program(ROBOTS["feet"][0], function, method, wrench=wrench).cost
            for wrench in (None, FEET)
        )
        assert with_four - without_wrench <= 4 * 14


# -- options and arguments -------------------------------------------------------------------------


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


def test_states_and_references_of_a_list_of_one_link_equal_those_of_the_link() -> None:
    single, listed, two = (
        draw_states(TREE, 3, 5, None, links) for links in ("tool", ["tool"], ["tool", "link0"])
    )
    assert all((single[name] == listed[name]).all() for name in single)
    assert (single["wrench"].shape, two["wrench"].shape) == ((3, 6), (3, 2, 6))
    assert {tuple(row) for row in single["wrench"][:1]} == {
        tuple(row) for row in two["wrench"][:1, 0]
    }
    at = {name: single[name].astype(float) for name in ("q", "v", "wrench")}
    biases = [
        Reference(TREE, wrench=links).bias_force(at["q"], at["v"], wrench=at["wrench"])
        for links in ("tool", ["tool"])
    ]
    assert (biases[0] == biases[1]).all()


def test_a_reference_of_more_digits_keeps_frames_payload_and_wrenches() -> None:
    coarse = Reference(TREE, arb(40), frame=["tool", "link0"], payload="link2", wrench=FOUR)
    fine = _with_digits(coarse, 80)
    assert (fine.frames, fine.payload, fine.wrenches) == (
        coarse.frames,
        coarse.payload,
        coarse.wrenches,
    )
    assert len(fine.wrenches) == 4


@pytest.mark.parametrize("wrench", [None, np.zeros(6), np.zeros((3, 6)), np.zeros((2, 5))])
def test_a_reference_with_two_wrenches_refuses_other_shapes(wrench: Array | None) -> None:
    with pytest.raises(
        ArgumentError,
        match="has an external wrench on 'tool', 'link0'; pass six numbers of each as `wrench`",
    ):
        Reference(TREE, wrench=["tool", "link0"]).bias_force(
            np.zeros(TREE.nq), np.zeros(TREE.nv), wrench=wrench
        )


def test_independent_functions_have_no_argument_of_wrenches() -> None:
    for function in ("gravity_force", "jacobian", "centroidal_momentum_rate"):
        assert function in UNFELT
        assert symgen.program(TREE, function, wrench=FOUR) == symgen.program(TREE, function)


def test_wrenches_on_the_base_are_ignored_and_others_keep_their_rows() -> None:
    fixed = replace(TREE, frames=(*TREE.frames, replace(TREE.frame("world"), name="floor")))
    for request_ in (
        ("inverse_dynamics", "newton_euler"),
        ("forward_dynamics", "riccati"),
        ("interbody_forces", "riccati"),
    ):
        assert symgen.program(fixed, *request_, wrench=["world", "floor"]) == symgen.program(
            fixed, *request_
        )
        program = symgen.program(fixed, *request_, wrench=["world", "tool", "floor"])
        assert [(port.name, port.shape) for port in program.inputs][-1] == ("wrench", (3, 6))
        entries = {
            row.value[1]
            for row in program.rows
            if row.op == "input" and row.value[0] == len(program.inputs) - 1
        }
        assert entries == set(range(6, 12))
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
def test_wrong_names_of_links_are_refused_in_one_sentence(
    function: str, wrench: list[str], sentence: str
) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.program("planar_arm", function, wrench=wrench)
    assert str(refused.value) == sentence


# -- verification and proofs -----------------------------------------------------------------------


def test_sizes_are_sums_over_the_wrenches_and_bound_the_results() -> None:
    """A size is the size without wrenches plus the share of each wrench, and it is never below the
    result.
    """
    all_wrenches, single_wrenches = (
        ExactResults(TREE, 2, frame="tool", wrench=FOUR),
        [ExactResults(TREE, 2, frame="tool", wrench=link) for link in FOUR],
    )
    for k, exact_results in enumerate(single_wrenches):
        exact_results.floats["wrench"] = all_wrenches.floats["wrench"][:, k]
    v, a = all_wrenches.floats["v"], all_wrenches.floats["a"]
    shares = sum(exact_results.scales.wrench_torques() for exact_results in single_wrenches)
    np.testing.assert_allclose(all_wrenches.scales.wrench_torques(), shares, rtol=1e-12)
    no_wrench = ExactResults(TREE, 2, frame="tool")
    bare = no_wrench.scales.wrenches(v, a)
    shares = sum(exact_results.scales.wrenches(v, a) - bare for exact_results in single_wrenches)
    np.testing.assert_allclose(all_wrenches.scales.wrenches(v, a), bare + shares, rtol=1e-12)
    for function, result in (
        ("inverse_dynamics", "tau"),
        ("bias_force", "c"),
        ("interbody_forces", "F"),
    ):
        results = all_wrenches.rough.evaluate(
            function, all_wrenches.arguments(function, all_wrenches.floats)
        )[result]
        assert (all_wrenches.scales.of(function, result) >= np.abs(results) * (1 - 1e-12)).all(), (
            function
        )


def _swapped(original: Any, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    """Plant an error: exchange the first two wrenches."""
    wrenches = linkage.inputs["wrench"]
    exchanged = {id(wrenches[0]): wrenches[6:12], id(wrenches[6]): wrenches[:6]}.get(
        id(wrench[0]), wrench
    )
    return original(linkage, frame, exchanged)


def _dropped(original: Any, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    n, f = original(linkage, frame, wrench)
    return (n, f) if frame.name != "link3" else (linkage.zeros, linkage.zeros)


def _first_row_only(original: Any, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    return original(linkage, frame, linkage.inputs["wrench"][:6])


def _at_another_frame(original: Any, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    return original(
        linkage, linkage.model.frame(TREE, "tool") if frame.name == "link3" else frame, wrench
    )


@pytest.mark.parametrize("plant", [_swapped, _dropped, _first_row_only, _at_another_frame, None])
@pytest.mark.parametrize(
    ("function", "method"), [("inverse_dynamics", "newton_euler"), ("forward_dynamics", "riccati")]
)
def test_exchanged_or_dropped_wrenches_are_caught(
    monkeypatch: pytest.MonkeyPatch, plant: Any, function: str, method: str
) -> None:
    options = ProgramOptions(frame="tool", wrench=("tool", "link0", "link3"))
    helper_names = (
        "inverse_dynamics" if function == "forward_dynamics" else "forward_dynamics",
        "jacobian",
    )
    helpers = {
        name: derive.derive(TREE, name, methods_for(TREE, name)[0], options)
        for name in helper_names
    }
    if plant is not None:
        original = Linkage._wrench_on_link
        monkeypatch.setattr(
            Linkage, "_wrench_on_link", lambda *arguments: plant(original, *arguments)
        )
    wrong = derive.derive(TREE, function, method, options)
    report = verify_programs(
        Subject(TREE, {function: wrong}, options, states=1, compiled=False, helpers=helpers)
    )
    assert caught_by(report) >= ({"algebra", "floating", "identities"} if plant else set()), str(
        report
    )
    assert report.passed == (plant is None)


@pytest.mark.slow
def test_a_quadruped_with_wrenches_on_its_feet_verifies() -> None:
    quadruped, options = robot("quadruped"), ProgramOptions(wrench=FEET, frame=FEET)
    methods_by_function = {"bias_force": "newton_euler", "mass_matrix_and_bias": "composite_body"}
    programs = {
        name: symgen.program(quadruped, name, method, wrench=FEET)
        for name, method in methods_by_function.items()
    }
    report = verify_programs(Subject(quadruped, programs, options, states=1, compiled=False))
    assert report.passed, str(report)
    assert {check.subject for check in report.of("identities")} == {"c in one pass = c"}


def test_proofs_include_the_range_of_every_wrench() -> None:
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
    two, single = (proof.functions[0].round_off.bound["c"].max() for proof in proofs)
    assert two > single > 0
    assert any("wrench: moments up to 10" in text for text in proofs[0].assumptions)


# -- the folder ------------------------------------------------------------------------------------


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


def test_a_folder_lists_the_links_of_wrenches_in_order(written: Written) -> None:
    folder, manifest = written
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert json.loads(texts["manifest.json"])["options"]["wrench"] == ["link2", "base", "link1"]
    assert manifest["functions"]["bias_force"]["arguments"][-1] == {
        "name": "wrench",
        "shape": [3, 6],
    }
    assert "#define planar_arm_NW 3\n" in texts["planar_arm.h"]
    assert "const double wrench[planar_arm_NW*6]" in texts["planar_arm_inverse_dynamics.c"]
    order = "The wrenches, in order, on: link2, base (on the base: no effect), link1."
    assert {name for name, text in texts.items() if order in text} == {
        f"planar_arm_{function}.c" for function in FELT[:3]
    }
    assert (
        texts["planar_arm.h"].count(
            "the wrenches, in order, on: link2, base (on the base: no effect), link1\n"
        )
        == 3
    )
    assert (
        "wrench: for each link in turn: external wrench on the link: moment (3, N"
        in texts["planar_arm.h"]
    )
    assert "inline constexpr std::size_t NW = planar_arm_NW;\n" in texts["planar_arm.hpp"]
    assert "std::array<real, NW * 6> &wrench" in texts["planar_arm.hpp"]
    assert "holds planar_arm_NW = 3 wrenches, one after the other" in texts["README.md"]
    assert (
        "`link2`, `base` (on the base: no effect), `link1`. Each has the moment"
        in texts["README.md"]
    )
    assert "each wrench is in the axes of its link" in texts["README.md"]
    assert "wrench = `link2, base, link1`" in texts["README.md"]
    assert "--wrench link2 --wrench base --wrench link1" in texts["README.md"].replace(" \\\n ", "")


@pytest.mark.slow
def test_a_folder_with_several_wrenches_verifies_and_regenerates(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, manifest = written
    completed = selftest(folder)
    assert completed.returncode == 0, completed.stdout
    assert symgen.verify(folder, states=1).passed
    monkeypatch.chdir(folder)
    assert cli.main([*str(manifest["command"]).split()[1:], "-q"]) == 0
    regenerated = folder.parent / "planar_arm-again"
    assert all(
        (regenerated / path.name).read_bytes() == path.read_bytes() for path in folder.iterdir()
    )


def test_a_list_of_one_link_gives_the_same_folder(tmp_path: Path) -> None:
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


def _wrenches_exchanged(text: str) -> str:
    """Return the C with the wrenches of link 2 and link 1 exchanged."""
    head, brace, body = text.partition("{")
    return (
        head
        + brace
        + re.sub(r"wrench\[(\d+)\]", lambda match: f"wrench[{(int(match[1]) + 12) % 24}]", body)
    )


@pytest.mark.parametrize(
    ("file", "change", "kinds"),
    [
        ("planar_arm.h", lambda text: text.replace("_NW 3", "_NW 2"), {"text"}),
        ("planar_arm.h", lambda text: text.replace("_NW 3", "_NW 3 + 0"), {"text"}),
        ("planar_arm_bias_force.c", _wrenches_exchanged, {"text"}),
        (
            "manifest.json",
            lambda text: re.sub(r'"link2",(\s+"base",\s+)"link1"', r'"link1",\1"link2"', text),
            {"text"},
        ),
    ],
)
def test_a_changed_folder_is_caught(
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
        "                          const std::array<real, NW * 6> &wrench) "
        "{ return bias_force(q, v, wrench); }\n"
        "static_assert(NW == 3);\n",
        encoding="utf-8",
    )
    checked = ("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    built = run_tool(*checked, f"-I{written[0]}", "use.cpp", cwd=tmp_path)
    assert built.returncode == 0, built.stderr


def test_a_solver_takes_an_array_of_wrenches() -> None:
    solver = symgen.compile(
        "planar_arm", ["bias_force"], wrench=["link2", "base", "link1"], optimize=0
    )
    draws = np.random.default_rng(2)
    q, v, wrench = (
        draws.normal(size=(5, 2)),
        draws.normal(size=(5, 2)),
        draws.normal(size=(5, 3, 6)),
    )
    bias = solver.bias_force(q, v, wrench)
    reference = Reference(robot("planar_arm"), wrench=["link2", "base", "link1"])
    np.testing.assert_allclose(
        bias, reference.bias_force(q, v, wrench=wrench), rtol=1e-12, atol=1e-12
    )
    wrench[:, 1] = np.nan
    assert (solver.bias_force(q, v, wrench) == bias).all()
    with pytest.raises(
        RequestError, match=r"wrench has shape \(6,\); it must have \(\.\.\., 3, 6\)"
    ):
        solver.bias_force(q, v, np.zeros(6))


def test_the_command_line_takes_several_wrenches(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_the_table_of_functions_declares_the_stacked_arrays() -> None:
    stacked = {
        array.name: array.each
        for function in FUNCTIONS.values()
        for array in (*function.depends_on, *function.results)
        if array.each
    }
    assert stacked == {"wrench": "NW", "R": "NF", "p": "NF", "J": "NF", "Jdot_v": "NF"}
