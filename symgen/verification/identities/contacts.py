"""Identities of contacts with the dynamics without contacts, the motion of the contact points, and
the kinetic energy.

If the contacts constrain more directions than the robot has degrees of freedom, the points cannot
always rest. Identities that require resting points are then skipped. With closed loops these
identities are checked at v = 0, where all points rest.
"""

from __future__ import annotations

import numpy as np

from symgen.reference import contacts
from symgen.reference.arrays import times
from symgen.reference.precision import Array
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities._identity import Distance, Functions, Identity, terms

DYNAMICS, IMPACT = "contact_forward_dynamics", "contact_impulse"


def _redundant(exact_results: ExactResults) -> bool:
    return contacts.redundant(exact_results.mechanism, exact_results.rough.contact)


def _active(f: Functions, function: str) -> Array:
    f.exact_results.draw(function)
    return np.repeat(f.states["active"], contacts.AXES, axis=-1)


def _without_any(f: Functions) -> Distance:
    """Return the distance of the motion without active contacts from forward dynamics. Any nonzero
    force counts as infinite.
    """
    f.exact_results.draw(DYNAMICS)
    results, free = f(DYNAMICS, active=0 * f.states["active"]), f("forward_dynamics")["a"]
    nonzero = np.asarray(results["forces"] != 0).reshape(len(free), -1)
    return np.concatenate(
        [results["a"] - free, np.where(nonzero, np.inf, 0.0)], axis=-1
    ), np.concatenate(
        [f.exact_results.scales.joint_accelerations(), np.ones(nonzero.shape)], axis=-1
    )


def _without_impact(f: Functions) -> Distance:
    f.exact_results.draw(IMPACT)
    results = f(IMPACT, active=0 * f.states["active"])
    differences = np.concatenate(
        [
            results["v_after"] - f.states["v"],
            results["impulses"].reshape(len(results["v_after"]), -1),
        ],
        axis=-1,
    )
    return differences, np.ones(len(differences))


def _forces_in_the_joints(f: Functions) -> Distance:
    """Return the distance ID(a) − tau − Aᵀ forces."""
    results = f(DYNAMICS)
    a, forces = results["a"], results["forces"].reshape(len(results["a"]), -1)
    reference = f.reference
    A = np.swapaxes(contacts.jacobian(reference, f.states["q"]), -1, -2)
    sizes, rough = f.exact_results.scales, np.asarray(a, dtype=float)
    size = sizes.dynamics_residual(a) + sizes.forces(f.exact_results.floats["v"], rough)
    size = size + sizes.contact_forces(
        np.swapaxes(np.asarray(A, dtype=float), -1, -2), np.asarray(forces, dtype=float)
    )
    return f("inverse_dynamics", a=a)["tau"] - f.states["tau"] - times(A, forces), size


def _points(f: Functions, v: Array, a: Array, power: int) -> Array:
    """Return velocities (power 1) or accelerations (power 2) of contact points (count, 3 NT)."""
    reference, blocks = f.reference, []
    placed = reference.placements(f.drawn_argument(DYNAMICS, "q"), v, a)
    for frame in reference.contacts:
        at = placed[frame.body]
        blocks.append(
            power * (at.shift[power] + times(at.turn[power], reference.pose(frame.pose)[1]))
        )
    return np.concatenate(blocks, axis=-1)


def _size_of_points(f: Functions, function: str, result: str) -> Array:
    A = np.abs(np.asarray(contacts.jacobian(f.exact_results.rough, f.exact_results.floats["q"])))
    sizes = np.abs(
        np.asarray(f.exact_results.results(function)[result], dtype=float)
    ) + f.exact_results.scales.of(function, result)
    rate = np.abs(f.exact_results.floats["v"]).sum(axis=-1, keepdims=True)
    return np.asarray(
        times(A, sizes) + (1 + f.exact_results.scales.length()[:, None]) * rate * rate
    )


