"""The functions a user can ask for: names, arguments and results, as they stand in C and in Python."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from symgen.vocabulary import derivatives
from symgen.vocabulary.arrays import Array, Size
from symgen.vocabulary.derivatives import Derivative

PAYLOAD = Array(
    "payload", (10,), "mass, centre (3) and moments xx xy xz yy yz zz about the link's frame"
)
WRENCH = Array(
    "wrench",
    (6,),
    "moment (3, N·m), then force (3, N), on the link from outside, at its frame's origin, in its "
    "axes; c includes -J^T wrench",
    each="NW",
)
GAINS = Array(
    "gains",
    (2,),
    "Baumgarte's K_p (1/s²) and K_d (1/s), which pull open loops together: A a + gamma + K_d A v + "
    "K_p C(q) = 0",
)
PARAMETERS = Array(
    "parameters", ("NG",), "the numbers that may change, in the order of NAME_parameters"
)
PREPARED = Array("prepared", ("NS",), "what NAME_set_parameters made of the parameters")
ON_LINKS = (PAYLOAD, WRENCH)
AT_RUN_TIME = (*ON_LINKS, GAINS, PREPARED)
"""Arguments that a user may ask for, some by naming links. They follow the function's own in the C call, in this order."""
OF_FORCES = (*ON_LINKS, PREPARED)
"""Those that change sums of all forces."""


LongCheck = Literal[
    "forces", "solution", "totals", "determinant", "link_dynamics", "frame", "frame_inertia"
]
"""How loops over the links of a long robot are judged: by the forces that a reference sums or that a solution answers,
by the sizes of the results, or by the same operations in NumPy's numbers."""


class Solves(NamedTuple):
    """The equation that a function solves.

    `equation` gives the right sides. `unknowns`: the function's results, by argument of the equation. `rights`: the
    function's arguments, by result of the equation. `solution` is the function itself, or one that also takes the right
    sides that are always zero, and also gives the unknowns that are not among the function's results.
    """

    equation: str
    unknowns: Mapping[str, str]
    rights: Mapping[str, str]
    solution: str


class JacobianFrom(NamedTuple):
    """A function that has the Jacobian of another among its results; `blocks`: their names there, by block."""

    function: str
    blocks: Mapping[str, str]


@dataclass(frozen=True)
class Function:
    """One computed quantity: `arguments` in the order of the C call, then `results`."""

    name: str
    arguments: tuple[Array, ...]
    results: tuple[Array, ...]
    what: str
    needs_frame: bool = False
    needs_inverse: bool = False
    """True when the function divides by the mass matrix, so that M must be positive definite."""
    feels: tuple[Array, ...] = (PAYLOAD, PREPARED)
    """Which of AT_RUN_TIME change it: the payload what depends on inertia, the wrench sums of all forces."""
    ranked_as: str = ""
    """The function whose shortest method is taken for this one too, since the two differ by one operation a joint."""
    own_inertia: bool = False
    """True when the answer depends on how inertia is shared between a link and its parent, so that none may be moved."""
    keeps_mass: bool = False
    """True when it counts matter that no joint feels, so that what is moved into a root's parent may not be forgotten."""
    needs_mass: bool = False
    """True when it is about the mass centre, which something massless has not."""
    by_pivots: bool = False
    """True when a method may divide by pivots of M in it, which are nothing where M is singular, although it needs no M^-1."""
    on_request: bool = False
    """True when it is made only where it is asked for by name: it is long, and most controllers do without."""
    weight_by_joints: bool = False
    """True when weight enters by the forces of joints alone, so that gravity compensation may be subtracted from gravity."""
    sums_forces: bool = False
    """True when it sums forces from tip to base, which loses no digit where inertia is moved to the parents, however long the
    chain is. It piles up on the inner links, so that an elimination loses two."""
    proved: bool = False
    """True when `symgen prove` takes it where no function is named."""
    smooth: bool = False
    """True when its derivatives are bounded at every turn, so that these may lose no digits anywhere."""
    layouts_of: tuple[str, ...] = ()
    """The functions of whose rows it is made too, so that it is tried in their layouts of the frames."""
    declared_frames: bool = False
    """True when it is about inertia in the declared frames of the links, so that its layouts start there."""
    long_check: LongCheck | None = None
    """How its loops over the links of a long robot are judged; None where it has no loops."""
    solves: Solves | None = field(default=None, hash=False)
    """The equation that it solves; of one whose forces are redundant it is not taken: forces that do nothing have none."""
    jacobian_from: JacobianFrom | None = field(default=None, hash=False)
    """The function that has its Jacobian by recursion among its results."""

    def counts(self, size: Size) -> bool:
        """Whether an argument or a result is as long as that."""
        return any(size in array.shape for array in (*self.arguments, *self.results))

    def drawn(self, name: str) -> str:
        """As what the sample values of an argument are drawn."""
        return next(
            (array.drawn for array in self.arguments if array.name == name and array.drawn), name
        )

    @property
    def of_loops(self) -> bool:
        """Whether it is about joints that close loops, so that a robot without any has none of it."""
        return self.knows_loops and not self.counts("NT")

    @property
    def knows_loops(self) -> bool:
        """Whether it takes the loops of a robot for closed, where it has some; all else is that of the tree."""
        return self.counts("NL") or self.counts("NI") or self.counts("NT")

    @property
    def solves_constraints(self) -> bool:
        """True if its divisors are the pivots of M and of the constraints' S = A M^-1 A^T."""
        return self.needs_inverse and self.knows_loops and self.name not in EQUATIONS

    @property
    def own(self) -> tuple[str, ...]:
        """The arguments of its own that it can be differentiated by."""
        return tuple(array.name for array in self.arguments if not array.switch)

    @property
    def follows(self) -> bool:
        """Whether it is stated by the Convention that is chosen."""
        return any(array.twist for array in (*self.results, *self.arguments))

    @property
    def needs_frames(self) -> bool:
        """Whether it speaks of every frame that is named. What needs a frame and does not speaks of the first."""
        return any(array.each == "NF" for array in (*self.results, *self.arguments))

    @property
    def derivative(self) -> Derivative | None:
        """What it is the derivative of, and how; None for a function in its own right."""
        return derivatives.told(self.name)


