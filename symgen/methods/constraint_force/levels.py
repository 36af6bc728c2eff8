"""`constraint_force:parallel` of one chain as a parallel scan over segments of links.

Place i comprises joint i and the link before it, so that every quantity that depends on the angle
of a joint belongs to one place. The first link is the base: no wrench moves it, and it accelerates
against gravity. The last link is followed by a joint that transmits no wrench.

By 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹, wrenches at the two joints of a place accelerate its link, which changes the
accelerations across both joints. So the link contributes to the blocks (i−1, i−1), (i−1, i) and (i,
i) of H_bb and to the right-hand side, LC (12). A segment of places acts like one such link, once
its inner joints are eliminated. Let n be the segment before a joint and m the one after it. Block
cyclic reduction of H_bb then computes

    D = H_n(c,c) + H_m(a,a),
    H(a,a) = H_n(a,a) − H_n(a,c) D⁻¹ H_n(c,a),   H(a,c) = −H_n(a,c) D⁻¹ H_m(a,c),   …

where a and c are the first and the last joint of a segment. The upsweep combines segments of 1, 2,
4 … places. The last segment has no joint at either end. In the downsweep the constraint force of
each joint follows from those at the ends of the segment in which it was eliminated. The angular
velocities are computed beforehand by a parallel scan of their own, the prefix scan of
`symgen.methods.constraint_force.motion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import Symmetric, Vector, times, transposed
from symgen.methods.constraint_force.elimination import (
    Block,
    Pivot,
    back_substitute,
    dot,
    eliminate,
    forward_substitute,
)
from symgen.methods.constraint_force.elimination import transposed as block_transpose
from symgen.methods.constraint_force.motion import Step, after, free_field
from symgen.methods.constraint_force.operator import (
    Body,
    bodies,
    full,
    mobility,
    negated,
    right_to_child,
    spatial_to_child,
)
from symgen.methods.constraint_force.partition import (
    add_rotor_compliance,
    basis,
    project_both,
    sparse_dot,
)
from symgen.methods.shared.drives import rotors

LINK_SIZE = 19
"""Numbers per link: J, s, J⁻¹, 1/m, and a prescribed acceleration."""
ROTATION_SIZE = 12
"""Numbers per rotation step: E by rows, and w."""

# -- angular velocities, by a prefix scan ----------------------------------------------------------


def rotation_step(linkage: Linkage) -> list[Scalar]:
    """Return (E, w) of the link after the joint: its ω is E · ω of the link before, plus w."""
    linkage.step(1, "rotation relative to the previous link")
    link = linkage.links[1]
    return _flatten(
        (
            transposed(link.rotation.matrix(linkage.one, linkage.zero)),
            link.turning(linkage.inputs["v"]),
        )
    )


def combine_rotations(
    derivation: Derivation, inner_carry: Sequence[Scalar], outer_carry: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return (E, w) of two segments combined, and the saved value for the downsweep: (E, w) of the
    front segment.
    """
    derivation.step("angular velocity by a prefix scan")
    return _flatten(after(_unflatten(inner_carry), _unflatten(outer_carry))), [*inner_carry]


