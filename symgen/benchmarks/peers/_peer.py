"""Interface of a peer, and the conversion of numbers to its order and back."""

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
    """Positions of symgen's numbers in the vectors of a peer. This class is for a peer with
    symgen's conventions (Pinocchio).

    `order[k]` (nv,) is the index of velocity k: peers number a branch to its end before the next.
    `starts[i]` is the first index of joint i in the peer's q (nq,), `sizes[i]` its number of
    entries: one more than symgen's if the last one, an angle, is stored as cosine and sine.
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
        """Return the peer's q (nq,) for symgen's (NQ,)."""
        peer_q = np.zeros(self.nq)
        for entries, start, size in zip(
            self.mechanism.q_slices, self.starts, self.sizes, strict=True
        ):
            values = q[entries]
            if size != len(values):
                values = [*values[:-1], np.cos(values[-1]), np.sin(values[-1])]
            peer_q[start : start + size] = values
        return peer_q

    def velocity(self, v: Any) -> Any:
        """Return numbers (nv,) for each velocity in the peer's order."""
        peer_v = np.zeros(len(self.order))
        peer_v[self.order] = v
        return peer_v

    def state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a state in the peer's order."""
        return {
            name: self.position(x)
            if name in POSITIONS
            else self.velocity(x)
            if np.shape(x) == (self.mechanism.nv,)
            else x
            for name, x in state.items()
        }

    def ours(self, function: str, state: Mapping[str, Any], answer: Any) -> Any:
        """Return a peer's answer in symgen's order: the first of several; a symmetric matrix may
        have only its upper triangle.
        """
        if isinstance(answer, tuple):  # derivatives, which are not symmetric
            return np.array(answer[0])[np.ix_(self.order, self.order)]
        values = np.array(answer)
        if values.ndim == 1:
            return values[self.order]
        return (np.triu(values) + np.triu(values, 1).T)[np.ix_(self.order, self.order)]


@dataclass(frozen=True)
class Peer:
    """A library: `functions` maps symgen's name to (label, maker). maker(state) returns the call,
    whose value is the answer.

    `alike` names symgen's comparable call: "python", or "bound" to buffers.
    """

    name: str
    version: str
    places: Places
    functions: Mapping[str, tuple[str, Callable[[dict[str, Any]], Call]]]
    alike: str = "python"

    def calls(self, function: str, states: States) -> list[Call]:
        """Return one call for each state, with numbers already in the peer's order."""
        make = self.functions[function][1]
        return [make(self.places.state(state)) for state in states]

    def ours(self, function: str, state: Mapping[str, Any], answer: Any) -> Any:
        """Return a peer's answer to a function at a state, in symgen's order and axes."""
        return self.places.ours(function, state, answer)


def refuse_drives(mechanism: Mechanism, peer: str, kinds: Sequence[str]) -> None:
    """Raise RequestError for a drive or a link with one of these kinds, which the peer lacks or
    defines differently.
    """
    for joint in mechanism.joints:
        for kind in kinds:
            if getattr(joint.drive, kind, 0):
                raise RequestError(
                    f"{peer} has no such {kind} as joint '{joint.name}' has; leave it out with"
                    " --drives"
                )
    if "gravcomp" in kinds and mechanism.compensated_parts:
        raise RequestError(
            f"{peer} has no such gravcomp as link '{mechanism.compensated_parts[0].link}' has;"
            " leave it out with --drives"
        )


def unit(joint: Joint) -> Any:
    """Return the axis of a joint with length one."""
    axis = np.array([float(c) for c in joint.axis])
    return axis / np.linalg.norm(axis)


def refusal(joint: Joint, peer: str) -> RequestError:
    """Return the error for a joint that is not supported for a peer."""
    return RequestError(
        f"joint '{joint.name}' is {joint.kind}, which is not supported for {peer} here"
    )
