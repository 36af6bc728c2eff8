"""Where frames stand and whose axes they share changes no answer, whatever is chosen; what is chosen is the same every time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import reframe
from symgen.derivation.model.share import GROUND, members
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import Rotation
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.report.show import facts, show
from symgen.pipeline import derive, layout
from symgen.pipeline.layout import PLAIN, Layout
from symgen.reference.mechanics import Reference
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests import layouts
from tests.shared.robots_for_tests import BALLS, draw, largest, of_kind, random_mechanism, run

PARALLEL = ("revolute", "prismatic", "helical", "cylindrical", "continuous", "revolute")
ASKED = (
    "inverse_dynamics",
    "mass_matrix",
    "forward_dynamics",
    "jacobian",
    "link_poses",
    "bias_acceleration",
    "centroidal_momentum_matrix",
    "link_accelerations",
    "mass_matrix_log_determinant_gradient",
)


@cache
def comb(seed: int) -> Mechanism:
    """A tree whose axes are parallel, some the other way round, but for one."""
    source = Random(seed)
    made = random_mechanism(6, seed=seed, kind="tree", general=False)
    joints = tuple(of_kind(joint, kind) for joint, kind in zip(made.joints, PARALLEL, strict=True))
    up = [(Fraction(0), Fraction(0), Fraction(source.choice((-1, 1)))) for _ in joints]
    joints = tuple(
        replace(joint, pose=joint.pose[:1], axis=axis) if i != 3 else joint
        for i, (joint, axis) in enumerate(zip(joints, up, strict=True))
    )
    return replace(made, name=f"comb{seed}", joints=joints)


def groups_of(mechanism: Mechanism) -> list[int]:
    with k.precision():
        return [one.group for one in members(reframe(mechanism))]


def any_layout(mechanism: Mechanism, source: Random) -> Layout:
    """Every link level with any neighbour, and in the axes of any of its group."""
    groups, slides, axes = groups_of(mechanism), [], []
    for i, joint in enumerate(mechanism.joints):
        if joint.type.directed:
            slides.append((i, source.choice([GROUND, *mechanism.children(i)])))
            axes.append(
                (
                    i,
                    source.choice(
                        [GROUND, *(j for j, group in enumerate(groups) if group == groups[i])]
                    ),
                )
            )
    return Layout(tuple(slides), tuple(axes))


def check(seed: int, function: str) -> None:
    """By two methods, with a load and a wrench on links that may be turned."""
    mechanism, source, links = (
        comb(seed),
        Random(f"{seed}/{function}"),
        {"payload": "link1", "wrench": "link5"},
    )
    able = [
        m
        for m in methods.providers(function)
        if methods.find(m).regroups and methods.find(m).refusal(mechanism) is None
    ]
    spec, at = FUNCTIONS[function], draw(mechanism, 1, BALLS, **links)
    given = {a.name: at[a.name] for a in (*spec.arguments, *spec.depends_on) if a.name in at}
    truth = Reference(mechanism, BALLS, frame="link5", **links).evaluate(function, given)
    options = derive.relevant(mechanism, function, ProgramOptions(frame="link5", **links))
    for method in source.sample(able, min(2, len(able))):
        made = derive.record(
            mechanism, function, method, options, any_layout(mechanism, source), 10**6
        )
        found = run(made, at, BALLS)
        for name, value in truth.items():
            with BALLS.working():
                assert largest(found[name] - value) <= 1e-40 * (largest(value) or 1.0), (
                    method,
                    name,
                )


@pytest.mark.parametrize("function", ASKED)
@pytest.mark.parametrize("seed", [5, 10])
def test_no_layout_changes_an_answer(seed: int, function: str) -> None:
    groups = groups_of(comb(seed))
    assert max(groups.count(group) for group in groups) > 3
    check(seed, function)


@pytest.mark.usefixtures("full_search")
def test_no_layout_that_is_found_changes_an_answer() -> None:
    """Of a comb and of any robot."""
    for mechanism in (comb(5), random_mechanism(4, 5, "tree")):
        found = layout.layouts(mechanism)
        assert found != layout.Layouts()
        at = draw(mechanism, 1, BALLS)
        for function, method in layout.MEASURED:
            truth = Reference(mechanism, BALLS).evaluate(
                function, {a.name: at[a.name] for a in FUNCTIONS[function].arguments}
            )
            for where in layout.candidate_layouts(mechanism, function):
                made = run(
                    derive.record(mechanism, function, method, ProgramOptions(), where, 10**6),
                    at,
                    BALLS,
                )
                for name, value in truth.items():
                    with BALLS.working():
                        assert largest(made[name] - value) <= 1e-40 * (largest(value) or 1.0), where


@pytest.mark.parametrize("function", ["inverse_dynamics", "link_poses", "bias_acceleration"])
def test_what_forgets_that_axes_are_turned_is_seen(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Linkage, "_slack", lambda self, i: Rotation([]))
    with pytest.raises(AssertionError):
        check(5, function)


def offered(
    mechanism: Mechanism, where: Layout, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[float, float]]:
    """(how far from each other, size) of what is said to be equal, at one state, in inverse dynamics and M."""
    at, found = draw(mechanism, 1, BALLS), []
    for function, method in layout.MEASURED:
        pairs: list[tuple[Scalar, Scalar]] = []
        with monkeypatch.context() as patched:
            patched.setattr(
                Derivation, "either", lambda _, *pair, kept=pairs: kept.append(pair) or pair[0]
            )
            derive.record(mechanism, function, method, ProgramOptions(), where, 10**6)
        home = pairs[0][0].home
        sides = [
            (name, (len(pairs),), side)
            for name, side in zip(("one", "other"), zip(*pairs, strict=True), strict=True)
        ]
        result = run(
            home.freeze("f", "m", sides, {name: (size,) for name, size in home.sizes.items()}),
            at,
            BALLS,
        )
        with BALLS.working():
            found += [
                (largest(a - b), largest(a))
                for a, b in zip(result["one"][0], result["other"][0], strict=True)
            ]
    return found


@pytest.mark.parametrize("seed", [5, 10, 11])
def test_what_is_offered_as_equal_is_equal(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants too, which no prime is asked about."""
    mechanism = comb(seed)
    found = offered(mechanism, any_layout(mechanism, Random(seed)), monkeypatch)
    assert len(found) > 20
    assert all(apart <= 1e-40 * max(size, 1.0) for apart, size in found)


