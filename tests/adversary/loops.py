"""Looped functions of robots with several kinds of joints: `verify` must pass generated folders."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import symgen
from symgen.description.canonical import to_toml
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Part
from symgen.support.errors import SymgenError
from symgen.vocabulary.options import TRIG
from symgen.vocabulary.poses import Z_AXIS, Pose, Shift
from symgen.vocabulary.reals import REALS
from tests.adversary import Failure, _robots

WORD = (
    "What generate writes as loops over links, of one state and of many, checked or not, in"
    " segments and level by level, is the dynamics of the robot that was declared, and verify"
    " passes it whole and in part"
)

FUNCTIONS = (
    "inverse_dynamics",
    "bias_force",
    "forward_dynamics",
    "mass_matrix_solve",
    "mass_matrix_log_determinant",
    "mass_matrix_log_determinant_gradient",
    "link_accelerations",
    "interbody_forces",
    "operational_inertia_inverse",
    "bias_acceleration",
    "jacobian",
    "forward_kinematics",
    "link_poses",
    "center_of_mass",
    "kinetic_energy",
    "potential_energy",
    "centroidal_momentum_rate",
    "integrate",
    "difference",
)
METHODS = {
    "mass_matrix_solve": ("riccati", "udut:links", "constraint_force", "fixman:spatial"),
    "forward_dynamics": ("riccati:fd1", "riccati:fd3", "constraint_force:parallel"),
}
"""Methods other than the default one."""
CHAIN_METHODS = {
    "forward_dynamics": ("riccati:segments", "constraint_force:parallel"),
    "mass_matrix_solve": ("constraint_force:parallel", "fixman:parallel", "fixman:segments"),
}
"""Methods for a single chain, in segments or level by level."""
STATES = 2


def tries(seed: int) -> Iterator[Failure | None]:
    """Try one folder at each step."""
    for count in itertools.count():
        random = Random(f"loops/{seed}/{count}")
        if random.random() < 0.25:
            function = random.choice([*CHAIN_METHODS])
            method = random.choice(CHAIN_METHODS[function])
            mechanism = chain(random, method.startswith("fixman"))
            options = {
                "real": random.choice([*REALS]),
                "trig": random.choice(TRIG),
                "checked": random.random() < 0.5,
                "batch": random.random() < 0.5,
            }
            yield _judge(mechanism, [f"{function}={method}"], options)
            continue
        mechanism = _robots.mechanism(random, random.choice((2, 3, 3, 4, 6, 9)))
        yield _try_robot(
            random, _robots.driven(random, mechanism) if random.random() < 0.3 else mechanism
        )


def _try_robot(random: Random, mechanism: Mechanism) -> Failure | None:
    requests = random.sample(FUNCTIONS, random.choice((1, 2, 3)))
    requests = [
        f"{function}={random.choice(METHODS[function])}"
        if function in METHODS and random.random() < 0.3
        else function
        for function in requests
    ]
    options: dict[str, Any] = {
        "frame": random.choice(mechanism.frames).name,
        "real": random.choice([*REALS]),
        "trig": random.choice(TRIG),
        "checked": random.random() < 0.4,
        "batch": random.random() < 0.5,
    }
    return _judge(mechanism, requests, options)


def chain(random: Random, points: bool) -> Mechanism:
    """Draw a chain of joints of one kind, with planar point masses or with general links."""
    n = random.choice((1, 2, 3, 5, 9, 33, 40, 65))
    single_links = [_robots.mechanism(random, 1) for _ in range(n)]
    kind = "revolute" if points else random.choice(("revolute", "revolute", "prismatic"))
    joints, bodies = [], []
    out: Pose = ()
    for i, single_link in enumerate(single_links):
        at = single_link.joints[0].pose
        if points:  # a link of random length, with the point mass at its end
            at, out = (
                out,
                (
                    Shift(
                        (
                            _robots.decimal(random, 2) + Fraction(1, 3),
                            _robots.decimal(random, 2),
                            Fraction(0),
                        )
                    ),
                ),
            )
            body = Body(
                f"b{i}", (Part(f"b{i}", out, abs(_robots.decimal(random, 5)) + Fraction(1, 10)),)
            )
        else:
            body = Body(f"b{i}", (_robots.part(random, f"b{i}", False, 0.5, False),))
        joints.append(
            Joint(f"j{i}", kind, i - 1, at, Z_AXIS if points else _robots.axis(random, False))
        )
        bodies.append(body)
    frames = (*(Frame(body.name, i) for i, body in enumerate(bodies)), Frame("base", BASE))
    return Mechanism("chain", tuple(joints), tuple(bodies), frames, single_links[0].gravity)


def _judge(mechanism: Mechanism, requests: list[str], options: dict[str, Any]) -> Failure | None:
    request_text = f"{mechanism.name}: {', '.join(requests)} as loops with {options}"
    with tempfile.TemporaryDirectory(prefix="symgen-loops-") as temporary:
        folder = Path(temporary) / "arm"
        try:
            symgen.generate(
                symgen.load(to_toml(mechanism)),
                folder,
                requests,
                form="looped",
                name="arm",
                **options,
            )
        except SymgenError:
            return None
        for chosen_functions in (None, [requests[0].split("=")[0]]):
            report = symgen.verify(folder, functions=chosen_functions, states=STATES)
            if report.failures:  # symgen may refuse a robot
                wrong = report.failures[0]
                files = {path.name: path.read_bytes() for path in folder.iterdir()}
                return Failure(
                    f"{request_text} fails: {wrong.kind}, {wrong.subject}, {wrong.detail}",
                    {
                        **files,
                        "robot.py": _robots.as_python(mechanism),
                        "asked.txt": request_text + "\n",
                    },
                )
    return None