Q = Array("q", ("NQ",), "joint positions (rad, m)")
V = Array("v", ("NV",), "joint velocities (rad/s, m/s)")
A = Array("a", ("NV",), "joint accelerations (rad/s², m/s²)")
TAU = Array("tau", ("NV",), "joint torques and forces (N·m, N)")
B = Array("b", ("NV",), "right-hand side")
C = Array("c", ("NV",), "bias force C(q,v)v + g(q)")
M = Array("M", ("NV", "NV"), "joint-space mass matrix")
CORIOLIS = Array("C", ("NV", "NV"), "Coriolis matrix: dM/dt = C + C^T")
MINV = Array("Minv", ("NV", "NV"), "inverse of the mass matrix")
R = Array("R", (3, 3), "axes of the frame in the base", each="NF")
P = Array("p", (3,), "origin of the frame in the base (m)", each="NF")
J = Array(
    "J",
    (6, "NV"),
    "angular rows first, axes of the base, at the frame's origin",
    each="NF",
    twist=True,
)
JDOT_V = Array(
    "Jdot_v",
    (6,),
    "angular part first, axes of the base, at the frame's origin (rad/s², m/s²)",
    each="NF",
    twist=True,
)
DTAU_DQ = Array(
    "dtau_dq",
    ("NV", "NV"),
    "row i: how tau_i changes along each velocity of q ⊕ δ (N·m/rad, N/m, N)",
)
DTAU_DV = Array("dtau_dv", ("NV", "NV"), "row i: how tau_i changes with each velocity")
DA_DQ = Array("da_dq", ("NV", "NV"), "row i: how a_i changes along each velocity of q ⊕ δ")
DA_DV = Array("da_dv", ("NV", "NV"), "row i: how a_i changes with each velocity")
Q_NEXT = Array("q_next", ("NQ",), "joint positions at the end of the step (rad, m)")
V_NEXT = Array("v_next", ("NV",), "joint velocities at the end of the step (rad/s, m/s)")
RESTITUTION = Array("restitution", (), "Newton's coefficient of restitution, from 0 to 1")
DT = Array("dt", (), "time step (s)")
INSTANT = replace(DT, drawn="instant")
DAMPING = Array("damping", (), "what is added to the diagonal of J J^T, as a part of its trace")
CLOSED = "q_closed", "v_closed"
"""What positions and velocities on the loops are drawn as; of a robot without loops, they are any."""
Q_CLOSED, V_CLOSED = (replace(one, drawn=drawn) for one, drawn in zip((Q, V), CLOSED, strict=True))
LAMBDA = Array("lambda", ("NL",), "forces of the joints that close loops, one a row of A (N, N·m)")
ACTIVE = Array(
    "active",
    ("NT",),
    "1 where a contact holds and 0 where it does not, in the order of --contact",
    switch=True,
)
FORCES = Array(
    "forces",
    ("NT", 3),
    "on the robot at each contact, axes of the base (N): whatever holds the point still, pulling "
    "as well as pushing, in any direction; the least, where several do; 0 where none holds",
)
V_AFTER = Array("v_after", ("NV",), "joint velocities after the impact (rad/s, m/s)")
IMPULSES = replace(FORCES, name="impulses", what=FORCES.what.replace("(N)", "(N·s)"))
DRIFT = Array(
    "drift",
    ("NT", 3),
    "what active contacts are to accelerate by, or to move with, in the axes they are solved in",
)
OPENING = Array("opening", ("NL",), "what the rows of loops are to accelerate by, or to move with")
PUSH = Array("push", ("NV",), "joint impulses (N·m·s, N·s)")

