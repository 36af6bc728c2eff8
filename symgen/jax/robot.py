"""Functions of one robot in JAX: derived, compiled, and registered with XLA."""

from __future__ import annotations

import hashlib
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from symgen.ir.ports import operations_text
from symgen.ir.program import POSITIONS, Outline, Port, Program
from symgen.jax.installed import installed, refuse_narrow
from symgen.machine.arrays import Arrays, array_lines
from symgen.machine.building import Build, library_dependencies, load_ffi, open_cached
from symgen.mechanism.mechanism import Mechanism
from symgen.support import cache
from symgen.support.errors import ArgumentError, RequestError
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import AT_RUN_TIME, FUNCTIONS
from symgen.vocabulary.names import function_named, no_attribute
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target

HEADER = "xla/ffi/api/c_api.h"
"""Header of XLA, in the include folder of JAX."""
_REGISTERED: set[str] = set()
"""Names of the libraries that are registered with XLA; a name contains the hash of the library."""


class Functions:
    """Functions of one robot in JAX, one attribute each; see `symgen.jax.functions`.

    `functions` are their names, `mechanism` is the robot, `real` the type. A pickle holds the
    request; loading it compiles the functions again, or takes them from the cache.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        methods: Mapping[str, str | None],
        options: ProgramOptions,
        text: TextOptions,
        build: Build,
    ) -> None:
        refuse_narrow(options.real)
        self.mechanism, self.real = mechanism, options.real
        self.functions = tuple(FUNCTIONS.in_order(methods))
        self._recipe = (mechanism, dict(methods), options, text, build)
        self._steps = Steps(mechanism)
        self._derivative_calls: dict[str, Call] = {}
        for name in self.functions:
            setattr(
                self, derivatives.identifier_part(name), self._call(name, methods[name]).function()
            )

    def _call(self, function: str, method: str | None) -> Call:
        outline, target = self._compiled(function, method)
        return Call(self.mechanism, outline, target, self._jacobian, self._steps)

    def _jacobian(self, function: str, by: tuple[str, ...]) -> Call:
        """Return the Jacobian of a function with respect to arguments. RequestError if the function
        is a derivative.
        """
        if derivatives.parse_derivative(function) is not None:
            raise RequestError(
                f"{function} is a derivative, and JAX needs its derivative; use"
                f" {derivatives.base_function(function)}:hvp, the second derivative along a"
                " direction"
            )
        all_arguments = FUNCTIONS[function].own_arguments
        name = Derivative(function, "jacobian", () if by == all_arguments else by).name
        if name not in self._derivative_calls:
            self._derivative_calls[name] = self._call(function_named(name), None)
        return self._derivative_calls[name]

    def _compiled(self, function: str, method: str | None) -> tuple[Outline, str]:
        """Return the arguments and results of a function, and the name under which its library is
        registered with XLA.
        """
        from symgen.pipeline.build import build_program
        from symgen.pipeline.serialize import outline_from_plain, outline_to_plain

        mechanism, _, options, text, build = self._recipe
        header = (Path(installed().ffi.include_dir()) / HEADER).read_text(encoding="utf-8")
        key = (
            "jax",
            function,
            method,
            mechanism.content,
            mechanism.source_sha256,
            asdict(options),
            asdict(text),
            hashlib.sha256(header.encode()).hexdigest(),
            library_dependencies(build),
        )
        entry = cache.find(*key)
        outline = outline_from_plain(entry["function"]) if entry else None
        library = open_cached(entry["library"]) if entry else None
        if outline is None or library is None:
            program = build_program(mechanism, function, method, options)
            target = Target(mechanism.name, mechanism.sizes, text, mechanism.source_sha256)
            outline, library = program.outline, load_ffi(program, target, build, header)
            if program.rounds is None:  # an interrupted search is not kept
                cache.keep(
                    {"library": library.__name__, "function": outline_to_plain(outline)}, *key
                )
        if library.__name__ not in _REGISTERED:
            address = int(
                library.ffi.cast("intptr_t", library.ffi.addressof(library.lib, "handler"))
            )
            installed().ffi.register_ffi_target(
                library.__name__, installed().ffi.pycapsule(address), platform="cpu"
            )
            _REGISTERED.add(library.__name__)
        return outline, library.__name__

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(name, self.functions, "compiled function")

    def __repr__(self) -> str:
        sizes = f"NQ = {self.mechanism.nq}, NV = {self.mechanism.nv}"
        return (
            f"<symgen.jax.Functions {self.mechanism.name}: {sizes}, {self.real};"
            f" {', '.join(self.functions)}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Functions, self._recipe


# -- calls from JAX --


class Call:
    """One function that is registered with XLA as `target`.

    `jacobian(function, by)` returns the Call whose results are the derivatives of each result with
    respect to each argument of `by`, along the `steps` of positions.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        outline: Outline,
        target: str,
        jacobian: Callable[[str, tuple[str, ...]], Call],
        steps: Steps,
    ) -> None:
        self.jax, self.outline, self.target, self.jacobian, self.steps = (
            installed(),
            outline,
            target,
            jacobian,
            steps,
        )
        self.sizes = mechanism.sizes
        self.arrays = Arrays(outline, mechanism.name, mechanism.sizes, checked=False)
        # with symbolic zeros JAX marks arguments that do not change, so that the Jacobian leaves
        # them out
        self.evaluate = self.jax.custom_jvp(self._evaluate)
        self.evaluate.defjvp(self._changed, symbolic_zeros=True)

    def function(self) -> Any:
        """Return the function that the user calls."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature(
            [inspect.Parameter(port.name, kind) for port in self.outline.inputs]
        )
        symbol = derivatives.identifier_part(self.outline.function)

        def call(*positional: Any, **by_name: Any) -> Any:
            try:
                arguments = signature.bind(*positional, **by_name).args
            except TypeError as error:
                raise TypeError(f"{symbol}() {error}") from None
            results = self.evaluate(*self._aligned(arguments))
            return results[0] if len(results) == 1 else results

        call.__name__, call.__qualname__ = symbol, f"Functions.{symbol}"
        call.__module__ = "symgen.jax"
        call.__doc__ = self._doc()
        vars(call)["__signature__"] = signature
        return call

    def _aligned(self, arguments: Sequence[Any]) -> list[Any]:
        """Return arguments in the function's real type, with equally many leading dimensions."""
        refuse_narrow(self.outline.real)
        arrays = [
            self._array(port, x) for port, x in zip(self.outline.inputs, arguments, strict=True)
        ]
        axes = len(self._lead(arrays))
        return [
            x.reshape((1,) * (axes + len(port.shape) - x.ndim) + x.shape)
            for port, x in zip(self.outline.inputs, arrays, strict=True)
        ]

    def _array(self, port: Port, x: Any) -> Any:
        """Return an argument as an array of real type. ArgumentError for a wrong shape or type."""
        self.arrays.refuse_masked(port, x)
        number, argument_name = self.jax.numpy, f"{self.outline.function}: {port.name}"
        try:
            array = number.asarray(x)
        except (ValueError, TypeError) as error:
            raise ArgumentError(f"{argument_name} is not an array of numbers ({error})") from None
        if not any(
            number.issubdtype(array.dtype, kind) for kind in (number.floating, number.integer)
        ):
            raise ArgumentError(
                f"{argument_name} has dtype {array.dtype}; real numbers ({self.arrays.real}) are"
                " wanted"
            )
        self.arrays.check_shape(port, array)
        return array.astype(self.arrays.real)

    def _lead(self, arguments: Sequence[Any]) -> tuple[int, ...]:
        """Return the leading dimensions of the results."""
        return self.arrays.common(
            [
                x.shape[: x.ndim - len(port.shape)]
                for port, x in zip(self.outline.inputs, arguments, strict=True)
            ]
        )

    def _evaluate(self, *arguments: Any) -> tuple[Any, ...]:
        """Return the results. In each leading dimension an argument has one entry or all."""
        lead = self._lead(arguments)
        shapes = [
            self.jax.ShapeDtypeStruct(lead + port.shape, self.arrays.real)
            for port in self.outline.outputs
        ]
        return tuple(
            self.jax.ffi.ffi_call(self.target, shapes, vmap_method="expand_dims")(*arguments)
        )

    def _changed(self, arguments: Sequence[Any], changes: Sequence[Any]) -> tuple[Any, Any]:
        """Return the results, and their changes for changes of the arguments (a Jacobian-vector
        product).
        """
        results = self.evaluate(*arguments)
        unchanged = self.jax.custom_derivatives.SymbolicZero
        steps = {}
        for port, x, change in zip(self.outline.inputs, arguments, changes, strict=True):
            if not isinstance(change, unchanged):
                steps[port.name] = (
                    self.steps.step_of(x, change) if port.name in POSITIONS else change
                )
        if not steps:
            return results, tuple(map(self.jax.numpy.zeros_like, results))
        names = [
            array.name for array in (*FUNCTIONS[self.outline.function].arguments, *AT_RUN_TIME)
        ]
        by = tuple(name for name in names if name in steps)
        derivatives = iter(self.jacobian(self.outline.function, by).evaluate(*arguments))
        lead, sums = self._lead(arguments), []
        for port, result in zip(self.outline.outputs, results, strict=True):
            change = sum(self._along(next(derivatives), steps[name], lead) for name in by)
            sums.append(
                self.steps.change_of(result, change)
                if port.name in POSITIONS
                else change.reshape(result.shape)
            )
        return results, tuple(sums)

    def _along(self, slope: Any, step: Any, lead: tuple[int, ...]) -> Any:
        """Return a derivative times a step of its argument, (*lead, numbers).

        In each leading dimension the step has one entry or all.
        """
        flat = step.reshape((*step.shape[: len(lead)], 1, -1))
        return self.jax.numpy.sum(slope.reshape((*lead, -1, flat.shape[-1])) * flat, axis=-1)

    def _doc(self) -> str:
        """Return the docstring of the function: signature, shapes, method and errors."""
        return "\n".join(
            [
                (
                    f"{derivatives.identifier_part(self.outline.function)}"
                    f"({', '.join(port.name for port in self.outline.inputs)})"
                ),
                "",
                *array_lines(self.outline, self.sizes),
                "",
                "Leading dimensions broadcast together; vmap adds dimensions before them.",
                f"Method {self.outline.method}: {operations_text(self.outline)}.",
                "Raises ArgumentError, a ValueError, on a wrong shape or type.",
            ]
        )


