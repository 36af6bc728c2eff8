"""Models of long robots: precision and calls per link do not depend on the number of links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

import symgen
from symgen.derivation import constants as k
from symgen.derivation.model import Model, declared, reframe, regroup
from symgen.description.canonical import to_toml
from symgen.mechanism.joints import kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.report.show import FIRST, LAST, LONGEST, show
from symgen.pipeline.layout import PLAIN
from symgen.support.errors import ArgumentError
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Pose, Shift, Turn
from tests.shared.call_counts import calls
from tests.shared.robots_for_tests import random_mechanism


def at_initial_precision(work: Callable[[], Model]) -> Model:
    """Compute a model at the initial precision."""
    with k.precision():
        return work()


def nearly_parallel_chain(n: int) -> Mechanism:
    """Return a chain of nearly parallel axes; each origin depends on the next one."""
    chain = random_mechanism(n, 1)
    tenth = Fraction(1, 10)
    pose: Pose = (
        Shift((tenth, tenth, tenth)),
        Turn(Y_AXIS, Angle(Fraction(3, 100))),
        Turn(X_AXIS, Angle(Fraction(2, 100))),
    )
    return replace(
        chain, joints=tuple(replace(joint, axis=Z_AXIS, pose=pose) for joint in chain.joints)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "chain",
    [lambda: random_mechanism(400, 1), lambda: nearly_parallel_chain(400)],
    ids=["general", "bent"],
)
def test_precision_is_not_lost_along_the_chain(chain: Callable[[], Mechanism]) -> None:
    """The error that an origin inherits from the next grows linearly with the number of links."""
    model = at_initial_precision(lambda: regroup(reframe(chain())))
    balls = [
        x
        for link in model.links
        for x in (*link.shift, *link.inertia.h, *link.inertia.S)
        if not k.is_rational(x)
    ]
    assert len(balls) > 1000
    assert min(ball.rel_accuracy_bits() for ball in balls) > 3.3 * (k.WORKING_DIGITS - 20)


def test_frames_are_those_of_a_shorter_chain() -> None:
    """A frame depends on its link and the next two links."""
    long = random_mechanism(30, 2)
    short = replace(long, joints=long.joints[:10], bodies=long.bodies[:10], frames=long.frames[:10])
    a, b = (
        at_initial_precision(lambda robot=robot: reframe(robot)).links[:8]
        for robot in (long, short)
    )
    for link, same_link in zip(a, b, strict=True):
        pairs = zip(
            (*link.shift, *link.placement[1]),
            (*same_link.shift, *same_link.placement[1]),
            strict=True,
        )
        assert all(k.to_fraction(x) == k.to_fraction(y) for x, y in pairs)


WORKS: dict[str, Callable[[Mechanism], object]] = {
    "reframe": lambda mechanism: at_initial_precision(lambda: reframe(mechanism)),
    "regroup": lambda mechanism: at_initial_precision(lambda: regroup(declared(mechanism))),
    "lay": lambda mechanism: at_initial_precision(lambda: PLAIN.lay(declared(mechanism))),
    "the canonical description": to_toml,
    "ranges": lambda mechanism: replace(mechanism, name="anew").ranges,
    "content": lambda mechanism: replace(mechanism, name="anew").content,
    "children": lambda mechanism: [mechanism.children(i) for i in range(len(mechanism.joints))],
    "names": lambda mechanism: [
        (mechanism.joint_index(joint.name), mechanism.frame(body.name))
        for joint, body in zip(mechanism.joints, mechanism.bodies, strict=True)
    ],
    "a table for a notebook": lambda mechanism: mechanism._repr_html_(),
    "reading": lambda mechanism: symgen.load(to_toml(mechanism)),
    "locking": lambda mechanism: symgen.load(
        to_toml(mechanism), lock=[joint.name for joint in mechanism.joints[::2]]
    ),
}


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_calls_grow_linearly_with_the_links(shape: str, work: str) -> None:
    robots = [random_mechanism(n, 1, kind=shape, joints=kinds()) for n in (20, 40, 160)]
    _, forty, many = (
        calls(lambda mechanism=mechanism: WORKS[work](mechanism)) for mechanism in robots
    )
    assert many <= 4.6 * forty  # four times as many links; some kinds of joint need more calls


@pytest.mark.slow
def test_show_shortens_a_long_list_to_its_ends() -> None:
    few, many = (
        show(symgen.load(f"planar_point_mass:{n}"), uncut=True) for n in (LONGEST - 1, 3 * LONGEST)
    )
    assert "more lines" not in few
    assert f"… {3 * LONGEST + 1 - FIRST - LAST} more lines, and --json has all …" in many
    assert f"joint{3 * LONGEST} → link{3 * LONGEST} " in many
    assert len(many.splitlines()) < len(few.splitlines())


@pytest.mark.slow
def test_a_built_in_chain_has_the_requested_number_of_links() -> None:
    assert len(symgen.load("planar_point_mass:3000").joints) == 3000
    for wrong in ("0", "100001", "x", "-1"):
        with pytest.raises(
            ArgumentError, match=r"is not a number of links .* give a whole number from 1 to 100000"
        ):
            symgen.load(f"planar_point_mass:{wrong}")
