"""Other libraries for `symgen bench`: the same robot, built joint by joint from the Mechanism,
called from Python.

A peer answers with `calls(function, states)`: one closure a state, which does only what its own
user would call. Peers are optional. A peer that is not installed, or cannot represent the robot, is
left out with the reason.
"""

from __future__ import annotations

from collections.abc import Callable

from symgen.benchmarks.peers import casadi, mujoco, pinocchio
from symgen.benchmarks.peers._peer import Call as Call
from symgen.benchmarks.peers._peer import Peer as Peer
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import RequestError

PEERS: dict[str, Callable[[Mechanism], Peer]] = {
    "pinocchio": pinocchio.peer,
    "mujoco": mujoco.peer,
    "casadi": casadi.peer,
}


def available_peers(mechanism: Mechanism) -> tuple[list[Peer], dict[str, str]]:
    """Return the peers that can represent this robot, and the reasons against the others."""
    present: list[Peer] = []
    if mechanism.coupled:
        return present, dict.fromkeys(PEERS, "mimic joints are not supported for peers")
    absent: dict[str, str] = {}
    for name, build in PEERS.items():
        try:
            present.append(build(mechanism))
        except ImportError as error:
            absent[name] = (
                f"not installed ({error.name})"
                if error.name not in (None, name)
                else "not installed"
            )
        except RequestError as error:
            absent[name] = str(error)
        except Exception as error:  # an error of a peer never ends the bench
            absent[name] = f"{type(error).__name__}: {error}"
    return present, absent
