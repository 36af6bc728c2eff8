"""A robot over rational functions of its state: symbols in place of the numbers of a state."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.papers.chain import Chain, State, chain, unit_quaternion
from symgen.papers.rational_functions import Functions
from symgen.papers.rk import Motion, Operators
from symgen.reference.precision import Array


class SymbolicRobot:
    """The links of a robot over rational functions of t_i = tan(q_i/2) of its angles, of its other
    coordinates, of v and of tau.

    A unit quaternion has three symbols, its stereographic projection. The angle of a helical joint
    is a symbol of its own beside t_i. `most_products` is as in `Functions`. The mechanism has no
    coupled joints.
    """

    def __init__(self, mechanism: Mechanism, most_products: int | None = None) -> None:
        self.mechanism = mechanism
        self.angles = [
            entries.start + n
            for joint, entries in zip(mechanism.joints, mechanism.q_slices, strict=True)
            for n, coordinate in enumerate(joint.type.positions)
            if coordinate.unit == "rad"
        ]
        """Entries of q that are angles."""
        angles = set(self.angles)
        self.other_symbols = [
            *(f"q{i}" for i in range(mechanism.nq) if i not in angles),
            *(f"v{i}" for i in range(mechanism.nv)),
            *(f"tau{i}" for i in range(mechanism.nv)),
        ]
        """Names of the symbols that are no half tangents."""
        names = [f"t{i}" for i in self.angles] + self.other_symbols + [f"q{i}" for i in self.angles]
        self.field = Functions(names, most_products)
        self._symbols = dict(zip(names, self.field.symbols(), strict=True))

    @cached_property
    def chain(self) -> Chain:
        """The links over the field."""
        zero = self.field.number(0)
        q = [self._symbols[f"q{i}"] for i in range(self.mechanism.nq)]
        for joint, entries in zip(self.mechanism.joints, self.mechanism.q_slices, strict=True):
            if joint.type.quaternion is not None:
                first = entries.start + joint.type.quaternion
                q[first : first + 4] = unit_quaternion(*q[first : first + 3])
        half_tangents = [self._symbols.get(f"t{i}", zero) for i in range(self.mechanism.nq)]
        return chain(self.mechanism, State(half_tangents, q, self.field.number))

    def motion(self, o: Operators) -> Motion:
        """Return the motion with rates v and joint forces tau, without a load."""
        rates, forces = (
            [self._vector(stem, entries) for entries in self.mechanism.v_slices]
            for stem in ("v", "tau")
        )
        return Motion(o, rates, forces, {})

    @property
    def forces(self) -> Array:
        """The joint forces tau, in the order of v."""
        return self._vector("tau", slice(0, self.mechanism.nv))

    def _vector(self, stem: str, entries: slice) -> Array:
        names = [f"{stem}{i}" for i in range(entries.start, entries.stop)]
        return np.array([self._symbols[name] for name in names], dtype=object)
