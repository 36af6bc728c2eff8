"""What a peer is, and how our numbers become its own and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgen.ir.program import POSITIONS
from symgen.mechanism.mechanism import Joint, Mechanism
from symgen.support.errors import RequestError

Call = Callable[[], Any]
States = list[dict[str, Any]]


class Places:
    """Where our numbers stand in a peer's vectors, and as what. This class is for a peer with our conventions (Pinocchio).

    `order[k]` (nv,) is the place of our velocity k: peers count a branch to its end before the next. `starts[i]` is where joint i
    begins in the peer's q (nq,), `sizes[i]` how many entries it has there: one more than ours where an angle, the last of a
    joint's own, stands there as its cosine and sine.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        nq: int,
        starts: Sequence[int],
        sizes: Sequence[int],
        order: Sequence[int],
    ) -> None:
        self.mechanism, self.nq, self.starts, self.sizes = mechanism, nq, list(starts), list(sizes)
        self.order = np.array(order)

    def position(self, q: Any) -> Any:
        """The peer's q (nq,) of ours (NQ,)."""
        found = np.zeros(self.nq)
        for own, start, size in zip(self.mechanism.q_slices, self.starts, self.sizes, strict=True):
            values = q[own]
            if size != len(values):
                values = [*values[:-1], np.cos(values[-1]), np.sin(values[-1])]
            found[start : start + size] = values
        return found

    def velocity(self, v: Any) -> Any:
        """Numbers (nv,) a velocity in the peer's order."""
        found = np.zeros(len(self.order))
        found[self.order] = v
        return found

    def state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """A state of ours as the peer has it."""
        return {
            name: self.position(x)
            if name in POSITIONS
            else self.velocity(x)
            if np.shape(x) == (self.mechanism.nv,)
            else x
            for name, x in state.items()
        }

    def ours(self, function: str, state: Mapping[str, Any], answer: Any) -> Any:
        """A peer's answer at a state of ours in our order, of several the first; of a symmetric matrix it may hold the upper
        triangle alone.
        """
        if isinstance(answer, tuple):  # derivatives, which are not symmetric
            return np.array(answer[0])[np.ix_(self.order, self.order)]
        found = np.array(answer)
        if found.ndim == 1:
            return found[self.order]
        return (np.triu(found) + np.triu(found, 1).T)[np.ix_(self.order, self.order)]


@dataclass(frozen=True)
class Peer:
    """`functions` maps our name to (label, maker). maker(state) gives the call, whose value is the answer.

    `alike` says which call of ours is comparable: "python", or "bound" to buffers.
    """

    name: str
    version: str
    places: Places
    functions: Mapping[str, tuple[str, Callable[[dict[str, Any]], Call]]]
    alike: str = "python"

    def calls(self, function: str, states: States) -> list[Call]:
        """One call a state, its numbers already as the peer has them."""
        make = self.functions[function][1]
        return [make(self.places.state(state)) for state in states]

    def ours(self, function: str, state: Mapping[str, Any], answer: Any) -> Any:
        """A peer's answer to a function at a state of ours, in our order and axes."""
        return self.places.ours(function, state, answer)


def refuse_drives(mechanism: Mechanism, peer: str, kinds: Sequence[str]) -> None:
    """RequestError where a drive, or a link, has one of these kinds, which the peer has not, or has otherwise."""
    for joint in mechanism.joints:
        for kind in kinds:
            if getattr(joint.drive, kind, 0):
                raise RequestError(
                    f"{peer} has no such {kind} as joint '{joint.name}' has; leave it out with --drives"
                )
    if "gravcomp" in kinds and mechanism.compensated_parts:
        raise RequestError(
            f"{peer} has no such gravcomp as link '{mechanism.compensated_parts[0].link}' has; leave it out with --drives"
        )


def unit(joint: Joint) -> Any:
    """Its axis, of length one."""
    axis = np.array([float(c) for c in joint.axis])
    return axis / np.linalg.norm(axis)


def refusal(joint: Joint, peer: str) -> RequestError:
    return RequestError(f"joint '{joint.name}' is {joint.kind}, which is not built for {peer} here")
