"""Functions as sweeps over links: they equal the unrolled Program of the same method to 60 digits.

Functions without a looped form are refused.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import flint
import pytest
from flint import arb

import symgen
from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.table_linkage import Tabled
from symgen.description.canonical import to_toml
from symgen.description.loading import load
from symgen.description.tip import tip
from symgen.ir import passes
from symgen.ir.loops import CARRY, CHECKED, LoopProgram, check
from symgen.ir.loops import evaluate as run
from symgen.ir.loops.steps import with_checked_rows
from symgen.ir.program import Numbers, evaluate
from symgen.pipeline.derive import ROW_BUDGET, derive
from symgen.pipeline.loops import build, recursion
from symgen.pipeline.loops.classes import classes_by_neighbours, short_chains
from symgen.pipeline.loops.cuts import behind, least_cut
from symgen.reference.midpoint_numbers import Point, points
from symgen.support.errors import OutOfReach, ProgramError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.shared.c_programs import DOUBLES
from tests.shared.loop_arguments import largest_difference, random_arguments
from tests.shared.looped_robots import NUMBERS, chains, robot
from tests.shared.recursions import sums
from tests.shared.robots_for_tests import (
    random_mechanism,
    rods,
)

DIGITS = 80
POINTS = Numbers(
    lambda x: Point(arb(flint.fmpq(x.numerator, x.denominator))),
    Point.sin,
    Point.cos,
    Point.sqrt,
    Point.log,
)
METHODS = {
    "inverse_dynamics": ("newton_euler",),
    "bias_force": ("newton_euler",),
    "gravity_force": ("newton_euler",),
    "forward_dynamics": ("riccati", "riccati:fd1", "riccati:fd3"),
    "mass_matrix_solve": ("riccati",),
    "mass_matrix_determinant": ("riccati",),
    "mass_matrix_log_determinant": ("riccati",),
    "mass_matrix_log_determinant_gradient": ("riccati",),
}
PAIRS = [(function, method) for function, several in METHODS.items() for method in several]
ALIKE = (
    ("bias_force", "newton_euler"),
    ("gravity_force", "newton_euler"),
    ("forward_dynamics", "riccati:fd1"),
    ("forward_dynamics", "riccati:fd3"),
)
"""Functions whose sweeps resemble others'; they are tested with three robots only."""
BY = {
    "link_poses": "kinematics",
    "forward_kinematics": "kinematics",
    "integrate": "kinematics",
    "difference": "kinematics",
    "link_accelerations": "riccati",
    "interbody_forces": "riccati",
    "kinetic_energy": "newton_euler",
    "potential_energy": "composite_body",
    "center_of_mass": "composite_body",
    "centroidal_momentum": "newton_euler",
    "centroidal_momentum_rate": "newton_euler",
    "bias_acceleration": "newton_euler",
    "operational_inertia_inverse": "riccati",
    "jacobian": "kinematics",
}
"""Functions with results of bodies, of a frame or of the whole robot, or with a time step."""
CUT = (
    "forward_dynamics",
    "mass_matrix_solve",
    "mass_matrix_determinant",
    "mass_matrix_log_determinant",
)
"""Functions by methods that cut every joint; they loop for chains only."""
OTHERS = [
    *((name, *pair) for name in ("mixed", "quadruped") for pair in BY.items()),
    *(
        ("screws", function, BY[function])
        for function in ("link_accelerations", "bias_acceleration")
    ),
    *(("screws", *pair) for pair in PAIRS if pair not in ALIKE),
    ("planes", "mass_matrix_log_determinant_gradient", "riccati"),
    *(
        ("spherical_pendulum", function, BY[function])
        for function in ("center_of_mass", "forward_kinematics", "difference")
    ),
    ("driven", "kinetic_energy", "newton_euler"),
    ("chain", "interbody_forces", "constraint_force"),
    *(("chain", function, method) for function in CUT for method in ("constraint_force", "fixman")),
    *(("driven", CUT[0], method) for method in ("constraint_force", "fixman")),
    *(("threads", CUT[0], method) for method in ("constraint_force", "fixman")),
    ("threads", CUT[3], "constraint_force"),
    *(
        (name, function, "fixman:planar")
        for name in ("points", "turned", "planar_point_mass")
        for function in (*CUT, "mass_matrix_log_determinant_gradient")
    ),
    *(
        ("rods", function, "fixman:planar")
        for function in (*CUT[2:], "mass_matrix_log_determinant_gradient")
    ),
]
OTHERS += [
    *(
        ("beside", function, BY[function])
        for function in ("link_poses", "kinetic_energy", "center_of_mass")
    ),
    *(
        ("balls", function, BY.get(function, "newton_euler"))
        for function in ("link_poses", "kinetic_energy", "integrate", "inverse_dynamics")
    ),
]
"""Forests with floating bases as roots."""
OTHERS += [
    ("scara", "forward_dynamics", "constraint_force"),
    ("scara", "mass_matrix_log_determinant", "fixman"),
    ("sorts", "mass_matrix_solve", "constraint_force"),
    ("sorts", "forward_dynamics", "fixman"),
    ("chains", "mass_matrix_determinant", "constraint_force"),
    ("chains", "mass_matrix_solve", "fixman"),
    ("chains", "interbody_forces", "constraint_force"),
]
"""Chains of several kinds of joint, by methods that couple the joints of neighbouring links."""
ROBOTS = ("chain", "tree", "mixed", "flat", "driven", "quadruped", "spherical_pendulum")


