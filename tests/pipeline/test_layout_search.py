"""Search for the layout of frames: its moves, what it counts, and the layouts that it finds for
short arms.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

import symgen
from symgen.derivation import constants as k
from symgen.derivation.model import Model, reframe, regroup
from symgen.derivation.model.share import GROUND
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import derive, layout
from symgen.pipeline.layout import PLAIN, Layout, Layouts
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Angle, Pose, Shift, Turn
from tests.shared.robots_for_tests import random_mechanism


def first_links(name: str, count: int) -> Mechanism:
    """Return the first links of a built-in chain as a robot."""
    robot = symgen.load(name).without_drives
    return replace(
        robot,
        name=f"{name}{count}",
        joints=robot.joints[:count],
        bodies=robot.bodies[:count],
        frames=tuple(frame for frame in robot.frames if frame.body < count),
    )


def model_of(mechanism: Mechanism) -> Model:
    with k.precision():
        return reframe(mechanism)


def branched() -> Mechanism:
    """Return a trunk of two links, on which two branches of two links stand: 0 - 1 - (2 - 3, 4 -
    5).
    """
    mechanism = random_mechanism(6, 2)
    parents = (-1, 0, 1, 2, 1, 4)
    joints = tuple(
        replace(joint, parent=parent)
        for joint, parent in zip(mechanism.joints, parents, strict=True)
    )
    return replace(mechanism, joints=joints)


# -- layouts -------------------------------------------------------------------------------------


def test_the_plain_layout_has_the_chosen_frames_and_a_declared_one_the_declared_origins() -> None:
    arm = first_links("ur5", 3)
    assert derive.model_in_layout(arm, PLAIN).links == derive.models(arm)[0].links
    declared = derive.model_in_layout(arm, Layout(declared=True))
    assert all(k.is_zero(x) for link in declared.links for x in link.placement[1])
    assert any(not k.is_zero(x) for link in derive.models(arm)[0].links for x in link.placement[1])


def test_the_start_of_a_frame_is_that_of_its_placement() -> None:
    arm = first_links("ur5", 3)
    starts = derive.frame_starts(arm)
    for start, link in zip(starts, derive.models(arm)[0].links, strict=True):
        assert start == tuple(map(k.as_float, link.placement[1]))
    assert len({*starts}) > 1


def test_a_slide_makes_a_link_level_with_its_parent_or_its_child() -> None:
    """After a slide towards the parent the origins lie in one plane across the axis, as they do
    after one towards a child.
    """
    with k.precision():
        model = reframe(first_links("ur5", 3))
        to_parent, to_child = (Layout(((1, toward),)).lay(model) for toward in (GROUND, 2))
        assert k.is_zero(layout.axial_offset(to_parent, 1, GROUND))
        assert k.is_zero(to_child.links[2].shift[2])
        both = Layout(((1, GROUND), (2, GROUND)))
        steps = dict(both.steps(model))
        assert [*steps] == [1, 2]
        first, second = (layout.axial_offset(model, i, GROUND) for i in (1, 2))
        assert k.is_zero(k.normalize(steps[1] - first))
        # the slide of link 1 has moved the origin from which link 2 is measured
        assert k.is_zero(k.normalize(steps[2] - second - first))
        assert not k.is_zero(first)


def test_layouts_survive_as_plain_data() -> None:
    general = Layout(((1, -1), (2, 3)), ((2, -1),))
    layouts = Layouts(general, (("mass_matrix", PLAIN), ("inverse_dynamics", Layout(((0, 1),)))))
    assert layout._layouts_from_facts(layout.layouts_to_plain(layouts)) == layouts


def test_candidates_are_the_general_layout_that_of_the_function_and_the_plain_one() -> None:
    panda = symgen.load("panda")
    layouts = layout.layouts(panda)
    by_function = dict(layouts.by_function)
    assert layout.candidate_layouts(panda, "mass_matrix") == (
        layouts.general,
        by_function["mass_matrix"],
        PLAIN,
    )
    assert layout.candidate_layouts(panda, "jacobian") == (layouts.general, PLAIN)
    assert layout.candidate_layouts(panda, "regressor") == (
        Layout((), layouts.general.axes, declared=True),
        Layout(declared=True),
    )
    assert layout.candidate_layouts(first_links("ur5", 2), "jacobian") == (PLAIN,)


@pytest.mark.usefixtures("polished_here")
def test_methods_that_weigh_each_link_use_its_own_axes() -> None:
    """A method that does not move inertia to the parents, and a function of each link's own
    inertia.
    """
    panda = symgen.load("panda")
    options = symgen.vocabulary.options.ProgramOptions()
    plain = derive.Attempt(panda, "mass_matrix_solve", "fixman:spatial", options)
    usual = derive.Attempt(panda, "mass_matrix_solve", "composite_body", options)
    weighing = derive.Attempt(panda, "interbody_forces", "riccati", options)
    assert FUNCTIONS["interbody_forces"].own_inertia
    assert plain._layouts() == weighing._layouts() == (PLAIN,)
    assert len(usual._layouts()) > 1


def test_a_search_is_needed_for_an_unknown_robot_of_few_joints() -> None:
    assert layout.is_known(symgen.load("panda"))
    assert layout.is_known(random_mechanism(layout.MOST_JOINTS + 1))
    assert not layout.is_known(random_mechanism(layout.MOST_JOINTS))
    assert layout.MOST_JOINTS == 40
    robot = random_mechanism(3, 9)
    assert not layout.is_known(robot)
    with layout.cache.in_memory():
        layout.cache.keep(layout.layouts_to_plain(Layouts()), "layout", robot.content)
        assert layout.is_known(robot)


# -- moves -----------------------------------------------------------------------------------------


def test_changed_choices_replace_earlier_ones_and_none_removes_them() -> None:
    pairs = ((0, 1), (2, -1), (5, 4))
    assert layout._changed(pairs, {2: None, 1: 3, 0: -1}) == ((0, -1), (1, 3), (5, 4))


def test_equal_links_choose_their_own_equal_neighbours() -> None:
    alike = [(0, 2), (1, 3), (0, 2), (1, 3)]
    assert layout._corresponding(1, [2, 3], alike) == 3
    assert layout._corresponding(1, [0, 2], alike) is None
    assert layout._corresponding(None, [3], alike) is None
    assert layout._corresponding(GROUND, [3], alike) == GROUND


def test_links_are_equal_if_all_behind_and_before_them_is() -> None:
    quadruped = symgen.load("quadruped")
    with k.precision():
        model = reframe(quadruped)
        alike = layout._alike(model, regroup(model))
    legs = [links for links in alike if len(links) == 4]
    assert {*legs} == {(1, 4, 7, 10), (2, 5, 8, 11), (3, 6, 9, 12)}
    assert alike[0] == (0,)
    with k.precision():
        chain = reframe(symgen.load("planar_arm"))
        assert layout._alike(chain, regroup(chain)) == [(0,), (1,)]


def two_branches(*poses: Pose, roots: int = 1) -> list[tuple[int, ...]]:
    """Return the equal links of two branches with these poses on one root, or on two equal ones."""
    (joint,), (body,) = random_mechanism(1, 1).joints, random_mechanism(1, 1).bodies
    (part,) = body.parts
    parents = (*[-1] * roots, 0, roots - 1)
    places = (*[()] * roots, *poses)
    links = range(len(parents))
    robot = replace(
        random_mechanism(1, 1),
        joints=tuple(
            replace(joint, name=f"j{i}", parent=parents[i], pose=places[i], axis=Z_AXIS)
            for i in links
        ),
        bodies=tuple(
            replace(body, name=f"b{i}", parts=(replace(part, link=f"b{i}"),)) for i in links
        ),
        frames=(),
        gravity=(Fraction(0), Fraction(0), Fraction(-10)),
    )
    with k.precision():
        model = reframe(robot)
        return layout._alike(model, regroup(model))


def shifted(x: str, y: str) -> Pose:
    return (Shift((Fraction(x), Fraction(y), Fraction(0))),)


def test_equal_links_have_zeros_in_the_same_places() -> None:
    """Other numbers may differ."""
    turned = (
        Turn(X_AXIS, Angle(pi=Fraction(1, 2))),
        Shift((Fraction(1, 3), Fraction(0), Fraction(0))),
    )
    back = (
        Turn(X_AXIS, Angle(pi=Fraction(-1, 2))),
        Shift((Fraction(1, 3), Fraction(0), Fraction(0))),
    )
    aslant = (
        Turn(X_AXIS, Angle(pi=Fraction(1, 3))),
        Shift((Fraction(1, 3), Fraction(0), Fraction(0))),
    )
    assert two_branches(shifted("1/3", "0"), shifted("1/7", "0")) == [(0,), (1, 2), (1, 2)]
    assert two_branches(shifted("1/3", "0"), shifted("1", "0")) == [(0,), (1, 2), (1, 2)]
    assert two_branches(turned, back) == [(0,), (1, 2), (1, 2)]
    assert two_branches(turned, aslant) == [(0,), (1,), (2,)]
    assert two_branches(turned, shifted("1/3", "0")) == [(0,), (1,), (2,)]
    assert two_branches(shifted("1/3", "0"), shifted("1/3", "1/5")) != [(0,), (1, 2), (1, 2)]


def test_equal_links_stand_on_equal_parents() -> None:
    pose = shifted("1/3", "0")
    assert two_branches(pose, pose, roots=2) == [(0, 1), (0, 1), (2, 3), (2, 3)]


def test_moves_of_a_link_change_its_axes_or_its_origin() -> None:
    with k.precision():
        model = reframe(first_links("ur5", 3))
        alike = [(0,), (1,), (2,)]
        start = Layout(((2, GROUND),), ((2, GROUND),))
        moves = [*layout._moves(model, start, (1,), alike)]
        axes = [move for move in moves if move.slides == start.slides]
        slides = [move for move in moves if move not in axes]
        # links 1 and 2 turn about parallel axes, and link 0 about another
        assert [dict(move.axes).get(1) for move in axes] == [None, GROUND, 2, None]
        assert [dict(move.slides).get(1) for move in slides] == [GROUND]
        assert all(dict(move.axes)[2] == GROUND for move in moves)
        assert all(dict(move.slides)[2] == GROUND for move in moves)
        ball = reframe(symgen.load("spherical_pendulum"))
        assert not [*layout._moves(ball, PLAIN, (0,), [(0,)])]


# -- counts ----------------------------------------------------------------------------------------


def test_a_limb_is_a_link_with_its_ancestors_and_descendants() -> None:
    with k.precision():
        counting = layout._Counting(reframe(branched()))
    assert [counting._limb(i) for i in range(6)] == [
        (0, 1, 2, 3, 4, 5),
        (0, 1, 2, 3, 4, 5),
        (0, 1, 2, 3),
        (0, 1, 2, 3),
        (0, 1, 4, 5),
        (0, 1, 4, 5),
    ]


def test_a_limb_is_a_robot_of_its_links_alone() -> None:
    model = model_of(branched())
    limb = layout._Limb(model, (0, 1, 4, 5))
    assert [link.parent for link in limb.model.links] == [-1, 0, 1, 2]
    assert [(link.q.start, link.v.stop) for link in limb.model.links] == [
        (i, i + 1) for i in range(4)
    ]
    assert (limb.sizes.NQ, limb.sizes.NV, limb.sizes.NB) == (4, 4, 4)
    assert [link.shift for link in limb.model.links] == [model.links[i].shift for i in (0, 1, 4, 5)]
    whole = Layout(((1, GROUND), (2, 3), (4, 5)), ((1, 2), (3, GROUND), (5, 4)))
    assert limb.restrict(whole) == Layout(((1, GROUND), (2, 3)), ((3, 2),))


def test_counts_are_operations_after_the_first_passes_and_recorded_rows() -> None:
    arm = first_links("ur5", 2)
    limb = layout._Limb(model_of(arm), (0, 1))
    operations, rows = limb.count(PLAIN)
    programs = [limb.derived(PLAIN, *measured) for measured in layout.MEASURED]
    assert rows == sum(len(program.rows) for program in programs)
    assert (
        operations
        == sum(layout.passes.cost(layout.passes.begin(program)) for program in programs)
        < rows
    )
    assert [len(port.rows) for program in programs for port in program.outputs[:1]] == [2, 4]


def test_each_choice_is_counted_once() -> None:
    counting = layout._Counting(model_of(first_links("ur5", 2)))
    first = counting(1, PLAIN)
    rows = counting.rows
    assert rows > 0
    assert counting(0, PLAIN) == counting(1, PLAIN) == first
    assert counting.rows == rows
    counting(1, Layout(((1, GROUND),)))
    assert counting.rows > rows


# -- the search ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("full_search")
def test_no_single_move_shortens_the_layout_of_a_search() -> None:
    """It is shorter than the plain layout; the layouts of single functions are shorter still."""
    count = 3
    arm = first_links("ur5", count)
    layouts = layout.search(arm)
    with k.precision():
        model = reframe(arm)
        alike = layout._alike(model, regroup(model))
        counting = layout._Counting(model)
        least = counting(0, layouts.general)
        assert least < counting(0, PLAIN)
        for links in alike:
            for move in layout._moves(model, layouts.general, links, alike):
                assert counting(links[0], move) >= counting(links[0], layouts.general)
        whole = layout._Limb(model, tuple(range(count)))
        assert layouts.by_function
        for function, method in layout.MEASURED:
            where_shortest = dict(layouts.by_function).get(function, layouts.general)
            costs = [
                layout.passes.finish(
                    layout.passes.begin(whole.derived(where, function, method))
                ).cost
                for where in (where_shortest, layouts.general)
            ]
            if function in dict(layouts.by_function):
                assert costs[0] < costs[1]
            else:
                assert where_shortest == layouts.general


@pytest.mark.usefixtures("full_search")
@pytest.mark.parametrize("name", ["planar_arm", "scara"])
def test_the_search_finds_the_recorded_layout_of_a_short_robot(name: str) -> None:
    robot = symgen.load(name).without_drives
    recorded = layout.committed()[robot.content]
    assert layout.layouts_to_plain(layout.search(robot)) == recorded


@pytest.mark.usefixtures("full_search")
def test_links_of_arms_with_parallel_axes_share_axes_and_planes() -> None:
    """The upper arm and the forearm of this arm turn about parallel axes, across that of the
    shoulder.
    """
    general = layout.search(first_links("puma560", 3)).general
    assert general == Layout(((1, GROUND), (2, GROUND)), ((1, GROUND), (2, GROUND)))


@pytest.mark.usefixtures("full_search")
def test_a_search_ends_at_its_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain layout stays if no other one may be counted."""
    monkeypatch.setattr(layout, "MOST_ROWS", 1)
    assert layout.search(first_links("ur5", 3)) == Layouts()