# -- steps of positions --
#
# JAX differentiates with respect to coordinates, Programs with respect to steps, q ⊕ δ. Both are
# the same if every velocity is the
# rate of a coordinate. Otherwise a change q̇ of the coordinates is the step δ = Ω⁺(q) q̇, and a
# step is the change q̇ = Ω(q) δ, by the
# rows of `symgen.derivation.tangents`. A step never changes the length of a quaternion. So the
# derivatives are those of the function
# of q with normalised quaternions.


_ACT = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}


class Steps:
    """Conversion between changes of coordinates and steps of one robot's joints. Arrays have any
    leading dimensions.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        slices = zip(
            mechanism.joints,
            mechanism.q_slices,
            mechanism.v_slices,
            mechanism.joint_couplings,
            strict=True,
        )
        self.joints = [
            (joint.kind, in_q, in_v) for joint, in_q, in_v, coupling in slices if coupling is None
        ]
        self.step_equals_change = all(joint.type.along is None for joint in mechanism.joints)

    def step_of(self, q: Any, change: Any) -> Any:
        """Return the step (..., NV) of a change (..., NQ) of the coordinates."""
        if self.step_equals_change:
            return change
        from symgen.derivation.tangents import step_from_rates

        matrices_and_entries = [
            (step_from_rates(kind), q[..., in_q], change[..., in_q])
            for kind, in_q, _ in self.joints
        ]
        return installed().numpy.concatenate(
            [_applied(*block) for block in matrices_and_entries], -1
        )

    def change_of(self, q: Any, step: Any) -> Any:
        """Return the change (..., NQ) of the coordinates for a step (..., NV)."""
        if self.step_equals_change:
            return step
        from symgen.derivation.tangents import rates_from_step

        matrices_and_entries = [
            (rates_from_step(kind), q[..., in_q], step[..., in_v])
            for kind, in_q, in_v in self.joints
        ]
        return installed().numpy.concatenate(
            [_applied(*block) for block in matrices_and_entries], -1
        )


def _applied(program: Program, *arguments: Any) -> Any:
    """Evaluate a Program of one result, without roots, on arrays; return the result."""
    number, values = installed().numpy, list[Any]()
    act = {**_ACT, "sin": number.sin, "cos": number.cos}
    for row in program.rows:
        if row.op == "input":
            argument, element = row.value
            values.append(arguments[argument][..., element])
        elif row.op == "const":
            values.append(float(row.value))
        else:
            values.append(act[row.op](*(values[i] for i in row.args)))
    return number.stack(number.broadcast_arrays(*(values[i] for i in program.outputs[0].rows)), -1)
