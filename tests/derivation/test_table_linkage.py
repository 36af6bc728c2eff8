"""Linkages over table rows: their numbers, and the steps and order of totals over all links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Model, reframe
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import SplitShift, Vector
from symgen.derivation.table_linkage import (
    BASE_NUMBERS,
    PREPARED,
    Columns,
    Naming,
    Tabled,
    constants_of,
)
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.drives import NUMBERS, Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import MethodRefusal
from tests.derivation.exact_scalars import scalars
from tests.shared.robots_for_tests import of_kind, random_mechanism

F = Fraction
FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
BASE = [float(x) for x in range(1, 1 + sum(BASE_NUMBERS.values()))]
"""Numbers of the base: 1, 2, 3 for the gravity in the axes of the base frame, and so on."""
STATE = {"q": [0.3, -1.1, 0.7, 0.1, 0.6, -0.4], "v": [1.3, 0.4, -0.6, 0.8, 0.9]}


def model_of(mechanism: Mechanism) -> Model:
    with k.precision():
        return reframe(mechanism)


def arm(*kinds: str) -> Mechanism:
    """Return a chain of three links with these kinds of joints."""
    mechanism = random_mechanism(3, 5)
    joints = tuple(map(of_kind, mechanism.joints, kinds or ("revolute",) * 3))
    return replace(mechanism, joints=joints)


def tabled(model: Model, *arguments: str, robot: Model | None = None) -> Tabled:
    """Return the linkage of a model with one table row per link."""
    links = model.links
    columns = [
        Columns.of([constants_of(link, with_pose=True)], unshared=UNSHARED) for link in links
    ]
    starts = [sum(c.width for c in columns[:i]) for i in range(len(links) + 1)]
    sizes = {name: len(links) for name in arguments or ("q", "v")}
    derivation = Naming(sizes | {PREPARED: starts[-1] + len(BASE)})
    return Tabled(model, derivation, columns, starts, robot=robot)


UNSHARED = (
    *(name for name in constants_of(model_of(arm()).links[0], True) if name not in NUMBERS),
    *("cos_beta", "sin_beta"),
)
"""Names of the constants of a link except those of its drive. Each is a column here."""


def table_of(model: Model) -> list[float]:
    """Return the table rows of all links, and the numbers of the base."""
    rows: list[float] = []
    for link in model.links:
        numbers = constants_of(link, with_pose=True)
        rows += map(k.as_float, Columns.of([numbers], unshared=UNSHARED).row(numbers))
    return rows + BASE


def values(linkage: Linkage, entries: Sequence[Scalar], model: Model) -> list[float]:
    """Return the values of entries at STATE."""
    derivation = linkage.derivation
    sizes = {name: len(rows) for name, rows in derivation.inputs.items()}
    shapes = {name: (size,) for name, size in sizes.items()}
    program = derivation.freeze("f", "m", [("y", (len(entries),), list(entries))], shapes)
    state = {name: STATE[name][:size] for name, size in sizes.items() if name in STATE}
    if PREPARED in sizes:
        state[PREPARED] = table_of(model)[-sizes[PREPARED] :]
    return [float(x) for x in evaluate(program, state, FLOATS)["y"]]


# -- numbers of links ------------------------------------------------------------------------------


def geometry(linkage: Linkage, i: int) -> list[Scalar]:
    """Return pose, motions, inertia, declared frame and mass centre of a link."""
    link, inertia = linkage.links[i], linkage.inertia[i]
    unit = linkage.vector(k.IDENTITY[1])
    rotation, origin = linkage.declared_frame(i)
    entries = [*link.rotation.to_parent(linkage.vector((k.ONE, k.rational(2), k.rational(3))))]
    entries += [*link.shift, *rotation.to_parent(unit), *origin]
    entries += [x for dof in link.dofs for x in (*dof.H_angular, *dof.H_linear)]
    return [*entries, inertia.m, *inertia.h, *inertia.S.entries]


@pytest.mark.parametrize("kinds", [(), ("prismatic", "revolute", "helical")])
def test_links_of_a_table_equal_those_of_the_model(kinds: tuple[str, ...]) -> None:
    model = model_of(arm(*kinds))
    with k.precision():
        table = tabled(model)
        plain = Linkage(model, Derivation({"q": 3, "v": 3}))
        for i in range(3):
            expected = values(plain, geometry(plain, i), model)
            assert values(table, geometry(table, i), model) == pytest.approx(expected, abs=1e-14)
            centre = [k.as_float(x) for x in model.links[i].center]
            assert values(table, [*table.end_point(i)], model) == pytest.approx(centre)


TILTED = k.rotation_about(k.IDENTITY[0], k.rational(F(3, 5)), k.rational(F(4, 5)))
"""A rotation after which z points to (0, −4/5, 3/5)."""
TURNED = k.rotation_about(k.IDENTITY[2], k.rational(F(3, 5)), k.rational(F(4, 5)))
UPRIGHT = (k.IDENTITY[0], k.IDENTITY[1], k.IDENTITY[2])


@pytest.mark.parametrize(
    ("kind", "rotation", "shift", "parts"),
    [
        # one number along the axis and one or two across it are as many as before
        ("revolute", UPRIGHT, (0, 3, 2), ((0, 0, 2), (0, 3, 0))),
        ("revolute", UPRIGHT, (5, 3, 2), ((0, 0, 2), (5, 3, 0))),
        ("revolute", TILTED, (0, -4, 3), ((0, 0, 5), (0, 0, 0))),
        # nothing is along the axis, or both parts together take more numbers than the whole
        ("revolute", UPRIGHT, (5, 3, 0), None),
        ("revolute", TILTED, (0, 5, 0), None),
        ("revolute", TILTED, (1, -4, 4), None),
        # a sliding joint moves along its axis, and one in a plane across it
        ("prismatic", TURNED, (5, 0, 0), ((0, 0, 0.7), (5, 0, 0))),
        ("planar", TURNED, (5, 0, 2), None),
        # without a rotation, the parts are in the same axes
        ("prismatic", UPRIGHT, (5, 0, 2), None),
    ],
)
def test_a_shift_is_split_along_the_joint_axis_if_that_takes_no_more_numbers(
    kind: str,
    rotation: k.Mat3,
    shift: tuple[int, int, int],
    parts: tuple[tuple[float, ...], tuple[float, ...]] | None,
) -> None:
    """The inner part is along the joint axis, in the axes of the link, and the outer one across."""
    with k.precision():
        model = reframe(arm("revolute", "revolute", kind))
        x, y, z = map(k.rational, shift)
        last = replace(model.links[2], rotation=rotation, shift=(x, y, z))
        model = replace(model, links=(*model.links[:2], last))
        sizes = {"q": last.q.stop, "v": last.v.stop}
        columns = [Columns.of([constants_of(link)]) for link in model.links]
        table = Tabled(
            model, Naming({**sizes, PREPARED: len(BASE)}), columns, [0] * (len(columns) + 1)
        )
        for linkage in (table, Linkage(model, Derivation(sizes))):
            split = linkage.links[2].shift
            assert isinstance(split, SplitShift) == (parts is not None)
            if isinstance(split, SplitShift):
                entries = values(linkage, [*split.inner, *split.outer], model)
                assert entries == pytest.approx([*parts[0], *parts[1]])  # type: ignore[index]


def test_numbers_of_the_base_follow_the_table() -> None:
    """Three of gravity in the base frame, nine of its axes by row, and so on."""
    model = model_of(arm())
    with k.precision():
        table = tabled(model)
        unit = [table.vector(axis) for axis in k.IDENTITY]
        axes = [values(table, [*table.base_axes(0).to_parent(e)], model) for e in unit]
        assert np.transpose(axes).tolist() == [[4, 5, 6], [7, 8, 9], [10, 11, 12]]
        assert values(table, [*table.prescribed_acceleration(0)], model) == [13, 14, 15]
        assert values(table, [*table.base_position(0)], model) == [16, 17, 18]
        assert values(table, [*table.gravity_in_base(0)], model) == [19, 20, 21]
        assert values(table, [*table.base_gravity], model) == [19, 20, 21]


def test_other_links_are_accelerated_by_a_zero_that_counts_as_a_variable() -> None:
    model = model_of(arm())
    with k.precision():
        table = tabled(model)
        acceleration = table.prescribed_acceleration(1)
        assert not any(entry.is_zero for entry in acceleration)
        assert values(table, [*acceleration], model) == [2 * BASE[-1]] * 3


def test_the_force_that_drives_leave_is_named_where_a_joint_has_a_drive() -> None:
    """Other joints keep the argument itself."""
    mechanism = arm()
    joints = list(mechanism.joints)
    joints[1] = replace(joints[1], drive=Drive(damping=Fraction(1, 2)))
    for robot, named in ((mechanism, []), (replace(mechanism, joints=tuple(joints)), [1])):
        with k.precision():
            table = tabled(model_of(robot), "q", "v", "tau")
            derivation = table.derivation
            assert isinstance(derivation, Naming)
            names = {name for several in derivation.all_names.values() for name in several}
            left = {f"left1_{i + 1}" for i in range(3)}
            assert names & left == {f"left1_{i + 1}" for i in named}


def test_numbers_of_drives_are_those_of_the_table_row_of_their_link() -> None:
    mechanism = arm()
    joints = tuple(
        replace(joint, drive=Drive(F(i + 1, 2), F(i + 1, 3), F(i + 1, 4), F(i + 1, 5), F(i + 1, 6)))
        for i, joint in enumerate(mechanism.joints)
    )
    model = model_of(replace(mechanism, joints=joints))
    with k.precision():
        rows = [constants_of(link) for link in model.links]
        columns = Columns.of(rows, ("rest", "armature"))
        starts = [columns.width * i for i in range(4)]
        derivation = Naming({"q": 3, "v": 3, PREPARED: starts[-1] + len(BASE)})
        table = Tabled(model, derivation, [columns] * 3, starts)
        drives = [getattr(drive, name) for drive in table.drives for name in NUMBERS]
        program = derivation.freeze(
            "f",
            "m",
            [("y", (len(drives),), drives)],
            {name: (len(entries),) for name, entries in derivation.inputs.items()},
        )
    prepared = [k.as_float(x) for row in rows for x in columns.row(row)] + BASE
    state = {"q": STATE["q"][:3], "v": STATE["v"][:3], PREPARED: prepared}
    expected = [float(getattr(joint.drive, name)) for joint in joints for name in NUMBERS]
    assert evaluate(program, state, FLOATS)["y"] == pytest.approx(expected)


# -- questions about the robot ---------------------------------------------------------------------


def test_a_question_about_links_has_one_answer_for_all_that_have_a_parent() -> None:
    model = model_of(arm())
    with k.precision():
        table = tabled(model, robot=model)
        alone = tabled(model, robot=replace(model, links=model.links[:1]))
    asked: list[int] = []

    def is_odd(robot: Model, i: int) -> bool:
        asked.append(i)
        return i % 2 == 1

    with pytest.raises(MethodRefusal, match="differ in how they are attached to their parents"):
        table.ask_link(is_odd, 2)
    assert asked == [1, 2]
    assert table.ask_link(lambda robot, i: i > 0, 0)
    assert not table.ask_link(lambda robot, i: i == 0, 0)
    assert alone.ask_link(lambda robot, i: False, 0)
    assert table.ask_model(lambda robot: robot is model)


def test_values_that_a_frame_supplies_are_numbered_from_one() -> None:
    with k.precision():
        table = tabled(model_of(arm()))
        table.mark_frame_seed("G", Vector(scalars(table.derivation, (3, Fraction(1, 2), -5))))
    assert table.seeds == {"G_1": 3, "G_2": Fraction(1, 2), "G_3": -5}


# -- totals over links -----------------------------------------------------------------------------


def links_of_steps(table: Tabled, first: int) -> list[int]:
    """Return the links of the steps from `first` on."""
    return [table.link_of[step] for step in range(first, len(table.derivation.steps))]


def test_totals_are_combined_from_the_tip_in_steps_of_their_links() -> None:
    model = model_of(arm())
    with k.precision():
        table = tabled(model)
        q = table.inputs["q"]
        by_link = dict(enumerate(q))
        start = len(table.derivation.steps)
        whole = table.sum_over_links(by_link.items())
        added = table.sum_over_links(by_link.items(), table.inputs["v"][0])
        assert links_of_steps(table, start) == [2, 1, 0, 2, 1, 0]
        start = len(table.derivation.steps)
        difference = table.combine_over_links(lambda a, b: a - b, by_link)
        assert links_of_steps(table, start) == [2, 1, 0]
        a, b, c = STATE["q"][:3]
        expected = [a + b + c, a + b + c + STATE["v"][0], c - b - a]
        assert values(table, [whole, added, difference], model) == pytest.approx(expected)


@pytest.mark.parametrize("count", [3, 2])
def test_products_of_all_pivots_have_a_step_for_each_link(count: int) -> None:
    """A product of fewer factors belongs to the current step."""
    model = model_of(arm())
    with k.precision():
        table = tabled(model)
        factors = [x * x for x in table.inputs["q"][:count]]
        start = len(table.derivation.steps)
        results = [table.product(factors), table.log_product(factors)]
        assert links_of_steps(table, start) == ([2, 1, 0, 2, 1, 0] if count == 3 else [])
        product = math.prod(x * x for x in STATE["q"][:count])
        expected = [product, math.log(product)]
        assert values(table, results, model) == pytest.approx(expected)


def test_products_of_several_factors_of_each_link_have_two_steps_for_each() -> None:
    """One for the factors of the link, and one for the links behind it."""
    model = model_of(arm())
    with k.precision():
        table = tabled(model)
        q = [x * x for x in table.inputs["q"]]
        factors_of = {0: [q[0]], 1: [q[1], q[2]], 2: [q[2]]}
        for total, join in (
            (table.product_over_links, float),
            (table.log_product_over_links, math.log),
        ):
            start = len(table.derivation.steps)
            result = total(factors_of)
            assert links_of_steps(table, start) == [0, 1, 2, 2, 1, 0]
            a, b, c = (x * x for x in STATE["q"][:3])
            assert values(table, [result], model) == [pytest.approx(join(a * b * c * c))]


def test_blocks_up_to_the_diagonal_are_computed_first_and_each_row_ends_there() -> None:
    """Blocks beyond the diagonal follow, by column; each block has a step of its row joint."""
    with k.precision():
        table = tabled(model_of(arm()))
        start = len(table.derivation.steps)
        blocks = [(row, column) for column in range(3) for row in range(3)]
        order = [*table.block_order(blocks, "products")]
    assert order == [
        *[(0, 0), (1, 1), (1, 0), (2, 2), (2, 0), (2, 1)],
        *[(0, 1), (0, 2), (1, 2)],
    ]
    assert links_of_steps(table, start) == [row for row, _ in order]
    carried = [", for the links that it carries" in s for s in table.derivation.steps[start:]]
    assert carried == [column > row for row, column in order]
