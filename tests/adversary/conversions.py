"""Random mechanisms with drives, borne weight and couplings, converted to every format and read back as sentences tell.

A try is one mechanism in one format: M, tau and where the frames are, by the reference at 80 digits and one state. What a format
has no words for is taken off beforehand, as far as its sentences say so; a joint that MJCF has several for, or counts from
elsewhere, is judged by MuJoCo in `tests/description/test_convert_judged.py`.
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

WORD = "a robot that is converted and read back is the same to 1e-40, but for what a sentence says is left out."

_OTHERWISE = (
    "several joints of one body",
    "are relative to the world",
    "the order of joints is",
    "is not a body",
    "the type of",
    "with a massless link between them replace",
)
"""In sentences after which q and v mean something else, or a frame is gone."""


def tries(seed: int) -> Iterator[Failure | None]:
    random = Random(f"conversions {seed}")
    while True:
        made = draw_mechanism(random)
        for format_ in writers():
            yield attacked(made, format_)


def attacked(made: Mechanism, format_: str) -> Failure | None:
    """None where the word held, or where there is none."""
    try:
        text = writers()[format_].write(made)
    except RequestError:
        return None
    except Exception as error:  # a traceback is a failure, whatever it is of
        return _failure(made, format_, f"{type(error).__name__}: {error}")
    if any(reason in sentence for reason in _OTHERWISE for sentence in text.left_out):
        return None
    try:
        apart = differ(_sayable(made, format_), load_with_remedies(text.text, text.left_out))
    except (SymgenError, AssertionError) as error:
        return _failure(made, format_, str(error), text.text)
    return (
        None
        if apart <= SAME
        else _failure(made, format_, f"it is another robot, off by {apart:.1e}", text.text)
    )


def draw_mechanism(random: Random) -> Mechanism:
    """A mechanism of `_robots` with drives at some joints, some weight borne, and seldom a joint that follows another."""
    made = _robots.mechanism(random)
    joints = list(made.joints)
    plain = [i for i, joint in enumerate(joints) if joint.type.nq == joint.type.nv == 1]
    if len(plain) > 1 and random.random() < 0.4:
        i, lead = random.sample(plain, 2)
        mimic = Mimic(
            joints[lead].name,
            _robots.decimal(random, 2) or Fraction(1),
            _robots.decimal(random, 0.5),
        )
        joints[i] = replace(joints[i], mimic=mimic)
    followed = any(joint.mimic for joint in joints)
    return replace(
        _robots.driven(random, replace(made, joints=tuple(joints))),
        coupled=followed and random.random() < 0.5,
    )


def _sayable(made: Mechanism, format_: str) -> Mechanism:
    """Without what a URDF has no words for."""
    if format_ != "urdf":
        return made
    held = tuple(
        replace(j, drive=j.drive.only(("armature", "damping", "friction"))) for j in made.joints
    )
    return replace(made.without_gravity_compensation, joints=held)


def _failure(made: Mechanism, format_: str, sentence: str, text: str = "") -> Failure:
    files = {"robot.py": _robots.as_python(made), "robot.toml": to_toml(made)}
    return Failure(
        f"as {format_}: {sentence}", files | ({f"written.{format_}": text} if text else {})
    )