ASSEMBLE = "assemble"
"""What is asked for by this name is ASSEMBLING, and a driver in C that calls them until the loops are closed."""
ASSEMBLING = ("assembly_step", "integrate")
REGROUP, JUDGE = PREPARING = ("regroup_parameters", "judge_parameters")
"""What NAME_set_parameters calls. They are there where numbers may change at run time, and nobody asks for them."""
_PREPARING = {
    REGROUP: Function(
        REGROUP,
        (PARAMETERS,),
        (PREPARED,),
        "what functions take in the place of the parameters",
        feels=(),
        on_request=True,
    ),
    JUDGE: Function(
        JUDGE,
        (PARAMETERS,),
        (
            Array(
                "judged",
                ("NJ",),
                "masses and minors of second moments, not negative where bodies can have them",
            ),
            Array("carried", ("NC",), "mass, or mass and moments, that joints carry, positive"),
        ),
        "whether bodies can have such parameters",
        feels=(),
        on_request=True,
    ),
}

EQUATIONS = {
    one.name: one
    for one in (
        Function(
            "loop_equation",
            (Q_CLOSED, V_CLOSED, A, LAMBDA),
            (TAU, OPENING),
            "M a + c - A^T lambda, and A a + gamma",
            feels=AT_RUN_TIME,
            on_request=True,
        ),
        Function(
            "loop_solution",
            (Q_CLOSED, V_CLOSED, TAU, OPENING),
            (A, LAMBDA),
            "what solves loop_equation",
            needs_inverse=True,
            feels=AT_RUN_TIME,
            on_request=True,
        ),
        Function(
            "contact_equation",
            (Q_CLOSED, V_CLOSED, A, LAMBDA, FORCES),
            (TAU, OPENING, DRIFT),
            "M a + c - A^T lambda - J^T forces, and how loops and contacts accelerate",
            feels=AT_RUN_TIME,
            on_request=True,
        ),
        Function(
            "contact_solution",
            (Q_CLOSED, V_CLOSED, TAU, OPENING, DRIFT, ACTIVE),
            (A, LAMBDA, FORCES),
            "what solves contact_equation",
            needs_inverse=True,
            feels=AT_RUN_TIME,
            on_request=True,
        ),
        Function(
            "impact_equation",
            (Q_CLOSED, V, V_AFTER, LAMBDA, IMPULSES),
            (PUSH, OPENING, DRIFT),
            "M (v_after - v) - A^T lambda - J^T impulses, and how loops and contacts move then",
            on_request=True,
        ),
        Function(
            "impact_solution",
            (Q_CLOSED, V, PUSH, OPENING, DRIFT, ACTIVE),
            (V_AFTER, LAMBDA, IMPULSES),
            "what solves impact_equation",
            needs_inverse=True,
            on_request=True,
        ),
    )
}
"""What functions solve, and what solves it whatever the right side is: derivatives are made of them, and nobody asks for them."""

