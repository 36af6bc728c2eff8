"""Meanings of the names in named equations, by the name's stem and the step that computes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

NAMES: Mapping[str, str] = {
    # joints and frames
    "R": "rotation from the link's axes to the base's, or to the parent's",
    "l": "lever arm from the link's origin to the point that it carries, or to the base",
    "p": "origin of the frame in the base",
    "cos": "cosine of the angle of the link in the plane, LC (14)",
    "sin": "sine of the angle of the link in the plane, LC (14)",
    "twice": "twice a component of the joint's unit quaternion",
    "xx": (
        "twice a component of the joint's unit quaternion (x, y, z, w), or twice a product of two"
    ),
    # motion
    "omega": "angular velocity of a link, RK (2.2)",
    "omegadot": "angular acceleration of a link, RK (2.4)",
    "v": "velocity of a link's origin, RK (2.3)",
    "vdot": "acceleration of a link's origin minus gravity, RK (2.5)",
    "U": "acceleration field of a link: the matrix of omegadot x + omega x omega x",
    "w": "angular velocity relative to the link",
    "u": "velocity relative to the link",
    "s": "rate of u at zero joint accelerations",
    "b": "rate of w at zero joint accelerations",
    "N": "moment on a link at its origin, RK (2.9), (2.12)",
    "F": "force on a link, RK (2.10), (2.11)",
    "tau": "joint force, RK (2.13)",
    "T": "kinetic energy of a link",
    # composite bodies and the mass matrix
    "h": "first moment of a composite body, SA (15a-c)",
    "Sigma": "second moments of a composite body about its link's origin, SA (15a-c)",
    "M": "entry of the mass matrix, SA (16)",
    "D": "pivot of an elimination, SA (20), LC (13)",
    "invD": "1/D",
    "alpha": "multiplier of the elimination, SA (31)",
    "x": "entry of the solution by substitution, SA (24)",
    "g": "gravity on a composite body",
    "Gamma": "sum of dw over the joints beyond a link; symgen's own (B4)",
    "dw": (
        "a quarter of the wrench that the velocity of a joint adds to its composite body; symgen's"
        " own (B2), (B3)"
    ),
    "d": "momentum of the carried links relative to a link; symgen's own (C3)",
    # Rodriguez & Kreutz
    "P": (
        "block of the articulated-body inertia between moments and angular accelerations, RK (4.5)"
    ),
    "PB": (
        "block of the articulated-body inertia between moments and linear accelerations, RK (4.5)"
    ),
    "PC": "block of the articulated-body inertia between forces and linear accelerations, RK (4.5)",
    "G": "Kalman gain P H^T / D, RK (5.12)",
    "L": "Kalman gain as a wrench on the parent, RK (4.4)",
    "phi": "shift of wrenches to the parent, RK (3.3)",
    "psi": "phi across free joints, RK (4.7)",
    "Omega": "acceleration per unit wrench on a link: angular by moments, from RK (4.16), (5.4)",
    "OmegaB": "block of Omega: angular accelerations by forces",
    "OmegaC": "block of Omega: linear accelerations by forces",
    "slope": "entry of the derivative of ln det M",
    "a": "bias acceleration of a link, RK (2.19), (3.21)",
    "f": "wrench across a joint, RK (2.29)",
    "Tprime": "joint force without the bias, RK (3.22), (4.17)",
    "z": "filtered wrench, RK (5.16)",
    "zn": "coefficients of the angular velocity in the moments of the filtered wrench, RK (5.16)",
    "zf": "coefficients of the angular velocity in the forces of the filtered wrench, RK (5.16)",
    "zww": "coefficients of the squares of the angular velocity in the filtered wrench, RK (5.16)",
    "epsilon": "innovation, RK (4.20), (5.16)",
    "nu": "innovation divided by D, RK (4.20), (5.16)",
    "lambda": "smoothed acceleration of a link, RK (4.22)",
    "thetaddot": "joint acceleration, RK (4.22), (5.17), SA (38)",
    "zeta": "bias accelerations summed along the links, RK (5.8)",
    # Saha
    "c": "vector from mass centre to mass centre, SA Fig. 1",
    "Mtilde": "inertia of a composite body at its link's mass centre, SA (15a-c)",
    "Mhat": "articulated-body inertia at a link's mass centre, SA (35)",
    "mhat": "articulated-body inertia along the axis of a joint, SA (32)",
    "psihat": "psi divided by mhat, SA (33)",
    "L2": "entry of the eliminated matrix, SA (17), (31)",
    "tauhat": "entry of U^-1 tau, SA (36)",
    "tautilde": "tauhat divided by mhat, SA (24)",
    # Lee & Chirikjian, Wang & Chirikjian, Fijany & Featherstone
    "H_tt": "entry of H between angles, LC (23)",
    "H_tL": "entry of H between an angle and a length, LC (23)",
    "H_LL": "entry of H between lengths, LC (23)",
    "Haa": "block of H between soft variables, WC (19)",
    "Hab": "block of H between soft and hard variables, WC (19)",
    "Hbb": "block of H between hard variables, WC (19)",
    "dtheta": "derivative of a joint angle by the position of a point mass, LC (17)-(21)",
    "dL": "derivative of a length by the position of a point mass, LC (18)",
    "dq": "rates of the variables of a joint by the twist of a link, WC (18)",
    "e": "force of a hard coordinate, LC (13)",
    "A": "acceleration across one joint by a wrench across another, of free links",
    "H": "block of A in the bases of both joints, after the eliminations named less",
    "b_less": (
        "right-hand side of the constraint equation after the elimination of a joint, LC (12)"
    ),
    "eta": "acceleration across a joint from velocities and gravity",
    "gamma": "angular acceleration of a free link",
    "qddot": "joint acceleration, LC (12)",
    "run": "angular velocity added by a segment of links",
    "det": "factor of the determinant, LC (8)",
    "logdet": "logarithm of a factor of the determinant, LC (8)",
    # tasks and derivatives
    "S": "entry of the matrix of the task or of the constraints that is eliminated",
    "Psiddot": "derivative of a link's acceleration by a joint coordinate; symgen's own (D2)",
    "Psidot": "derivative of a link's velocity by a joint coordinate; symgen's own (D1)",
    "K": "velocity terms of a composite body, second moments; symgen's own (D5)",
    "W": "wrench of the velocity terms of a composite body; symgen's own (D8)",
    "C": "closure error of a constraint row",
}
"""Meaning of a stem, the part of a name before its first index."""

IN_STEP: Mapping[tuple[str, str], str] = {
    ("joint angles", "c"): "",
    ("joint angles", "s"): "",
    ("bias force", "c"): "bias force of a joint",
    ("bias wrench", "c"): "bias force of a joint",
    ("of its inertia in the blocks", "c"): "mass centre of a link in the plane",
    (
        "momentum of the carried links",
        "D",
    ): "momentum of the carried links relative to a link; symgen's own (C2)",
    ("articulated inertia", "D"): "articulated-body inertia along the axis of a joint, RK (4.6)",
    ("direction", "phi"): "rate of the direction of a link, LC (13)",
    ("hard coordinates", "phi"): "rate of the direction of a link, LC (13)",
    ("direction of the link", "b"): "moment on the direction of a link",
    ("of its mass in the blocks", "u"): "1/length of a link",
    ("of its mass in the blocks", "w"): "1/mass of a link",
    ("SA (32)", "psi"): "momentum of an articulated body at a unit joint rate, SA (32)",
    ("SA (9a)", "T"): "entry of the twist of a link by the twist of another, SA (9a)",
    ("task", "L"): "multiplier of the elimination of S",
    ("constraint force", "f"): "constraint force across a joint, in its basis W",
    ("back substitution, SA", "a"): "joint acceleration, SA (24)",
    ("(D5)", "p"): "velocity terms of a composite body, first moment; symgen's own (D5)",
    ("directions on the way", "gamma"): "velocity-product acceleration of a constraint row",
    ("columns of the Jacobian at", "A"): "entry of the constraint Jacobian",
}
"""Meaning of a stem in a step whose heading has this text, where it differs; "" needs no
explanation.
"""

OF_COORDINATES = ("joint position after the time", "displacement from q to")
"""Headings of steps that are one closed form; their names are parts of it."""
QUATERNION = re.compile(r"[wxyz][xyz2]$")
STAGE, OF_STAGE = re.compile(r"(?:k\d(?:_q)?|q): "), re.compile(r"(?:k\d_)?(?:q_)?")
"""Begin of the headings of a stage of an integrator, and of its names."""
INDEXED = re.compile(r"(less|zww|run)\d+$")


def meaning(name: str, heading: str) -> str:
    """Return the meaning of a name in named equations; "" if it needs none or has none."""
    if any(text in heading for text in OF_COORDINATES):
        return ""
    stem = stem_of(name, heading)
    for (text, letter), explanation in IN_STEP.items():
        if stem == letter and text in heading:
            return explanation
    return NAMES.get("xx" if QUATERNION.match(stem) else stem, "")


def stem_of(name: str, heading: str = "") -> str:
    """Return the letters of a name before its indices: PB of PB_6_1_2, b_less of b_less1_0_2."""
    unstaged = OF_STAGE.sub("", name, count=1) if STAGE.match(heading) else name
    words = unstaged.removeprefix("neg_").split("_")
    first = next((n for n, word in enumerate(words) if word.isdigit()), len(words))
    return "_".join(INDEXED.sub(r"\1", word) for word in words[:first])


def legend(named: Sequence[tuple[Any, Any]], headings: Sequence[str]) -> list[str]:
    """Return a line for each stem among named equations, in their order: 'PB: block of …'."""
    lines: dict[str, None] = {}
    for (symbol, _), heading in zip(named, headings, strict=False):
        explanation = meaning(str(symbol), heading)
        if explanation:
            lines[f"{stem_of(str(symbol), heading)}: {explanation}"] = None
    return list(lines)