@pytest.mark.usefixtures("full_search")
def test_a_search_records_thirty_times_the_rows_of_the_plain_layout_or_200000(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = model_of(first_links("ur5", 2))
    rows = {"plain": 700}
    monkeypatch.setattr(layout._Limb, "count", lambda limb, chosen: (9, rows["plain"]))
    assert layout._Counting(model).most == 21_000
    rows["plain"] = 7_000
    assert layout._Counting(model).most == 200_000


def test_a_search_for_one_function_ends_after_its_number_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All layouts but the last one that is derived have at most twice the rows of the first."""
    model = model_of(first_links("ur5", 3))
    derived, lengths = layout._Limb.derived, []

    def counted(limb: layout._Limb, *request: Any) -> Program:
        program = derived(limb, *request)
        lengths.append(len(program.rows))
        return program

    monkeypatch.setattr(layout, "EFFORT", 2)
    monkeypatch.setattr(layout._Limb, "derived", counted)
    with k.precision():
        alike = layout._alike(model, regroup(model))
        layout._descent_of_function(model, alike, PLAIN, *layout.MEASURED[1])
    first, *others = lengths
    assert len(others) > 1
    assert sum(others[:-1]) <= 2 * first < sum(others)


class Counts:
    """Counts of a descent: each of the first `improving` counts is less than those before it."""

    def __init__(self, improving: int) -> None:
        self.rows, self.most, self.improving = 0, 10**6, improving
        self.counted: list[Layout] = []

    def __call__(self, link: int, choice: Layout) -> int:
        self.counted.append(choice)
        return max(-len(self.counted), -self.improving)


@pytest.mark.parametrize(
    ("improving", "sweeps", "last"), [(1, 1, None), (2, 2, 1), (5, 3, 3), (10**6, 3, 6)]
)
def test_a_descent_ends_after_three_sweeps_or_if_a_sweep_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, improving: int, sweeps: int, last: int | None
) -> None:
    """A sweep counts the layout so far and each of its two moves, which are numbered here."""
    model = model_of(first_links("ur5", 1))
    counts = Counts(improving)
    numbers = iter(range(1, 100))
    monkeypatch.setattr(layout, "_Counting", lambda model: counts)
    monkeypatch.setattr(
        layout, "_moves", lambda *_: (Layout(((0, next(numbers)),)) for _ in range(2))
    )
    best = layout._descent(model, [(0,)])
    assert len(counts.counted) == 3 * sweeps
    assert best == (PLAIN if last is None else Layout(((0, last),)))


def test_a_layout_within_one_percent_of_the_fewest_early_operations_is_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operations after all passes decide. Each layout is derived once, in any of the sweeps,
    and there are at most three.
    """
    model = model_of(first_links("ur5", 1))
    early = {0: 1000, 1: 1010, 2: 1011, 3: 1010, 4: 999, 5: 1005, 6: 1000, 7: 900, 8: 900}
    late = {0: 800, 1: 800, 2: 10, 3: 790, 4: 795, 5: 780, 6: 770, 7: 760, 8: 10}
    moves_of_sweeps = iter(([1, 2, 3, 4, 5], [5, 6], [6, 7], [8]))
    finished: list[int] = []

    def derived(limb: layout._Limb, choice: Layout, *_: str) -> SimpleNamespace:
        number = dict(choice.slides).get(0, 0)
        return SimpleNamespace(number=number, rows=range(10 if number else 100))

    def finish(program: SimpleNamespace) -> SimpleNamespace:
        finished.append(program.number)
        return SimpleNamespace(cost=late[program.number])

    monkeypatch.setattr(layout._Limb, "derived", derived)
    monkeypatch.setattr(layout.passes, "begin", lambda program: program)
    monkeypatch.setattr(layout.passes, "cost", lambda program: early[program.number])
    monkeypatch.setattr(layout.passes, "finish", finish)
    monkeypatch.setattr(
        layout, "_moves", lambda *_: (Layout(((0, n),)) for n in next(moves_of_sweeps))
    )
    best = layout._descent_of_function(model, [(0,)], PLAIN, *layout.MEASURED[0])
    assert finished == [0, 1, 3, 4, 5, 6, 7]
    assert best == Layout(((0, 7),))
    moves_of_sweeps = iter(([1], [3]))
    best = layout._descent_of_function(model, [(0,)], PLAIN, *layout.MEASURED[0])
    assert best == PLAIN  # the first sweep has changed nothing


@pytest.mark.parametrize("general", [PLAIN, Layout(((0, 1),))])
def test_functions_with_other_layouts_than_the_general_one_have_their_own(
    monkeypatch: pytest.MonkeyPatch, general: Layout
) -> None:
    """The layout of one function comes from another process, and that of the other is computed."""
    received, computed = Layout(((0, 1),)), Layout(((0, 2),))
    searched: list[str] = []

    def descent(*request: Any) -> Layout:
        searched.append(request[3])
        return computed

    monkeypatch.setattr(layout, "_descent", lambda *_: general)
    monkeypatch.setattr(layout, "_descent_of_function", descent)
    monkeypatch.setattr(layout.parallel, "run", lambda jobs, **_: {0: received})
    (first, _), (second, _) = layout.MEASURED
    by_function = {first: received, second: computed}
    expected = tuple((name, chosen) for name, chosen in by_function.items() if chosen != general)
    assert layout._descents(first_links("ur5", 1)) == Layouts(general, expected)
    assert searched == [second]