def test_what_forgets_that_axes_are_opposite_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rotation, "along_z", 1)
    assert any(apart > 1e-3 for apart, _ in offered(comb(5), PLAIN, monkeypatch))


@pytest.mark.usefixtures("full_search")
def test_what_is_committed_is_what_is_found() -> None:
    """So that a built-in robot gets the same bytes whichever way it comes, as does any other: the search knows no clock."""
    assert layouts.COMMITTED.read_text(encoding="utf-8") == layouts.text()


def test_links_that_are_alike_choose_together() -> None:
    axes = dict(layout.layouts(symgen.load("quadruped")).general.axes)
    assert {i % 3 for i in axes} == {2}
    assert len(axes) == 4


def test_a_robot_too_long_to_search_is_laid_out_plainly() -> None:
    assert layout.layouts(random_mechanism(layout.MOST_JOINTS + 1)) == layout.Layouts()


@pytest.mark.usefixtures("polished_here")
def test_no_function_is_longer_than_in_the_plain_layout() -> None:
    """Where a layout that suits others does not suit a function, it is not taken."""
    mechanism = symgen.load("panda")
    for function in ("mass_matrix_determinant", "center_of_mass", "forward_kinematics"):
        method = symgen.program(mechanism, function).method
        options = derive.relevant(mechanism, function, ProgramOptions())
        alone = derive.passes.run(derive.record(mechanism, function, method, options, PLAIN, 10**6))
        assert symgen.program(mechanism, function).cost <= alone.cost


def test_show_says_whose_axes_are_shared() -> None:
    ur5 = symgen.load("ur5")
    assert "forearm_link in those of shoulder_link" in " ".join(show(ur5).split())
    assert [one["written_in"] for one in facts(ur5)["computed_in"]][1:3] == ["shoulder_link"] * 2
    assert np.allclose(facts(ur5)["computed_in"][1]["shift"], 0)


def test_show_says_where_a_function_has_frames_of_its_own() -> None:
    panda = symgen.load("panda")
    said = " ".join(show(panda).split())
    assert (
        "inverse_dynamics counts less in frames of its own: panda_link2 in those of panda_link1"
        in said
    )
    assert "mass_matrix counts less in frames of its own: panda_link7 in its own axes" in said
    assert set(facts(panda)["computed_in_by_function"]) == {"inverse_dynamics", "mass_matrix"}


@pytest.mark.usefixtures("polished_here")
def test_a_function_is_written_where_it_counts_least() -> None:
    """In its own layout, in the general one and in the plain one, all passes counted."""
    mechanism = symgen.load("panda")
    for function, method in layout.MEASURED:
        counts = [
            derive.passes.run(
                derive.record(mechanism, function, method, ProgramOptions(), where, 10**6)
            ).cost
            for where in layout.candidate_layouts(mechanism, function)
        ]
        assert counts[1] < min(counts[0], counts[2])
        assert symgen.program(mechanism, function).cost == counts[1]
    assert len(layout.candidate_layouts(mechanism, "forward_dynamics")) == 4
    assert len(layout.candidate_layouts(mechanism, "jacobian")) == 2
