"""Parameters of a description as symbols: masses, mass centres, moments of inertia and lengths
become arguments.

A zero stays zero. Equal parameters are not merged, so that a formula shows its origin. Frames are
the chosen ones (`symgen.derivation.model`), and every link has its own inertia. Rotations and
gravity stay numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.constants import Constant
from symgen.derivation.coupling import UNCOUPLED, Coupling
from symgen.derivation.gravity_compensation import has_gravity_compensation
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame, Inertia, Link, Model
from symgen.derivation.scalars import Derivation, Scalar, TooManyRows
from symgen.derivation.spatial import RigidInertia, Symmetric, Vector
from symgen.ir import passes
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import task
from symgen.pipeline.base_parameters import base_parameters
from symgen.pipeline.build import refusal
from symgen.pipeline.choose import methods_for
from symgen.pipeline.derive import ROW_BUDGET, frame_names, models
from symgen.support.errors import RequestError, UnknownName
from symgen.vocabulary.arrays import Array, Sizes
from symgen.vocabulary.functions import FUNCTIONS, Function, Q
from symgen.vocabulary.names import function_named
from symgen.vocabulary.options import Links, ProgramOptions, Rows

KINDS = {
    "m": "mass",
    "c": "mass centre",
    "I": "moments of inertia about the mass centre",
    "l": "lengths",
}
"""Kinds of parameters: m (kg), c and l (m), I (kg·m²)."""
PORT = "parameters"
AXES = ("x", "y", "z")
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
PAIRS = ("xx", "xy", "xz", "yy", "yz", "zz")


@dataclass(frozen=True)
class Parameter:
    """One kept parameter: an element of the argument "parameters", at its index in the tuple.

    `symbol` is m_2, c_2_x, I_2_xx or l_2_x, with links counted from 0; `value` is in SI units,
    exact, or with 64 digits if it is irrational.
    """

    symbol: str
    kind: str
    link: int
    value: Fraction
    meaning: str


def parse_kinds(text: str | Iterable[str]) -> tuple[str, ...]:
    """Return the kinds to keep, in the order of KINDS, from "all", "none" or "m,c"; RequestError
    lists the kinds.
    """
    if isinstance(text, str):
        text = {"all": tuple(KINDS), "none": ()}.get(
            text.strip(), [kind_name.strip() for kind_name in text.split(",")]
        )
    requested = tuple(text)
    for name in requested:
        if name not in KINDS:
            available = ", ".join(f"{kind} ({meaning})" for kind, meaning in KINDS.items())
            raise UnknownName(
                f"'{name}' is not a kind of parameter; --symbols takes all, none, or a list of"
                f" {available}"
            )
    return tuple(kind for kind in KINDS if kind in requested)


class SymbolicLinkage(Linkage):
    """A Linkage whose inertias, mass centres and lengths are the symbols of `parameters` instead of
    numbers.
    """

    def __init__(
        self,
        model: Model,
        derivation: Derivation,
        parameters: Sequence[Parameter],
        frame: Frame | None = None,
        coupling: Coupling = UNCOUPLED,
    ) -> None:
        self._atom_of = {
            p.symbol: atom
            for p, atom in zip(parameters, derivation.inputs.get(PORT, []), strict=True)
        }
        self._kinds = {p.kind for p in parameters}
        super().__init__(model, derivation, frame, coupling=coupling)

    def _symbol_or_number(self, symbol: str, value: Constant) -> Scalar:
        return self._atom_of[symbol] if symbol in self._atom_of else self.scalar(value)

    def _triple(self, kind: str, i: int, values: Sequence[Constant]) -> Vector:
        return Vector(
            self._symbol_or_number(f"{kind}_{i}_{axis}", x)
            for axis, x in zip(AXES, values, strict=True)
        )

    def center(self, i: int) -> Vector:
        return self._triple("c", i, self.model.links[i].center)

    def _offset(self, i: int) -> Vector:
        return self._triple("l", i, self.model.links[i].shift)

    def _shift(self, link: Link, total: Vector, slide: Vector) -> Vector:
        return total if "l" in self._kinds else super()._shift(link, total, slide)

    def _inertia(self, i: int) -> RigidInertia:
        """Return the inertia with Σ = ½tr(I)1 − I + m c cᵀ and h = m c about the frame's origin."""
        if not self._kinds & {"m", "c", "I"}:
            return super()._inertia(i)
        inertia = self.model.links[i].inertia
        m, c = self._symbol_or_number(f"m_{i}", inertia.m), self.center(i)
        xx, xy, xz, yy, yz, zz = (
            self._symbol_or_number(f"I_{i}_{pair}", x)
            for pair, x in zip(PAIRS, moments(inertia), strict=True)
        )
        h = c * m
        half = (xx + yy + zz) * self.scalar(k.rational(1) / 2)
        S = Symmetric(half - xx, -xy, -xz, half - yy, -yz, half - zz)
        return RigidInertia.of(m, h, S + Symmetric(*(h[a] * c[b] for a, b in UPPER)))


