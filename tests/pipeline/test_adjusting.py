"""Arrays of numbers that may change at run time: their order, defaults, bounds, and conditions on
them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import symgen
from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation
from symgen.ir.program import EXACT, Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import adjusting
from symgen.pipeline.adjusting import Adjusting, make_adjusting, share_parameters
from symgen.pipeline.layout import PLAIN, Layout
from symgen.vocabulary.functions import REGROUP
from tests.shared.bars import chain_of_bars, pendulum

MASS, CENTRE, GRAVITY = 3, (Fraction(3, 10), Fraction(2, 5), 0), (0, -10, 0)
MOMENTS = (Fraction(73, 100), Fraction(-9, 25), 0, Fraction(13, 25), 0, 1)
"""Moments about the origin: 1/4 + 3 · 0.4², -3 · 0.3 · 0.4, 1/4 + 3 · 0.3² and 1/4 + 3 · 0.5²."""
FIRST = (Fraction(9, 10), Fraction(6, 5), 0)
"""First moment, 3 times the centre."""
SECOND = (Fraction(79, 200), Fraction(9, 25), 0, Fraction(121, 200), 0, Fraction(1, 8))
"""Second moments ∫ x xᵀ dm: 3 · 0.3² + 1/8 and so on, where 1/8 is half of each moment about the
centre.
"""


def driven_pendulum() -> Mechanism:
    """Return the pendulum with armature 1/5, damping 2 and a spring of 7 at rest at 1/3."""
    robot = pendulum()
    (joint,) = robot.joints
    drive = replace(
        joint.drive,
        armature=Fraction(1, 5),
        damping=Fraction(2),
        stiffness=Fraction(7),
        rest=Fraction(1, 3),
    )
    return replace(robot, joints=(replace(joint, drive=drive),))


def prepared(numbers: Adjusting, values: dict[str, tuple[Fraction | int, ...]]) -> list[Fraction]:
    """Return the guarded array for the defaults with other values of some parameters."""
    parameters: list[Fraction] = []
    for parameter in numbers.parameters:
        first = len(parameters)
        default = numbers.defaults[first : first + parameter.size]
        parameters += map(Fraction, values.get(parameter.name, default))
    return evaluate(numbers.guarded, {"parameters": parameters}, EXACT)["prepared"]


# -- parameters ------------------------------------------------------------------------------------


def test_defaults_are_the_numbers_of_the_description() -> None:
    numbers = make_adjusting(pendulum(), ("*",))
    assert [(p.name, p.size) for p in numbers.parameters] == [
        ("bob.mass", 1),
        ("bob.centre", 3),
        ("bob.inertia", 6),
        ("gravity", 3),
    ]
    assert numbers.defaults == (MASS, *CENTRE, *MOMENTS, *GRAVITY)


def test_a_load_starts_from_zero_and_a_drive_from_its_numbers() -> None:
    numbers = make_adjusting(
        driven_pendulum(),
        ("payload:bob.mass", "payload:bob.centre", "bob_joint.damping", "bob_joint.rest"),
    )
    defaults = dict(zip([p.name for p in numbers.parameters], _parts(numbers), strict=True))
    assert defaults == {
        "payload:bob.mass": (0,),
        "payload:bob.centre": (0, 0, 0),
        "bob_joint.damping": (2,),
        "bob_joint.rest": (Fraction(1, 3),),
    }


def _parts(numbers: Adjusting) -> list[tuple[Fraction, ...]]:
    sizes = [p.size for p in numbers.parameters]
    return [numbers.defaults[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in range(len(sizes))]


def test_moments_about_the_origin_follow_by_the_parallel_axis_theorem() -> None:
    """With m = 2 and the centre (3, 5, 7), xx grows by 2 (5² + 7²), xy by -2 · 3 · 5, and so on."""
    centre = (k.rational(3), k.rational(5), k.rational(7))
    moments = adjusting._about_the_origin(Fraction(2), centre, [k.rational(x) for x in range(1, 7)])
    assert moments == [1 + 148, 2 - 30, 3 - 42, 4 + 116, 5 - 70, 6 + 68]


def test_slots_follow_each_other() -> None:
    parameters = make_adjusting(pendulum(), ("bob.centre", "gravity", "bob.mass")).parameters
    assert adjusting._parameter_slots(parameters) == {
        "bob.mass": range(1),
        "bob.centre": range(1, 4),
        "gravity": range(4, 7),
    }


def test_names_of_parameters_are_in_the_order_of_the_description() -> None:
    assert adjusting.parameter_names(pendulum(), ["gravity", "bob.mass", "gravity"]) == (
        "bob.mass",
        "gravity",
    )
    assert adjusting.parameter_names(pendulum(), []) == ()


# -- the robot -------------------------------------------------------------------------------------


def test_the_bare_robot_lacks_what_may_change() -> None:
    bars = chain_of_bars(2).build()
    for names, parts, gravity in (
        (("bar1.mass",), [1, 0], bars.gravity),
        (("gravity",), [1, 1], (0, 0, 0)),
        (("payload:bar0.mass",), [1, 1], bars.gravity),
        (("bar*.centre", "gravity"), [0, 0], (0, 0, 0)),
    ):
        numbers = make_adjusting(bars, names)
        assert [len(body.parts) for body in numbers.bare.bodies] == parts
        assert numbers.bare.gravity == gravity
        assert numbers.moves_inertia == (names != ("gravity",))


def test_base_parameters_are_those_of_any_gravity_if_gravity_may_change() -> None:
    robot = pendulum()
    general = make_adjusting(robot, ("gravity",)).of_any_gravity(robot).gravity
    assert 0 not in general
    assert make_adjusting(robot, ("bob.mass",)).of_any_gravity(robot) is robot


def test_functions_share_the_slides_and_choose_the_axes() -> None:
    numbers = make_adjusting(chain_of_bars(2).build(), ("bar1.mass",))
    with k.precision():
        model = replace(numbers, slides=Layout(((1, -1),))).lay(Layout(((0, 1),), ((1, 0),)))
        expected = Layout(((1, -1),), ((1, 0),)).lay(numbers.lay(PLAIN))
    assert [link.slack for link in model.links] == [link.slack for link in expected.links]
    assert numbers.slides == PLAIN


def test_each_method_reads_the_inertia_that_suits_it() -> None:
    numbers = make_adjusting(pendulum(), ("bob.mass", "gravity"))
    array = numbers.prepared
    assert numbers.at_run_time(regroups=False, forget=True).inertia is array.declared
    assert numbers.at_run_time(regroups=True, forget=True).inertia is array.base_dropped
    assert numbers.at_run_time(regroups=True, forget=False).inertia is array.regrouped
    assert numbers.at_run_time(regroups=True, forget=True).gravity == array.gravity == 7
    weightless = make_adjusting(pendulum(), ("gravity",))
    assert weightless.at_run_time(regroups=True, forget=True).inertia == ()
    assert weightless.at_run_time(regroups=True, forget=True).gravity == 0


# -- the array -------------------------------------------------------------------------------------


def test_the_array_has_inertias_gravity_and_drives() -> None:
    """Inertia comes first: mass, first and second moments, and the moment about the joint."""
    numbers = make_adjusting(driven_pendulum(), ("bob.*", "gravity", "bob_joint.armature"))
    values = prepared(numbers, {})
    entries = numbers.prepared.declared[0]
    assert sorted(entry.index for entry in entries) == [*range(11)]
    inertia = [entry.sign * values[entry.index] for entry in entries]
    assert inertia == [MASS, *FIRST, *SECOND, 1]
    assert numbers.prepared.gravity == 11
    assert values[11:14] == [*GRAVITY]
    assert numbers.prepared.drives == {(0, "armature"): 14}
    assert values[14] == Fraction(1, 5)
    assert numbers.prepared.size == 15
    assert numbers.prepared.least == {0: 15}
    doubled = prepared(numbers, {"bob.mass": (6,), "gravity": (1, 2, 3)})
    assert doubled[0] == 6
    assert doubled[1:4] == [2 * x for x in FIRST]
    assert doubled[10] == 1  # moments about the origin are parameters of their own
    assert doubled[11:14] == [1, 2, 3]
    without_bounds = evaluate(numbers.regroup, {"parameters": [*numbers.defaults]}, EXACT)
    assert without_bounds["prepared"] == values[:15]


def test_moments_about_the_centre_follow_the_mass() -> None:
    """With the moments about the mass centre fixed, that about the joint is 1/4 + m |c|²."""
    numbers = make_adjusting(pendulum(), ("bob.mass",))
    assert prepared(numbers, {"bob.mass": (5,)})[6] == Fraction(1, 4) + 5 * Fraction(1, 4)
    centred = make_adjusting(pendulum(), ("bob.centre",))
    values = prepared(centred, {"bob.centre": (2, 0, 1)})
    assert values[:3] == [6, 0, 3]
    assert values[-2] == Fraction(1, 4) + 3 * 4


def test_a_load_adds_to_the_inertia_of_its_link() -> None:
    numbers = make_adjusting(pendulum(), ("payload:bob.mass", "payload:bob.centre"))
    values = prepared(numbers, {"payload:bob.mass": (2,), "payload:bob.centre": (0, 1, 0)})
    assert values[0] == MASS + 2
    assert Fraction(6, 5) + 2 in values
    assert 1 + 2 in values  # the moment about the joint


def test_the_bound_of_a_pivot_is_half_of_inertia_and_rotor() -> None:
    tiny = Fraction(1, 2**126)
    moving = make_adjusting(pendulum(), ("bob.mass",))
    assert prepared(moving, {})[-1] == Fraction(1, 2) + tiny
    rotor = make_adjusting(driven_pendulum(), ("bob.mass",))
    assert prepared(rotor, {})[-1] == Fraction(3, 5) + tiny
    changing = make_adjusting(driven_pendulum(), ("bob_joint.armature",))
    assert prepared(changing, {"bob_joint.armature": (3,)})[-1] == 2 + tiny
    assert not make_adjusting(driven_pendulum(), ("gravity", "bob_joint.damping")).prepared.least


def test_pivots_of_mimic_joints_have_no_bound() -> None:
    coupled = symgen.load(
        """