def _points_stand(f: Functions) -> Distance:
    active = _active(f, DYNAMICS)
    accelerations = active * _points(f, f.states["v"], f(DYNAMICS)["a"], 2)
    return accelerations, _size_of_points(f, DYNAMICS, "a")


def _points_are_stopped(f: Functions) -> Distance:
    active, v = _active(f, IMPACT), f(IMPACT)["v_after"]
    velocities = active * _points(f, v, 0 * v, 1)
    return velocities, _size_of_points(f, IMPACT, "v_after")


def _energy_is_lost(f: Functions) -> Distance:
    """Return the distance T(v) − T(v⁺) − T(v − v⁺); the last term is never negative."""
    v, after = f.states["v"], f(IMPACT)["v_after"]
    before, remaining, lost = (
        f("kinetic_energy", v=velocity)["T"] for velocity in (v, after, v - after)
    )
    difference = (before - remaining - lost)[:, None]
    sizes = f.exact_results.scales
    error_size = sizes.weighted_sum(sizes.of(IMPACT, "v_after")) * (
        sizes.weighted_sum(v) + sizes.weighted_sum(after)
    )
    return difference, np.asarray(
        sizes.weighted_sum(v) ** 2 + sizes.weighted_sum(after) ** 2 + error_size
    )


# -- robots with closed loops --


def _open(exact_results: ExactResults) -> bool:
    """True if the drawn positions do not close the loops."""
    return exact_results.baumgarte


def _open_and_redundant(exact_results: ExactResults) -> bool:
    """True if the states are open and forces are redundant, so that no accelerations satisfy all
    rows.
    """
    return exact_results.baumgarte and _redundant(exact_results)


def _rates(f: Functions) -> Array:
    """Return the drawn v at closed states, or zeros if the constraint forces are redundant."""
    f.exact_results.draw(DYNAMICS)
    v = f.drawn_argument(DYNAMICS, "v")
    return 0 * v if _redundant(f.exact_results) else v


def _loops_alone(f: Functions) -> Distance:
    """Return the distance of the motion without active contacts from constrained dynamics. Any
    nonzero force counts as infinite.
    """
    f.exact_results.draw(DYNAMICS)
    results, free = (
        f(DYNAMICS, active=0 * f.states["active"]),
        f("constrained_forward_dynamics")["a"],
    )
    nonzero = np.where(
        np.asarray(results["forces"] != 0).reshape(len(free), -1).any(axis=-1), np.inf, 0.0
    )
    return np.concatenate([results["a"] - free, nonzero[:, None]], axis=-1), terms(free)


def _driven_by_contacts(f: Functions) -> Distance:
    """Return the distance of a from constrained dynamics with the contact forces added to the joint
    forces.
    """
    v = _rates(f)
    results = f(DYNAMICS, v=v)
    contact_torques = times(
        np.swapaxes(
            contacts.jacobian(f.exact_results.reference, f.drawn_argument(DYNAMICS, "q")), -1, -2
        ),
        results["forces"].reshape(len(v), -1),
    )
    a = f("constrained_forward_dynamics", v=v, tau=f.states["tau"] + contact_torques)["a"]
    return results["a"] - a, terms(a, f("constrained_forward_dynamics", v=v)["a"])


def _held_still(f: Functions) -> Distance:
    active, v = _active(f, DYNAMICS), _rates(f)
    free = f("constrained_forward_dynamics", v=v)["a"]
    return active * _points(f, v, f(DYNAMICS, v=v)["a"], 2), terms(_points(f, v, free, 2))


def _held_closed(f: Functions) -> Distance:
    """Return the distance A a + γ of the closed loops."""
    v = _rates(f)
    a, A, gamma = (
        f(DYNAMICS, v=v)["a"],
        f("constraint_jacobian")["A"],
        f("constraint_bias", v=v)["gamma"],
    )
    sizes = np.abs(a) + np.abs(f("constrained_forward_dynamics", v=v)["a"])
    return times(A, a) + gamma, terms(times(np.abs(A), sizes), gamma)