OF_LOOPS = {
    f.name: f
    for f in (
        Function(
            "constrained_forward_dynamics",
            (Q_CLOSED, V_CLOSED, TAU),
            (A, LAMBDA),
            "M a + c = tau + A^T lambda with A a + gamma = 0: what joint forces cause while loops stay closed",
            needs_inverse=True,
            feels=AT_RUN_TIME,
            layouts_of=("inverse_dynamics", "mass_matrix"),
            solves=Solves(
                "loop_equation",
                {"a": "a", "lambda": "lambda"},
                {"tau": "tau", "opening": "opening"},
                "loop_solution",
            ),
        ),
        Function(
            "constrained_inverse_dynamics",
            (Q_CLOSED, V_CLOSED, A),
            (
                Array(
                    "tau_independent",
                    ("NA",),
                    "torques and forces of the actuated joints, in the order of v (N·m, N); of "
                    "the independent coordinates, unless others are declared",
                ),
                LAMBDA,
            ),
            "M a + c = tau + A^T lambda, where only the actuated joints are driven",
            feels=OF_FORCES,
        ),
        Function(
            "reduced_mass_matrix",
            (Q_CLOSED,),
            (
                Array(
                    "M_reduced",
                    ("NI", "NI"),
                    "of the independent coordinates: N^T M N with v = N v_independent",
                ),
            ),
            "mass matrix in the independent coordinates",
        ),
        Function(
            "constraint_residual",
            (replace(Q, drawn="q"),),
            (Array("C", ("NL",), "one entry a row (m, rad)"),),
            "how far the loops are from being closed, C(q) = 0 where they are",
            feels=(),
        ),
        Function(
            "constraint_jacobian",
            (Q_CLOSED,),
            (Array("A", ("NL", "NV"), "a row for each that the loops keep"),),
            "A(q) v = 0 on the loops",
            feels=(),
        ),
        Function(
            "constraint_bias",
            (Q_CLOSED, V_CLOSED),
            (Array("gamma", ("NL",), "one entry a row (m/s², rad/s²)"),),
            "gamma = dA/dt v, so that A a + gamma = 0 on the loops",
            feels=(),
        ),
        Function(
            "assembly_step",
            (Q, DAMPING),
            (
                Array("delta", ("NV",), "the step as velocities are counted (rad, m)"),
                Array("C", ("NL",), "C(q) (m, rad)"),
                Array(
                    "turned",
                    (),
                    "0 where loops are closed; 2 more for each axis that a frame has half a turn off, of which "
                    "C tells nothing",
                ),
            ),
            "a damped Gauss-Newton step towards closed loops: delta = -J^T (J J^T + mu 1)^-1 C with J = dC/dq, "
            "mu = damping trace(J J^T), to be taken as q ⊕ delta",
            feels=(),
        ),
        Function(
            "constraint_impulse",
            (Q_CLOSED, V, RESTITUTION),
            (
                replace(V_NEXT, what="joint velocities behind the blow (rad/s, m/s)"),
                Array(
                    "impulse",
                    ("NL",),
                    "impulses of the joints that close loops, one a row of A (N·s, N·m·s)",
                ),
            ),
            "M (v_next - v) = A^T impulse with A v_next = -restitution A v: velocities that the loops do not allow are "
            "stopped, or thrown back",
            needs_inverse=True,
        ),
    )
}
"""What a mechanism has besides whose loops are closed by joints, at states in which they are closed."""


_BESIDES = {**OF_LOOPS, **EQUATIONS, **_PREPARING}


