"""Pinocchio judges the derivatives of inverse and forward dynamics, of a URDF on its own base or a
floating one.

Our side is what the recursion records, run over NumPy's doubles as it is recorded, before any pass,
which takes seconds of a long one. Errors are relative to the largest entry of Pinocchio's answer;
of what is solved for, to |M||X| + |B|.

    python -m tests.judges.derivatives
        prints the table of all files, on both bases
    python -m tests.judges.derivatives --write
        rewrites tests/judges/example_robot_data_derivatives.md
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import symgen
from symgen import methods
from symgen.derivation import constants
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation
from symgen.description.tip import tip
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.derive import models
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.functions import FUNCTIONS
from tests.judges.example_robot_data import _rounded as rounded
from tests.judges.example_robot_data import files, short, snapped_text
from tests.judges.pinocchio_answers import Model, Word, read

METHOD = "derivative_recursion"
INVERSE, FORWARD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
BOUND = 1e-9


def recorded(mechanism: Mechanism, function: str) -> Program:
    """A function as it is recorded, in the plain layout of a robot's frames."""
    spec = FUNCTIONS[function]
    shapes = {a.name: a.sizes(mechanism.sizes) for a in spec.arguments}
    with constants.precision():
        derivation = Derivation({name: shape[0] for name, shape in shapes.items()})
        results = methods.derivation(METHOD, function)(Linkage(models(mechanism)[1], derivation))
        square = (mechanism.nv, mechanism.nv)
        return derivation.freeze(
            function,
            METHOD,
            [(r.name, square, x) for r, x in zip(spec.results, results, strict=True)],
            shapes,
        )


def judge(
    path: Path, base: str = "fixed", ours: Mapping[str, Program] | None = None
) -> dict[str, float]:
    """The error of every result, where Pinocchio loads the file and something moves; none of ∂FD
    where M is singular.
    """
    import pinocchio

    text = path.read_text(encoding="utf-8")
    robot: Path | str = path
    if base == "free":
        robot = text = text.replace('"world"', '"afloat"')
    try:
        if not pinocchio.buildModelFromXML(
            text, *[pinocchio.JointModelFreeFlyer()] * (base == "free")
        ).nv:
            return {}
    except (ValueError, RuntimeError):
        return {}
    mechanism = symgen.load(robot, base=base)
    states = {
        name: values.astype(float) for name, values in draw_states(mechanism, 1, seed=7).items()
    }
    word = Word(
        read(snapped_text(text), mechanism, tip(mechanism)),
        {name: values[0] for name, values in states.items()},
    )
    functions = (INVERSE,) if build.rank_loss(mechanism, None) else (INVERSE, FORWARD)
    results: dict[str, Array] = {}
    for function in functions:
        run = machine_runner((ours or {}).get(function) or recorded(mechanism, function))
        results_by_name = run({a.name: states[a.name] for a in FUNCTIONS[function].arguments})
        results |= {name: values[0] for name, values in results_by_name.items()}
    identity = np.eye(mechanism.nv)
    pairs = {"M": word.M} | dict(
        zip(("dtau_dq", "dtau_dv"), _rnea(word, states["a"][0]), strict=True)
    )
    errors = {
        name: _share(results[name] - value, np.abs(value), word) for name, value in pairs.items()
    }
    if FORWARD in functions:
        solved = {"Minv": -identity} | dict(
            zip(("da_dq", "da_dv"), _rnea(word, word.acceleration), strict=True)
        )
        for name, value in solved.items():
            size = np.abs(word.M) @ np.abs(results[name]) + np.abs(value)
            errors[name] = _share(word.M @ results[name] + value, size, word)
    return errors


def _share(difference: Array, size: Array, word: Word) -> float:
    return float(np.abs(difference).max() / (word.weighed(size) or 1.0))


def _rnea(word: Word, a: Array) -> tuple[Array, Array]:
    """∂τ/∂q and ∂τ/∂v in our order."""
    of: Model = word.of
    by_q, by_v, _ = of.pin.computeRNEADerivatives(of.model, of.data, word.q, word.v, of.velocity(a))
    order = np.ix_(of.order, of.order)
    return np.array(by_q)[order], np.array(by_v)[order]


# -- all files -------------------------------------------------------------------------------------

TABLE = Path(__file__).with_name("example_robot_data_derivatives.md")
RESULTS = ("dtau_dq", "dtau_dv", "M", "da_dq", "da_dv", "Minv")
BASES = ("fixed", "free")


def table(paths: list[Path]) -> str:
    """Return a Markdown table: one line for each file and base, errors rounded up to powers of ten,
    – for a missing value.
    """
    lines = [
        "# Pinocchio's word on derivatives, of the URDFs of example-robot-data",
        "",
        (
            "Written by `make judge` (`python -m tests.judges.derivatives --write`); not edited by"
            " hand. Judged is what"
        ),
        (
            f"`{METHOD}` records, at one state, against `computeRNEADerivatives`; ∂FD is −M⁻¹ of"
            " that at the accelerations"
        ),
        (
            "of its `aba`. Errors are relative to the largest entry of its answer; of what is"
            " solved for, to |M||X| + |B|; to the"
        ),
        "weight at 1 m where all is zero.",
        f"The bound is {BOUND:.0e} everywhere.",
        "",
        f"| file | base | {' | '.join(RESULTS)} |",
        "|---|---|" + "---|" * len(RESULTS),
    ]
    for path in paths:
        for base in BASES:
            errors = judge(path, base)
            cells = [rounded(errors[name]) if name in errors else "–" for name in RESULTS]
            lines.append(f"| {short(path)} | {base} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = table(files())
    if sys.argv[1:] == ["--write"]:
        TABLE.write_text(text, encoding="utf-8")
    else:
        print(text)