def moments(inertia: Inertia) -> tuple[Constant, ...]:
    """Return xx xy xz yy yz zz of I = tr(Σ)1 − Σ about the mass centre (tensor entries, Ixy = −∫xy
    dm).
    """
    h, S = inertia.h, inertia.S
    if not k.is_zero(inertia.m):
        squares = [k.normalize(h[a] * h[b] / inertia.m) for a, b in UPPER]
        S = tuple(k.normalize(s - x) for s, x in zip(S, squares, strict=True))
    xx, yy, zz = S[3] + S[5], S[0] + S[5], S[0] + S[3]
    return tuple(k.normalize(x) for x in (xx, -S[1], -S[2], yy, -S[4], zz))


def parameters(model: Model, keep: Iterable[str]) -> tuple[Parameter, ...]:
    """Return every nonzero parameter of these kinds, link by link."""
    requested = parse_kinds(keep)
    if has_gravity_compensation(model) and {"m", "c"} & {*requested}:
        raise RequestError(
            f"links of '{model.name}' have gravity compensation (gravcomp), which is not available"
            " in symbols m and c; keep l and I as symbols, or leave gravcomp out with --drives"
        )
    result: list[Parameter] = []

    def add(kind: str, i: int, suffix: str, value: Constant, meaning: str) -> None:
        if kind in requested and not k.is_zero(value):
            result.append(Parameter(f"{kind}_{i}{suffix}", kind, i, k.to_fraction(value), meaning))

    with k.precision():
        for i, link in enumerate(model.links):
            link_text = f"link '{link.name}'"
            parent_text = (
                f"link '{model.links[link.parent].name}'" if link.parent >= 0 else "the base"
            )
            add("m", i, "", link.inertia.m, f"mass of {link_text} (kg)")
            for axis, x in zip(AXES, link.center, strict=True):
                add(
                    "c",
                    i,
                    f"_{axis}",
                    x,
                    f"{axis} of the mass centre of {link_text}, in its frame (m)",
                )
            for pair, x in zip(PAIRS, moments(link.inertia), strict=True):
                add(
                    "I",
                    i,
                    f"_{pair}",
                    x,
                    f"moment {pair} of {link_text} about its mass centre, axes of its frame"
                    " (kg·m²)",
                )
            for axis, x in zip(AXES, link.shift, strict=True):
                add(
                    "l",
                    i,
                    f"_{axis}",
                    x,
                    f"{axis} of the frame of {link_text}, in that of {parent_text} (m)",
                )
    return tuple(result)


MOST_ROWS = 4 * ROW_BUDGET
"""Most rows of a derivation for inspection."""


def symbolic_linkage(
    mechanism: Mechanism,
    arguments: Mapping[str, int],
    keep: str | Iterable[str] = "none",
    frame: str | None = None,
    model: Model | None = None,
    linkage_type: type[SymbolicLinkage] = SymbolicLinkage,
) -> tuple[SymbolicLinkage, tuple[Parameter, ...]]:
    """Return the robot laid out for any callable(Linkage), with the kinds in `keep` as inputs, and
    the parameters of these inputs.

    `arguments`: name -> number of elements; the argument "parameters" follows them if any parameter
    is kept. `frame` names a declared link, for functions of a frame. `model` None takes the chosen
    frames. Use the result inside `symgen.derivation.constants.precision()`.
    """
    model = models(mechanism)[0] if model is None else model
    kept_parameters = parameters(model, keep)
    with k.precision():
        derivation = Derivation(
            {**arguments, **({PORT: len(kept_parameters)} if kept_parameters else {})}, MOST_ROWS
        )
        chosen_frame = model.frame(mechanism, frame) if frame else None
        return linkage_type(
            model, derivation, kept_parameters, chosen_frame, Coupling.of(mechanism)
        ), kept_parameters


