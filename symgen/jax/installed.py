"""JAX, imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symgen.support.errors import ArgumentError, ToolMissing
from symgen.vocabulary.reals import DOUBLE, REALS


def installed() -> Any:
    """JAX. ToolMissing where it is not installed, or has no foreign functions yet."""
    try:
        for name in ("jax.ffi", "jax.custom_derivatives"):
            import_module(name)
        return import_module("jax")
    except ImportError:
        raise ToolMissing(
            "symgen.jax needs JAX 0.5 or newer, which is not installed; pip install 'symgen[jax]'"
        ) from None


def refuse_narrow(real: str) -> None:
    """ArgumentError where JAX would make single precision of double."""
    if REALS[real] is DOUBLE and not installed().config.jax_enable_x64:
        raise ArgumentError(
            "JAX has no double precision unless told; call jax.config.update('jax_enable_x64', True) first, or "
            "ask symgen.jax for real='float'"
        )
