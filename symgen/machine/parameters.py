"""The numbers of a compiled robot that may change: by name, judged and regrouped when the next function needs them.

    solver = symgen.compile("panda", ["inverse_dynamics"], parameters=["panda_hand", "gravity"])
    solver.parameters["panda_hand.mass"] = 1.1
    tau = solver.inverse_dynamics(q, v, a)

They are a part of the solver that changes: threads that need other numbers take solvers of their own, or give a function its
argument `prepared`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from symgen.support.errors import ArgumentError
from symgen.vocabulary.functions import PREPARED
from symgen.vocabulary.names import nearest

if TYPE_CHECKING:
    from symgen.mechanism.mechanism import Mechanism
    from symgen.vocabulary.options import ProgramOptions

_NEVER_NEGATIVE = ("mass", "armature", "damping", "friction", "stiffness")
Results = Callable[[Any], dict[str, Any]]
"""Of parameters (..., NG), the results of one function by name."""


class Parameters(MutableMapping[str, Any]):
    """Arrays by name, of shape (..., size), or (...) for one number; leading dimensions broadcast with those of states.

    `prepared` is what functions take. Nothing can be deleted; `reset` brings the description's numbers back.
    """

    def __init__(
        self,
        defaults: Mapping[str, tuple[float, ...]],
        real: str,
        regroup: Results,
        judge: Results | None,
    ) -> None:
        import numpy as np

        self._np, self._regroup, self._judge = np, regroup, judge
        self._defaults = {
            name: np.array(numbers if len(numbers) > 1 else numbers[0], real)
            for name, numbers in defaults.items()
        }
        self._now = dict(self._defaults)
        self._prepared: Any = None

    def __getitem__(self, name: str) -> Any:
        found = self._now[nearest(name, self._now, "parameter")].view()
        found.flags.writeable = False  # what is changed in place would be met by nobody
        return found

    def __setitem__(self, name: str, value: Any) -> None:
        wanted = self._defaults[nearest(name, self._now, "parameter")]
        try:
            given = self._np.array(value, dtype=wanted.dtype)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"parameter '{name}' must be numbers; {type(value).__name__} is none"
            ) from None
        if wanted.ndim and (not given.ndim or given.shape[-1] != wanted.shape[0]):
            raise ArgumentError(
                f"parameter '{name}' must have shape (..., {wanted.shape[0]}); it has {given.shape}"
            )
        self._now[name], self._prepared = given, None

    def __delitem__(self, name: str) -> None:
        raise ArgumentError(
            f"parameter '{name}' cannot be deleted; parameters.reset() brings the description's numbers back"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)

    def __repr__(self) -> str:
        return f"<symgen parameters: {', '.join(f'{name} = {value}' for name, value in self._now.items())}>"

    def reset(self) -> None:
        """The description's numbers again."""
        self._now, self._prepared = dict(self._defaults), None

    def take(self, link: str, pi: Any) -> None:
        """The ten numbers of a link from inertial parameters (..., 10) as a regressor has them: m, m c (3), and moments xx xy xz
        yy yz zz about the origin of its frame. ArgumentError where one of mass, centre and inertia may not change.
        """
        names = [f"{link}.{kind}" for kind in ("mass", "centre", "inertia")]
        for name in names:
            nearest(name, self._now, "parameter")
        pi = self._np.asarray(pi, self._defaults[names[0]].dtype)
        if not pi.ndim or pi.shape[-1] != 10:
            raise ArgumentError(
                f"the inertial parameters of '{link}' must have shape (..., 10); they have {pi.shape}"
            )
        mass = pi[..., 0]
        heavy = self._np.where(mass == 0, 1, mass)[..., None]
        for name, value in zip(names, (mass, pi[..., 1:4] / heavy, pi[..., 4:]), strict=True):
            self[name] = value

    @property
    def prepared(self) -> Any:
        """(..., NS): what functions take. ArgumentError where no body can have such numbers."""
        if self._prepared is None:
            np = self._np
            columns = [
                value if self._defaults[name].ndim else value[..., None]
                for name, value in self._now.items()
            ]
            try:
                lead = np.broadcast_shapes(*(one.shape[:-1] for one in columns))
            except ValueError:
                shapes = ", ".join(f"'{name}' {value.shape}" for name, value in self._now.items())
                raise ArgumentError(f"the parameters do not broadcast together: {shapes}") from None
            given = np.concatenate(
                [np.broadcast_to(one, (*lead, one.shape[-1])) for one in columns], axis=-1
            )
            self._refuse(given)
            self._prepared = self._regroup(given)[PREPARED.name]
        return self._prepared

    def _refuse(self, given: Any) -> None:
        np = self._np
        for name, value in self._now.items():
            if not np.isfinite(value).all():
                raise ArgumentError(
                    f"parameter '{name}' is infinite or not a number; set it to a number"
                )
            if name.rpartition(".")[2] in _NEVER_NEGATIVE and (value < 0).any():
                raise ArgumentError(f"parameter '{name}' is negative; it must be zero or more")
        if self._judge is None:
            return
        judged = self._judge(given)
        if "judged" in judged and not (judged["judged"] >= 0).all():
            names = (
                ", ".join(name for name in self._now if name.endswith(".inertia")) or "the masses"
            )
            raise ArgumentError(
                f"no body has such moments of inertia about its mass centre; look at {names}, which are about "
                "the origins of the links' frames"
            )
        if "carried" in judged and not (judged["carried"] > 0).all():
            raise ArgumentError(
                "with these parameters a joint carries nothing, and the mass matrix is singular; give a link a "
                "mass"
            )


def described(mechanism: Mechanism, options: ProgramOptions) -> dict[str, tuple[float, ...]]:
    """Return the description's numbers for the parameters, by name."""
    if not options.parameters:
        return {}
    from symgen.pipeline.adjusting import adjusting

    known = adjusting(mechanism, options.parameters)
    numbers = iter(known.defaults)
    return {one.name: tuple(float(next(numbers)) for _ in range(one.size)) for one in known.asked}


def by_name(kernel: Any) -> Callable[[Any], dict[str, Any]]:
    """Return the compiled function of the parameters as a call whose results come by name."""

    def call(given: Any) -> dict[str, Any]:
        found = kernel.long_road((given,), None)
        return dict(
            zip(
                (port.name for port in kernel.outputs),
                found if isinstance(found, tuple) else (found,),
                strict=True,
            )
        )

    return call
