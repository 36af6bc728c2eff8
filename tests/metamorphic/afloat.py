"""Relations of floating robots: momentum changes by external forces only; one more body on the
base, or beside it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism, Part
from symgen.pipeline.build import rank_loss
from symgen.reference.precision import Array
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Shift
from tests.metamorphic._core import (
    STEPS,
    Asked,
    Case,
    Judged,
    Links,
    Pairs,
    Setting,
    States,
    times,
    with_,
)
from tests.metamorphic.states import STEP
from tests.metamorphic.taken_apart import log_determinant


def only_root(mechanism: Mechanism) -> int | None:
    """Return the joint of the root if there is one root and it moves freely."""
    roots = mechanism.children(BASE)
    return roots[0] if len(roots) == 1 and mechanism.joints[roots[0]].type.nv == 6 else None


def weight(
    mechanism: Mechanism, links: Links, states: States, evaluate_old: Asked
) -> tuple[Array, Array]:
    """Return the mass of all moving links (1, 1) and their weight (1, 3)."""
    mass = evaluate_old.scalars.array([[mechanism.mass]])
    if links.payload is not None and mechanism.frame(links.payload).body != BASE:
        mass = mass + states["payload"][..., :1]
    return mass, mass * evaluate_old.scalars.array([list(mechanism.gravity)])


def momentum_kept(setting: Setting) -> Case | None:
    """Forces of joints push both ways: only weight, which has no moment about the mass centre,
    changes the momentum.

    None where no root floats, and where M is singular. A step of forward dynamics and `integrate`
    misses that by the square of its time, as it does the way of the mass centre and the work of all
    forces. Its order over many steps stands in `tests/methods/test_momentum_conservation.py`.
    """
    old, links = setting.mechanism, replace(setting.links, wrench=None)
    root = only_root(old)
    if root is None or rank_loss(old, links.payload) is not None:
        return None

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        if function not in (
            "centroidal_momentum",
            "center_of_mass",
            "kinetic_energy",
            "potential_energy",
        ):
            return {}
        with evaluate_old.scalars.working():
            dt, v, tau = evaluate_old.scalars.array([STEP]), states["v"], np.array(states["tau"])
            tau[..., old.v_slices[root]] *= 0
            now = with_(states, tau=tau)
            a = evaluate_old("forward_dynamics", now)["a"]
            after = with_(
                now, q=evaluate_new("integrate", with_(now, dt=dt))["q_next"], v=v + a * dt
            )
            mass, pull = weight(old, links, states, evaluate_old)
            (name,) = (result.name for result in FUNCTIONS[function].results)
            was, after_step = evaluate_old(function, now)[name], evaluate_new(function, after)[name]
            momentum = evaluate_old("centroidal_momentum", now)["h"]
            grown = {
                "h": lambda: np.concatenate([0 * pull, pull], axis=-1),
                "com": lambda: momentum[..., 3:] / mass,
                "T": lambda: (
                    (tau * v).sum(axis=-1) + (pull * momentum[..., 3:]).sum(axis=-1) / mass[..., 0]
                ),
                "U": lambda: -(pull * momentum[..., 3:]).sum(axis=-1) / mass[..., 0],
            }[name]()
            return {name: (was + grown * dt, after_step)}

    return Judged(old, links, judge, (old, links))


def one_body_more(setting: Setting) -> Case | None:
    """A body that is part of a floating root is one that floats beside it and moves as it does.
    None where no root floats.

    G makes velocities of the two out of those of the one: M of the one is Gᵀ M G of the two, its
    forces are Gᵀ theirs, and what is of the whole is the same. Two that float apart do not feel
    each other.
    """
    old, links, random = setting.mechanism, setting.links, setting.random
    root = only_root(old)
    if root is None:
        return None
    xx, yy, zz = (Fraction(random.randint(10, 200), 1000) for _ in range(3))
    zero = Fraction(0)
    more = Part(
        "one_more",
        (Shift(setting.vector(1)),),
        setting.fraction(0.5, 5),
        (yy + zz, zero, zero, xx + zz, zero, xx + yy),
    )
    bodies = tuple(
        Body(b.name, (*b.parts, more)) if i == root else b for i, b in enumerate(old.bodies)
    )
    together = replace(old, bodies=bodies)
    beside = Joint("one_more", "free", BASE, old.joints[root].pose, old.joints[root].axis)
    apart = replace(
        old, joints=(*old.joints, beside), bodies=(*old.bodies, Body("one_more", (more,)))
    )
    v_slice, count = old.v_slices[root], len(old.joints)

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        scalars = evaluate_old.scalars
        with scalars.working():
            entries_of_both = [*range(old.nv), *range(v_slice.start, v_slice.stop)]
            G = scalars.array([[int(i == k) for k in range(old.nv)] for i in entries_of_both])

            def two(states: States) -> States:
                at = {
                    name: np.concatenate(
                        [states[name], states[name][..., old.q_slices[root]]], axis=-1
                    )
                    for name in ("q", "q_next")
                }
                return with_(
                    states,
                    **at,
                    **{name: states[name][..., entries_of_both] for name in ("v", "a")},
                )

            if function in (
                "base_regressor",
                "base_parameters",
                "operational_inertia",
                "dynamically_consistent_inverse",
            ):
                return {}  # no sum over the two bodies
            expected = evaluate_old(function, states)
            if function in ("forward_dynamics", "link_accelerations", "interbody_forces"):
                a = evaluate_old("forward_dynamics", states)[
                    "a"
                ]  # of the single body; each of the two bodies requires its own forces for it
                forces = evaluate_new("inverse_dynamics", two(with_(states, a=a)))["tau"]
                accelerations = evaluate_new(function, with_(two(states), tau=forces))
                if function == "forward_dynamics":
                    return {
                        "a": (
                            np.concatenate(
                                [expected["a"][..., entries_of_both], states["tau"]], axis=-1
                            ),
                            np.concatenate([accelerations["a"], forces @ G], axis=-1),
                        )
                    }
                pairs = {
                    "alpha": lambda x: x[..., :count, :],
                    "a": lambda x: x[..., : old.nv],
                    "F": lambda x: np.concatenate(
                        [
                            x[..., :root, :],
                            x[..., [root], :] + x[..., count:, :],
                            x[..., root + 1 : count, :],
                        ],
                        axis=-2,
                    ),
                }
                return {
                    name: (values, pairs.get(name, lambda x: x)(accelerations[name]))
                    for name, values in expected.items()
                }
            if function in (
                "mass_matrix_solve",
                "inverse_mass_matrix",
                "operational_inertia_inverse",
            ):
                M = G.T @ evaluate_new("mass_matrix", two(states))["M"] @ G
                ((name, x),) = expected.items()
                if name == "x":
                    return {name: (states["b"], times(M, x))}
                if name == "Minv":
                    return {name: (scalars.array([np.eye(old.nv)]), M @ x)}
                J = evaluate_new("jacobian", two(states))["J"] @ G
                solved = evaluate_old("inverse_mass_matrix", states)["Minv"]
                return {name: (x, J @ solved @ np.swapaxes(J, -1, -2))}
            if function in ("mass_matrix_determinant", "mass_matrix_log_determinant"):
                logarithm = log_determinant(G.T @ evaluate_new("mass_matrix", two(states))["M"] @ G)
                return {
                    name: (values, np.exp(logarithm) if name == "det" else logarithm)
                    for name, values in expected.items()
                }
            if function in (
                "mass_matrix_log_determinant_gradient",
                "forward_dynamics_derivatives",
                *STEPS,
            ):
                return {}  # no sum over the two bodies, or no single force that keeps them together
            goes = {
                **dict.fromkeys(("tau", "c", "g"), lambda x: x @ G),
                **dict.fromkeys(("M", "C", "dtau_dq", "dtau_dv"), lambda x: G.T @ x @ G),
                "Y": lambda x: G.T @ x[..., : 10 * count],
                **dict.fromkeys(("J", "Jcom", "A_G"), lambda x: x @ G),
                "R_links": lambda x: x[..., :count, :, :],
                "p_links": lambda x: x[..., :count, :],
                "q_next": lambda x: x[..., : old.nq],
                "delta": lambda x: x[..., : old.nv],
            }
            accelerations = evaluate_new(function, two(states))
            return {
                name: (values, goes.get(name, lambda x: x)(accelerations[name]))
                for name, values in expected.items()
            }

    return Judged(apart, links, judge, (together, links))
