"""Pinocchio judges every URDF of the PyPI package `example-robot-data`.

Each file is read twice. As symgen snaps it: the judge gets the same text with the snapped rotation tokens written out as
multiples of π/2 to 17 digits, and parses that itself. And with snapping off: the judge gets the file as it is. Our side
is symgen's Programs over NumPy arrays of states (or, with `--reference`, the reference), the other side Pinocchio's
rnea, crba, nonLinearEffects and computeGeneralizedGravity.

    python -m tests.judges.example_robot_data            prints the table
    python -m tests.judges.example_robot_data --write    rewrites tests/judges/example_robot_data.md
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import symgen
from symgen.errors import SymgenError
from symgen.functions import FUNCTIONS
from symgen.generation import program
from symgen.mechanism import Mechanism
from symgen.precision import Array
from symgen.reference import Reference
from symgen.regularity import singular_joint
from symgen.snapping import snapped
from symgen.states import draw_states
from symgen.verification.evaluating import in_machine_reals

TABLE = Path(__file__).with_suffix(".md")
STATES = 6
BOUND = 1e-11
"""Relative, of the largest entry of the judge's answer; for forward dynamics of |M||a| + |c| + |tau|."""

METHODS = {"inverse_dynamics": "newton_euler", "mass_matrix": "composite_body", "bias_force": "newton_euler",
           "gravity_force": "newton_euler", "forward_dynamics": "riccati"}
"""One method a function: choosing the cheapest would derive each by all of them."""
QUANTITIES = {"inverse_dynamics": "tau", "mass_matrix": "M", "bias_force": "c", "gravity_force": "g", "forward_dynamics": "a"}
HEADINGS = dict(zip(QUANTITIES, ("ID", "M", "bias", "gravity", "FD"), strict=True))

_RPY = r"(\brpy\s*=\s*)([\"'])([^\"']*)\2"

Answers = Callable[[Mechanism, str, dict[str, Array]], Array]
"""(mechanism, function, arguments (count, NV) each) → result (count, …)."""


@dataclass
class Verdict:
    """The judge's word on one file: error per function, or the reason why there is none."""

    file: str
    nv: int = 0
    snaps: int = 0
    moved: float = 0.0
    """Largest distance in rad that a token was snapped over."""
    as_snapped: dict[str, float] = field(default_factory=dict)
    raw: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def judged(self) -> bool:
        return bool(self.as_snapped)

    @property
    def worst(self) -> float:
        return max([*self.as_snapped.values(), *self.raw.values()], default=math.inf)


def files() -> list[Path]:
    """Every URDF of the installed package, sorted by its path inside the package."""
    listed = importlib.metadata.files("example-robot-data") or []
    return sorted((Path(str(f.locate())) for f in listed if f.suffix == ".urdf"), key=short)


def short(path: Path) -> str:
    """The path inside the package's `robots` folder."""
    parts = path.parts
    return "/".join(parts[parts.index("example-robot-data") + 2:])


def snapped_text(text: str) -> str:
    """The URDF with every rpy token that symgen snaps written as that multiple of π/2."""

    def rewrite(match: re.Match[str]) -> str:
        tokens = []
        for token in match.group(3).split():
            angle = snapped(token)
            tokens.append(token if angle is None else repr(float(angle)))
        return f"{match.group(1)}{match.group(2)}{' '.join(tokens)}{match.group(2)}"

    return re.sub(_RPY, rewrite, text)


def by_programs(mechanism: Mechanism, function: str, arguments: dict[str, Array]) -> Array:
    """symgen's Program, evaluated in float64."""
    return in_machine_reals(program(mechanism, function, METHODS[function]))(arguments)[QUANTITIES[function]]


def by_reference(mechanism: Mechanism, function: str, arguments: dict[str, Array]) -> Array:
    """The reference, in float64: what tells a wrong harness from a wrong Program."""
    wanted = {array.name: arguments[array.name] for array in FUNCTIONS[function].arguments}
    return Reference(mechanism).evaluate(function, wanted)[QUANTITIES[function]]


