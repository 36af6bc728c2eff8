"""Random mechanisms and options, compared with a Newton-Euler recursion and with Pinocchio.

A try is one mechanism, one set of options and one function by one method. The Program must agree
with the recursion, which uses ball arithmetic, to 1e-40, and its compiled C within `allowance`.
Pinocchio, if installed, must agree within round-off. If and only if symgen refuses a singular mass
matrix, the mass matrix of the recursion must be singular.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from importlib.util import find_spec
from random import Random
from typing import Any

import flint
import numpy as np

from symgen import methods
from symgen.benchmarks.peers import pinocchio as peer
from symgen.certificate import checked_bounds
from symgen.emission import printer
from symgen.ir.program import Program
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.pipeline import build
from symgen.reference.precision import Array, TooFewDigits
from symgen.support.errors import RequestError, SymgenError
from symgen.verification.algebra import check_algebra
from symgen.verification.compiled import compiled_runners, print_sources
from symgen.verification.evaluating import Runner, scalar_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import check_floating
from symgen.verification.report import Check
from symgen.vocabulary import derivatives
from symgen.vocabulary.arrays import USUAL
from symgen.vocabulary.functions import AT_RUN_TIME, FUNCTIONS
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target
from tests.adversary import Failure, _differentials, _newton_euler, _robots
from tests.judges import pinocchio_answers

WORD = (
    "Every function by every method is the dynamics of the robot that was declared: the Program to"
    " 40 digits, the C to the round-off that verify allows, whatever the joints, the inertias and"
    " the options."
)

STATES = 2
STATES_OF_STEPS = 3
"""Number of states for steps: small rotations in the second, about half a turn in the third."""
DIGITS = 200
"""Decimal digits of the recursion, whose differences lose 45."""
FROM_PINOCCHIO = 1e-9
"""Largest relative difference from Pinocchio, whose round-off is large for extreme masses."""
ILL = 1e-5
"""Regularity of M below which Pinocchio's inverse and determinant are too inaccurate."""
NOTHING = 1e-40
"""Largest error that a derivative may have from terms that cancel."""
LOADS = [argument.name for argument in AT_RUN_TIME]
SINGULAR = 1e-18
"""Ratio of det M to the product of its diagonal below which symgen may refuse M."""