@cache
def looped(name: str, function: str, method: str) -> LoopProgram:
    return recursion(robot(name), function, method, tip(robot(name)))


@cache
def arguments_and_results(
    name: str, function: str, method: str
) -> tuple[dict[str, list[arb]], dict[str, list[arb]]]:
    """Return random arguments and the results of the unrolled Program."""
    with flint.ctx.workdps(DIGITS):
        arguments = random_arguments(looped(name, function, method), robot(name))
        unrolled = derive(robot(name), function, method, ProgramOptions())
        return arguments, evaluate(unrolled, arguments, NUMBERS)


@pytest.mark.parametrize(
    ("name", "function", "method"),
    [
        *(
            (name, *pair)
            for name in ROBOTS
            for pair in PAIRS
            if name in ("chain", "tree", "quadruped") or pair not in ALIKE
        ),
        *OTHERS,
    ],
)
def test_sweeps_equal_the_unrolled_program(name: str, function: str, method: str) -> None:
    arguments, expected = arguments_and_results(name, function, method)
    with flint.ctx.workdps(DIGITS):
        assert (
            largest_difference(run(looped(name, function, method), arguments, NUMBERS), expected)
            < 1e-60
        )


@pytest.mark.parametrize(
    ("function", "method"), [("forward_dynamics", "riccati"), ("inverse_dynamics", "newton_euler")]
)
def test_steps_do_not_depend_on_the_length_of_the_chain(function: str, method: str) -> None:
    short, long = (recursion(random_mechanism(n, 1), function, method) for n in (9, 40))
    assert [sweep.steps for sweep in short.sweeps] == [sweep.steps for sweep in long.sweeps]
    assert long.cost - short.cost == (40 - 9) * long.link_cost


def test_costs_of_chains_with_general_axes_stay_within_bounds() -> None:
    """At most 160 bytes of table and 20 numbers of workspace per link; operations only decrease."""
    forward, inverse = (
        recursion(random_mechanism(20, 1), *pair)
        for pair in (("forward_dynamics", "riccati"), ("inverse_dynamics", "newton_euler"))
    )
    assert (forward.link_classes[0].width, forward.work, forward.cost // 20) <= (17, 17, 416)
    assert (inverse.link_classes[0].width, inverse.work, inverse.cost // 20) <= (14, 8, 151)
    assert sum(len(step.rows) for step in forward.programs) * 20 < ROW_BUDGET


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (name, error)
        for name in ("chain", "tree", "quadruped")
        for error in ("table", "start", "parent", "step")
        if (name, error) != ("quadruped", "start")
    ]
    + [("scara", "class"), ("scara", "step")],
)  # quadruped's trunk has no parent
def test_planted_errors_change_results(name: str, error: str) -> None:
    function, method = "forward_dynamics", "constraint_force" if name == "scara" else "riccati"
    sound = looped(name, function, method).without_base_steps()
    if error == "class":  # as if the joint before were revolute
        last = max(i for i, c in enumerate(sound.class_of) if sound.link_classes[c].nq)
        wrong = replace(sound, class_of=(*sound.class_of[:last], 0, *sound.class_of[last + 1 :]))
    elif error == "table":
        row = tuple(x + Fraction(1, 1000) for x in sound.constants[2])
        wrong = replace(sound, constants=(*sound.constants[:2], row, *sound.constants[3:]))
    elif error == "start":
        start = tuple(x + Fraction(1, 1000) for x in sound.sweeps[1].initial)
        wrong = replace(
            sound,
            stages=(sound.sweeps[0], replace(sound.sweeps[1], initial=start), *sound.sweeps[2:]),
        )
    elif error == "parent":
        wrong = replace(sound, parents=(*sound.parents[:-1], sound.parents[-1] - 1))
    else:
        step = sound.sweeps[2].steps[0]
        minus = next(i for i, row in enumerate(step.rows) if row.op == "sub")
        rows = (*step.rows[:minus], step.rows[minus]._replace(op="add"), *step.rows[minus + 1 :])
        steps = (replace(step, rows=rows), *sound.sweeps[2].steps[1:])
        wrong = replace(
            sound,
            stages=(*sound.sweeps[:2], replace(sound.sweeps[2], steps=steps), *sound.sweeps[3:]),
        )
    arguments, expected = arguments_and_results(name, function, method)
    with flint.ctx.workdps(DIGITS):
        assert largest_difference(run(check(wrong), arguments, NUMBERS), expected) > 1e-9


