"""Compiled functions in JAX, on the CPU: under jit, vmap and scan, and differentiable forward and in reverse.

    import symgen.jax
    robot = symgen.jax.functions("panda", ["forward_dynamics", "step"])
    a     = jax.jit(robot.forward_dynamics)(q, v, tau)           # (..., NV), leading dimensions broadcast together

A call is one call of the batched C (`symgen.machine.batch`), whatever vmap has made of it: what is mapped stands in front, as
leading dimensions do, and what is not mapped is not copied. Results have the solver's bits.

The derivative is that of the Program, `F:jacobian` by those arguments that change, made and compiled when JAX first asks for it.
It is computed in C, and JAX multiplies changes or weights by it: so one Jacobian serves jvp and vjp, and all rows and columns of
jacfwd and jacrev at once. JAX counts changes of q in coordinates; `symgen.jax.steps` says what they are where velocities are no
rates of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from symgen.description.arguments import validated
from symgen.jax.installed import installed
from symgen.jax.robot import Functions
from symgen.machine.blocks import WHEN
from symgen.machine.building import Build
from symgen.support.errors import ArgumentError, warn_each
from symgen.vocabulary.functions import USUAL
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import (
    AUTO,
    FORMS,
    HOST,
    LOOPED,
    NORMAL,
    Links,
    Names,
    ProgramOptions,
    Rows,
    TextOptions,
    names_of,
)
from symgen.vocabulary.reals import DOUBLE, FLOAT

if TYPE_CHECKING:
    from symgen.mechanism.mechanism import Mechanism

__all__ = ["Functions", "functions"]


@validated
def functions(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    real: str | None = None,
    *,
    optimize: int = 2,
    native: bool = False,
    contract: bool = False,
    frame: Links = None,
    payload: str | None = None,
    wrench: Links = None,
    jacobian_frame: str = USUAL.frame,
    jacobian_order: str = USUAL.order,
    task_rows: Rows = None,
    contact: Links = None,
    effort: str = NORMAL,
    trig: str = HOST,
    checked: bool = False,
    parameters: Names = (),
    baumgarte: bool = False,
    form: str = AUTO,
    blocks: str = WHEN[0],
) -> Functions:
    """Functions of a robot as JAX calls them, one attribute each.

    `real` is 'double' or 'float'; None is what JAX computes in, 'double' where jax_enable_x64 is set. The other arguments are
    those of `symgen.compile`, of which `parameters`, `checked`, `blocks` and a `form` of 'looped' are refused. Raises
    ToolMissing without JAX, ArgumentError for what is refused and where `real` is 'double' and JAX has no double, otherwise as
    `symgen.compile`.
    """
    from symgen.description.loading import load
    from symgen.mechanism.mechanism import Mechanism
    from symgen.pipeline.build import requested
    from symgen.pipeline.noticing import of_names

    _refuse(bool(names_of(parameters)), checked, nearest(form, FORMS, "form"), blocks)
    jax = installed()
    wanted = [functions] if isinstance(functions, str) else functions
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    options = ProgramOptions(
        real or (DOUBLE.name if jax.config.jax_enable_x64 else FLOAT.name),
        frame=frame,
        payload=payload,
        wrench=wrench,
        jacobian_frame=jacobian_frame,
        jacobian_order=jacobian_order,
        task_rows=task_rows,
        contact=contact,
        effort=effort,
        baumgarte=baumgarte,
    )
    named = requested(mechanism, wanted, payload)
    warn_each(of_names(mechanism, named, options, wanted is not None))
    return Functions(
        mechanism, named, options, TextOptions(trig), Build(optimize, native, contract)
    )


def _refuse(parameters: bool, checked: bool, form: str, blocks: str) -> None:
    """Raise ArgumentError for options of `symgen.compile` that JAX's functions do not have."""
    if parameters:
        raise ArgumentError(
            "parameters: JAX's functions have no numbers that change at run time; take a payload (payload=LINK), "
            "or a solver of symgen.compile"
        )
    if checked:
        raise ArgumentError(
            "checked: JAX's functions have no status; leave it out, or take a solver of symgen.compile"
        )
    if nearest(blocks, WHEN, "choice of blocks") != WHEN[0]:
        raise ArgumentError(
            "blocks: JAX's functions are compiled for blocks of states when they are first called; leave it out"
        )
    if form == LOOPED:
        raise ArgumentError(
            "form 'looped': JAX's functions are made of rows; leave form out, or take a solver of symgen.compile"
        )