class Second(ExactResults):
    """States and sizes as in `verify`, with results of the recursion instead of the reference."""

    def results(self, function: str) -> dict[str, Array]:
        if function not in self._results:
            derivative = FUNCTIONS[function].derivative
            if derivative is None:
                self._results[function] = self._of_frames(function, self.states)
            else:
                self.draw(function)
                with flint.ctx.workdps(max(_differentials.DIGITS, self.working)):
                    self._results[function] = _differentials.answers(
                        self.mechanism,
                        derivative,
                        self.states,
                        partial(self._of_frames, derivative.of),
                    )
        return self._results[function]

    def _of_frames(self, function: str, states: Mapping[str, Array]) -> dict[str, Array]:
        frames = ProgramOptions(frame=self.links["frame"]).frames
        if len(frames) < 2 or not FUNCTIONS[function].uses_all_frames:
            return self._in_stated_frame(function, frames[0], states)
        by_frame = [self._in_stated_frame(function, frame, states) for frame in frames]
        return {
            name: np.stack([results[name] for results in by_frame], axis=1) for name in by_frame[0]
        }

    def _recursion(
        self, function: str, frame: str, states: Mapping[str, Array]
    ) -> dict[str, Array]:
        sizes = self.mechanism.sizes._replace(
            NR=-1, NK=len(self.links["task_rows"])
        )  # of base parameters as many as are found
        shapes = {r.name: r.sizes(sizes) for r in FUNCTIONS[function].results}
        try:
            return _newton_euler.answers(
                self.mechanism,
                function,
                states,
                self._digits,
                shapes,
                **self.links | {"frame": frame},
            )
        except ZeroDivisionError:
            raise TooFewDigits("the recursion's mass matrix is singular") from None

    @property
    def _digits(self) -> int:
        """Return DIGITS, or more if results are differentiated."""
        return max(DIGITS, self.working, flint.ctx.dps)

    def _in_stated_frame(
        self, function: str, frame: str, states: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Convert J and J̇ v of the recursion to the convention of frame and order."""
        answer = self._recursion(function, frame, states)
        if not FUNCTIONS[function].follows_convention:
            return answer
        ((name, value),) = answer.items()
        pose, J = (
            self._recursion("forward_kinematics", frame, states),
            self._recursion("jacobian", frame, states)["J"],
        )
        with flint.ctx.workdps(self._digits):
            halves = np.split(value[..., None] if value.ndim == 2 else value, 2, axis=1)
            to_frame, arm = np.swapaxes(pose["R"], 1, 2), pose["p"][..., None]
            turn, speed = np.split(
                J @ np.vectorize(_newton_euler.ball, otypes=[object])(states["v"])[..., None],
                2,
                axis=1,
            )
            rate = value.ndim == 2
            if self.convention.frame == "local":
                halves[1] = halves[1] - (cross(turn, speed) if rate else 0)
                halves = [to_frame @ half for half in halves]
            elif self.convention.frame == "world":
                halves[1] = halves[1] + cross(arm, halves[0]) + (cross(speed, turn) if rate else 0)
            stacked = np.concatenate(
                halves if self.convention.order == "angular" else halves[::-1], axis=1
            )
        return {name: stacked[..., 0] if rate else stacked}

    @cached_property
    def regularity(self) -> list[float]:
        """Return det M / product of the diagonal at each state; 1 for decoupled joints."""
        verdicts = []
        with self.scalars.working():
            for m in self.results("mass_matrix")["M"]:
                diagonal = math.prod(np.diagonal(m).tolist(), start=flint.arb(1))
                det = flint.arb_mat(len(m), len(m), list(m.ravel())).det()
                verdicts.append(0.0 if diagonal.contains(0) else float(abs(det / diagonal)))
        return verdicts


def _pairs(random: Random) -> list[tuple[str, str | None]]:
    """Return all pairs of function and method, with one derivative for each function."""
    pairs: list[tuple[str, str | None]] = [
        (f, method) for f in FUNCTIONS for method in methods.providers(f)
    ]
    of_each = [
        (_differentials.some(random, f, LOADS), random.choice((None, *methods.providers(f))))
        for f in FUNCTIONS
    ]
    return pairs + [(name, method) for name, method in of_each if name is not None]


def tries(seed: int) -> Iterator[Failure | None]:
    """Try one mechanism with one function and method at each step; all pairs take turns."""
    pairs: list[tuple[str, str | None]] = []
    for count in itertools.count():
        random = Random(f"mechanisms/{seed}/{count}")
        mechanism = _robots.mechanism(random)
        drives = Random(f"drives/{seed}/{count}")
        mechanism = _robots.driven(drives, mechanism) if drives.random() < 0.4 else mechanism
        options, text = _robots.options(random, mechanism)
        if not pairs:
            pairs = _pairs(random)
            random.shuffle(pairs)
        yield attacked(mechanism, *pairs.pop(), options, text, count)


def attacked(
    mechanism: Mechanism,
    function: str,
    method: str | None,
    options: ProgramOptions,
    text: TextOptions,
    states: int,
) -> Failure | None:
    """Judge one function by one method; None if it is right."""
    request_text = f"{function}={method} with {options} and {text}, states {states}"
    try:
        derivative = FUNCTIONS[function].derivative
        count = (
            STATES_OF_STEPS
            if FUNCTIONS[derivatives.base_function(function)].smooth
            else STATES
            if derivative is None
            else 1
        )
        exact_results = Second(
            mechanism,
            count,
            states,
            frame=options.frame,
            payload=options.payload,
            wrench=options.wrench,
            convention=options.convention,
            task_rows=options.rows,
        )
        wrong = _refused(exact_results, function, options)
        with suppress(SymgenError):  # a method may refuse a mechanism with a message
            program = build.build_program(mechanism, function, method, options)
            wrong = wrong or _judged(program, exact_results, options, text)
    except Exception as error:  # any other exception is a failure as well
        wrong = f"{type(error).__name__}: {error}"
    return (
        None
        if wrong is None
        else Failure(
            f"{wrong} ({request_text})",
            {"robot.py": _robots.as_python(mechanism), "asked.txt": request_text + "\n"},
        )
    )


def _refused(exact_results: Second, function: str, options: ProgramOptions) -> str | None:
    """Judge the refusal of a singular mass matrix; None if it is right."""
    if not FUNCTIONS[function].needs_inverse:
        return None
    refusal, share = (
        build.refusal(exact_results.mechanism, function, options.payload),
        max(exact_results.regularity),
    )
    if (refusal is None) == (share > SINGULAR) or 0 < share < SINGULAR**0.5:
        return None
    return (
        f"{refusal or 'nothing is refused'}, but det M is {share:.1e} of the product of M's"
        " diagonal"
    )


def _compiled(
    mechanism: Mechanism, program: Program, options: ProgramOptions, text: TextOptions
) -> Runner | None:
    """Compile the C; None if symgen refuses a number outside the real type."""
    target, programs = Target(mechanism.name, mechanism.sizes, text), {program.function: program}
    try:
        divisor_bounds = checked_bounds(mechanism, programs, options, text)
        printed = print_sources(programs, target, divisor_bounds)
    except RequestError:
        return None
    return compiled_runners(programs, printed, printer().headers(programs, target), target)[
        program.function
    ]


def _judged(
    program: Program, exact_results: Second, options: ProgramOptions, text: TextOptions
) -> str | None:
    label = f"{program.function}={program.method}"
    run = _compiled(exact_results.mechanism, program, options, text)
    checks = [
        check_algebra(program, exact_results, label),
        *([check_floating(program, run, exact_results, label, text)] if run else []),
    ]
    for check in checks:
        if (
            not check.passed
            and not check.unjudged
            and not (check.kind == "algebra" and _cancelled(program, exact_results))
        ):
            return _sentence(check)
    inverted = (
        FUNCTIONS[program.function].needs_inverse or program.function == "mass_matrix_determinant"
    )
    has_judge = find_spec("pinocchio") is not None and program.function in pinocchio_answers.ERRORS
    if exact_results.mechanism.without_drives is not exact_results.mechanism:
        return None  # Pinocchio has rotors only
    if (
        not has_judge
        or exact_results.links["wrench"] is not None
        or (inverted and min(exact_results.regularity) < ILL)
    ):
        return None
    spec = FUNCTIONS[program.function]
    if (spec.follows_convention and options.convention != USUAL) or (
        spec.uses_all_frames and len(options.frames) > 1
    ):
        return None  # the recursion has judged these; Pinocchio has one convention and one frame
    exact = scalar_runner(exact_results.scalars, program)(exact_results.arguments(program.function))
    results = {name: values.astype(float) for name, values in exact.items()}
    for k in range(exact_results.count):
        state = {name: values[k] for name, values in exact_results.floats.items()}
        word = Weighed(
            Built(
                exact_results.mechanism, options.frames[0], exact_results.links["payload"], state
            ),
            state,
        )
        word.terms = float(
            exact_results.scales.forces(exact_results.floats["v"], exact_results.floats["a"])[
                k
            ].max()
        )
        error = pinocchio_answers.ERRORS[program.function](
            {name: values[k] for name, values in results.items()}, word
        )
        if not error <= FROM_PINOCCHIO:
            return f"{label} is {error:.1e} off Pinocchio at state {k}"
    return None


def _cancelled(program: Program, exact_results: Second) -> bool:
    """True if a derivative differs only by round-off of constants where its value is zero.

    `verify` asks for relative accuracy of zero as well, and may fail such a derivative.
    """
    if FUNCTIONS[program.function].derivative is None:
        return False
    cancelled, expected = (
        scalar_runner(exact_results.scalars, program)(exact_results.arguments(program.function)),
        exact_results.results(program.function),
    )
    with exact_results.scalars.working():
        for name, values in expected.items():
            for mine, exact in zip(cancelled[name].ravel(), values.ravel(), strict=True):
                if not abs(flint.arb(mine) - exact) <= NOTHING * max(
                    abs(flint.arb(exact)), flint.arb(1)
                ):
                    return False
    return True


def _sentence(check: Check) -> str:
    return (
        f"{check.kind} of {check.subject} is {check.error:.3g}{check.unit} off, {check.bound:.3g}"
        f" allowed: {check.detail}"
    )


def cross(a: Array, b: Array) -> Array:
    """Return a × b of columns: (count, 3, 1) and (count, 3, …)."""
    return np.stack(
        [
            a[:, (i + 1) % 3] * b[:, (i + 2) % 3] - a[:, (i + 2) % 3] * b[:, (i + 1) % 3]
            for i in range(3)
        ],
        axis=1,
    )


class Weighed(pinocchio_answers.Word):
    """Pinocchio's results, with errors relative to the terms of sums, which may cancel."""

    terms = 0.0

    def weighed(self, answer: Array) -> float:
        return max(self.terms, float(np.abs(answer).max(initial=0.0)))


class Built(pinocchio_answers.Model):
    """A Pinocchio model of a mechanism with the load of one state, built without a file."""

    def __init__(
        self, mechanism: Mechanism, frame: str, payload: str | None, state: Mapping[str, Array]
    ) -> None:
        import pinocchio as pin

        model, ids = pin.Model(), {BASE: 0}
        with flint.ctx.workdps(50):
            at = _newton_euler.Recursion(mechanism, state, frame, payload)
            for i in _depth_first(mechanism):
                joint = mechanism.joints[i]
                joint_model = peer.joint_model(pin, joint)
                index = ids[i] = model.addJoint(
                    ids[joint.parent], joint_model, _seat(pin, at.poses[i]), joint.name
                )
                for matter in at.matter[i]:
                    inertia = pin.Inertia(
                        float(matter.mass),
                        np.array(matter.centre, dtype=float),
                        np.array(matter.moments, dtype=float),
                    )
                    model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
            on = mechanism.frame(frame)
            seat = _seat(pin, _newton_euler.pose_of(on.pose))
            number = model.addFrame(
                pin.Frame(f"frame {frame}", ids[on.body], 0, seat, pin.FrameType.OP_FRAME)
            )
            mass = sum(
                float(matter.mass) for matter_of_body in at.matter for matter in matter_of_body
            )
        super().__init__(model, mechanism, [ids[i] for i in range(len(mechanism.joints))], number)
        self.weight = max(float(np.linalg.norm(self.model.gravity.linear)), 1.0) * mass


def _seat(pin: Any, placed: tuple[Any, Any]) -> Any:
    return pin.SE3(np.array(placed[0], dtype=float), np.array(placed[1], dtype=float))


def _depth_first(mechanism: Mechanism) -> list[int]:
    """Return the joints in depth-first order, as Pinocchio requires."""
    order, stack = [], [*reversed(mechanism.children(BASE))]
    while stack:
        order.append(stack.pop())
        stack += reversed(mechanism.children(order[-1]))
    return order
