"""Loops as MuJoCo has them: `connect` and `weld` between sites at their two ends, and a keyframe where closing them starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen.description.writers._decimals import decimals
from symgen.description.writers._links import fresh
from symgen.description.writers._written import listed
from symgen.description.writers._xml import element
from symgen.mechanism.mechanism import Frame, Mechanism

WORDS = {"point": "connect", "spherical": "connect", "weld": "weld"}
HOME = "home"


@dataclass(frozen=True)
class Sites:
    """A robot with a frame at each end of those loops that MuJoCo has a word for; `ends` of each loop, by name."""

    mechanism: Mechanism
    ends: dict[str, tuple[str, str]]

    @property
    def names(self) -> set[str]:
        return {name for pair in self.ends.values() for name in pair}

    def equalities(self, written: set[str]) -> list[list[str]]:
        """Elements of those loops both of whose ends are among the links that are `written`."""
        return [
            element(
                WORDS[loop.kind],
                {
                    "name": loop.name,
                    "site1": self.ends[loop.name][0],
                    "site2": self.ends[loop.name][1],
                },
            )
            for loop in self.mechanism.loops
            if self._is_said(loop.name, written)
        ]

    def keyframe(self, order: Sequence[int], written: set[str], plain: set[str]) -> list[str]:
        """Where closing them starts, joints in MuJoCo's `order`; nothing where one is not `plain`, and counts otherwise there."""
        mechanism = self.mechanism
        if not self._starts(written, plain):
            return []
        declared, qpos = dict(mechanism.start), list[Fraction]()
        for joint in (mechanism.joints[k] for k in order):
            values = declared.get(joint.name, joint.type.neutral)
            if (at := joint.type.quaternion) is not None:  # w x y z there
                values = (*values[:at], values[at + 3], *values[at : at + 3])
            qpos += values
        return element("keyframe", {}, [element("key", {"name": HOME, "qpos": decimals(qpos)})])

    def motors(self, written: set[str], plain: set[str]) -> list[list[str]]:
        """Elements of the joints that are driven."""
        return [
            element("motor", {"name": name, "joint": name})
            for name in self.mechanism.actuated
            if self._drives(name, written, plain)
        ]

    def _drives(self, name: str, written: set[str], plain: set[str]) -> bool:
        """Whether MuJoCo has it that this is driven: a hinge or a slide, where a loop is said there."""
        return (
            name in plain
            and len(self.mechanism.velocities_of[name]) == 1
            and any(self._is_said(loop.name, written) for loop in self.mechanism.loops)
        )

    def _is_said(self, loop: str, written: set[str]) -> bool:
        return loop in self.ends and {*self.ends[loop]} <= written

    def _starts(self, written: set[str], plain: set[str]) -> bool:
        mechanism = self.mechanism
        return (
            bool(mechanism.start)
            and all(joint.name in plain for joint in mechanism.joints)
            and any(self._is_said(loop.name, written) for loop in mechanism.loops)
        )

    def said(self, written: set[str], plain: set[str]) -> list[str]:
        """What of the loops is not said there, or otherwise."""
        mechanism = self.mechanism
        lost = [loop.name for loop in mechanism.loops if not self._is_said(loop.name, written)]
        soft = [loop.name for loop in mechanism.loops if self._is_said(loop.name, written)]
        found = (
            [f"loops left out, since MuJoCo connects points and welds bodies alone: {listed(lost)}"]
            if lost
            else []
        )
        found += [f"loops that MuJoCo's solver holds softly there: {listed(soft)}"] if soft else []
        unsaid = bool(mechanism.start) and not self._starts(written, plain)
        found += ["where closing the loops starts is left out"] if unsaid else []
        idle = [name for name in mechanism.actuated if not self._drives(name, written, plain)]
        found += [f"that {listed(idle)} are actuated is left out"] if idle else []
        return found + (
            [f"which joints are independent is left out: {listed(mechanism.independent)}"]
            if mechanism.independent
            else []
        )


def sited(mechanism: Mechanism) -> Sites:
    """The robot with its sites."""
    taken = dict.fromkeys((frame.name for frame in mechanism.frames), 1)
    frames: list[Frame] = []
    ends: dict[str, tuple[str, str]] = {}
    for loop in (loop for loop in mechanism.loops if loop.kind in WORDS):
        names = fresh(f"{loop.name}_first", taken), fresh(f"{loop.name}_second", taken)
        frames += [
            Frame(name, end.body, end.pose)
            for name, end in zip(names, (loop.first, loop.second), strict=True)
        ]
        ends[loop.name] = names
    return Sites(
        replace(mechanism, frames=(*mechanism.frames, *frames)) if frames else mechanism, ends
    )
