"""What the reference remembers: its last answers over balls, since most functions ask for M, and M takes the longest."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from symgen.reference.motion import Motion
from symgen.reference.precision import Array

_P = ParamSpec("_P")
_Asked = TypeVar("_Asked", bound=Motion)


def remembered(
    method: Callable[Concatenate[_Asked, _P], Array],
) -> Callable[Concatenate[_Asked, _P], Array]:
    """`method`, its last answer given again at the same exact states; floats are quick enough to be taken anew."""

    names = list(signature(method).parameters)[1:]

    @wraps(method)
    def run(self: _Asked, /, *args: _P.args, **kwargs: _P.kwargs) -> Array:
        if self.scalars.dtype is not object:
            return method(self, *args, **kwargs)
        given: dict[str, Any] = {**dict(zip(names, args, strict=False)), **kwargs}
        before, answer = self.answers.get(method.__name__, ({}, None))
        if answer is None or not all(_same(before.get(name), given.get(name)) for name in names):
            answer = method(self, *args, **kwargs)
            # Copies: who calls may write into what it gave, and into what it got.
            self.answers[method.__name__] = (
                {name: np.array(x) for name, x in given.items() if x is not None},
                answer,
            )
        return np.array(answer)

    return run


def _same(a: Any, b: Any) -> bool:
    """Whether two arguments hold the same exact numbers; a ball with a radius equals nothing."""
    if a is None or b is None:
        return a is b
    return bool(a.shape == b.shape and (a == b).all())