def _loops_stop_alone(f: Functions) -> Distance:
    for name in (IMPACT, "constraint_impulse"):
        f.exact_results.draw(name)
    free = f("constraint_impulse", restitution=0 * f.states["restitution"])["v_next"]
    results = f(IMPACT, active=0 * f.states["active"])
    nonzero = np.where(
        np.asarray(results["impulses"] != 0).reshape(len(free), -1).any(axis=-1), np.inf, 0.0
    )
    return np.concatenate([results["v_after"] - free, nonzero[:, None]], axis=-1), terms(
        f.states["v"], free
    )


def _all_are_stopped(f: Functions) -> Distance:
    """Return A v⁺ of closed loops and active contacts, which must vanish."""
    active, after = _active(f, IMPACT), f(IMPACT)["v_after"]
    A, J = (
        f("constraint_jacobian")["A"],
        contacts.jacobian(f.exact_results.reference, f.drawn_argument(IMPACT, "q")),
    )
    velocities = np.concatenate([times(A, after), active * times(J, after)], axis=-1)
    return velocities, terms(
        *(times(np.abs(rows), np.abs(after) + np.abs(f.states["v"])) for rows in (A, J))
    )


def _energy_is_lost_closed(f: Functions) -> Distance:
    """Return the distance T(v) − T(v⁺) − T(v − v⁺)."""
    v, after, q = f.states["v"], f(IMPACT)["v_after"], f.drawn_argument(IMPACT, "q")
    energies = [
        f("kinetic_energy", q=q, v=velocity)["T"][:, None] for velocity in (v, after, v - after)
    ]
    return energies[0] - energies[1] - energies[2], terms(*energies)


RANK = 9
IDENTITIES = (
    Identity(
        "no contact: a = FD(tau), no force",
        (DYNAMICS, "forward_dynamics"),
        _without_any,
        loops=False,
    ),
    Identity(
        "ID(a) − tau = Aᵀ forces",
        (DYNAMICS, "inverse_dynamics"),
        _forces_in_the_joints,
        loops=False,
    ),
    Identity(
        "active contacts do not accelerate",
        (DYNAMICS,),
        _points_stand,
        absent=_redundant,
        loops=False,
    ),
    Identity("no contact: v after = v", (IMPACT,), _without_impact, loops=False),
    Identity(
        "active contacts are stopped",
        (IMPACT,),
        _points_are_stopped,
        absent=_redundant,
        loops=False,
    ),
    Identity(
        "T(v) − T(v⁺) = T(v − v⁺)",
        (IMPACT, "kinetic_energy"),
        _energy_is_lost,
        absent=_redundant,
        loops=False,
    ),
    *(
        Identity(
            title, needs, distance, exact_only=True, damped=_redundant, absent=absent, loops=True
        )
        for title, needs, distance, absent in (
            (
                "no contact: a = constrained FD(tau), no force",
                (DYNAMICS, "constrained_forward_dynamics"),
                _loops_alone,
                _open_and_redundant,
            ),
            (
                "a = constrained FD(tau + Jᵀ forces)",
                (DYNAMICS, "constrained_forward_dynamics"),
                _driven_by_contacts,
                _open_and_redundant,
            ),
            (
                "active contacts do not accelerate",
                (DYNAMICS, "constrained_forward_dynamics"),
                _held_still,
                _open_and_redundant,
            ),
            (
                "A a + γ = 0 beside contacts",
                (
                    DYNAMICS,
                    "constraint_jacobian",
                    "constraint_bias",
                    "constrained_forward_dynamics",
                ),
                _held_closed,
                _open,
            ),
            (
                "no contact: v after = constraint impulse",
                (IMPACT, "constraint_impulse"),
                _loops_stop_alone,
                _open_and_redundant,
            ),
            (
                "loops and active contacts are stopped",
                (IMPACT, "constraint_jacobian"),
                _all_are_stopped,
                _open_and_redundant,
            ),
            (
                "T(v) − T(v⁺) = T(v − v⁺)",
                (IMPACT, "kinetic_energy"),
                _energy_is_lost_closed,
                _open_and_redundant,
            ),
        )
    ),
)
