"""How positions change in JAX, which knows coordinates, and in Programs, which know steps: q ⊕ δ.

Where every velocity is the rate of a coordinate both are the same. Else a change of coordinates is the step δ = Ω⁺(q) q̇, and back
q̇ = Ω(q) δ, by the rows of `symgen.derivation.tangents`. What would change the length of a quaternion is no step: so derivatives
are those of the function of q with its quaternions brought to length 1.
"""

from __future__ import annotations

import operator
from typing import Any

from symgen.ir.program import Program
from symgen.jax.installed import installed
from symgen.mechanism.mechanism import Mechanism

_ACT = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}


class Steps:
    """Those of one robot's joints. Arrays have any leading dimensions."""

    def __init__(self, mechanism: Mechanism) -> None:
        slices = zip(
            mechanism.joints, mechanism.q_slices, mechanism.v_slices, mechanism.follows, strict=True
        )
        self.joints = [
            (joint.kind, own, rates) for joint, own, rates, follows in slices if follows is None
        ]
        self.plain = all(joint.type.along is None for joint in mechanism.joints)

    def told(self, q: Any, change: Any) -> Any:
        """The step (..., NV) that a change (..., NQ) of the coordinates is."""
        if self.plain:
            return change
        from symgen.derivation.tangents import telling

        parts = [(telling(kind), q[..., own], change[..., own]) for kind, own, _ in self.joints]
        return installed().numpy.concatenate([_applied(*part) for part in parts], -1)

    def moved(self, q: Any, step: Any) -> Any:
        """The change (..., NQ) of the coordinates that a step (..., NV) makes."""
        if self.plain:
            return step
        from symgen.derivation.tangents import moving

        parts = [(moving(kind), q[..., own], step[..., rates]) for kind, own, rates in self.joints]
        return installed().numpy.concatenate([_applied(*part) for part in parts], -1)


def _applied(program: Program, *arguments: Any) -> Any:
    """The one result of a short Program without a root."""
    number, values = installed().numpy, list[Any]()
    act = {**_ACT, "sin": number.sin, "cos": number.cos}
    for row in program.rows:
        if row.op == "input":
            argument, element = row.value
            values.append(arguments[argument][..., element])
        elif row.op == "const":
            values.append(float(row.value))
        else:
            values.append(act[row.op](*(values[i] for i in row.args)))
    return number.stack(number.broadcast_arrays(*(values[i] for i in program.outputs[0].rows)), -1)