class Judge:
    """A Pinocchio model, spoken to in symgen's joint order and with one angle a continuous joint."""

    def __init__(self, text: str, mechanism: Mechanism) -> None:
        import pinocchio

        self.pin = pinocchio
        self.model = pinocchio.buildModelFromXML(text)
        self.model.gravity.linear = np.array([float(x) for x in mechanism.gravity])
        self.data = self.model.createData()
        theirs = {name: self.model.joints[i + 1] for i, name in enumerate(list(self.model.names)[1:])}
        ours = [joint.name for joint in mechanism.joints]
        if sorted(theirs) != sorted(ours):
            raise AssertionError(f"the joints differ: {sorted(set(theirs) ^ set(ours))}")
        self.joints = [theirs[name] for name in ours]
        self.order = np.array([joint.idx_v for joint in self.joints])

    def position(self, q: Array) -> Array:
        """Pinocchio's q (nq,): (cos, sin) where it keeps an unbounded angle as a pair."""
        out = np.zeros(self.model.nq)
        for joint, value in zip(self.joints, q, strict=True):
            out[joint.idx_q:joint.idx_q + joint.nq] = (value,) if joint.nq == 1 else (math.cos(value), math.sin(value))
        return out

    def velocity(self, v: Array) -> Array:
        out = np.zeros(self.model.nv)
        out[self.order] = v
        return out

    def answers(self, states: dict[str, Array]) -> dict[str, Array]:
        """ID, M, bias and gravity of every state, in our order."""
        found: dict[str, list[Array]] = {name: [] for name in QUANTITIES if name != "forward_dynamics"}
        for q, v, a in zip(states["q"], states["v"], states["a"], strict=True):
            at, speed = self.position(q), self.velocity(v)
            found["inverse_dynamics"].append(self.pin.rnea(self.model, self.data, at, speed, self.velocity(a)).copy()[self.order])
            upper = np.triu(self.pin.crba(self.model, self.data, at))
            found["mass_matrix"].append((upper + np.triu(upper, 1).T)[np.ix_(self.order, self.order)])
            found["bias_force"].append(self.pin.nonLinearEffects(self.model, self.data, at, speed).copy()[self.order])
            found["gravity_force"].append(self.pin.computeGeneralizedGravity(self.model, self.data, at).copy()[self.order])
        return {name: np.array(values) for name, values in found.items()}


def compare(mechanism: Mechanism, text: str, ours: Answers, singular: bool) -> dict[str, float]:
    """Relative error per function, the largest over the states; forward dynamics by its backward error against the judge."""
    states = {name: values.astype(float) for name, values in draw_states(mechanism, STATES, seed=7).items()}
    theirs = Judge(text, mechanism).answers(states)
    # rotors about vertical axes feel no gravity: beside the weight at 1 m, 1e-10 of it is a zero that both sides round
    weight = sum(float(body.mass) for body in mechanism.bodies) * 9.81
    errors: dict[str, float] = {}
    for function, expected in theirs.items():
        found = ours(mechanism, function, states)
        floor = 0.0 if function == "mass_matrix" else 1e-10 * weight
        errors[function] = _relative(_norm(found - expected), np.where(_norm(expected) > floor, _norm(expected), weight))
    if not singular:
        a, tau = ours(mechanism, "forward_dynamics", states), states["tau"]
        mass, bias = theirs["mass_matrix"], theirs["bias_force"]
        residual = (mass @ a[..., None])[..., 0] + bias - tau
        size = np.abs(mass).sum(axis=-1).max(axis=-1) * _norm(a) + _norm(bias) + _norm(tau)
        errors["forward_dynamics"] = _relative(_norm(residual), size)
    return errors


def _norm(values: Array) -> Array:
    return np.abs(values.reshape(len(values), -1)).max(axis=-1)


def _relative(error: Array, size: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / size)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max())