name = "jaws"
[[body]]
name = "left"
parent = "base"
mass = 1
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
joint = { name = "a", type = "revolute", axis = [0, 0, 1] }
[[body]]
name = "right"
parent = "base"
mass = 1
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
joint = { name = "b", type = "revolute", axis = [0, 0, 1], mimic = { joint = "a" } }
""",
        mimic="couple",
    )
    assert coupled.coupled
    assert not make_adjusting(coupled, ("left.mass", "left.inertia")).prepared.least


# -- conditions ------------------------------------------------------------------------------------


def judged(numbers: Adjusting, **values: int) -> dict[str, list[Fraction]]:
    names = [p.name for p in numbers.parameters]
    parameters = list(numbers.defaults)
    for name, value in values.items():
        parameters[names.index(name.replace("_", ".", 1))] = Fraction(value)
    return evaluate(numbers.judge, {"parameters": parameters}, EXACT)


def test_a_negative_mass_violates_a_condition() -> None:
    numbers = make_adjusting(pendulum(), ("bob.mass",))
    assert min(judged(numbers)["judged"]) >= 0
    assert min(judged(numbers)["carried"]) > 0
    assert min(judged(numbers, bob_mass=-1)["judged"]) < 0
    assert min(judged(numbers, bob_mass=-9)["carried"]) < 0


def test_gravity_has_no_condition() -> None:
    assert not make_adjusting(pendulum(), ("gravity",)).judge.outputs


def test_drives_but_for_the_rest_position_must_not_be_negative() -> None:
    names = ("bob_joint.damping", "bob_joint.stiffness", "bob_joint.rest")
    numbers = make_adjusting(driven_pendulum(), names)
    parameters = [p.name for p in numbers.parameters]
    for name, is_condition in zip(names, (True, True, False), strict=True):
        values = list(numbers.defaults)
        values[parameters.index(name)] = Fraction(-1)
        results = evaluate(numbers.judge, {"parameters": values}, EXACT)
        assert (min(results["judged"]) < 0) == is_condition


def test_conditions_that_the_description_violates_are_left_out() -> None:
    """A body whose moments violate the triangle inequality may keep them."""
    robot = pendulum()
    (part,) = robot.bodies[0].parts
    bent = replace(
        robot,
        bodies=(
            replace(
                robot.bodies[0],
                parts=(replace(part, moments=tuple(map(Fraction, (9, 0, 0, 1, 0, 1)))),),
            ),
        ),
    )
    usual, violated = (make_adjusting(each, ("bob.inertia",)) for each in (robot, bent))
    results = [
        evaluate(each.judge, {"parameters": [*each.defaults]}, EXACT)["judged"]
        for each in (usual, violated)
    ]
    assert len(results[1]) < len(results[0])
    assert min(results[1]) >= 0


# -- sharing ---------------------------------------------------------------------------------------


def reading(*elements: int) -> Program:
    """Return a Program whose result is the sum of the array's elements times its other argument."""
    derivation = Derivation({"q": 1, "prepared": 5})
    total = derivation.zero
    for element in elements:
        total = total + derivation.inputs["prepared"][element]
    result = total * derivation.inputs["q"][0]
    return adjusting.passes.run(
        derivation.freeze("f", "m", [("y", (), [result])], {"q": (1,), "prepared": (5,)})
    )