@pytest.mark.parametrize(
    ("function", "method"),
    [("gravity_force", "newton_euler"), ("jacobian", "kinematics")],
)
def test_the_first_link_of_a_chain_passes_no_carry_inward_and_computes_its_results(
    function: str, method: str
) -> None:
    form = looped("chain", function, method)
    *_, sweep = form.sweeps
    assert sweep.inward
    assert sweep.base_step is not None
    results = [port.name for port in sweep.steps[form.class_of[0]].outputs if port.name != CARRY]
    assert results
    assert [port.name for port in sweep.base_step.outputs] == results


def test_passes_save_operations_and_change_no_value() -> None:
    name, function, method = "chain", "forward_dynamics", "riccati"
    simplified = looped(name, function, method)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "run", lambda step: step)
        raw = recursion(robot(name), function, method)
    assert simplified.cost < raw.cost
    arguments, expected = arguments_and_results(name, function, method)
    with flint.ctx.workdps(DIGITS):
        assert largest_difference(run(raw, arguments, NUMBERS), expected) < 1e-60


@pytest.mark.slow
def test_regrouping_inertias_loses_no_precision_of_forces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n, random = 256, Random(1)
    regrouped = recursion(random_mechanism(n, 1), "inverse_dynamics", "newton_euler")
    changed = replace(FUNCTIONS["inverse_dynamics"], sums_forces=False)
    monkeypatch.setitem(FUNCTIONS.data, "inverse_dynamics", changed)
    not_regrouped = recursion(random_mechanism(n, 1), "inverse_dynamics", "newton_euler")
    assert regrouped.cost < 0.9 * not_regrouped.cost
    state = {name: [random.uniform(-2, 2) for _ in range(n)] for name in ("q", "v", "a")}
    with points(60).working():
        exact = run(
            not_regrouped,
            {name: [Point(arb(x)) for x in values] for name, values in state.items()},
            POINTS,
        )["tau"]
        errors = [
            max(
                abs(float(Point(arb(x)) - y))
                for x, y in zip(run(form, state, DOUBLES)["tau"], exact, strict=True)
            )
            for form in (regrouped, not_regrouped)
        ]
    assert errors[0] <= 4 * errors[1]
    assert errors[1] <= 1e-13 * max(abs(float(x)) for x in exact)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"class_of": (0,) * 5}, "equally many"),
        ({"parents": (-1, 0, 1, 2, 5, 4)}, "does not stand before it"),
        ({"work": 3}, "room|takes"),
        ({"outputs": ()}, "results"),
    ],
)
def test_check_refuses_malformed_recursions(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ProgramError, match=words):
        check(replace(looped("chain", "forward_dynamics", "riccati"), **change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"only_path_to": 6}, "no link"),
        ({"combine": ("add",) * 3}, "does not carry inward"),
        ({"inward": False}, ""),
    ],
)
def test_check_refuses_malformed_sweeps_to_a_frame(change: dict[str, Any], words: str) -> None:
    jacobian = looped("chain", "jacobian", "kinematics").without_base_steps()
    *earlier_sweeps, last = jacobian.sweeps
    with pytest.raises(ProgramError, match="does not carry inward"):
        check(replace(jacobian, stages=(*earlier_sweeps, replace(last, only_path_to=-1))))
    pose = looped("chain", "forward_kinematics", "kinematics")
    with pytest.raises(ProgramError, match="ends nowhere"):
        check(
            replace(pose, final_carries=tuple(end._replace(link=0) for end in pose.final_carries))
        )
    assert sums(5).along_path_to(3) == sums(5)  # sums has results of links
    wrong = replace(jacobian, stages=(*earlier_sweeps, replace(last, **change)))
    if words:
        with pytest.raises(ProgramError, match=words):
            check(wrong)
    else:  # the program is valid and computes other results
        arguments, expected = arguments_and_results("chain", "jacobian", "kinematics")
        with flint.ctx.workdps(DIGITS):
            assert largest_difference(run(check(wrong), arguments, NUMBERS), expected) > 1e-9