def propagate_omega(
    derivation: Derivation, saved: Sequence[Scalar], omega: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return ω before the front segment and before the one behind it, from ω before both."""
    derivation.step("angular velocity by a prefix scan")
    E, w = _unflatten(saved)
    return [*omega], [*(times(E, Vector(omega)) + w)]


def _flatten(run: Step) -> list[Scalar]:
    (E, w) = run
    return [*E[0], *E[1], *E[2], *w]


def _unflatten(numbers: Sequence[Scalar]) -> Step:
    x, y, z, w = (Vector(numbers[start : start + 3]) for start in range(0, ROTATION_SIZE, 3))
    return (x, y, z), w


# -- H_bb, by block cyclic reduction ---------------------------------------------------------------


def first_link_numbers(linkage: Linkage) -> list[Scalar]:
    """Return the LINK_SIZE numbers of the first link, without the last three."""
    first, *_ = bodies(linkage)
    return [*first.J.entries, *first.s, *first.inverse_J.entries, first.inverse_m]


def segment_of_place(
    linkage: Linkage, numbers: Sequence[Scalar], omega: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the segment of one place, and its saved value: its share of the accelerations across
    its two joints.

    Link 0 is the link before the joint, with the numbers `numbers` and the angular velocity
    `omega`; link 1 is the one after it. The segment has H(a,a) and the right-hand side at a, then
    H(a,c), H(c,c) and the right-hand side at c, which the last place lacks. The saved value has,
    for either joint, q̈ without constraint forces and the rows of H_ab, columns of f at a before
    those at c.
    """
    link, rates = linkage.links[1], linkage.inputs["v"]
    first_link, prescribed = _link(linkage, numbers), Vector(numbers[16:19])
    blocks = _operator_blocks(linkage, first_link)
    linkage.step(
        1, "acceleration across the joint from velocities and gravity, term of the previous link"
    )
    spin, slide = link.turning(rates), link.sliding(rates)
    omega_c = link.rotation.to_child(Vector(omega)) + spin
    gamma, U = free_field(first_link.J, first_link.inverse_J, Vector(omega), linkage.zeros)
    acceleration_at_c = times(U, link.shift - first_link.s) + prescribed
    acceleration_at_a = [*-gamma, *(times(U, first_link.s) - prescribed)]
    angular = omega_c.cross(spin) + link.rotation.to_child(gamma)
    linear = (
        (omega_c - spin).cross(slide + slide)
        + spin.cross(slide)
        + link.rotation.to_child(acceleration_at_c)
    )
    eta = (
        [sparse_dot(column, acceleration_at_a, linkage.zero) for column in basis(linkage, 0)],
        [sparse_dot(column, [*angular, *linear], linkage.zero) for column in basis(linkage, 1)],
    )
    return _segment_from_blocks(linkage, blocks, eta, linkage.inputs["tau"])


def solve_segment_of_place(
    linkage: Linkage, numbers: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the segment and the saved value of one place for M⁻¹ b, where only b accelerates the
    links.
    """
    blocks = _operator_blocks(linkage, _link(linkage, numbers))
    zeros = [linkage.zero] * len(blocks[0])
    return _segment_from_blocks(linkage, blocks, (zeros, zeros), linkage.inputs["b"])


def _link(linkage: Linkage, numbers: Sequence[Scalar]) -> Body:
    J, inverse_J = (Symmetric(*numbers[start : start + 6]) for start in (0, 9))
    return Body(J, Vector(numbers[6:9]), inverse_J, numbers[15], linkage.one)


OperatorBlocks = tuple[Block, Block, Block]
"""Contribution of a link to H at (a, a), (a, c) and (c, c), between all directions of its two
joints.
"""


def _operator_blocks(linkage: Linkage, body: Body) -> OperatorBlocks:
    link, W, V, zero = linkage.links[1], basis(linkage, 0), basis(linkage, 1), linkage.zero
    linkage.step(1, "blocks of A: term of the previous link")
    to_c = link.shift - body.s
    aa = project_both(W, full(mobility(body, -body.s, -body.s, zero)), W, zero)
    ac = project_both(
        W,
        negated(full(right_to_child(link.rotation, mobility(body, -body.s, to_c, zero)))),
        V,
        zero,
    )
    cc = add_rotor_compliance(
        linkage,
        1,
        project_both(
            V, full(spatial_to_child(link.rotation, mobility(body, to_c, to_c, zero))), V, zero
        ),
    )
    return aa, ac, cc


def _segment_from_blocks(
    linkage: Linkage,
    blocks: OperatorBlocks,
    eta: tuple[list[Scalar], list[Scalar]],
    joint_forces: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar]]:
    """Return segment and saved value (see `segment_of_place`) for given η and joint forces."""
    linkage.step(1, "right-hand sides W^T eta - H_ab^T tau, and H_aa tau - W_a^T eta, LC (12)")
    aa, ac, cc = blocks
    ca = block_transpose(ac)
    force_a, force_c = (joint_forces[dof.index] for link in linkage.links for dof in link.dofs)
    right_a = [
        x - (p * force_a + q * force_c) for x, p, q in zip(eta[0], aa[0], ca[0], strict=True)
    ]
    right_c = [
        x - (p * force_a + q * force_c) for x, p, q in zip(eta[1], ac[0], cc[0], strict=True)
    ]
    segment = [
        *_upper_triangle(_between_constraints(aa)),
        *right_a[1:],
        *(x for row in _between_constraints(ac) for x in row),
        *_upper_triangle(_between_constraints(cc)),
        *right_c[1:],
    ]
    return segment, [-right_a[0], *aa[0][1:], *ac[0][1:], -right_c[0], *ca[0][1:], *cc[0][1:]]


def combine_segments(
    derivation: Derivation, size: int, inner_carry: Sequence[Scalar], outer_carry: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Combine two segments by eliminating the joint between them; also return the saved value: L,
    1/D, Z towards both ends, and y.
    """
    n, m, recorder = _Segment(size, inner_carry), _Segment(size, outer_carry), _Recorder(derivation)
    middle = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(n.cc, m.aa, strict=True)]
    (pivot,), remaining = eliminate(
        recorder, {(0, 0): n.aa, (0, 1): n.ac, (1, 1): middle, (1, 2): m.ac, (2, 2): m.cc}, [1]
    )
    right = {0: n.a, 1: [x + y for x, y in zip(n.c, m.a, strict=True)], 2: m.c}
    reduced = forward_substitute([pivot], right, recorder)
    segment = [
        *_upper_triangle(remaining[0, 0]),
        *reduced[0],
        *(x for row in remaining[0, 2] for x in row),
        *_upper_triangle(remaining[2, 2]),
        *reduced[2],
    ]
    saved = [*(x for row in pivot.L for x in row), *pivot.inverse]
    return segment, [*saved, *(x for j in (0, 2) for row in pivot.Z[j] for x in row), *reduced[1]]


def propagate_constraint_forces(
    derivation: Derivation, size: int, saved: Sequence[Scalar], end_forces: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the constraint forces at the ends of the front segment, and at the ends of the one
    behind it.

    `end_forces` are the forces at the ends of the segment that they form together.
    """
    derivation.step("constraint force at the joint between two segments, LC (12)")
    below_diagonal = size * (size - 1) // 2
    L = [[*saved[r * (r - 1) // 2 : r * (r + 1) // 2]] for r in range(size)]
    values = iter(saved[below_diagonal:])
    inverse, Z_a, Z_c, y = (
        list(islice(values, count)) for count in (size, size * size, size * size, size)
    )
    pivot = Pivot(1, L, [], inverse, {}, {0: _block_rows(size, Z_a), 2: _block_rows(size, Z_c)})
    f = back_substitute(pivot, y, {0: end_forces[:size], 2: end_forces[size:]}, derivation.zero)
    return [*end_forces[:size], *f], [*f, *end_forces[size:]]


def acceleration_terms(
    derivation: Derivation, size: int, saved: Sequence[Scalar], f: Sequence[Scalar]
) -> tuple[Scalar, Scalar]:
    """Contribution of a place's link to q̈ of its two joints: H_aa τ + H_ab f − W_aᵀ η."""
    derivation.step("acceleration: H_aa tau + H_ab f, LC (12)")
    first, second = saved[: 1 + 2 * size], saved[1 + 2 * size :]
    return first[0] + dot(first[1:], f, derivation.zero), second[0] + dot(
        second[1:], f, derivation.zero
    )


def segment_size(size: int) -> tuple[int, int]:
    """Return the count of numbers per segment, and the index from which the last place has none."""
    symmetric = size * (size + 1) // 2
    return 2 * (symmetric + size) + size * size, symmetric + size


def saved_size(size: int) -> int:
    """Return the number of numbers that are saved per eliminated joint."""
    return size * (size - 1) // 2 + 2 * size * size + 2 * size


def constrained_directions(linkage: Linkage) -> int:
    """Return the number of constrained directions of a joint, plus one per rotor."""
    return 6 - len(linkage.links[1].dofs) + len(rotors(linkage, 1))


def _between_constraints(m: Block) -> Block:
    """Return the block between constrained directions, without the free direction."""
    return [row[1:] for row in m[1:]]


def _upper_triangle(m: Block) -> list[Scalar]:
    return [x for r, row in enumerate(m) for x in row[r:]]


def _block_rows(size: int, numbers: Sequence[Scalar]) -> Block:
    return [[*numbers[r * size : (r + 1) * size]] for r in range(size)]


class _Segment:
    """A segment's blocks of H_bb and right-hand sides at its first joint a and its last joint c."""

    def __init__(self, size: int, numbers: Sequence[Scalar]) -> None:
        symmetric, remaining = size * (size + 1) // 2, list(numbers)

        def take(count: int) -> list[Scalar]:
            first, remaining[:count] = remaining[:count], []
            return first

        def mirror(upper: Sequence[Scalar]) -> Block:
            at = {
                (r, c): x
                for (r, c), x in zip(
                    ((r, c) for r in range(size) for c in range(r, size)), upper, strict=True
                )
            }
            return [[at[min(r, c), max(r, c)] for c in range(size)] for r in range(size)]

        self.aa, self.a = mirror(take(symmetric)), take(size)
        self.ac = _block_rows(size, take(size * size))
        self.cc, self.c = mirror(take(symmetric)), take(size)


class _Recorder:
    """Recorder for an elimination (`Home`) of joints that belong to no link of a Linkage."""

    def __init__(self, derivation: Derivation) -> None:
        self.derivation, self.zero = derivation, derivation.zero

    def step(self, i: int, text: str) -> None:
        self.derivation.step(f"joint between two segments: {text}")

    def name(self, symbol: str, i: int, quantity: Vector) -> None:
        for c, entry in enumerate(quantity, 1):
            self.derivation.name(f"{symbol}_{i + 1}_{c}", entry)
