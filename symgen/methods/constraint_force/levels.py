"""`constraint_force:parallel` of one chain, level by level: what a joint's place among the links does, and what two runs of
places do that meet at a joint.

Place i is joint i and the link before it, so that all which hangs on the angle of a joint is of one place. The first link is the
base, which no wrench moves and which accelerates against gravity. Behind the last link is a joint that bears nothing.

By 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ the link of a place adds to the accelerations across its two joints what wrenches at them do; so it has a part
of the blocks (i−1, i−1), (i−1, i) and (i, i) of H_bb, and of what stands on the right, LC (12). A run of places is such a link
as well, once the joints within are eliminated: with n before a joint and m behind it, block cyclic reduction of H_bb there is

    D = H_n(c,c) + H_m(a,a),   H(a,a) = H_n(a,a) − H_n(a,c) D⁻¹ H_n(c,a),   H(a,c) = −H_n(a,c) D⁻¹ H_m(a,c),   …

where a and c are the run's first and last joint. So runs of 1, 2, 4 … places are put together on the way up. The last run has no
joint at either end, and on the way down each joint's constraint force follows from those at the ends of the run that it was
eliminated from. Angular velocities come by the same two ways before, by the prefix scan of
`symgen.methods.constraint_force.motion`.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import Symmetric, Vector, times, transposed
from symgen.methods.constraint_force.elimination import (
    Block,
    Pivot,
    dot,
    eliminate,
    given_back,
    reduced,
)
from symgen.methods.constraint_force.elimination import transposed as turned_over
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
from symgen.methods.constraint_force.partition import basis, picked, seen, yielding
from symgen.methods.shared.drives import rotors

BODY = 19
"""Numbers of a link that wrenches act on: J, s, J⁻¹, 1/m, and what it accelerates by of itself."""
TURN = 12
"""Numbers of a run's turn: E by rows, and w."""

# -- angular velocities, by a prefix scan ----------------------------------------------------------------------------------------


def turn(linkage: Linkage) -> list[Scalar]:
    """(E, w) of the link behind the joint: its ω is E · ω of the link before + w."""
    linkage.step(1, "its turn against the link before it")
    link = linkage.links[1]
    return _told(
        (
            transposed(link.rotation.matrix(linkage.one, linkage.zero)),
            link.turning(linkage.inputs["v"]),
        )
    )


