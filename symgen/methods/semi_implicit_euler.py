"""One step of the semi-implicit (symplectic) Euler method: the velocity first, then the position by
the new velocity.

    v⁺ = v + M(q)⁻¹ (tau − c(q, v)) dt      (1)
    q⁺ = q ⊕ v⁺ dt                          (2)

Hairer, Lubich and Wanner, Geometric Numerical Integration, 2006, chapter I, state it for velocities
that are rates of coordinates; ⊕ is the exponential map of each joint (`symgen.methods.kinematics`).
The order is 1.
"""

from symgen.methods.shared.composition import Calls
from symgen.methods.shared.factor import Results
from symgen.methods.shared.method import Method


def step(robot: Calls) -> Results:
    """Return q_next (NQ) and v_next (NV)."""
    (dt,) = robot.inputs["dt"]
    (a,) = robot("forward_dynamics")
    robot.derivation.step("velocities at the end of the step")
    v_next = [rate + change * dt for rate, change in zip(robot.inputs["v"], a, strict=True)]  # (1)
    (q_next,) = robot("integrate", v=v_next)  # (2)
    return q_next, v_next


METHOD = Method(
    source="Hairer, Lubich & Wanner 2006, chapter I, written out as (1)-(2)",
    mimic="supported",
    compositions={"step": step},
)
