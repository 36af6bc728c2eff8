"""JAX, imported at its first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symgen.support.errors import ArgumentError, ToolMissing
from symgen.vocabulary.reals import DOUBLE, REALS


def installed() -> Any:
    """Return the module jax; ToolMissing if not installed, or too old for foreign functions."""
    try:
        for name in ("jax.ffi", "jax.custom_derivatives"):
            import_module(name)
        return import_module("jax")
    except ImportError:
        raise ToolMissing(
            "symgen.jax needs JAX 0.5 or newer, which is not installed; pip install 'symgen[jax]'"
        ) from None


def refuse_narrow(real: str) -> None:
    """Raise ArgumentError if JAX would convert double to single precision."""
    if REALS[real] is DOUBLE and not installed().config.jax_enable_x64:
        raise ArgumentError(
            "JAX computes in single precision by default; call jax.config.update('jax_enable_x64',"
            " True) first, or pass real='float'"
        )