def derive_symbolic(
    mechanism: Mechanism,
    function: str,
    keep: str | Iterable[str] = "none",
    method: str | None = None,
    frame: Links = None,
    task_rows: Rows = None,
    laid_out: tuple[Mechanism, Model] | None = None,
    linkage_type: type[SymbolicLinkage] = SymbolicLinkage,
) -> tuple[Program, tuple[Parameter, ...]]:
    """Return the Program of `symbolic` before any pass.

    `laid_out` is a robot with the same joints whose constants are used, and its model; None takes
    the robot itself in the chosen frames.
    """
    robot, model = laid_out or (mechanism, None)
    declared = FUNCTIONS[function_named(function)]
    method = default_method(mechanism, function) if method is None else method
    build = methods.derivation(method, function)
    options = ProgramOptions(frame=frame, task_rows=task_rows)
    reason = refusal(mechanism, function, None) or task.refusal(mechanism, function, options)
    reason = reason or methods.find(method).refusal(mechanism)
    if reason is not None:
        raise RequestError(reason)
    shapes = {
        a.name: a.sizes(mechanism.sizes)
        for a in (*declared.arguments, *(() if Q in declared.arguments else (Q,)))
    }
    names = frame_names(mechanism, declared, options)
    try:
        linkage, kept_parameters = symbolic_linkage(
            robot,
            {name: prod(shape) for name, shape in shapes.items()},
            keep,
            names[0] if names else None,
            model,
            linkage_type,
        )
        linkage.task_rows, linkage.base = (
            options.rows,
            base_parameters(mechanism) if declared.counts("NR") else None,
        )
        sizes = mechanism.sizes._replace(
            NF=len(names), NR=0 if linkage.base is None else len(linkage.base), NK=len(options.rows)
        )
        with k.precision():
            results = build(linkage, [linkage.model.frame(robot, name) for name in names])
            results_named = _named_results(declared, sizes, results)
            program = linkage.derivation.freeze(
                function, method, results_named, {**shapes, PORT: (len(kept_parameters),)}
            )
    except TooManyRows:
        raise RequestError(
            f"{function} of '{mechanism.name}' by {method} has more than {MOST_ROWS} operations"
            " before simplification; lock joints that do not matter with --lock"
        ) from None
    return program, kept_parameters


def symbolic(
    mechanism: Mechanism,
    function: str,
    keep: str | Iterable[str] = "all",
    frame: Links = None,
    method: str | None = None,
    task_rows: Rows = None,
) -> tuple[Program, tuple[Parameter, ...]]:
    """Return the Program of a function with the kinds in `keep` as its last argument, "parameters",
    and these parameters.

    At the parameters' own values it equals the plain Program's function. `method` None takes the
    default method. Raises RequestError for an unknown function, kind, method or link.
    """
    program, kept_parameters = derive_symbolic(mechanism, function, keep, method, frame, task_rows)
    return passes.run(program), kept_parameters


def default_method(mechanism: Mechanism, function: str) -> str:
    """Return the method that is inspected by default: composite_body if it computes the function,
    else the first.
    """
    candidates = methods_for(mechanism, function)
    return "composite_body" if "composite_body" in candidates else candidates[0]


def _named_results(
    function: Function, sizes: Sizes, results: Sequence[Sequence[Scalar]]
) -> list[tuple[str, tuple[int, ...], Any]]:
    def shape(array: Array) -> tuple[int, ...]:
        return array.of_each(sizes.NF).sizes(sizes)

    return [
        (array.name, shape(array), atoms)
        for array, atoms in zip(function.results, results, strict=True)
    ]
