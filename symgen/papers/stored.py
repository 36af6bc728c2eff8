"""Results of a method, stored by its arguments: for recursions along the links."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Owner = TypeVar("Owner")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def stored(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Return the method with its results stored on the object, by the positional arguments."""
    name = f"{method.__name__} by arguments"

    @wraps(method)
    def look_up(owner: Owner, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        results: dict[tuple[Any, ...], Result] = vars(owner).setdefault(name, {})
        if args not in results:
            results[args] = method(owner, *args, **named)
        return results[args]

    return look_up
