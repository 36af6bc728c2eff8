"""What contacts do, against the dynamics without them, the places of the points, and the kinetic energy.

Points that are held more often than the robot can move need not be able to stand still: what says that they do is not among the
checks then. Where joints close loops, it is asked at rest, from where everything can stay.
"""

from __future__ import annotations

import numpy as np

from symgen.reference import contacts
from symgen.reference.arrays import times
from symgen.reference.precision import Array
from symgen.verification.identities._identity import Distance, Functions, Identity, terms
from symgen.verification.truth import Truth

DYNAMICS, IMPACT = "contact_forward_dynamics", "contact_impulse"


def _redundant(truth: Truth) -> bool:
    return contacts.redundant(truth.mechanism, truth.rough.contact)


def _active(f: Functions, function: str) -> Array:
    f.truth.draw(function)
    return np.repeat(f.states["active"], contacts.AXES, axis=-1)


def _without_any(f: Functions) -> Distance:
    """The forces are nothing, to the last bit: they count as infinite where they are anything."""
    f.truth.draw(DYNAMICS)
    found, free = f(DYNAMICS, active=0 * f.states["active"]), f("forward_dynamics")["a"]
    some = np.asarray(found["forces"] != 0).reshape(len(free), -1)
    return np.concatenate(
        [found["a"] - free, np.where(some, np.inf, 0.0)], axis=-1
    ), np.concatenate([f.truth.scales.joint_accelerations(), np.ones(some.shape)], axis=-1)


def _without_impact(f: Functions) -> Distance:
    f.truth.draw(IMPACT)
    found = f(IMPACT, active=0 * f.states["active"])
    left = np.concatenate(
        [found["v_after"] - f.states["v"], found["impulses"].reshape(len(found["v_after"]), -1)],
        axis=-1,
    )
    return left, np.ones(len(left))


def _forces_in_the_joints(f: Functions) -> Distance:
    """ID(a) − tau = Aᵀ forces."""
    found = f(DYNAMICS)
    a, forces = found["a"], found["forces"].reshape(len(found["a"]), -1)
    reference = f.reference
    A = np.swapaxes(contacts.jacobian(reference, f.states["q"]), -1, -2)
    sizes, rough = f.truth.scales, np.asarray(a, dtype=float)
    size = sizes.driven(a) + sizes.forces(f.truth.floats["v"], rough)
    size = size + sizes.contact_forces(
        np.swapaxes(np.asarray(A, dtype=float), -1, -2), np.asarray(forces, dtype=float)
    )
    return f("inverse_dynamics", a=a)["tau"] - f.states["tau"] - times(A, forces), size


def _points(f: Functions, v: Array, a: Array, power: int) -> Array:
    """Velocities (1) or accelerations (2) of the contacts (count, 3 NT)."""
    reference, found = f.reference, []
    placed = reference.placements(f.given(DYNAMICS, "q"), v, a)
    for frame in reference.contacts:
        at = placed[frame.body]
        found.append(
            power * (at.shift[power] + times(at.turn[power], reference.pose(frame.pose)[1]))
        )
    return np.concatenate(found, axis=-1)


def _size_of_points(f: Functions, function: str, result: str) -> Array:
    A = np.abs(np.asarray(contacts.jacobian(f.truth.rough, f.truth.floats["q"])))
    own = np.abs(np.asarray(f.truth.results(function)[result], dtype=float)) + f.truth.scales.of(
        function, result
    )
    rate = np.abs(f.truth.floats["v"]).sum(axis=-1, keepdims=True)
    return np.asarray(times(A, own) + (1 + f.truth.scales.length()[:, None]) * rate * rate)


def _points_stand(f: Functions) -> Distance:
    active = _active(f, DYNAMICS)
    left = active * _points(f, f.states["v"], f(DYNAMICS)["a"], 2)
    return left, _size_of_points(f, DYNAMICS, "a")


def _points_are_stopped(f: Functions) -> Distance:
    active, v = _active(f, IMPACT), f(IMPACT)["v_after"]
    left = active * _points(f, v, 0 * v, 1)
    return left, _size_of_points(f, IMPACT, "v_after")


def _energy_is_lost(f: Functions) -> Distance:
    """T(v) − T(v⁺) = T(v − v⁺), which is never negative."""
    v, after = f.states["v"], f(IMPACT)["v_after"]
    whole, kept, lost = (f("kinetic_energy", v=one)["T"] for one in (v, after, v - after))
    left = (whole - kept - lost)[:, None]
    sizes = f.truth.scales
    off = sizes.weighed(sizes.of(IMPACT, "v_after")) * (sizes.weighed(v) + sizes.weighed(after))
    return left, np.asarray(sizes.weighed(v) ** 2 + sizes.weighed(after) ** 2 + off)