def array_of_five() -> Program:
    derivation = Derivation({"parameters": 5})
    results = [derivation.number(10, 1) + x for x in derivation.inputs["parameters"]]
    return derivation.freeze(REGROUP, "m", [("prepared", (5,), results)], {"parameters": (5,)})


@pytest.mark.parametrize(
    ("unread", "elements"), [((), (1, 3, 4)), ((0,), (1, 3, 4, 0)), ((2, 0), (1, 3, 4, 0, 2))]
)
def test_shared_arrays_have_the_elements_that_a_program_reads(
    unread: tuple[int, ...], elements: tuple[int, ...]
) -> None:
    originals = {"first": reading(1, 4), "second": reading(3), REGROUP: array_of_five()}
    programs = share_parameters(originals, unread)
    parameters = [Fraction(x) for x in (1, 2, 3, 4, 5)]
    array = evaluate(programs[REGROUP], {"parameters": parameters}, EXACT)["prepared"]
    assert array == [10 + parameters[element] for element in elements]
    for name in ("first", "second"):
        assert [port.size for port in programs[name].inputs] == [1, len(elements)]
        arguments = {"q": [Fraction(7)], "prepared": array}
        whole = {"q": [Fraction(7)], "prepared": [10 + x for x in parameters]}
        assert evaluate(programs[name], arguments, EXACT) == evaluate(originals[name], whole, EXACT)


def test_an_array_that_no_program_reads_is_empty() -> None:
    derivation = Derivation({"q": 1})
    alone = derivation.freeze("g", "m", [("y", (), derivation.inputs["q"])], {"q": (1,)})
    programs = share_parameters({"g": alone, REGROUP: array_of_five()}, (2,))
    assert programs["g"] is alone
    assert programs[REGROUP].outputs[0].size == 0