def turn_of_both(
    home: Derivation, front: Sequence[Scalar], behind: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """(E, w) of two runs in one, and what is kept for the way down: those of the front one."""
    home.step("angular velocity by a prefix scan")
    return _told(after(_run(front), _run(behind))), [*front]


def turned(
    home: Derivation, kept: Sequence[Scalar], omega: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """ω before the front run and before the one behind it, of that before both."""
    home.step("angular velocity by a prefix scan")
    E, w = _run(kept)
    return [*omega], [*(times(E, Vector(omega)) + w)]


def _told(run: Step) -> list[Scalar]:
    (E, w) = run
    return [*E[0], *E[1], *E[2], *w]


def _run(given: Sequence[Scalar]) -> Step:
    x, y, z, w = (Vector(given[at : at + 3]) for at in range(0, TURN, 3))
    return (x, y, z), w


# -- H_bb, by block cyclic reduction ---------------------------------------------------------------------------------------------


def body(linkage: Linkage) -> list[Scalar]:
    """The first link as numbers: all of BODY but the last three."""
    own, *_ = bodies(linkage)
    return [*own.J.entries, *own.s, *own.inverse_J.entries, own.inverse_m]


def halves(
    linkage: Linkage, given: Sequence[Scalar], omega: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Of a place its run, and what it keeps: its part of the accelerations across its two joints.

    Link 0 is the one before the joint, of the numbers `given` and the angular velocity `omega`, and link 1 the one behind. Run:
    H(a,a) and the right-hand side at a; H(a,c), H(c,c) and the right-hand side at c, which the last place has not. What is
    kept: of either joint q̈ but for the constraint forces, and its rows of H_ab, f of the first joint's before the other's.
    """
    link, rates = linkage.links[1], linkage.inputs["v"]
    own, own_push = _link(linkage, given), Vector(given[16:19])
    parts = _parts(linkage, own)
    linkage.step(1, "what velocities and gravity ask for, of the link before it")
    spin, slide = link.turning(rates), link.sliding(rates)
    omega_c = link.rotation.to_child(Vector(omega)) + spin
    gamma, U = free_field(own.J, own.inverse_J, Vector(omega), linkage.zeros)
    there = times(U, link.shift - own.s) + own_push
    near = [*-gamma, *(times(U, own.s) - own_push)]
    angular = omega_c.cross(spin) + link.rotation.to_child(gamma)
    linear = (
        (omega_c - spin).cross(slide + slide) + spin.cross(slide) + link.rotation.to_child(there)
    )
    eta = (
        [picked(column, near, linkage.zero) for column in basis(linkage, 0)],
        [picked(column, [*angular, *linear], linkage.zero) for column in basis(linkage, 1)],
    )
    return _halves(linkage, parts, eta, linkage.inputs["tau"])


def halves_of_solve(linkage: Linkage, given: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """The same of M⁻¹ b, where nothing but b moves the links."""
    parts = _parts(linkage, _link(linkage, given))
    nothing = [linkage.zero] * len(parts[0])
    return _halves(linkage, parts, (nothing, nothing), linkage.inputs["b"])


def _link(linkage: Linkage, given: Sequence[Scalar]) -> Body:
    J, inverse_J = (Symmetric(*given[at : at + 6]) for at in (0, 9))
    return Body(J, Vector(given[6:9]), inverse_J, given[15], linkage.one)


Parts = tuple[Block, Block, Block]
"""What a link adds to H at (a, a), (a, c) and (c, c), between all directions of its two joints."""


def _parts(linkage: Linkage, own: Body) -> Parts:
    link, W, V, zero = linkage.links[1], basis(linkage, 0), basis(linkage, 1), linkage.zero
    linkage.step(1, "what the link before it adds to the blocks of A")
    there = link.shift - own.s
    aa = seen(W, full(mobility(own, -own.s, -own.s, zero)), W, zero)
    ac = seen(
        W, negated(full(right_to_child(link.rotation, mobility(own, -own.s, there, zero)))), V, zero
    )
    cc = yielding(
        linkage,
        1,
        seen(V, full(spatial_to_child(link.rotation, mobility(own, there, there, zero))), V, zero),
    )
    return aa, ac, cc


def _halves(
    linkage: Linkage, parts: Parts, eta: tuple[list[Scalar], list[Scalar]], pushed: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """As `halves`, of what else moves the links and what the joints are pushed with."""
    linkage.step(1, "right-hand sides W^T eta - H_ab^T tau, and H_aa tau - W_a^T eta, LC (12)")
    aa, ac, cc = parts
    ca = turned_over(ac)
    near, far = (pushed[dof.index] for link in linkage.links for dof in link.dofs)
    right_a = [x - (p * near + q * far) for x, p, q in zip(eta[0], aa[0], ca[0], strict=True)]
    right_c = [x - (p * near + q * far) for x, p, q in zip(eta[1], ac[0], cc[0], strict=True)]
    run = [
        *_upper(_within(aa)),
        *right_a[1:],
        *(x for row in _within(ac) for x in row),
        *_upper(_within(cc)),
        *right_c[1:],
    ]
    return run, [-right_a[0], *aa[0][1:], *ac[0][1:], -right_c[0], *ca[0][1:], *cc[0][1:]]


def eliminated(
    home: Derivation, size: int, front: Sequence[Scalar], behind: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """The run of two, and what is kept of the joint between them, which is eliminated: L, 1/D, Z towards both ends, and y."""
    n, m, notes = _Run(size, front), _Run(size, behind), _Notes(home)
    middle = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(n.cc, m.aa, strict=True)]
    (pivot,), left = eliminate(
        notes, {(0, 0): n.aa, (0, 1): n.ac, (1, 1): middle, (1, 2): m.ac, (2, 2): m.cc}, [1]
    )
    right = {0: n.a, 1: [x + y for x, y in zip(n.c, m.a, strict=True)], 2: m.c}
    rest = reduced([pivot], right, notes)
    run = [
        *_upper(left[0, 0]),
        *rest[0],
        *(x for row in left[0, 2] for x in row),
        *_upper(left[2, 2]),
        *rest[2],
    ]
    kept = [*(x for row in pivot.L for x in row), *pivot.inverse]
    return run, [*kept, *(x for j in (0, 2) for row in pivot.Z[j] for x in row), *rest[1]]


def forced(
    home: Derivation, size: int, kept: Sequence[Scalar], ends: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """The constraint forces at the ends of the front run, and of the one behind it; `ends`: at those of both."""
    home.step("constraint force at the joint between, LC (12)")
    at = size * (size - 1) // 2
    L = [[*kept[r * (r - 1) // 2 : r * (r + 1) // 2]] for r in range(size)]
    inverse, Z_a, Z_c, y = (
        kept[at + first * size : at + last * size]
        for first, last in (
            (0, 1),
            (1, 1 + size),
            (1 + size, 1 + 2 * size),
            (1 + 2 * size, 2 + 2 * size),
        )
    )
    pivot = Pivot(1, L, [], [*inverse], {}, {0: _rows(size, Z_a), 2: _rows(size, Z_c)})
    f = given_back(pivot, y, {0: ends[:size], 2: ends[size:]}, home.zero)
    return [*ends[:size], *f], [*f, *ends[size:]]


def across(
    home: Derivation, size: int, kept: Sequence[Scalar], f: Sequence[Scalar]
) -> tuple[Scalar, Scalar]:
    """What the link of a place adds to q̈ of its two joints: H_aa τ + H_ab f − W_aᵀ η."""
    home.step("acceleration: H_aa tau + H_ab f, LC (12)")
    near, far = kept[: 1 + 2 * size], kept[1 + 2 * size :]
    return near[0] + dot(near[1:], f, home.zero), far[0] + dot(far[1:], f, home.zero)


def run_size(size: int) -> tuple[int, int]:
    """Numbers of a run, and where those begin that the last place has not."""
    symmetric = size * (size + 1) // 2
    return 2 * (symmetric + size) + size * size, symmetric + size


def kept_size(size: int) -> int:
    """Numbers that are kept of the joint between."""
    return size * (size - 1) // 2 + 2 * size * size + 2 * size


def forbidden(linkage: Linkage) -> int:
    """How many directions a joint forbids, or lets give way to a rotor."""
    return 6 - len(linkage.links[1].dofs) + len(rotors(linkage, 1))


def _within(m: Block) -> Block:
    """What is between forbidden directions."""
    return [row[1:] for row in m[1:]]


def _upper(m: Block) -> list[Scalar]:
    return [x for r, row in enumerate(m) for x in row[r:]]


def _rows(size: int, given: Sequence[Scalar]) -> Block:
    return [[*given[r * size : (r + 1) * size]] for r in range(size)]


class _Run:
    """A run's blocks of H_bb and right-hand sides at its first joint a and its last one c."""

    def __init__(self, size: int, given: Sequence[Scalar]) -> None:
        symmetric, rest = size * (size + 1) // 2, list(given)

        def taken(count: int) -> list[Scalar]:
            found, rest[:count] = rest[:count], []
            return found

        def full_of(upper: Sequence[Scalar]) -> Block:
            at = {
                (r, c): x
                for (r, c), x in zip(
                    ((r, c) for r in range(size) for c in range(r, size)), upper, strict=True
                )
            }
            return [[at[min(r, c), max(r, c)] for c in range(size)] for r in range(size)]

        self.aa, self.a = full_of(taken(symmetric)), taken(size)
        self.ac = _rows(size, taken(size * size))
        self.cc, self.c = full_of(taken(symmetric)), taken(size)


class _Notes:
    """What an elimination asks of a Linkage, of joints that no link is named for."""

    def __init__(self, home: Derivation) -> None:
        self.home, self.zero, self.one = home, home.zero, home.one

    def step(self, i: int, text: str) -> None:
        self.home.step(f"the joint between: {text}")

    def name(self, symbol: str, i: int, quantity: Vector) -> None:
        for c, entry in enumerate(quantity, 1):
            self.home.name(f"{symbol}_{i + 1}_{c}", entry)
