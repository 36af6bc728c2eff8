"""Pinocchio's word on the Coriolis matrix and the regressor: `python -m tests.judges.of_models`
says it of every URDF.

Our side are the rows as the methods record them, before any pass, over NumPy's floats.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

import symgen
from symgen.description.tip import tip
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import derive
from symgen.pipeline.layout import PLAIN, Layout
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.judges import example_robot_data as judges
from tests.judges.pinocchio_answers import NO_WEIGHT, Model, built, read

BOUND = 1e-9
STATES = 2
BY = {
    "coriolis_matrix": ("composite_body", PLAIN),
    "regressor": ("newton_euler", Layout(declared=True)),
}
THEIRS = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)
"""Index of each of symgen's ten parameters among Pinocchio's, whose moments are xx xy yy xz yz zz.
"""


def answers(mechanism: Mechanism, function: str, states: dict[str, Array]) -> Array:
    """Ours, (count, …)."""
    method, where = BY[function]
    program = derive.record(mechanism, function, method, ProgramOptions(), where, 10**7)
    results = machine_runner(program)(
        {a.name: states[a.name] for a in FUNCTIONS[function].arguments}
    )
    return results[FUNCTIONS[function].results[0].name]


def word(model: Model, function: str, q: Array, v: Array, a: Array) -> Array:
    """Pinocchio's, in our order, at one state of ours."""
    state = model.position(q), model.velocity(v)
    if function == "coriolis_matrix":
        return np.array(model.pin.computeCoriolisMatrix(model.model, model.data, *state))[
            np.ix_(model.order, model.order)
        ]
    columns_of_word = np.array(
        model.pin.computeJointTorqueRegressor(model.model, model.data, *state, model.velocity(a))
    )
    columns_of_word = columns_of_word.reshape(model.model.nv, -1)
    columns = [10 * (joint - 1) + index for joint in model.ids for index in THEIRS]
    return columns_of_word[np.ix_(model.order, columns)]


def error(mechanism: Mechanism, model: Model, function: str) -> float:
    """The largest difference over a few states, relative to the largest entry."""
    states = {
        name: values.astype(float)
        for name, values in draw_states(mechanism, STATES, seed=5).items()
    }
    ours, largest = answers(mechanism, function, states), 0.0
    for k in range(STATES):
        theirs = word(model, function, *(states[name][k] for name in ("q", "v", "a")))
        largest = max(
            largest,
            float(
                np.abs(ours[k] - theirs).max() / max(np.abs(theirs).max(), NO_WEIGHT * model.weight)
            ),
        )
    return largest


def of_trees(mechanism: Mechanism) -> dict[str, float]:
    """Errors by function, on a mechanism that Pinocchio is told joint by joint."""
    model = built(mechanism, tip(mechanism))
    return {function: error(mechanism, model, function) for function in BY}


def of_file(path: Path, base: str) -> dict[str, float]:
    """Errors by function; nothing where no joint moves or Pinocchio does not load the file."""
    text = judges.snapped_text(path.read_text(encoding="utf-8"))
    if base == "free":
        text = text.replace('"world"', '"afloat"')
    try:
        mechanism = symgen.load(text, base=base)
        model = read(text, mechanism, tip(mechanism))
    except (symgen.SymgenError, AssertionError, ValueError, RuntimeError):
        return {}
    return {function: error(mechanism, model, function) for function in BY}


def main(paths: Iterable[Path]) -> int:
    worst = 0.0
    for path in paths:
        for base in ("fixed", "free"):
            errors = of_file(path, base)
            worst = max([worst, *errors.values()])
            print(
                f"{judges.short(path)}, {base}:"
                f" {', '.join(f'{name} {x:.0e}' for name, x in errors.items()) or 'not judged'}"
            )
    print(f"largest {worst:.1e} of {BOUND:.0e}")
    return int(worst > BOUND)


if __name__ == "__main__":
    raise SystemExit(main(judges.files()))
