"""The functions of one robot in JAX: derived, compiled, and made known to XLA."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symgen.ir.program import Outline
from symgen.jax.call import Call
from symgen.jax.installed import installed, refuse_narrow
from symgen.jax.steps import Steps
from symgen.machine.building import Build, depends, load_ffi, opened
from symgen.support import cache
from symgen.support.errors import RequestError
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.names import named, no_attribute
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target

if TYPE_CHECKING:
    from symgen.mechanism.mechanism import Mechanism

HEADER = "xla/ffi/api/c_api.h"
"""XLA's own header, in the folder that JAX names."""
_REGISTERED: set[str] = set()
"""Libraries that XLA knows, by their names, which say what is in them."""


class Functions:
    """Functions of one robot in JAX, one attribute each; see `symgen.jax.functions`.

    `functions` are their names, `mechanism` is the robot, `real` the type. What was pickled is compiled again, or found in the
    cache.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        wanted: Mapping[str, str | None],
        options: ProgramOptions,
        text: TextOptions,
        build: Build,
    ) -> None:
        refuse_narrow(options.real)
        self.mechanism, self.real = mechanism, options.real
        self.functions = tuple(FUNCTIONS.in_order(wanted))
        self._recipe = (mechanism, dict(wanted), options, text, build)
        self._steps = Steps(mechanism)
        self._slopes: dict[str, Call] = {}
        for name in self.functions:
            setattr(self, derivatives.symbol(name), self._call(name, wanted[name]).function())

    def _call(self, function: str, method: str | None) -> Call:
        outline, target = self._compiled(function, method)
        return Call(self.mechanism, outline, target, self._jacobian, self._steps)

    def _jacobian(self, function: str, by: tuple[str, ...]) -> Call:
        """The Jacobian of a function by these arguments. RequestError where it is a derivative already."""
        if derivatives.told(function) is not None:
            raise RequestError(
                f"JAX asks for a derivative of {function}, which is one already; the second derivative along a "
                f"direction is a function of its own, {derivatives.of(function)}:hvp"
            )
        own = FUNCTIONS[function].own
        name = Derivative(function, "jacobian", () if by == own else by).name
        if name not in self._slopes:
            self._slopes[name] = self._call(named(name), None)
        return self._slopes[name]

    def _compiled(self, function: str, method: str | None) -> tuple[Outline, str]:
        """What a function takes and gives, and the name by which XLA knows it."""
        from symgen.pipeline.build import made
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
            depends(build),
        )
        known = cache.find(*key)
        outline = outline_from_plain(known["function"]) if known else None
        library = opened(known["library"]) if known else None
        if outline is None or library is None:
            program = made(mechanism, function, method, options)
            target = Target(mechanism.name, mechanism.sizes, text, mechanism.source_sha256)
            outline, library = program.outline, load_ffi(program, target, build, header)
            if program.rounds is None:  # else a search was interrupted
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
        return f"<symgen.jax.Functions {self.mechanism.name}: {sizes}, {self.real}; {', '.join(self.functions)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Functions, self._recipe