def judge(path: Path, ours: Answers = by_programs, raw_to: int = 1000) -> Verdict:
    """The verdict on one file; with angles unsnapped as well up to `raw_to` joints."""
    import pinocchio

    verdict = Verdict(short(path))
    text = path.read_text(encoding="utf-8")
    try:
        model: Any = pinocchio.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        verdict.reason = "Pinocchio does not load it: " + (str(error).strip().splitlines() or ["no reason given"])[-1].strip()
        return verdict
    verdict.nv = model.nv
    if model.nv == 0:
        verdict.reason = "no joint moves"
        return verdict
    mechanism = symgen.load(path)
    moves = [float(move) for note in mechanism.notes for move in re.findall(r"moved by (\S+) rad", note.text)]
    verdict.moved = max(moves, default=0.0)
    verdict.snaps = sum(note.kind == "snap" for note in mechanism.notes)
    lost = singular_joint(mechanism)
    verdict.as_snapped = compare(mechanism, snapped_text(text), ours, lost is not None)
    if verdict.snaps and model.nv <= raw_to:
        verdict.raw = compare(symgen.load(path, snap="off"), text, ours, lost is not None)
    else:
        verdict.raw = dict(verdict.as_snapped)
    if lost is not None:
        verdict.reason = f"FD, solve and inverse refused: M is singular at joint {lost}"
    return verdict


def table(verdicts: list[Verdict]) -> str:
    """Markdown: one line a file, errors rounded up to one digit."""
    judged = [v for v in verdicts if v.judged]
    lines = [
        "# Pinocchio's word on the URDFs of example-robot-data",
        "",
        "Written by `python -m tests.judges.example_robot_data --write`; not edited by hand. Errors are the largest over",
        f"{STATES} states: of ID, M, bias and gravity relative to the largest entry of Pinocchio's answer (to the weight at 1 m",
        "where gravity vanishes), of FD the backward error |Ma + c − tau| / (|M||a| + |c| + |tau|) with Pinocchio's M and c. The",
        "judge reads the text as snapped; *raw* is the largest of the same errors with `--snap off` against the file as it is.",
        f"The bound is {BOUND:.0e} everywhere.",
        "",
        f"{len(judged)} of {len(verdicts)} files have a joint and are loaded by Pinocchio.",
        "",
        "| file | joints | snapped tokens | " + " | ".join(HEADINGS.values()) + " | raw | remark |",
        "|---|---|---|" + "---|" * (len(HEADINGS) + 2),
    ]
    for v in verdicts:
        cells = [_rounded(v.as_snapped[name]) if name in v.as_snapped else "–" for name in HEADINGS]
        raw = _rounded(max(v.raw.values())) if v.raw else "–"
        lines.append(f"| {v.file} | {v.nv} | {_snaps(v)} | {' | '.join(cells)} | {raw} | {v.reason} |")
    return "\n".join(lines) + "\n"


def _snaps(verdict: Verdict) -> str:
    return f"{verdict.snaps} (≤ {_rounded(verdict.moved)} rad)" if verdict.snaps else "0"


def _rounded(error: float) -> str:
    """Rounded up to a power of ten, so that the table says the same on another machine."""
    return "0" if error == 0 else f"1e{math.ceil(math.log10(error))}" if math.isfinite(error) else str(error)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Pinocchio judges the URDFs of example-robot-data")
    parser.add_argument("--write", action="store_true", help=f"rewrite {TABLE.name}")
    parser.add_argument("--reference", action="store_true", help="judge the numeric reference in place of the Programs")
    options = parser.parse_args(arguments)
    verdicts = []
    for path in files():
        start = time.perf_counter()
        try:
            verdict = judge(path, by_reference if options.reference else by_programs)
        except (SymgenError, AssertionError) as error:
            verdict = Verdict(short(path), reason=str(error), as_snapped={"inverse_dynamics": math.inf})
        verdicts.append(verdict)
        print(f"{verdict.file}: {verdict.nv} joints, {verdict.worst:.1e} {verdict.reason} ({time.perf_counter() - start:.1f} s)",
              file=sys.stderr)
    if options.write:
        TABLE.write_text(table(verdicts), encoding="utf-8")
    else:
        print(table(verdicts))
    return 0 if all(v.worst <= BOUND for v in verdicts if v.judged) else 1


if __name__ == "__main__":
    sys.exit(main())
