"""Sample chains: what of an argument belongs to a link, the virtual base at rest, and steps of the
first link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.derivation import constants as k
from symgen.derivation.model import reframe
from symgen.derivation.table_linkage import BASE_NUMBERS, PREPARED, SHARED
from symgen.ir.loops import CARRY, SAVED, LoopProgram
from symgen.ir.program import Port, Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.loops import base_steps, build, fold, numeric_check, recursion
from symgen.pipeline.loops.base_steps import with_base_steps
from symgen.pipeline.loops.classes import classes_by_kind
from symgen.pipeline.loops.link_assignment import NotUniform
from symgen.pipeline.loops.sample_chain import UNSEEN, SampleChain, chain_fault, sample_chain
from symgen.reference.mechanics import Reference
from tests.shared.robots_for_tests import of_kind, random_mechanism


@pytest.fixture(autouse=True)
def _precise_constants() -> Iterator[None]:
    with k.precision():
        yield


def tree(*links: tuple[str, int]) -> Mechanism:
    """Return a robot of links with these kinds of joints and parents."""
    mechanism = random_mechanism(len(links), 7)
    joints = (
        replace(of_kind(joint, kind), parent=parent)
        for joint, (kind, parent) in zip(mechanism.joints, links, strict=True)
    )
    return replace(mechanism, joints=tuple(joints))


def chain_of(mechanism: Mechanism, **widths: int) -> SampleChain:
    """Return the sample chain of a robot, whose virtual base stands for no link."""
    request = build._build_request(mechanism, "inverse_dynamics", "newton_euler", "")
    classes = classes_by_kind(request.model, [], False)
    columns = next(iter(build._columns(request, classes)))
    return sample_chain(request.model, classes, columns, [], widths)


# -- numbers that no step may read -----------------------------------------------------------------


def test_numbers_that_differ_from_link_to_link_must_not_be_read() -> None:
    readings: list[Any] = [
        lambda: [*UNSEEN],
        lambda: UNSEEN[0],
        lambda: UNSEEN.m,
        lambda: bool(UNSEEN),
    ]
    for reading in readings:
        with pytest.raises(NotUniform, match="a step depends on numbers of one link"):
            reading()
    assert UNSEEN == UNSEEN
    assert UNSEEN != 0


# -- elements of arguments -------------------------------------------------------------------------


def test_elements_of_joints_follow_the_coordinates_and_those_of_links_the_width() -> None:
    """The virtual base has seven coordinates and six velocities."""
    chain = chain_of(tree(("revolute", -1), ("revolute", 0)), f=6, shared=0)
    base, first, second = chain.model.links[:3]
    assert [chain.elements_of(name, base) for name in ("q", "q_next", "v")] == [
        slice(0, 7),
        slice(0, 7),
        slice(0, 6),
    ]
    assert chain.elements_of("tau", second) == slice(7, 8)
    assert chain.elements_of("q", first) == slice(7, 8)
    assert chain.elements_of("f", first) == slice(6, 12)
    assert chain.elements_of("shared", second) == slice(None)


def test_every_element_of_an_argument_belongs_to_its_link_unless_all_share_it() -> None:
    chain = chain_of(tree(("revolute", -1), ("revolute", 0)), f=6, shared=0)
    links, numbers = len(chain.classes), sum(BASE_NUMBERS.values())
    nq = chain.model.links[-1].q.stop
    ports = (
        Port("q", (nq,)),
        Port("f", (6 * links,)),
        Port("shared", (3,)),
        Port(PREPARED, (chain.first[-1] + numbers,)),
    )
    link_of = chain.link_of_input(Program("f", "m", ports, (), ()))
    assert [link_of[0, e] for e in range(nq)] == [0] * 7 + [*range(1, links)]
    assert [link_of[1, e] for e in range(6 * links)] == [e // 6 for e in range(6 * links)]
    assert not any(port == 2 for port, _ in link_of)
    for i in range(links):
        assert {link_of[3, e] for e in range(chain.first[i], chain.first[i + 1])} <= {i}
    base = [e for e in range(chain.first[-1], chain.first[-1] + numbers) if (3, e) in link_of]
    assert {link_of[3, e] for e in base} == {0}
    assert len(base) == numbers - SHARED


def test_results_of_a_link_are_those_of_its_elements() -> None:
    """A matrix with a column for each velocity has an element of every row for a link."""
    chain = replace(
        chain_of(
            tree(
                ("revolute", -1),
            ),
            f=2,
            total=0,
        ),
        rows={"J": 2},
    )
    nv = chain.model.links[-1].v.stop
    links = len(chain.classes)
    matrix = tuple(range(100, 100 + 2 * nv))
    program = Program(
        "f",
        "m",
        (),
        (
            Port("tau", (nv,), tuple(range(nv))),
            Port("J", (2, nv), matrix),
            Port("f", (2 * links,), tuple(range(200, 200 + 2 * links))),
            Port("total", (2,), (300, 301)),
        ),
        (),
    )
    expected = [("tau", 6), ("J", 106), ("J", 106 + nv), ("f", 202), ("f", 203)]
    assert chain.results(program, 1, shared=False) == expected
    assert chain.results(program, 1, shared=True) == [*expected, ("total", 300), ("total", 301)]


# -- the virtual base ------------------------------------------------------------------------------


def test_the_virtual_base_at_rest_has_the_axes_of_the_base() -> None:
    """A free joint at these coordinates moves nothing."""
    chain = chain_of(tree(("revolute", -1), ("revolute", 0)))
    coordinates = chain.at_rest()["q"]
    q = np.array([float(coordinates.get(element, 0)) for element in range(7)])
    free = tree(("free", -1))
    free = replace(free, joints=(replace(free.joints[0], pose=()),))
    turn, shift = (x[0] for x in Reference(free).placements(q, np.zeros(6), np.zeros(6))[0][:2])
    np.testing.assert_array_equal(turn, np.eye(3))
    np.testing.assert_array_equal(shift, np.zeros(3))


def test_the_base_at_rest_supplies_gravity_axes_and_positions() -> None:
    robot = replace(
        tree(("revolute", -1), ("revolute", 0)),
        gravity=(Fraction(1), Fraction(-2), Fraction(3)),
    )
    chain = chain_of(robot)
    numbers = chain.at_rest()[PREPARED]
    assert sorted(element for element in numbers if element >= chain.first[-1]) == [
        *range(chain.first[-1], chain.first[-1] + sum(BASE_NUMBERS.values()) - 1)
    ]
    values = {}
    element = chain.first[-1]
    for name, size in BASE_NUMBERS.items():
        values[name] = [numbers.get(e) for e in range(element, element + size)]
        element += size
    assert values["gravity"] == [1, -2, 3]
    gravity, axes = values["frame_gravity"], values["frame_axes"]
    rows = np.array(axes, dtype=object).reshape(3, 3)
    with_gravity = rows @ np.array(gravity, dtype=object)
    assert [float(x) for x in with_gravity] == pytest.approx([1, -2, 3], abs=1e-30)
    assert values["acceleration"] == [-x for x in gravity if x is not None]
    element = chain.first[-1]
    for name, size in BASE_NUMBERS.items():
        if name in ("frame_gravity", "frame_axes", "gravity"):
            numbers_of_base = [chain.of_the_base(element + i) for i in range(size)]
            assert numbers_of_base == values[name]
        element += size


@pytest.mark.parametrize(
    ("links", "fault"),
    [
        ((("revolute", -1), ("revolute", 0)), ""),
        (
            (("revolute", -1), ("prismatic", 0)),
            "its joints are not all of one kind with one degree of freedom",
        ),
        (
            (("spherical", -1), ("spherical", 0)),
            "its joints are not all of one kind with one degree of freedom",
        ),
        ((("revolute", -1), ("revolute", -1)), "its links are not one chain"),
        ((("revolute", -1), ("revolute", 0), ("revolute", 0)), "its links are not one chain"),
    ],
)
def test_a_single_chain_has_joints_of_one_kind(
    links: tuple[tuple[str, int], ...], fault: str
) -> None:
    assert chain_fault(reframe(tree(*links))) == fault


# -- steps of the first link -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def gravity_of_a_chain() -> LoopProgram:
    return recursion(
        tree(*(("revolute", i - 1) for i in range(3))), "gravity_force", "newton_euler"
    )


def test_steps_of_the_first_link_are_those_that_halve_the_operations(
    gravity_of_a_chain: LoopProgram,
) -> None:
    form = gravity_of_a_chain
    usual = form.without_base_steps()
    assert with_base_steps(usual) == form
    assert any(sweep.base_step is not None for sweep in form.sweeps)
    for sweep, plain in zip(form.sweeps, usual.sweeps, strict=True):
        assert plain.base_step is None
        if sweep.base_step is not None:
            assert 2 * sweep.base_step.cost <= sweep.steps[form.class_of[0]].cost
            assert sweep.initial
            assert sweep.base_step.outputs


def test_only_chains_of_several_links_have_steps_of_the_first_link(
    gravity_of_a_chain: LoopProgram,
) -> None:
    usual = gravity_of_a_chain.without_base_steps()
    short = replace(
        usual,
        parents=(-1,),
        class_of=usual.class_of[:1],
        constants=usual.constants[:1],
        inputs=tuple(replace_size(port, 1) for port in usual.inputs),
        outputs=tuple(replace_size(port, 1) for port in usual.outputs),
    )
    assert with_base_steps(short) is short
    two = replace(
        short, parents=(-1, 0), class_of=usual.class_of[:2], constants=usual.constants[:2]
    )
    assert any(sweep.base_step is not None for sweep in with_base_steps(two).sweeps)
    branched = replace(usual, parents=(-1, 0, 0))
    assert with_base_steps(branched) is branched


def replace_size(port: Port, size: int) -> Port:
    return port._replace(shape=(size,))


def test_a_known_argument_is_a_constant_of_the_first_step() -> None:
    """x = carry + saved, times q: the carry is zero, the saved value two, and nothing receives a
    carry.
    """
    step = Program(
        "f",
        "m",
        (Port("q", (1,)), Port(CARRY, (1,)), Port(SAVED, (2,))),
        (Port(CARRY, (1,), (5,)), Port("tau", (1,), (4,))),
        (
            Row("input", (), (1, 0)),
            Row("input", (), (2, 1)),
            Row("add", (0, 1)),
            Row("input", (), (0, 0)),
            Row("mul", (2, 3)),
            Row("sin", (4,)),
        ),
    )
    known_values = {(CARRY, 0): Fraction(0), (SAVED, 1): Fraction(2), (SAVED, 0): Fraction(7)}
    for drops_carry, names in ((True, ["tau"]), (False, [CARRY, "tau"])):
        first = base_steps._specialized(step, known_values, drops_carry)
        assert [port.name for port in first.inputs] == ["q"]
        assert [port.name for port in first.outputs] == names
        (result,) = first.outputs[-1].rows
        assert first.rows[result].op in ("mul", "add")
        assert first.cost == 1
        assert any(row.op == "sin" for row in first.rows) != drops_carry
    unknown = base_steps._specialized(step, {(CARRY, 0): Fraction(0)}, True)
    assert [port.name for port in unknown.inputs] == ["q", SAVED]


def test_constants_that_a_step_saves_are_known_to_later_sweeps() -> None:
    step = Program(
        "f",
        "m",
        (Port("q", (1,)),),
        (Port("tau", (1,), (0,)), Port(SAVED, (2,), (1, 0))),
        (Row("const", (), Fraction(3)), Row("input", (), (0, 0))),
    )
    saved = {(SAVED, 4): Fraction(9), (SAVED, 7): Fraction(8)}
    base_steps._save_constants(step, 4, saved)
    assert saved == {(SAVED, 5): 3, (SAVED, 7): 8}


# -- the comparison of loops in numbers ------------------------------------------------------------


def test_arguments_of_the_comparison_have_unit_quaternions() -> None:
    links = reframe(tree(("free", -1), ("revolute", 0), ("spherical", 1))).links
    state = numeric_check._state(links, {"q": 12, "q_next": 12, "v": 10})
    for name in ("q", "q_next"):
        for first in (3, 8):
            assert sum(x * x for x in state[name][first : first + 4]) == 1
    assert state["q"][3:7] != state["q_next"][3:7]
    assert len({*state["v"]}) > 5
    assert all(abs(x) < 1 for values in state.values() for x in values)


@pytest.mark.parametrize(
    ("links", "chosen", "parents"),
    [
        # up to six links are compared as they are
        (tuple(("revolute", (i - 1) // 2) for i in range(6)), [*range(6)], [-1, 0, 0, 1, 1, 2]),
        # two links of the class behind the root, and further ones while there is room
        (tuple(("revolute", i - 1) for i in range(9)), None, None),
        # a branch in a longer robot
        (tuple(("revolute", (i - 1) // 2) for i in range(9)), None, None),
        # a root that moves freely keeps two of its children
        (
            (
                ("free", -1),
                ("revolute", 0),
                ("revolute", 0),
                *(("revolute", i) for i in range(1, 8)),
            ),
            None,
            None,
        ),
        # two classes
        (tuple((("revolute", "prismatic")[i % 2], i - 1) for i in range(10)), None, None),
    ],
)
def test_the_comparison_has_two_links_of_every_class(
    links: tuple[tuple[str, int], ...], chosen: list[int] | None, parents: list[int] | None
) -> None:
    robot = tree(*links)
    form = recursion(robot, "gravity_force", "newton_euler")
    model = reframe(robot)
    taken, parents_taken = numeric_check._chosen(form, model, -1)
    if chosen is not None:
        assert (taken, parents_taken) == (chosen, parents)
        return
    assert len(taken) == len({*taken}) <= numeric_check.FEW
    assert taken[0] == 0
    assert parents_taken[0] == -1
    assert all(0 <= parent < i for i, parent in enumerate(parents_taken) if i)
    for number in range(len(form.link_classes)):
        in_class = [i for i, c in enumerate(form.class_of) if c == number]
        assert len([i for i in taken if form.class_of[i] == number]) >= min(2, len(in_class))
    branched = any(len(children) > 1 for children in form.children)
    assert (len({*parents_taken}) < len(parents_taken)) == branched
    if links[0][0] == "free":
        assert taken[:3] == [0, 1, 2]
        assert parents_taken[:3] == [-1, 0, 0]
    for frame in (len(links) - 1, 1, 3):
        with_frame, _ = numeric_check._chosen(form, model, frame)
        assert frame in with_frame
        assert len({*with_frame}) == len(with_frame)


class Form:
    """A form of one class of links that follow each other, and what a choice of links reads."""

    def __init__(self, links: int, branched: bool = False) -> None:
        self.parents = (-1, *range(links - 1))
        self.children = [(i + 1,) for i in range(links - 1)] + [()]
        self.children[0] += (links - 1,) if branched else ()
        self.class_of, self.link_classes, self.roots = (0,) * links, (None,), (0,)

    def __len__(self) -> int:
        return len(self.parents)


@pytest.mark.parametrize("branched", [False, True])
@pytest.mark.parametrize("heavy", [{8, 9}, {3, 9}, {0, 9}, {0, 5, 8}, {*range(10)}])
def test_two_links_with_a_mass_carry_nothing_of_the_links_that_are_compared(
    heavy: set[int], branched: bool
) -> None:
    """They come last, behind links without a mass; the root itself does not count.

    Two links of the class and two further ones follow the root, and then those with a mass that
    are missing.
    """
    links = [
        SimpleNamespace(kind="revolute", inertia=SimpleNamespace(m=k.rational(int(i in heavy))))
        for i in range(10)
    ]
    form: Any = Form(10, branched)
    model: Any = SimpleNamespace(links=links)
    chosen, parents = numeric_check._chosen(form, model, -1)
    with_mass = [i for i in chosen[1:] if i in heavy]
    assert len(with_mass) >= min(2, len(heavy - {0}))
    assert chosen[len(chosen) - len(with_mass) :] == with_mass
    missing = sorted(heavy - {*range(5)})[: max(0, 2 - len(heavy & {1, 2, 3, 4}))]
    assert sorted(chosen) == [*range(5), *missing]
    assert chosen[0] == 0
    chain = [*range(-1, len(chosen) - 1)]
    assert parents == ([*chain[:-1], chain[-2]] if branched else chain)


def test_links_that_are_compared_are_joined_and_the_first_stands_on_the_base_of_the_robot() -> None:
    """Coordinates are numbered anew, and all other facts of a link remain."""
    robot = tree(*(("revolute", i - 1) for i in range(4)))
    form = recursion(robot, "gravity_force", "newton_euler")
    model = build.placed_links(robot, False)
    first, second, third = numeric_check._joined_links(form, model, [2, 1, 3], [-1, 0, 0])
    root = model.links[0]
    where = {"gravity": root.gravity, "base_rotation": root.base_rotation}
    where |= {"base_shift": root.base_shift}
    entries = [slice(i, i + 1) for i in range(3)]
    assert first == replace(model.links[2], parent=-1, q=entries[0], v=entries[0], **where)
    assert second == replace(model.links[1], parent=0, q=entries[1], v=entries[1])
    assert third == replace(model.links[3], parent=0, q=entries[2], v=entries[2])
    assert root.gravity != model.links[2].gravity or root.base_shift != model.links[2].base_shift


def test_a_shortened_form_has_the_tables_and_sizes_of_the_chosen_links() -> None:
    """A carry that comes from all links, or a sweep of all links, does not depend on the choice."""
    robot = tree(*(("revolute", i - 1) for i in range(4)))
    chosen, parents, sizes = [0, 3], [-1, 0], {"q": 2, "v": 2, "T": 1}
    energy = recursion(robot, "kinetic_energy", "newton_euler")
    short = numeric_check._shortened(energy, chosen, parents, sizes)
    assert short.parents == (-1, 0)
    assert short.constants == (energy.constants[0], energy.constants[3])
    assert short.class_of == (energy.class_of[0], energy.class_of[3])
    assert [(port.name, port.size) for port in short.inputs] == [("q", 2), ("v", 2)]
    assert {final.link for final in short.final_carries} == {-1}
    assert {sweep.only_path_to for sweep in short.sweeps} == {-1}
    frame = robot.frames[-1]
    pose = recursion(robot, "bias_acceleration", "newton_euler", frame.name)
    assert {sweep.only_path_to for sweep in pose.sweeps} <= {-1, frame.body}
    sizes = {port.name: numeric_check._size(port, pose, chosen) for port in pose.inputs}
    sizes |= {port.name: numeric_check._size(port, pose, chosen) for port in pose.outputs}
    assert (sizes["q"], sizes["Jdot_v"]) == (2, 6)
    short = numeric_check._shortened(pose, [0, frame.body], parents, sizes)
    assert [final.link for final in short.final_carries] == [1 for _ in pose.final_carries]


def test_a_form_that_differs_from_its_method_in_numbers_is_refused() -> None:
    """A thousandth of one constant of a link that is compared is enough."""
    robot = tree(*(("revolute", i - 1) for i in range(4)))
    form = recursion(robot, "gravity_force", "newton_euler")
    classes = classes_by_kind(reframe(robot), [], False)
    numeric_check.check_numbers(form, build.placed_links(robot, False), None, classes)
    row = tuple(x * Fraction(1001, 1000) for x in form.constants[1])
    wrong = replace(form, constants=(form.constants[0], row, *form.constants[2:]))
    with pytest.raises(NotUniform, match="its sweeps differ in numbers from the method itself"):
        numeric_check.check_numbers(wrong, build.placed_links(robot, False), None, classes)


# -- operations at the base ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "operands", "value"),
    [
        ("add", (2, 3), 5),
        ("sub", (2, 3), -1),
        ("mul", (2, 3), 6),
        ("div", (2, 3), Fraction(2, 3)),
        ("div", (2, 0), 0),
        ("neg", (2,), -2),
        ("log", (2,), 0),
        ("sin", (0,), 0),
        ("cos", (0,), 1),
    ],
)
def test_operations_of_the_base_at_rest_have_exact_values(
    op: str, operands: tuple[int, ...], value: Fraction
) -> None:
    """A divisor that is zero comes from links, and divides zero."""
    assert fold._at_rest(op, *map(Fraction, operands)) == value


@pytest.mark.parametrize("op", ["sin", "cos", "sqrt", "atan2"])
def test_operations_without_an_exact_value_at_the_base_are_refused(op: str) -> None:
    with pytest.raises(NotUniform, match=f"the base passes on the {op} of a value"):
        fold._at_rest(op, Fraction(1, 2))
