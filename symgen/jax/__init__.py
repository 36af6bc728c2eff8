"""Compiled functions in JAX on the CPU, for jit, vmap, scan, and forward and reverse derivatives.

    import symgen.jax
    robot = symgen.jax.functions("panda", ["forward_dynamics", "step"])
    # (..., NV), leading dimensions broadcast together
    a = jax.jit(robot.forward_dynamics)(q, v, tau)

A call is one call of the batched C (`symgen.machine.batch`). vmap adds leading dimensions to the
mapped arguments and copies no other argument. Results have the bits of the solver.

The derivative is that of the Program: `F:jacobian` with respect to the arguments that change,
derived and compiled when JAX first needs it. The Jacobian is computed in C, and JAX multiplies it
by changes or weights. So one Jacobian serves jvp and vjp, and all rows and columns of jacfwd and
jacrev at once. JAX counts changes of q in coordinates; `symgen.jax.robot.Steps` converts them to
steps if velocities are not the rates of the coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Unpack

from symgen.description.arguments import validated_with
from symgen.jax.installed import installed
from symgen.jax.robot import Functions
from symgen.machine.blocks import BLOCK_CHOICES
from symgen.machine.building import Build
from symgen.machine.solver import SolverRequest
from symgen.support.errors import ArgumentError, warn_each
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import AUTO, FORMS, LOOPED, names_of, values_of
from symgen.vocabulary.reals import DOUBLE, FLOAT

if TYPE_CHECKING:
    from symgen.mechanism.mechanism import Mechanism

__all__ = ["Functions", "functions"]


@validated_with(SolverRequest)
def functions(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    real: str | None = None,
    **options: Unpack[SolverRequest],
) -> Functions:
    """Return the functions of a robot for JAX, one attribute each.

    `real` is 'double' or 'float'. None is the type of JAX: 'double' if jax_enable_x64 is set, else
    'float'. The other arguments are those of `symgen.compile`, except `parameters`, `checked`,
    `blocks` and the form 'looped', which are rejected.

    Raises ToolMissing without JAX, ArgumentError for a rejected option and for 'double' without
    jax_enable_x64, and the errors of `symgen.compile`.
    """
    from symgen.pipeline.build import requested
    from symgen.pipeline.noticing import name_notices
    from symgen.pipeline.request import make_request

    _refuse(options)
    jax = installed()
    usual = DOUBLE.name if jax.config.jax_enable_x64 else FLOAT.name
    request = make_request(robot, functions, options, real=real or usual, form=AUTO)
    named = requested(request.mechanism, request.functions, request.options.payload)
    warn_each(
        name_notices(request.mechanism, named, request.options, request.functions is not None)
    )
    build = values_of(Build, options)
    return Functions(request.mechanism, named, request.options, request.text, build)


def _refuse(options: SolverRequest) -> None:
    """Raise ArgumentError for options of `symgen.compile` that functions for JAX do not have."""
    form = nearest(options["form"], FORMS, "form")
    if names_of(options["parameters"]):
        raise ArgumentError(
            "parameters: JAX's functions have no run-time parameters; use a payload (payload=LINK),"
            " or a solver of symgen.compile"
        )
    if options["checked"]:
        raise ArgumentError(
            "checked: JAX's functions have no status; leave it out, or use a solver of"
            " symgen.compile"
        )
    if nearest(options["blocks"], BLOCK_CHOICES, "choice of blocks") != BLOCK_CHOICES[0]:
        raise ArgumentError(
            "blocks: JAX's functions are compiled for blocks of states when they are first called;"
            " leave it out"
        )
    if form == LOOPED:
        raise ArgumentError(
            "form 'looped': JAX's functions are made of rows; leave form out, or use a solver of"
            " symgen.compile"
        )
