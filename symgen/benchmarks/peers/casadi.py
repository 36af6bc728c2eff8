"""CasADi as a peer: it prints C for Pinocchio's algorithms."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from symgen.benchmarks.peers._peer import Call, Peer
from symgen.benchmarks.peers.pinocchio import built, places
from symgen.machine.compilers import find_compiler
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import RequestError


def peer(mechanism: Mechanism) -> Peer:
    """Return CasADi as a peer: its C for Pinocchio's algorithms, compiled like symgen's and called
    on bound buffers.
    """
    import casadi as ca
    import pinocchio.casadi as symbolic

    numeric, ids = built(mechanism)
    model = symbolic.Model(numeric)
    data = model.createData()
    symbols = {
        name: ca.SX.sym(name, numeric.nq if name == "q" else numeric.nv)
        for name in ("q", "v", "a", "tau")
    }

    def maker(label: str, *names: str) -> Callable[[dict[str, Any]], Call]:
        answer: list[Any] = []  # compiled at its first use

        def make(state: dict[str, Any]) -> Call:
            if not answer:
                arguments = [symbols[name] for name in names]
                answer.append(
                    compiled(
                        ca, label, arguments, getattr(symbolic, label)(model, data, *arguments)
                    )
                )
            return on_buffers(answer[0], [state[name] for name in names])

        return make

    algorithms = {
        "inverse_dynamics": ("rnea", "q", "v", "a"),
        "forward_dynamics": ("aba", "q", "v", "tau"),
        "mass_matrix": ("crba", "q"),
        "bias_force": ("nonLinearEffects", "q", "v"),
        "gravity_force": ("computeGeneralizedGravity", "q"),
        "inverse_mass_matrix": ("computeMinverse", "q"),
    }
    functions = {
        ours: (f"casadi {label}", maker(label, *names))
        for ours, (label, *names) in algorithms.items()
    }
    return Peer(
        "casadi", version("casadi"), places(mechanism, numeric, ids), functions, alike="bound"
    )


def compiled(ca: Any, name: str, arguments: list[Any], result: Any) -> Any:
    """Return a CasADi function from its own C, compiled at -O2."""
    with tempfile.TemporaryDirectory(prefix="symgen-casadi-") as folder:
        printer = ca.CodeGenerator(f"{name}.c")
        printer.add(ca.Function(name, arguments, [ca.densify(ca.SX(result))]))
        printer.generate(f"{folder}{os.sep}")
        library = f"{folder}{os.sep}{name}.so"
        command = [
            *find_compiler(),
            "-O2",
            "-fPIC",
            "-shared",
            f"{folder}{os.sep}{name}.c",
            "-o",
            library,
            "-lm",
        ]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            raise RequestError(f"the C that CasADi prints for {name} does not compile")
        return ca.external(name, library)  # stays mapped after the folder is gone


def on_buffers(function: Any, arguments: list[Any]) -> Call:
    """Return a call without copies: CasADi fills an array of the caller. Its matrices are
    column-major.
    """
    buffer, trigger = function.buffer()
    result = np.zeros(function.size_out(0), order="F")
    for index, values in enumerate(arguments):
        buffer.set_arg(index, values.data)
    buffer.set_res(0, result.T.data)
    flat = result[:, 0] if result.shape[1] == 1 else result

    def call() -> Any:
        trigger()
        return flat

    # CasADi keeps their addresses only.
    call.buffers = (buffer, arguments, result)  # type: ignore[attr-defined]
    return call