class Functions(UserDict[str, Function]):
    """The functions by name. Derivatives, what is about loops, EQUATIONS, and what prepares parameters are found in it by their
    names as well; those who go through it meet none."""

    def __missing__(self, name: str) -> Function:
        found = _BESIDES.get(name) or self._derived(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return (
            name in self.data
            or name in _BESIDES
            or (isinstance(name, str) and self._derived(name) is not None)
        )

    def _derived(self, name: str) -> Function | None:
        wanted = derivatives.told(name)
        if (
            wanted is None
            or wanted.mode not in derivatives.MODES
            or wanted.of not in (*self.data, *OF_LOOPS)
        ):
            return None
        found = derived(self[wanted.of], wanted)
        # center_of_mass:jacobian is a function in its own right, and would be called as that is
        return (
            found
            if found is not None
            and found.name == name
            and derivatives.symbol(name) not in self.data
            else None
        )

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Names of functions in the order of the table; a derivative stands behind all functions, in the order of its own."""
        place, modes = (
            {name: i for i, name in enumerate((*self, *OF_LOOPS, *PREPARING))},
            [*derivatives.MODES],
        )

        def order(name: str) -> tuple[int, int, int, tuple[str, ...]]:
            wanted = derivatives.told(name)
            return (
                (0, place[name], 0, ())
                if wanted is None
                else (1, place[wanted.of], modes.index(wanted.mode), wanted.by)
            )

        return sorted(dict.fromkeys(names), key=order)


def differentiable(function: Function) -> dict[str, Array]:
    """Arguments to differentiate by: no switches, and not PREPARED, whose entries the reference does not know."""
    return {
        array.name: array
        for array in (*function.arguments, *function.feels)
        if not (array.switch or array == PREPARED)
    }


def derived(function: Function, wanted: Derivative) -> Function | None:
    """A derivative of a function as one more function; None where it has no such argument.

    Positions change by as many numbers as there are velocities: q ⊕ dq.
    """
    known, own = differentiable(function), function.own
    if not set(wanted.by) <= set(known):
        return None
    by = tuple(name for name in known if name in (wanted.by or own))
    by = () if by == own else by
    arguments = [known[name] for name in by or own]
    changes = [_change(array) for array in arguments]
    weights = [_weight(array) for array in function.results]
    given, results = {
        "jvp": (changes, [_change(array) for array in function.results]),
        "vjp": (weights, [_weight(array) for array in arguments]),
        "jacobian": (
            [],
            [_slope(result, array) for result in function.results for array in arguments],
        ),
        "hvp": ([*weights, *changes], [_change(_weight(array)) for array in arguments]),
    }[wanted.mode]
    name = wanted._replace(by=by).name
    said = f"{derivatives.MODES[wanted.mode].format(function.name)}: {function.what}"
    return replace(
        function,
        name=name,
        arguments=(*function.arguments, *given),
        results=tuple(results),
        what=said,
        ranked_as="",
        weight_by_joints=False,
        sums_forces=False,
        proved=False,
        smooth=False,
        layouts_of=(),
        declared_frames=False,
        long_check=None,
        solves=None,
        jacobian_from=None,
    )


def _tangent(array: Array) -> tuple[Size, ...]:
    return tuple("NV" if size == "NQ" else size for size in array.shape)


def _change(array: Array) -> Array:
    step = ", as velocities change it" if "NQ" in array.shape else ""
    return replace(
        array,
        name=derivatives.change(array.name),
        drawn="",
        shape=_tangent(array),
        what=f"change of {array.name}{step}",
    )


def _weight(array: Array) -> Array:
    return replace(
        array,
        name=derivatives.weight(array.name),
        drawn="",
        shape=_tangent(array),
        what=f"weight of {array.name}",
    )


def _slope(result: Array, by: Array) -> Array:
    """The argument's elements come last; those of several wrenches are one row."""
    return replace(
        result,
        name=derivatives.slope(result.name, by.name),
        shape=(*_tangent(result), *_tangent(by)),
        what=f"derivative of {result.name} by {by.name}",
    )


FUNCTIONS = Functions(
    {
        f.name: f
        for f in (
            Function(
                "inverse_dynamics",
                (Q, V, A),
                (TAU,),
                "tau = M(q) a + C(q,v) v + g(q)",
                feels=OF_FORCES,
                weight_by_joints=True,
                sums_forces=True,
                proved=True,
                long_check="forces",
                jacobian_from=JacobianFrom(
                    "inverse_dynamics_derivatives",
                    {"dtau_dq": "dtau_dq", "dtau_dv": "dtau_dv", "dtau_da": "M"},
                ),
            ),
            Function(
                "forward_dynamics",
                (Q, V, TAU),
                (A,),
                "a = M(q)^-1 (tau - c)",
                needs_inverse=True,
                feels=OF_FORCES,
                weight_by_joints=True,
                proved=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
                long_check="solution",
                solves=Solves("inverse_dynamics", {"a": "a"}, {"tau": "tau"}, "forward_dynamics"),
                jacobian_from=JacobianFrom(
                    "forward_dynamics_derivatives",
                    {"da_dq": "da_dq", "da_dv": "da_dv", "da_dtau": "Minv"},
                ),
            ),
            Function(
                "bias_force",
                (Q, V),
                (C,),
                "c = C(q,v) v + g(q)",
                feels=OF_FORCES,
                weight_by_joints=True,
                sums_forces=True,
                layouts_of=("inverse_dynamics",),
                long_check="forces",
            ),
            Function(
                "gravity_force",
                (Q,),
                (Array("g", ("NV",), "gravity force"),),
                "g(q)",
                sums_forces=True,
                long_check="forces",
            ),
            Function(
                "mass_matrix",
                (Q,),
                (M,),
                "M(q)",
                proved=True,
            ),
            Function(
                "mass_matrix_and_bias",
                (Q, V),
                (M, C),
                "M(q) and c(q,v) in one pass",
                feels=OF_FORCES,
                weight_by_joints=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
            ),
            Function(
                "inverse_mass_matrix",
                (Q,),
                (MINV,),
                "M(q)^-1",
                needs_inverse=True,
                layouts_of=("mass_matrix",),
            ),
            Function(
                "mass_matrix_solve",
                (Q, B),
                (Array("x", ("NV",), "M^-1 b"),),
                "x = M(q)^-1 b",
                needs_inverse=True,
                layouts_of=("mass_matrix",),
                long_check="solution",
            ),
            Function(
                "mass_matrix_determinant",
                (Q,),
                (Array("det", (), "determinant of the mass matrix"),),
                "det M(q)",
                by_pivots=True,
                long_check="determinant",
            ),
            Function(
                "mass_matrix_log_determinant",
                (Q,),
                (
                    Array(
                        "logdet",
                        (),
                        "natural logarithm of the determinant of the mass matrix, in SI units; kT/2 times it is "
                        "Fixman's potential",
                    ),
                ),
                "ln det M(q)",
                needs_inverse=True,
                ranked_as="mass_matrix_determinant",
                long_check="determinant",
            ),
            Function(
                "mass_matrix_log_determinant_gradient",
                (Q,),
                (Array("grad", ("NV",), "d ln det M / dq"),),
                "d ln det M(q) / dq",
                needs_inverse=True,
                long_check="determinant",
            ),
            Function(
                "operational_inertia_inverse",
                (Q,),
                (
                    Array(
                        "Lambda_inv",
                        (6, 6),
                        "angular rows first, axes of the base, at the frame's origin",
                    ),
                ),
                "inverse of the inertia that a wrench on the chosen frame feels, J M^-1 J^T",
                needs_frame=True,
                needs_inverse=True,
                long_check="frame_inertia",
            ),
            Function(
                "link_accelerations",
                (Q, V, TAU),
                (
                    Array(
                        "alpha",
                        ("NB", 6),
                        "of every link at the origin of the frame that its joint moves: angular part "
                        "first, axes of the base, true accelerations (gravity is no part of them)",
                    ),
                    Array("alpha_tip", (6,), "likewise of the chosen frame"),
                ),
                "accelerations of the links that joint forces cause",
                needs_frame=True,
                needs_inverse=True,
                feels=OF_FORCES,
                weight_by_joints=True,
                long_check="link_dynamics",
            ),
            Function(
                "interbody_forces",
                (Q, V, TAU),
                (
                    Array(
                        "F",
                        ("NB", 6),
                        "what its parent (or the base) exerts on every link, at the origin of the frame that its "
                        "joint moves: moment first, axes of the base, weights borne (N·m, N)",
                    ),
                    A,
                ),
                "wrenches across the joints, and the accelerations they cause",
                needs_inverse=True,
                own_inertia=True,
                feels=OF_FORCES,
                long_check="link_dynamics",
            ),
            Function(
                "forward_kinematics",
                (Q,),
                (R, P),
                "pose of the chosen frame in the base",
                needs_frame=True,
                feels=(),
                long_check="totals",
            ),
            Function(
                "jacobian",
                (Q,),
                (J,),
                "twist of the chosen frame = J(q) v",
                needs_frame=True,
                feels=(),
                long_check="frame",
            ),
            Function(
                "bias_acceleration",
                (Q, V),
                (JDOT_V,),
                "acceleration of the chosen frame that velocities alone cause, dJ/dt v",
                needs_frame=True,
                feels=(),
                long_check="frame",
            ),
            Function(
                "link_poses",
                (Q,),
                (
                    Array(
                        "R_links",
                        ("NB", 3, 3),
                        "axes in the base of every moving link's frame, in the order of the joints",
                    ),
                    Array("p_links", ("NB", 3), "origins of the same frames in the base (m)"),
                ),
                "poses of all links",
                feels=(),
                long_check="totals",
            ),
            Function(
                "center_of_mass",
                (Q,),
                (Array("com", (3,), "mass centre of all moving links in the base (m)"),),
                "mass centre of the whole",
                keeps_mass=True,
                needs_mass=True,
                long_check="totals",
            ),
            Function(
                "center_of_mass_jacobian",
                (Q,),
                (Array("Jcom", (3, "NV"), "axes of the base"),),
                "velocity of the mass centre = Jcom(q) v",
                keeps_mass=True,
                needs_mass=True,
            ),
            Function(
                "kinetic_energy",
                (Q, V),
                (Array("T", (), "kinetic energy (J)"),),
                "T = v^T M(q) v / 2",
                long_check="totals",
            ),
            Function(
                "potential_energy",
                (Q,),
                (
                    Array(
                        "U",
                        (),
                        "energy of the moving links' weight (J); zero when their mass centre is at the base's origin",
                    ),
                ),
                "potential energy of gravity",
                keeps_mass=True,
                long_check="totals",
            ),
            Function(
                "centroidal_momentum",
                (Q, V),
                (
                    Array(
                        "h",
                        (6,),
                        "angular (kg·m²/s) first, then linear (kg·m/s), axes of the base, about the mass centre",
                    ),
                ),
                "momentum of all moving links about their mass centre",
                keeps_mass=True,
                needs_mass=True,
                long_check="totals",
            ),
            Function(
                "centroidal_momentum_matrix",
                (Q,),
                (
                    Array(
                        "A_G",
                        (6, "NV"),
                        "angular rows first, axes of the base, about the mass centre",
                    ),
                ),
                "h = A_G(q) v",
                keeps_mass=True,
                needs_mass=True,
            ),
            Function(
                "centroidal_momentum_rate",
                (Q, V, A),
                (
                    Array(
                        "hdot",
                        (6,),
                        "moment (N·m) first, then force (N), axes of the base, about the mass centre",
                    ),
                ),
                "dh/dt at (q, v, a): what the base and the surroundings exert, weight included",
                keeps_mass=True,
                needs_mass=True,
                long_check="totals",
            ),
            Function(
                "inverse_dynamics_derivatives",
                (Q, V, A),
                (DTAU_DQ, DTAU_DV, M),
                "derivatives of inverse dynamics, those along q by velocities (q ⊕ δ), and M",
                feels=OF_FORCES,
                on_request=True,
                weight_by_joints=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
            ),
            Function(
                "forward_dynamics_derivatives",
                (Q, V, TAU),
                (DA_DQ, DA_DV, MINV),
                "derivatives of forward dynamics, those along q by velocities (q ⊕ δ), and M^-1, which is that along tau",
                needs_inverse=True,
                feels=OF_FORCES,
                on_request=True,
                weight_by_joints=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
            ),
            Function(
                "integrate",
                (Q, V, DT),
                (Q_NEXT,),
                "q moved for a time dt by the constant velocity v (of a joint of several, the exponential map); a quaternion "
                "stays as long as it was",
                feels=(),
                smooth=True,
                long_check="totals",
            ),
            Function(
                "difference",
                (Q, Q_NEXT),
                (
                    Array(
                        "delta",
                        ("NV",),
                        "the way from q to q_next as velocities are counted (rad, m)",
                    ),
                ),
                "the velocity that takes q to q_next in 1 s (of a joint of several, the logarithm); of two turns the shorter",
                feels=(),
                smooth=True,
                long_check="totals",
            ),
            Function(
                "step",
                (Q, V, TAU, INSTANT),
                (Q_NEXT, V_NEXT),
                "one step of semi-implicit Euler: v_next = v + M^-1 (tau - c) dt, then q moved for a time dt by v_next",
                needs_inverse=True,
                feels=OF_FORCES,
                on_request=True,
            ),
            Function(
                "step_rk4",
                (Q, V, TAU, INSTANT),
                (Q_NEXT, V_NEXT),
                "one step of the classical Runge-Kutta method of order 4 at constant tau (of a joint of several, Munthe-Kaas's)",
                needs_inverse=True,
                feels=OF_FORCES,
                on_request=True,
            ),
            Function(
                "coriolis_matrix",
                (Q, V),
                (CORIOLIS,),
                "C(q,v) with dM/dt - 2 C skew-symmetric and C v = c - g",
                on_request=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
            ),
            Function(
                "mass_matrix_coriolis_and_bias",
                (Q, V),
                (M, CORIOLIS, C),
                "M(q), C(q,v) and c(q,v) in one pass",
                feels=OF_FORCES,
                on_request=True,
                weight_by_joints=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
            ),
            Function(
                "regressor",
                (Q, V, A),
                (
                    Array(
                        "Y",
                        ("NV", "NP"),
                        "ten columns for every link in turn: m (kg), m c (3, kg·m) and moments xx xy xz yy yz "
                        "zz (kg·m²) about the origin of its frame, in its axes",
                    ),
                ),
                "Y(q,v,a) with tau = Y pi, linear in the inertial parameters pi",
                feels=(PREPARED,),
                on_request=True,
                declared_frames=True,
            ),
            Function(
                "base_regressor",
                (Q, V, A),
                (
                    Array(
                        "Y_base",
                        ("NV", "NR"),
                        "the columns of Y that are independent of those before them",
                    ),
                ),
                "Y_base(q,v,a) with tau = Y_base pi_base, by as few parameters as there can be",
                feels=(PREPARED,),
                on_request=True,
                declared_frames=True,
            ),
            Function(
                "base_parameters",
                (
                    Array(
                        "pi",
                        ("NP",),
                        "ten numbers of every link in turn: m (kg), m c (3, kg·m) and moments xx xy xz yy yz zz "
                        "(kg·m²) about the origin of its frame, in its axes",
                    ),
                ),
                (
                    Array(
                        "pi_base",
                        ("NR",),
                        "of every column of Y_base the parameter, and what others add to it",
                    ),
                ),
                "the base parameters that inertial parameters amount to",
                feels=(),
                on_request=True,
            ),
            Function(
                "operational_inertia",
                (Q,),
                (
                    Array(
                        "Lambda",
                        ("NK", "NK"),
                        "rows of the task (wx wy wz x y z unless others are chosen), axes of the base, "
                        "at the frame's origin",
                    ),
                ),
                "inertia that a wrench along the rows of the task feels, (J M^-1 J^T)^-1",
                needs_frame=True,
                needs_inverse=True,
                on_request=True,
            ),
            Function(
                "dynamically_consistent_inverse",
                (Q,),
                (
                    Array(
                        "Jbar",
                        ("NV", "NK"),
                        "a column for every row of the task (wx wy wz x y z unless others are chosen)",
                    ),
                ),
                "M^-1 J^T Lambda: the inverse of the task's Jacobian J that moves nothing else",
                needs_frame=True,
                needs_inverse=True,
                on_request=True,
            ),
            Function(
                "contact_forward_dynamics",
                (Q_CLOSED, V_CLOSED, TAU, ACTIVE),
                (A, FORCES),
                "a and forces with M a + c = tau + J^T forces where the points of active contacts do not accelerate; cones of "
                "friction and lifting off are a controller's",
                needs_inverse=True,
                feels=AT_RUN_TIME,
                on_request=True,
                solves=Solves(
                    "contact_equation",
                    {"a": "a", "lambda": "lambda", "forces": "forces"},
                    {"tau": "tau", "opening": "opening", "drift": "drift"},
                    "contact_solution",
                ),
            ),
            Function(
                "contact_impulse",
                (Q_CLOSED, V, ACTIVE),
                (V_AFTER, IMPULSES),
                "v_after and impulses with M (v_after - v) = J^T impulses where the points of active contacts stand still: an "
                "impact without bouncing",
                needs_inverse=True,
                on_request=True,
                solves=Solves(
                    "impact_equation",
                    {"v_after": "v_after", "lambda": "lambda", "impulses": "impulses"},
                    {"push": "push", "opening": "opening", "drift": "drift"},
                    "impact_solution",
                ),
            ),
        )
    }
)
BY_DEFAULT = tuple(name for name, function in FUNCTIONS.items() if not function.on_request)
"""What is made where no function is named."""
PROVED_BY_DEFAULT = tuple(
    sorted(
        (name for name, function in FUNCTIONS.items() if function.proved),
        key=lambda name: FUNCTIONS[name].needs_inverse,
    )
)
"""The functions that `symgen prove` takes where none is named; those that divide come last."""
