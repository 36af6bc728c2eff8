"""Relations between run-time and declared loads, wrenches, and gravity as an acceleration of the
base.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Part
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, ZERO3, Shift, compose
from tests.metamorphic._core import (
    Asked,
    Case,
    Judged,
    Links,
    Pairs,
    Setting,
    States,
    negated,
    times,
    with_,
)
from tests.metamorphic._tangents import differentiated_by


def payload_declared(setting: Setting) -> Case | None:
    """Replace a run-time load by declared matter; None without a load or on a fixed link."""
    old, links = setting.mechanism, setting.links
    if links.payload is None or old.frame(links.payload).body == BASE:
        return None
    mass, x, y, z, *moments = setting.exact["payload"][0]
    steiner = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    xx, xy, xz, yy, yz, zz = (moment - mass * s for moment, s in zip(moments, steiner, strict=True))
    at = old.frame(links.payload)
    load = Part("load", compose(at.pose, (Shift((x, y, z)),)), mass, (xx, xy, xz, yy, yz, zz))
    bodies = tuple(
        Body(b.name, (*b.parts, load)) if i == at.body else b for i, b in enumerate(old.bodies)
    )
    return _alike(replace(old, bodies=bodies), replace(links, payload=None))


def _alike(mechanism: Any, links: Links) -> Case:
    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        expected, results = evaluate_old(function, states), evaluate_new(function, states)
        return {name: (values, results[name]) for name, values in expected.items()}

    def derived(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        """Return None for derivatives by the load, which the other problem lacks."""
        return (
            {}
            if any(argument.name == "payload" for argument in differentiated_by(function))
            else judge(function, states, evaluate_old, evaluate_new)
        )

    return Judged(mechanism, links, judge, derived=derived)


def wrench_by_jacobian(setting: Setting) -> Case | None:
    """Replace wrenches on links by joint forces Jᵀ f, summed over wrenches; None without one."""
    old, links = setting.mechanism, setting.links
    paths = [_carriers(old, name) for name in links.options.wrenches]
    if not any(paths):
        return None
    # The frames of the Jacobian are the links that feel wrenches, and the tip is the first of them,
    # on both sides.
    frame_links = replace(links, frame=links.wrench, wrench=None)

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        with evaluate_old.scalars.working():
            wrench, turn, J = (
                states["wrench"],
                evaluate_new("forward_kinematics", states)["R"],
                evaluate_new("jacobian", states)["J"],
            )
            if len(paths) == 1:
                wrench, turn, J = wrench[..., None, :], turn[..., None, :, :], J[..., None, :, :]
            moment, force = (times(turn, half) for half in (wrench[..., :3], wrench[..., 3:]))
            joint_force = times(
                np.swapaxes(J, -1, -2), np.concatenate([moment, force], axis=-1)
            ).sum(axis=-2)
            if function in ("inverse_dynamics", "bias_force", "mass_matrix_and_bias"):
                results = evaluate_new(function, states)
                return {
                    name: (
                        values,
                        results[name] - joint_force if name in ("tau", "c") else results[name],
                    )
                    for name, values in evaluate_old(function, states).items()
                }
            if function not in ("forward_dynamics", "link_accelerations", "interbody_forces"):
                return {}
            expected, results = (
                evaluate_old(function, states),
                dict(evaluate_new(function, with_(states, tau=states["tau"] + joint_force))),
            )
            if function == "link_accelerations":  # the two descriptions have different tips
                return {"alpha": (expected["alpha"], results["alpha"])}
            if function == "forward_dynamics":
                return {"a": (expected["a"], results["a"])}
            across = np.array(results["F"])
            for k, path in enumerate(paths):
                across[..., path, 3:] -= force[..., k, None, :]
            off = [i for i in range(len(old.joints)) if not any(i in path for path in paths)]
            pairs = {
                "a": (expected["a"], results["a"]),
                "F": (expected["F"][..., 3:], across[..., 3:]),
            }
            return pairs | (
                {"F off the path": (expected["F"][..., off, :], across[..., off, :])} if off else {}
            )

    return Judged(old, frame_links, judge)


def _carriers(mechanism: Mechanism, link: str) -> list[int]:
    """Return the bodies from a link to the base, its own first; empty for a link of the base."""
    body, path = mechanism.frame(link).body, []
    while body != BASE:
        path.append(body)
        body = mechanism.joints[body].parent
    return path


def weight_turned_round(setting: Setting) -> Case:
    """Reverse gravity: forces change by −2 g(q), the potential energy by its sign."""
    old, links = setting.mechanism, setting.links

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        with evaluate_old.scalars.working():
            g = evaluate_old("gravity_force", states)["g"]
            if function == "step_rk4":  # the weight is another one at each of its stages
                return {}
            if function in ("forward_dynamics", "link_accelerations", "step"):
                states_there = with_(states, tau=states["tau"] - 2 * g)
                results = evaluate_new(function, states_there)
                return {
                    name: (values, results[name])
                    for name, values in evaluate_old(function, states).items()
                }
            by = {
                "inverse_dynamics": {"tau": 2 * g},
                "bias_force": {"c": 2 * g},
                "mass_matrix_and_bias": {"c": 2 * g},
                "mass_matrix_coriolis_and_bias": {"c": 2 * g},
                "gravity_force": {"g": 2 * g},
            }.get(function, {})
            if function == "potential_energy":
                return {
                    "U": (evaluate_old(function, states)["U"], -evaluate_new(function, states)["U"])
                }
            if function == "interbody_forces":
                results = evaluate_new(function, with_(states, tau=states["tau"] - 2 * g))
                return {"a": (evaluate_old(function, states)["a"], results["a"])}
            if function in (
                "regressor",
                "base_regressor",
            ):  # no function gives the change of some columns
                return {}
            results = evaluate_new(function, states)
            return {
                name: (values, results[name] + by[name] if name in by else results[name])
                for name, values in evaluate_old(function, states).items()
                if name not in ("dtau_dq", "da_dq")
            }

    return Judged(replace(old, gravity=negated(old.gravity)), links, judge)


def base_accelerated(setting: Setting) -> Case:
    """Replace gravity by an acceleration of the base along three prismatic joints."""
    old, links = setting.mechanism, setting.links
    slides = tuple(
        Joint(f"lift_{axis}", "prismatic", i - 1, (), direction)
        for i, (axis, direction) in enumerate(zip("xyz", (X_AXIS, Y_AXIS, Z_AXIS), strict=True))
    )
    carried = tuple(replace(j, parent=j.parent + 3 if j.parent != BASE else 2) for j in old.joints)
    bodies = (
        *(Body(f"lift{i}", (Part(f"lift{i}", (), Fraction(1 + i)),)) for i in range(3)),
        *old.bodies,
    )
    frames = (
        *(Frame(f"lift{i}", i) for i in range(3)),
        *(replace(f, body=f.body + 3 if f.body != BASE else 2) for f in old.frames),
    )
    new = replace(old, joints=(*slides, *carried), bodies=bodies, frames=frames, gravity=ZERO3)

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        with evaluate_old.scalars.working():
            zero = evaluate_old.scalars.array([[0, 0, 0]])
            up = evaluate_old.scalars.array([[-g for g in old.gravity]])
            q, v = (np.concatenate([zero, states[name]], axis=-1) for name in ("q", "v"))
            if function in ("inverse_dynamics", "bias_force", "gravity_force"):
                zero_rates = 0 * states["v"]
                a = {"inverse_dynamics": states["a"]}.get(function, zero_rates)
                v = (
                    np.concatenate([zero, zero_rates], axis=-1)
                    if function == "gravity_force"
                    else v
                )
                calm = (
                    with_(states, wrench=0 * states["wrench"])
                    if function == "gravity_force" and "wrench" in states
                    else states
                )
                results = evaluate_new(
                    "inverse_dynamics", with_(calm, q=q, v=v, a=np.concatenate([up, a], axis=-1))
                )["tau"][..., 3:]
                return {
                    name: (values, results)
                    for name, values in evaluate_old(function, states).items()
                }
            if function == "mass_matrix":
                return {
                    "M": (
                        evaluate_old(function, states)["M"],
                        evaluate_new(function, with_(states, q=q))["M"][..., 3:, 3:],
                    )
                }
            if function == "jacobian":
                return {
                    "J": (
                        evaluate_old(function, states)["J"],
                        evaluate_new(function, with_(states, q=q))["J"][..., 3:],
                    )
                }
            if function == "forward_kinematics":
                results = evaluate_new(function, with_(states, q=q))
                return {
                    name: (values, results[name])
                    for name, values in evaluate_old(function, states).items()
                }
            return {}

    return Judged(new, links, judge)
