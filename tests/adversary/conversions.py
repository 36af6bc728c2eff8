"""Random mechanisms, converted to every format and read back with the options that notes name.

A try is one mechanism, with drives, gravity compensation and couplings, in one format. M, tau and
the poses of frames are compared at 80 digits and one state. Features that a format lacks are
removed beforehand if its notes name them. Joints that MJCF splits or measures from another origin
are judged in `tests/description/test_convert_judged.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

from symgen.description.canonical import to_toml
from symgen.description.writers import writers
from symgen.mechanism.mechanism import Mechanism, Mimic
from symgen.support.errors import RequestError, SymgenError
from tests.adversary import Failure, _robots
from tests.shared.same_robot import SAME, differ, load_with_remedies

WORD = (
    "a robot that is converted and read back is the same to 1e-40, but for what a sentence says is"
    " left out."
)

_INCOMPARABLE = (
    "several joints of one body",
    "are relative to the world",
    "the order of joints is",
    "is not a body",
    "the type of",
    "with a massless link between them replace",
)
"""Parts of notes after which q, v or the frames cannot be compared."""


def tries(seed: int) -> Iterator[Failure | None]:
    random = Random(f"conversions {seed}")
    while True:
        mechanism = draw_mechanism(random)
        for format_ in writers():
            yield attacked(mechanism, format_)


def attacked(mechanism: Mechanism, format_: str) -> Failure | None:
    """Convert one mechanism; None if the result is equal or the format cannot represent it."""
    try:
        text = writers()[format_].write(mechanism)
    except RequestError:
        return None
    except Exception as error:  # any other exception is a failure
        return _failure(mechanism, format_, f"{type(error).__name__}: {error}")
    if any(reason in sentence for reason in _INCOMPARABLE for sentence in text.left_out):
        return None
    try:
        difference = differ(
            _representable(mechanism, format_), load_with_remedies(text.text, text.left_out)
        )
    except (SymgenError, AssertionError) as error:
        return _failure(mechanism, format_, str(error), text.text)
    return (
        None
        if difference <= SAME
        else _failure(
            mechanism, format_, f"it is another robot, off by {difference:.1e}", text.text
        )
    )


def draw_mechanism(random: Random) -> Mechanism:
    """Draw a mechanism with drives, gravity compensation, and seldom a mimic joint."""
    mechanism = _robots.mechanism(random)
    joints = list(mechanism.joints)
    single_coordinate = [i for i, joint in enumerate(joints) if joint.type.nq == joint.type.nv == 1]
    if len(single_coordinate) > 1 and random.random() < 0.4:
        i, lead = random.sample(single_coordinate, 2)
        mimic = Mimic(
            joints[lead].name,
            _robots.decimal(random, 2) or Fraction(1),
            _robots.decimal(random, 0.5),
        )
        joints[i] = replace(joints[i], mimic=mimic)
    followed = any(joint.mimic for joint in joints)
    return replace(
        _robots.driven(random, replace(mechanism, joints=tuple(joints))),
        coupled=followed and random.random() < 0.5,
    )


def _representable(mechanism: Mechanism, format_: str) -> Mechanism:
    """Return the mechanism without the features that a URDF cannot represent."""
    if format_ != "urdf":
        return mechanism
    joints = tuple(
        replace(j, drive=j.drive.only(("armature", "damping", "friction")))
        for j in mechanism.joints
    )
    return replace(mechanism.without_gravity_compensation, joints=joints)


def _failure(mechanism: Mechanism, format_: str, sentence: str, text: str = "") -> Failure:
    files = {"robot.py": _robots.as_python(mechanism), "robot.toml": to_toml(mechanism)}
    return Failure(
        f"as {format_}: {sentence}", files | ({f"written.{format_}": text} if text else {})
    )
