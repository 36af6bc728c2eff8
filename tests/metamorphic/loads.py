"""Relations between run-time and declared loads, wrenches, and gravity as an acceleration of the base."""

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
    def judge(function: str, states: States, here: Asked, there: Asked) -> Pairs:
        wanted, answers = here(function, states), there(function, states)
        return {name: (values, answers[name]) for name, values in wanted.items()}

    def derived(function: str, states: States, here: Asked, there: Asked) -> Pairs:
        """Return None for derivatives by the load, which the other problem lacks."""
        return (
            {}
            if any(argument.name == "payload" for argument in differentiated_by(function))
            else judge(function, states, here, there)
        )

    return Judged(mechanism, links, judge, derived=derived)


def wrench_by_jacobian(setting: Setting) -> Case | None:
    """Replace wrenches on links by joint forces Jᵀ f, summed over wrenches; None without one."""
    old, links = setting.mechanism, setting.links
    paths = [_carriers(old, name) for name in links.options.wrenches]
    if not any(paths):
        return None
    # The frames of the Jacobian are the links that feel wrenches, and the tip is the first of them, on both sides.
    both = replace(links, frame=links.wrench, wrench=None)

    def judge(function: str, states: States, here: Asked, there: Asked) -> Pairs:
        with here.scalars.working():
            wrench, turn, J = (
                states["wrench"],
                there("forward_kinematics", states)["R"],
                there("jacobian", states)["J"],
            )
            if len(paths) == 1:
                wrench, turn, J = wrench[..., None, :], turn[..., None, :, :], J[..., None, :, :]
            moment, force = (times(turn, part) for part in (wrench[..., :3], wrench[..., 3:]))
            felt = times(np.swapaxes(J, -1, -2), np.concatenate([moment, force], axis=-1)).sum(
                axis=-2
            )
            if function in ("inverse_dynamics", "bias_force", "mass_matrix_and_bias"):
                answers = there(function, states)
                return {
                    name: (values, answers[name] - felt if name in ("tau", "c") else answers[name])
                    for name, values in here(function, states).items()
                }
            if function not in ("forward_dynamics", "link_accelerations", "interbody_forces"):
                return {}
            wanted, answers = (
                here(function, states),
                dict(there(function, with_(states, tau=states["tau"] + felt))),
            )
            if function == "link_accelerations":  # the two sides speak of different tips
                return {"alpha": (wanted["alpha"], answers["alpha"])}
            if function == "forward_dynamics":
                return {"a": (wanted["a"], answers["a"])}
            across = np.array(answers["F"])
            for k, path in enumerate(paths):
                across[..., path, 3:] -= force[..., k, None, :]
            off = [i for i in range(len(old.joints)) if not any(i in path for path in paths)]
            pairs = {"a": (wanted["a"], answers["a"]), "F": (wanted["F"][..., 3:], across[..., 3:])}
            return pairs | (
                {"F off the path": (wanted["F"][..., off, :], across[..., off, :])} if off else {}
            )

    return Judged(old, both, judge)


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

    def judge(function: str, states: States, here: Asked, there: Asked) -> Pairs:
        with here.scalars.working():
            g = here("gravity_force", states)["g"]
            if function == "step_rk4":  # the weight is another one at each of its stages
                return {}
            if function in ("forward_dynamics", "link_accelerations", "step"):
                states_there = with_(states, tau=states["tau"] - 2 * g)
                answers = there(function, states_there)
                return {
                    name: (values, answers[name]) for name, values in here(function, states).items()
                }
            by = {
                "inverse_dynamics": {"tau": 2 * g},
                "bias_force": {"c": 2 * g},
                "mass_matrix_and_bias": {"c": 2 * g},
                "mass_matrix_coriolis_and_bias": {"c": 2 * g},
                "gravity_force": {"g": 2 * g},
            }.get(function, {})
            if function == "potential_energy":
                return {"U": (here(function, states)["U"], -there(function, states)["U"])}
            if function == "interbody_forces":
                answers = there(function, with_(states, tau=states["tau"] - 2 * g))
                return {"a": (here(function, states)["a"], answers["a"])}
            if function in (
                "regressor",
                "base_regressor",
            ):  # some columns change by what no function says
                return {}
            answers = there(function, states)
            return {
                name: (values, answers[name] + by[name] if name in by else answers[name])
                for name, values in here(function, states).items()
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

    def judge(function: str, states: States, here: Asked, there: Asked) -> Pairs:
        with here.scalars.working():
            zero = here.scalars.array([[0, 0, 0]])
            up = here.scalars.array([[-g for g in old.gravity]])
            q, v = (np.concatenate([zero, states[name]], axis=-1) for name in ("q", "v"))
            if function in ("inverse_dynamics", "bias_force", "gravity_force"):
                rest = 0 * states["v"]
                a = {"inverse_dynamics": states["a"]}.get(function, rest)
                v = np.concatenate([zero, rest], axis=-1) if function == "gravity_force" else v
                calm = (
                    with_(states, wrench=0 * states["wrench"])
                    if function == "gravity_force" and "wrench" in states
                    else states
                )
                answers = there(
                    "inverse_dynamics", with_(calm, q=q, v=v, a=np.concatenate([up, a], axis=-1))
                )["tau"][..., 3:]
                return {name: (values, answers) for name, values in here(function, states).items()}
            if function == "mass_matrix":
                return {
                    "M": (
                        here(function, states)["M"],
                        there(function, with_(states, q=q))["M"][..., 3:, 3:],
                    )
                }
            if function == "jacobian":
                return {
                    "J": (
                        here(function, states)["J"],
                        there(function, with_(states, q=q))["J"][..., 3:],
                    )
                }
            if function == "forward_kinematics":
                answers = there(function, with_(states, q=q))
                return {
                    name: (values, answers[name]) for name, values in here(function, states).items()
                }
            return {}

    return Judged(new, links, judge)