@pytest.mark.parametrize(
    ("name", "function", "method"),
    [
        ("chain", "mass_matrix", "composite_body"),
        ("chain", "mass_matrix_solve", "composite_body"),
        ("tree", "mass_matrix_solve", "fixman"),
        ("chain", "center_of_mass_jacobian", "composite_body"),
    ],
)
def test_functions_without_a_looped_form_are_refused(name: str, function: str, method: str) -> None:
    with pytest.raises(OutOfReach, match="has no looped form"):
        recursion(robot(name), function, method)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["constraint_force", "fixman:spatial"])
def test_a_refusal_of_loops_is_one_sentence_and_its_detail_is_logged(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    function = "operational_inertia_inverse"
    with (
        caplog.at_level("INFO", logger="symgen"),
        pytest.raises(OutOfReach) as refusal,
    ):
        recursion(robot("chain"), function, method, tip(robot("chain")))
    assert (
        str(refusal.value)
        == f"{function} by {method} has no looped form for 'random_chain_6', since its steps are"
        " not the same for every link; take --form unrolled, or another method"
    )
    assert f"{function} by {method} does not repeat link for link" in caplog.text


def test_a_branched_robot_has_no_looped_form_by_methods_that_couple_joints() -> None:
    with pytest.raises(OutOfReach) as refusal:
        recursion(robot("tree"), "mass_matrix_solve", "constraint_force")
    assert (
        str(refusal.value)
        == "mass_matrix_solve of 'random_tree_9' has no looped form, since constraint_force couples"
        " all joints on a link, and 'link0' carries 4; take --form unrolled"
    )


@pytest.mark.slow
def test_steps_depend_on_the_kinds_of_neighbouring_joints_alone() -> None:
    """A long chain has a short chain's steps: one link class per joint kind and kinds of
    neighbours.
    """
    kinds = ("revolute", "revolute", "prismatic")
    short, long = (
        recursion(chains(*((kinds[i % 3], i - 1) for i in range(n))), CUT[1], "constraint_force")
        for n in (9, 60)
    )
    assert [sweep.steps for sweep in short.sweeps] == [sweep.steps for sweep in long.sweeps]
    assert [link_class.name for link_class in long.link_classes] == [
        "revolute between revolute and revolute or prismatic",
        "prismatic between revolute and revolute",
        "revolute between prismatic and revolute",
    ]
    like = recursion(random_mechanism(60, 5), CUT[1], "constraint_force")
    assert long.cost < 1.01 * like.cost


def test_every_class_has_its_neighbours_in_the_chains_that_are_compared() -> None:
    """Each class has its window of three joint kinds in the sample, or in a separate chain."""
    mechanism = chains(
        ("revolute", -1), ("prismatic", 0), ("free", -1), ("prismatic", 2), ("prismatic", 3)
    )
    with k.precision():
        model = build.placed_links(mechanism)
    classes = classes_by_neighbours(model, framed=False)
    chosen, parents = short_chains(classes, model, -1)
    assert {classes.of_links[i] for i in chosen} == {*classes.of_links}
    assert parents.count(-1) == 2
    for link, parent in zip(chosen, parents, strict=True):
        before, kind, _ = classes.windows[classes.of_links[link]]
        assert kind == model.links[link].kind
        assert before == (model.links[chosen[parent]].kind if parent >= 0 else "revolute")


@pytest.mark.parametrize("function", ["jacobian", "forward_kinematics", "bias_acceleration"])
@pytest.mark.parametrize("name", ["tree", "mixed", "quadruped", "spherical_pendulum", "chain"])
def test_functions_of_a_frame_visit_only_the_path_to_the_base(name: str, function: str) -> None:
    """For a frame on an inner link, links off its path cost no operation and have no column."""
    mechanism = robot(name)
    inner = min(set(mechanism.parents) - {-1, 0}, default=0) if name != "chain" else 0
    frame = next(frame.name for frame in mechanism.frames if frame.body == inner)
    form = recursion(mechanism, function, BY[function], frame)
    unrolled = derive(mechanism, function, BY[function], ProgramOptions(frame=frame))
    (path,) = {tuple(form.visited(sweep)[:: -1 if sweep.inward else 1]) for sweep in form.sweeps}
    assert len(path) < len(form) or name == "spherical_pendulum"
    assert form.cost == sum(
        sweep.step_of(i, form.class_of[i]).cost for sweep in form.sweeps for i in path
    ) + (form.epilogue.cost if form.epilogue else 0)
    with flint.ctx.workdps(DIGITS):
        arguments = random_arguments(form, mechanism)
        assert (
            largest_difference(
                run(form, arguments, NUMBERS), evaluate(unrolled, arguments, NUMBERS)
            )
            < 1e-60
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "scara"])
def test_a_wrong_base_acceleration_is_detected_on_a_short_chain(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Gravity enters at the base, so no step of a sample link shows the error."""
    function = "forward_dynamics"
    monkeypatch.setattr(build, "check_numbers", lambda *_: None)
    monkeypatch.setattr(Tabled, "prescribed_acceleration", Linkage.prescribed_acceleration)
    wrong = recursion(robot(name), function, "constraint_force")
    with flint.ctx.workdps(DIGITS):
        arguments = random_arguments(wrong, robot(name))
        unrolled = derive(robot(name), function, "constraint_force", ProgramOptions())
        assert (
            largest_difference(
                run(wrong, arguments, NUMBERS), evaluate(unrolled, arguments, NUMBERS)
            )
            > 1e-3
        )
    monkeypatch.undo()
    monkeypatch.setattr(Tabled, "prescribed_acceleration", Linkage.prescribed_acceleration)
    with (
        caplog.at_level("INFO", logger="symgen"),
        pytest.raises(OutOfReach, match="has no looped form"),
    ):
        recursion(robot(name), function, "constraint_force")
    assert "differ in numbers from the method itself" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "frame", "function"),
    [
        ("quadruped", "base_link", "jacobian"),
        ("quadruped", "base_link", "bias_acceleration"),
        ("quadruped", "base_link", "operational_inertia_inverse"),
        ("roots", "link2", "forward_kinematics"),
        ("roots", "link2", "operational_inertia_inverse"),
        ("roots", "link0", "link_accelerations"),
        ("balls", "ball", "operational_inertia_inverse"),
    ],
)
def test_functions_of_a_frame_on_a_floating_base_equal_the_unrolled_program(
    name: str, frame: str, function: str
) -> None:
    """The frame is on a trunk: a single root, one of several roots, or one of many free bodies."""
    mechanism = robot(name)
    form = recursion(mechanism, function, BY[function], frame)
    unrolled = derive(mechanism, function, BY[function], ProgramOptions(frame=frame))
    with flint.ctx.workdps(DIGITS):
        arguments = random_arguments(form, mechanism)
        assert (
            largest_difference(
                run(form, arguments, NUMBERS), evaluate(unrolled, arguments, NUMBERS)
            )
            < 1e-50
        )
    if function in ("jacobian", "bias_acceleration", "forward_kinematics"):
        assert {link for sweep in form.sweeps for link in form.visited(sweep)} == {
            next(f.body for f in mechanism.frames if f.name == frame)
        }


def test_a_frame_on_the_base_has_no_looped_form() -> None:
    with pytest.raises(OutOfReach, match="frame 'world' is on the base, which does not move"):
        recursion(robot("quadruped"), "jacobian", "kinematics", "world")


def test_tables_have_only_constants_that_steps_read() -> None:
    poses = looped("tree", "link_poses", "kinematics")
    assert poses.link_classes[0].width == len(
        {
            row.value[1]
            for sweep in poses.sweeps
            for row in sweep.steps[0].rows
            if row.op == "input" and sweep.steps[0].inputs[row.value[0]].name == "table"
        }
    )
    assert looped("tree", "integrate", "kinematics").link_classes[0].width == 0


def test_an_epilogue_has_a_check_if_rows_of_it_are_compared() -> None:
    poses = looped("tree", "forward_kinematics", "kinematics")
    epilogue = poses.epilogue
    assert epilogue is not None
    assert with_checked_rows(poses, lambda step: []).epilogue_check is None
    last = len(epilogue.rows) - 1
    check = with_checked_rows(poses, lambda step: [last] if step is epilogue else []).epilogue_check
    assert check is not None
    assert [port.name for port in check.outputs] == [CHECKED]


@pytest.mark.parametrize("slip", ["last", "end", "link"])
def test_errors_in_final_results_change_values(slip: str) -> None:
    name, function, method = "tree", "forward_kinematics", "kinematics"
    poses = looped(name, function, method)
    assert poses.epilogue is not None
    (end,) = poses.final_carries
    if slip == "last":
        plus = next(i for i, row in enumerate(poses.epilogue.rows) if row.op == "add")
        rows = (
            *poses.epilogue.rows[:plus],
            poses.epilogue.rows[plus]._replace(op="sub"),
            *poses.epilogue.rows[plus + 1 :],
        )
        wrong = replace(poses, epilogue=replace(poses.epilogue, rows=rows))
    elif slip == "end":
        wrong = replace(
            poses,
            final_carries=(
                end._replace(elements=(end.elements[1], end.elements[0], *end.elements[2:])),
            ),
        )
    else:
        link = (end.link + 1) % len(poses)
        wrong = replace(
            poses,
            final_carries=(end._replace(link=link),),
            stages=tuple(replace(s, only_path_to=link) for s in poses.sweeps),
        )
    arguments, expected = arguments_and_results(name, function, method)
    with flint.ctx.workdps(DIGITS):
        assert largest_difference(run(check(wrong), arguments, NUMBERS), expected) > 1e-9


def test_least_cut_is_the_smallest_separating_set_of_rows() -> None:
    """Six products of two inputs: the cut is the two inputs."""
    takes = [[], [], *([0, 1] for _ in range(6)), *([k, k + 1] for k in range(2, 7))]
    last = range(8, len(takes))
    assert least_cut(takes, {0, 1}, last) == [0, 1]
    assert least_cut(takes, {2, 3, 4, 5, 6, 7}, {8}) == [8]
    assert behind(takes, {8}, {2, 3}) == {2, 3, 8}


@pytest.mark.parametrize("moving", [True, False])
def test_robots_with_massless_links_have_loops(moving: bool) -> None:
    """A massless trunk with legs, and a chain with every other link massless."""
    general = random_mechanism(12, 1, "tree" if moving else "chain")
    light = replace(
        general,
        bodies=tuple(
            replace(body, parts=()) if i % 2 == 0 and not moving and i < 11 else body
            for i, body in enumerate(general.bodies)
        ),
    )
    mechanism = load(to_toml(light), base="free" if moving else "fixed")
    form = recursion(mechanism, "forward_dynamics", "riccati")
    with flint.ctx.workdps(DIGITS):
        arguments = random_arguments(form, mechanism)
        unrolled = derive(mechanism, "forward_dynamics", "riccati", ProgramOptions())
        assert (
            largest_difference(
                run(form, arguments, NUMBERS), evaluate(unrolled, arguments, NUMBERS)
            )
            < 1e-45
        )


def test_costs_of_planar_chains_stay_within_bounds() -> None:
    """Bounds on operations per link, which only decrease. The first link has the others' class."""
    bounds = {
        "mass_matrix_solve": 31,
        "mass_matrix_log_determinant": 9,
        "mass_matrix_log_determinant_gradient": 13,
        "forward_dynamics": 69,
    }
    polymer = symgen.load("planar_point_mass:40")
    for function, most in bounds.items():
        form = recursion(polymer, function, "fixman:planar")
        assert form.cost // 40 <= most, function
        assert form.work <= 16, function
        assert len(form.sweeps) <= 5, function
    assert recursion(polymer, "mass_matrix_solve", "riccati").cost // 40 <= 81


def test_loops_of_rigid_links_about_parallel_axes_equal_the_unrolled_program() -> None:
    """Each link has two directions, in which it is rigid; a point mass has one."""
    axis = (Fraction(0), Fraction(0), Fraction(1))
    chain = rods(*[axis] * 8)
    form = recursion(chain, "mass_matrix_solve", "fixman:planar")
    unrolled = derive(chain, "mass_matrix_solve", "fixman:planar", ProgramOptions())
    with flint.ctx.workdps(DIGITS):
        arguments = random_arguments(form, chain)
        assert (
            largest_difference(
                run(form, arguments, NUMBERS), evaluate(unrolled, arguments, NUMBERS)
            )
            < 1e-60
        )


def test_antiparallel_axes_have_no_common_step(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level("INFO", logger="symgen"),
        pytest.raises(OutOfReach, match="its steps are not the same for every link"),
    ):
        recursion(robot("rods"), "mass_matrix_solve", "fixman:planar")
    assert "one loop step cannot serve all" in caplog.text
