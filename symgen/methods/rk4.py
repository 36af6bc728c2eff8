"""One step of the classical Runge-Kutta method of order 4, extended to joints of several degrees of
freedom by Munthe-Kaas.

With a(q, v) = M(q)⁻¹ (tau − c(q, v)) and constant tau, the four stages are

    a₁ = a(q, v)
    a₂ = a(q ⊕ v dt/2, v₂),                      v₂ = v + a₁ dt/2       (1)
    a₃ = a(q ⊕ (v₂ + [v, a₁] dt²/8) dt/2, v₃),   v₃ = v + a₂ dt/2       (2)
    a₄ = a(q ⊕ v₃ dt, v₄),                       v₄ = v + a₃ dt         (3)

    v⁺ = v + (a₁ + 2 a₂ + 2 a₃ + a₄) dt/6                               (4)
    q⁺ = q ⊕ (v + (a₁ + a₂ + a₃) dt/6 + [v, a₃] dt²/12) dt              (5)

This is the method of Munthe-Kaas, Runge-Kutta methods on Lie groups, BIT 38, 1998, with the two
brackets that order 4 needs: [v, v₂] dt/4 added to v₂ in (2), and [v, v₄] dt/12 added to (v + 2 v₂ +
2 v₃ + v₄)/6 in (5), with (1)-(3) inserted. Velocities are in the axes of the moved body, so both
brackets have the sign +. If every joint has one axis the brackets vanish, and (1)-(5) are the
classical method.
"""

from collections.abc import Sequence
from fractions import Fraction

from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector
from symgen.methods.shared.composition import Calls
from symgen.methods.shared.factor import Results
from symgen.methods.shared.method import Method


def step(robot: Calls) -> Results:
    """Return q_next (NQ) and v_next (NV)."""
    derivation, v, (dt,) = robot.derivation, robot.inputs["v"], robot.inputs["dt"]
    half, sixth = (dt * derivation.constant(Fraction(1, n)) for n in (2, 6))

    def advance(rates: list[Scalar], changes: Sequence[Scalar], time: Scalar) -> list[Scalar]:
        return [rate + change * time for rate, change in zip(rates, changes, strict=True)]

    def stage(name: str, rates: list[Scalar], time: Scalar, velocity: list[Scalar]) -> list[Scalar]:
        """Return a(q ⊕ rates time, velocity)."""
        (q,) = robot("integrate", f"{name}_q", v=rates, dt=[time])
        (a,) = robot("forward_dynamics", name, q=q, v=velocity)
        return a

    (a1,) = robot("forward_dynamics", "k1")
    derivation.step("k2: velocities")
    v2 = advance(v, a1, half)
    a2 = stage("k2", v, half, v2)  # (1)
    derivation.step("k3: velocities")
    v3 = advance(v, a2, half)
    a3 = stage(
        "k3",
        advance(v2, bracket(robot, v, a1), half * half * derivation.constant(Fraction(1, 2))),
        half,
        v3,
    )  # (2)
    derivation.step("k4: velocities")
    a4 = stage("k4", v3, dt, advance(v, a3, dt))  # (3)
    derivation.step("velocities at the end of the step")
    a2_plus_a3 = [x + y for x, y in zip(a2, a3, strict=True)]
    a1_to_a3 = [x + y for x, y in zip(a1, a2_plus_a3, strict=True)]
    v_next = advance(
        v, [x + (y + z) for x, y, z in zip(a1_to_a3, a2_plus_a3, a4, strict=True)], sixth
    )  # (4)
    rates = advance(advance(v, a1_to_a3, sixth), bracket(robot, v, a3), half * sixth)
    (q_next,) = robot("integrate", "q", v=rates)  # (5)
    return q_next, v_next


def bracket(robot: Calls, x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
    """Return [x, y] (NV), joint by joint.

    For two twists (ω, u) in the axes of the moved body it is (ω × ω', ω × u' + u × ω'); for other
    joints 0.
    """
    result = [robot.derivation.zero for _ in x]
    for joint, entries in zip(robot.mechanism.joints, robot.mechanism.v_slices, strict=True):
        if joint.type.along is None:
            continue
        components = [
            (coordinate.unit == "m", axis)
            for coordinate, axis in zip(joint.type.velocities, joint.type.along, strict=True)
        ]

        def twist(
            rates: Sequence[Scalar], components: Sequence[tuple[bool, int]] = components
        ) -> list[Vector]:
            angular_and_linear = [[robot.derivation.zero] * 3, [robot.derivation.zero] * 3]
            for rate, (linear, axis) in zip(rates, components, strict=True):
                angular_and_linear[linear][axis] = rate
            return [Vector(vector) for vector in angular_and_linear]

        (w_x, u_x), (w_y, u_y) = twist(x[entries]), twist(y[entries])
        commutator = w_x.cross(w_y), w_x.cross(u_y) + u_x.cross(w_y)
        result[entries] = [commutator[linear][axis] for linear, axis in components]
    return result


METHOD = Method(
    source="Munthe-Kaas 1998, written out as (1)-(5)",
    mimic="supported",
    compositions={"step_rk4": step},
)
