"""Functions as loops over links, of robots with several kinds of joint: `verify` must pass what `generate` writes."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import symgen
from symgen.description.canonical import to_toml
from symgen.errors import SymgenError
from symgen.mechanism import Mechanism
from symgen.options import TRIG
from symgen.reals import REALS
from tests.adversary import Failure, _robots

WORD = ("What generate writes as loops over links, of one state and of many, checked or not, is the dynamics of the robot that "
        "was declared, and verify passes it whole and in part")

FUNCTIONS = ("inverse_dynamics", "bias_force", "forward_dynamics", "mass_matrix_solve", "mass_matrix_log_determinant",
             "mass_matrix_log_determinant_gradient", "link_accelerations", "interbody_forces", "operational_inertia_inverse",
             "bias_acceleration", "jacobian", "forward_kinematics", "link_poses", "center_of_mass", "kinetic_energy",
             "potential_energy", "centroidal_momentum_rate", "integrate", "difference")
METHODS = {"mass_matrix_solve": ("riccati", "udut:links", "constraint_force", "fixman:spatial"),
           "forward_dynamics": ("riccati:fd1", "riccati:fd3", "constraint_force:parallel")}
"""Others than the first choice. Segments take longer chains than are drawn here."""
STATES = 2


def tries(seed: int) -> Iterator[Failure | None]:
    """One folder a step."""
    for count in itertools.count():
        random = Random(f"loops/{seed}/{count}")
        made = _robots.mechanism(random, random.choice((2, 3, 3, 4, 6, 9)))
        yield _tried(random, _robots.driven(random, made) if random.random() < 0.3 else made)


def _tried(random: Random, made: Mechanism) -> Failure | None:
    asked = random.sample(FUNCTIONS, random.choice((1, 2, 3)))
    asked = [f"{one}={random.choice(METHODS[one])}" if one in METHODS and random.random() < 0.3 else one for one in asked]
    options: dict[str, Any] = {"frame": random.choice(made.frames).name, "real": random.choice([*REALS]),
                               "trig": random.choice(TRIG), "checked": random.random() < 0.4, "batch": random.random() < 0.5}
    said = f"{made.name}: {', '.join(asked)} as loops with {options}"
    with tempfile.TemporaryDirectory(prefix="symgen-loops-") as place:
        folder = Path(place) / "arm"
        try:
            symgen.generate(symgen.load(to_toml(made)), folder, asked, form="looped", name="arm", **options)
        except SymgenError:
            return None
        for part in (None, [asked[0].split("=")[0]]):
            report = symgen.verify(folder, functions=part, states=STATES)
            if report.failures:   # a robot may lose its digits
                wrong = report.failures[0]
                files = {path.name: path.read_bytes() for path in folder.iterdir()}
                return Failure(f"{said} fails: {wrong.kind}, {wrong.subject}, {wrong.detail}",
                               {**files, "robot.py": _robots.told(made), "asked.txt": said + "\n"})
    return None