# -- of robots with loops ----------------------------------------------------------------------------------------------------


def _open(truth: Truth) -> bool:
    """Whether states lie beside the loops."""
    return truth.baumgarte


def _astray(truth: Truth) -> bool:
    """Whether they do where forces are redundant, so that no accelerations keep all rows."""
    return truth.baumgarte and _redundant(truth)


def _rates(f: Functions) -> Array:
    """v on the loops; none where forces are redundant."""
    f.truth.draw(DYNAMICS)
    v = f.given(DYNAMICS, "v")
    return 0 * v if _redundant(f.truth) else v


def _loops_alone(f: Functions) -> Distance:
    """Without a contact, forces are nothing to the last bit."""
    f.truth.draw(DYNAMICS)
    found, free = f(DYNAMICS, active=0 * f.states["active"]), f("constrained_forward_dynamics")["a"]
    some = np.where(
        np.asarray(found["forces"] != 0).reshape(len(free), -1).any(axis=-1), np.inf, 0.0
    )
    return np.concatenate([found["a"] - free, some[:, None]], axis=-1), terms(free)


def _driven_by_contacts(f: Functions) -> Distance:
    """The contacts' forces among those of the joints: a, where the loops alone are held."""
    v = _rates(f)
    found = f(DYNAMICS, v=v)
    pushed = times(
        np.swapaxes(contacts.jacobian(f.truth.reference, f.given(DYNAMICS, "q")), -1, -2),
        found["forces"].reshape(len(v), -1),
    )
    a = f("constrained_forward_dynamics", v=v, tau=f.states["tau"] + pushed)["a"]
    return found["a"] - a, terms(a, f("constrained_forward_dynamics", v=v)["a"])


def _held_still(f: Functions) -> Distance:
    active, v = _active(f, DYNAMICS), _rates(f)
    free = f("constrained_forward_dynamics", v=v)["a"]
    return active * _points(f, v, f(DYNAMICS, v=v)["a"], 2), terms(_points(f, v, free, 2))


def _held_closed(f: Functions) -> Distance:
    """A a + γ of the loops."""
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
        f.truth.draw(name)
    free = f("constraint_impulse", restitution=0 * f.states["restitution"])["v_next"]
    found = f(IMPACT, active=0 * f.states["active"])
    some = np.where(
        np.asarray(found["impulses"] != 0).reshape(len(free), -1).any(axis=-1), np.inf, 0.0
    )
    return np.concatenate([found["v_after"] - free, some[:, None]], axis=-1), terms(
        f.states["v"], free
    )


def _all_are_stopped(f: Functions) -> Distance:
    """What loops and contacts do not allow is nothing: A v⁺."""
    active, after = _active(f, IMPACT), f(IMPACT)["v_after"]
    A, J = f("constraint_jacobian")["A"], contacts.jacobian(f.truth.reference, f.given(IMPACT, "q"))
    left = np.concatenate([times(A, after), active * times(J, after)], axis=-1)
    return left, terms(
        *(times(np.abs(rows), np.abs(after) + np.abs(f.states["v"])) for rows in (A, J))
    )


def _energy_is_lost_closed(f: Functions) -> Distance:
    """T(v) − T(v⁺) = T(v − v⁺)."""
    v, after, q = f.states["v"], f(IMPACT)["v_after"], f.given(IMPACT, "q")
    energies = [f("kinetic_energy", q=q, v=one)["T"][:, None] for one in (v, after, v - after)]
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
                _astray,
            ),
            (
                "a = constrained FD(tau + Jᵀ forces)",
                (DYNAMICS, "constrained_forward_dynamics"),
                _driven_by_contacts,
                _astray,
            ),
            (
                "active contacts do not accelerate",
                (DYNAMICS, "constrained_forward_dynamics"),
                _held_still,
                _astray,
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
                _astray,
            ),
            (
                "loops and active contacts are stopped",
                (IMPACT, "constraint_jacobian"),
                _all_are_stopped,
                _astray,
            ),
            (
                "T(v) − T(v⁺) = T(v − v⁺)",
                (IMPACT, "kinetic_energy"),
                _energy_is_lost_closed,
                _astray,
            ),
        )
    ),
)
