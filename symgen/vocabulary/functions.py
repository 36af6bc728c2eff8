"""Functions that a user can request: names, arguments and results, as in C and in Python."""

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
    "external wrench on the link: moment (3, N·m), then force (3, N), at the "
    "origin and in the axes of the link's frame; c includes -J^T wrench",
    each="NW",
)
GAINS = Array(
    "gains",
    (2,),
    "Baumgarte's gains K_p (1/s²) and K_d (1/s), which reduce the "
    "closure error: A a + gamma + K_d A v + K_p C(q) = 0",
)
PARAMETERS = Array(
    "parameters", ("NG",), "the run-time parameters, in the order of NAME_parameters"
)
PREPARED = Array(
    "prepared", ("NS",), "the values that NAME_set_parameters computes from the parameters"
)
LINK_ARGUMENTS = (PAYLOAD, WRENCH)
AT_RUN_TIME = (*LINK_ARGUMENTS, GAINS, PREPARED)
"""Arguments that are added on request, some per named link. They follow the function's own
arguments in the C call, in this order.
"""
FORCE_ARGUMENTS = (*LINK_ARGUMENTS, PREPARED)
"""Run-time arguments that change sums of all forces."""


LongCheck = Literal[
    "forces", "solution", "totals", "determinant", "link_dynamics", "frame", "frame_inertia"
]
"""Check of the loop programs of a long robot.

They are compared with forces that a reference sums, or that a solution satisfies. Other checks
compare the sizes of the results, or perform the same operations in NumPy's numbers.
"""


class Solves(NamedTuple):
    """The equation that a function solves.

    - `equation` is the function that computes the right-hand sides.
    - `unknowns` maps arguments of the equation to results of the function.
    - `rights` maps results of the equation to arguments of the function.
    - `solution` is the function itself, or one that also takes right-hand sides that are always
      zero here, and also returns unknowns that are no results of the function.
    """

    equation: str
    unknowns: Mapping[str, str]
    rights: Mapping[str, str]
    solution: str


class JacobianFrom(NamedTuple):
    """A function whose results include the Jacobian of another function; `blocks` maps blocks to
    names of results.
    """

    function: str
    blocks: Mapping[str, str]


@dataclass(frozen=True)
class Function:
    """A computed quantity: `arguments` in the order of the C call, then `results`."""

    name: str
    arguments: tuple[Array, ...]
    results: tuple[Array, ...]
    what: str
    needs_frame: bool = False
    needs_inverse: bool = False
    """True if the function divides by the mass matrix, so that M must be positive definite."""
    depends_on: tuple[Array, ...] = (PAYLOAD, PREPARED)
    """Arguments of AT_RUN_TIME that change the results: the payload changes results that depend on
    inertia, the wrench changes sums of all forces.
    """
    ranked_as: str = ""
    """A function that differs by one operation per joint; its shortest method is used for this one
    too.
    """
    own_inertia: bool = False
    """True if the results depend on how inertia is shared between a link and its parent, so that no
    inertia may be moved.
    """
    keeps_mass: bool = False
    """True if the results also depend on mass that affects no joint, so that inertia moved into a
    root's parent must be kept.
    """
    needs_mass: bool = False
    """True if the function concerns the mass centre, which a massless robot does not have."""
    by_pivots: bool = False
    """True if a method may divide by pivots of M, which are zero for a singular M, although the
    function needs no M^-1.
    """
    explicit_only: bool = False
    """True if the function is generated only when named: it is long, and most controllers do
    without it.
    """
    weight_by_joints: bool = False
    """True if weight enters only through the joint forces, so that gravity compensation may be
    subtracted from gravity.
    """
    sums_forces: bool = False
    """True if the function sums forces from tip to base.

    Such a sum loses no digits when inertia is moved to the parents, however long the chain is.
    Inertia accumulates on the inner links, where an elimination would lose two digits.
    """
    proved: bool = False
    """True if `symgen prove` includes the function by default."""
    smooth: bool = False
    """True if its derivatives are bounded at every rotation, so that they may lose no digits
    anywhere.
    """
    layouts_of: tuple[str, ...] = ()
    """Functions whose rows this one reuses; it is also tried in their layouts of the frames."""
    declared_frames: bool = False
    """True if the function concerns inertia in the declared frames of the links, so that its
    layouts start there.
    """
    long_check: LongCheck | None = None
    """Check of the function's loop programs of a long robot; None if there are none."""
    solves: Solves | None = field(default=None, hash=False)
    """The equation that it solves. It is not used for redundant constraints, whose forces are not
    unique.
    """
    jacobian_from: JacobianFrom | None = field(default=None, hash=False)
    """The function whose recursion computes its Jacobian."""

    def counts(self, size: Size) -> bool:
        """True if an argument or a result has this size in its shape."""
        return any(size in array.shape for array in (*self.arguments, *self.results))

    def sample_kind(self, name: str) -> str:
        """Return the kind of sample values of an argument."""
        return next(
            (array.drawn for array in self.arguments if array.name == name and array.drawn), name
        )

    @property
    def needs_loops(self) -> bool:
        """True if a function concerns loop closures and does not exist for a robot without them."""
        return self.holds_loops_closed and not self.counts("NT")

    @property
    def holds_loops_closed(self) -> bool:
        """True if the function takes loops as closed; all other functions are those of the tree."""
        return self.counts("NL") or self.counts("NI") or self.counts("NT")

    @property
    def solves_constraints(self) -> bool:
        """True if its divisors are the pivots of M and of the constraints' S = A M^-1 A^T."""
        return self.needs_inverse and self.holds_loops_closed and self.name not in EQUATIONS

    @property
    def own_arguments(self) -> tuple[str, ...]:
        """Arguments with respect to which it can be differentiated, without run-time arguments."""
        return tuple(array.name for array in self.arguments if not array.switch)

    @property
    def follows_convention(self) -> bool:
        """True if an argument or a result follows the chosen Convention."""
        return any(array.twist for array in (*self.results, *self.arguments))

    @property
    def uses_all_frames(self) -> bool:
        """True if it uses every named frame. Other functions that need a frame use the first."""
        return any(array.each == "NF" for array in (*self.results, *self.arguments))

    @property
    def derivative(self) -> Derivative | None:
        """The parsed name of a derivative; None for a function in its own right."""
        return derivatives.parse_derivative(self.name)


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
    "geometric Jacobian: angular rows first, axes of the base, at the frame's origin",
    each="NF",
    twist=True,
)
JDOT_V = Array(
    "Jdot_v",
    (6,),
    "dJ/dt v: angular part first, axes of the base, at the frame's origin (rad/s², m/s²)",
    each="NF",
    twist=True,
)
DTAU_DQ = Array(
    "dtau_dq",
    ("NV", "NV"),
    "row i: derivatives of tau_i with respect to δ in q ⊕ δ (N·m/rad, N/m, N)",
)
DTAU_DV = Array("dtau_dv", ("NV", "NV"), "row i: derivatives of tau_i with respect to v")
DA_DQ = Array("da_dq", ("NV", "NV"), "row i: derivatives of a_i with respect to δ in q ⊕ δ")
DA_DV = Array("da_dv", ("NV", "NV"), "row i: derivatives of a_i with respect to v")
Q_NEXT = Array("q_next", ("NQ",), "joint positions at the end of the step (rad, m)")
V_NEXT = Array("v_next", ("NV",), "joint velocities at the end of the step (rad/s, m/s)")
RESTITUTION = Array("restitution", (), "Newton's coefficient of restitution, from 0 to 1")
DT = Array("dt", (), "time step (s)")
INSTANT = replace(DT, drawn="instant")
DAMPING = Array(
    "damping",
    (),
    "damping of the step: the number that is added to the diagonal of J J^T, divided by the trace",
)
CLOSED = "q_closed", "v_closed"
"""Kinds of sample positions and velocities on which the loops are closed; any values for a robot
without loops.
"""
Q_CLOSED, V_CLOSED = (
    replace(array, drawn=drawn) for array, drawn in zip((Q, V), CLOSED, strict=True)
)
LAMBDA = Array("lambda", ("NL",), "forces of the loop closures, one for each row of A (N, N·m)")
ACTIVE = Array(
    "active",
    ("NT",),
    "1 for an active contact and 0 for an inactive one, in the order of --contact",
    switch=True,
)
FORCES = Array(
    "forces",
    ("NT", 3),
    "force on the robot at each contact, axes of the base (N), of a bilateral point constraint: it"
    " may pull and has no friction cone; minimum norm if the contacts are redundant; 0 if the"
    " contact is inactive",
)
V_AFTER = Array("v_after", ("NV",), "joint velocities after the impact (rad/s, m/s)")
IMPULSES = replace(FORCES, name="impulses", what=FORCES.what.replace("(N)", "(N·s)"))
DRIFT = Array(
    "drift",
    ("NT", 3),
    "prescribed accelerations or velocities of the active contacts, in the axes of the solution",
)
OPENING = Array(
    "opening", ("NL",), "prescribed accelerations or velocities of the constraint rows of the loops"
)
PUSH = Array("push", ("NV",), "joint impulses (N·m·s, N·s)")

ASSEMBLE = "assemble"
"""A request by this name includes ASSEMBLING and a driver in C that calls them until the loops are
closed.
"""
ASSEMBLING = ("assembly_step", "integrate")
REGROUP, JUDGE = PREPARING = ("regroup_parameters", "judge_parameters")
"""Functions that NAME_set_parameters calls. They exist if parameters can change at run time; users
do not request them.
"""
_PREPARING = {
    REGROUP: Function(
        REGROUP,
        (PARAMETERS,),
        (PREPARED,),
        "the values that functions read instead of the parameters",
        depends_on=(),
        explicit_only=True,
    ),
    JUDGE: Function(
        JUDGE,
        (PARAMETERS,),
        (
            Array(
                "judged",
                ("NJ",),
                "masses and principal minors of second moments; not negative for possible bodies",
            ),
            Array(
                "carried",
                ("NC",),
                "mass, or mass and moments, that each joint carries; positive for possible bodies",
            ),
        ),
        "check that the parameters are those of possible bodies",
        depends_on=(),
        explicit_only=True,
    ),
}

EQUATIONS = {
    function.name: function
    for function in (
        Function(
            "loop_equation",
            (Q_CLOSED, V_CLOSED, A, LAMBDA),
            (TAU, OPENING),
            "M a + c - A^T lambda, and A a + gamma",
            depends_on=AT_RUN_TIME,
            explicit_only=True,
        ),
        Function(
            "loop_solution",
            (Q_CLOSED, V_CLOSED, TAU, OPENING),
            (A, LAMBDA),
            "solution of loop_equation",
            needs_inverse=True,
            depends_on=AT_RUN_TIME,
            explicit_only=True,
        ),
        Function(
            "contact_equation",
            (Q_CLOSED, V_CLOSED, A, LAMBDA, FORCES),
            (TAU, OPENING, DRIFT),
            "M a + c - A^T lambda - J^T forces, and the accelerations of loop closures and"
            " contacts",
            depends_on=AT_RUN_TIME,
            explicit_only=True,
        ),
        Function(
            "contact_solution",
            (Q_CLOSED, V_CLOSED, TAU, OPENING, DRIFT, ACTIVE),
            (A, LAMBDA, FORCES),
            "solution of contact_equation",
            needs_inverse=True,
            depends_on=AT_RUN_TIME,
            explicit_only=True,
        ),
        Function(
            "impact_equation",
            (Q_CLOSED, V, V_AFTER, LAMBDA, IMPULSES),
            (PUSH, OPENING, DRIFT),
            "M (v_after - v) - A^T lambda - J^T impulses, and the velocities of loop closures and"
            " contacts after the impact",
            explicit_only=True,
        ),
        Function(
            "impact_solution",
            (Q_CLOSED, V, PUSH, OPENING, DRIFT, ACTIVE),
            (V_AFTER, LAMBDA, IMPULSES),
            "solution of impact_equation",
            needs_inverse=True,
            explicit_only=True,
        ),
    )
}
"""Equations that functions solve, and their solutions for any right-hand side. Derivatives are
built from them; users do not request them.
"""

LOOP_FUNCTIONS = {
    f.name: f
    for f in (
        Function(
            "constrained_forward_dynamics",
            (Q_CLOSED, V_CLOSED, TAU),
            (A, LAMBDA),
            "M a + c = tau + A^T lambda with A a + gamma = 0: forward dynamics with closed loops",
            needs_inverse=True,
            depends_on=AT_RUN_TIME,
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
                    "torques and forces of the actuated joints, in the order of v (N·m, "
                    "N); by default the independent coordinates are actuated",
                ),
                LAMBDA,
            ),
            "M a + c = tau + A^T lambda, with torques and forces at the actuated joints only",
            depends_on=FORCE_ARGUMENTS,
        ),
        Function(
            "reduced_mass_matrix",
            (Q_CLOSED,),
            (
                Array(
                    "M_reduced",
                    ("NI", "NI"),
                    "N^T M N with v = N v_independent",
                ),
            ),
            "mass matrix in the independent coordinates",
        ),
        Function(
            "constraint_residual",
            (replace(Q, drawn="q"),),
            (Array("C", ("NL",), "closure error, one entry for each constraint row (m, rad)"),),
            "closure error of the loops, C(q) = 0 for closed loops",
            depends_on=(),
        ),
        Function(
            "constraint_jacobian",
            (Q_CLOSED,),
            (Array("A", ("NL", "NV"), "one row for each constraint of the loops"),),
            "constraint Jacobian of the loops, A(q) v = 0 for closed loops",
            depends_on=(),
        ),
        Function(
            "constraint_bias",
            (Q_CLOSED, V_CLOSED),
            (
                Array(
                    "gamma",
                    ("NL",),
                    "velocity-product acceleration, one entry for each constraint row (m/s²,"
                    " rad/s²)",
                ),
            ),
            "gamma = dA/dt v, so that A a + gamma = 0 for closed loops",
            depends_on=(),
        ),
        Function(
            "assembly_step",
            (Q, DAMPING),
            (
                Array("delta", ("NV",), "the step, one entry for each velocity (rad, m)"),
                Array("C", ("NL",), "C(q) (m, rad)"),
                Array(
                    "turned",
                    (),
                    "0 for closed loops; plus 2 for each axis of a frame that "
                    "is half a turn off, an error that C does not show",
                ),
            ),
            "a damped Gauss-Newton step towards closed loops: delta = -J^T (J J^T + mu 1)^-1 C with"
            " J = dC/dq, mu = damping trace(J J^T), to be taken as q ⊕ delta",
            depends_on=(),
        ),
        Function(
            "constraint_impulse",
            (Q_CLOSED, V, RESTITUTION),
            (
                replace(V_NEXT, what="joint velocities after the impact (rad/s, m/s)"),
                Array(
                    "impulse",
                    ("NL",),
                    "impulses of the loop closures, one for each row of A (N·s, N·m·s)",
                ),
            ),
            "M (v_next - v) = A^T impulse with A v_next = -restitution A v: velocities that violate"
            " the constraints are cancelled or reversed",
            needs_inverse=True,
        ),
    )
}
"""Additional functions of a mechanism with loop closures, at states in which the loops are closed.
"""


_UNLISTED = {**LOOP_FUNCTIONS, **EQUATIONS, **_PREPARING}


class Functions(UserDict[str, Function]):
    """Functions by name.

    Look-up by name also finds derivatives, LOOP_FUNCTIONS, EQUATIONS and the functions that prepare
    parameters. Iteration does not yield these.
    """

    def __missing__(self, name: str) -> Function:
        function = _UNLISTED.get(name) or self._derived(name)
        if function is None:
            raise KeyError(name)
        return function

    def __contains__(self, name: object) -> bool:
        return (
            name in self.data
            or name in _UNLISTED
            or (isinstance(name, str) and self._derived(name) is not None)
        )

    def _derived(self, name: str) -> Function | None:
        requested = derivatives.parse_derivative(name)
        if (
            requested is None
            or requested.mode not in derivatives.MODES
            or requested.of not in (*self.data, *LOOP_FUNCTIONS)
        ):
            return None
        function = derived(self[requested.of], requested)
        # center_of_mass:jacobian is computed by center_of_mass_jacobian, and their C names would
        # collide
        return (
            function
            if function is not None
            and function.name == name
            and derivatives.identifier_part(name) not in self.data
            else None
        )

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Return names of functions in the order of the table; derivatives come last, in the order
        of their modes.
        """
        index_of = {name: i for i, name in enumerate((*self, *LOOP_FUNCTIONS, *PREPARING))}
        modes = [*derivatives.MODES]
        parsed = {name: derivatives.parse_derivative(name) for name in names}
        functions = [name for name, derivative in parsed.items() if derivative is None]
        keys = sorted(
            (index_of[derivative.of], modes.index(derivative.mode), derivative.by, name)
            for name, derivative in parsed.items()
            if derivative is not None
        )
        return [*sorted(functions, key=index_of.__getitem__), *(name for *_, name in keys)]


def differentiable(function: Function) -> dict[str, Array]:
    """Return the arguments of differentiation by name: no switches, and not PREPARED, whose entries
    the reference does not know.
    """
    return {
        array.name: array
        for array in (*function.arguments, *function.depends_on)
        if not (array.switch or array == PREPARED)
    }


def derived(function: Function, derivative: Derivative) -> Function | None:
    """Return a derivative of a function as a Function; None if the function has no such argument.

    Positions change in as many directions as there are velocities: q ⊕ dq.
    """
    by_name, defaults = differentiable(function), function.own_arguments
    if not set(derivative.by) <= set(by_name):
        return None
    by = tuple(name for name in by_name if name in (derivative.by or defaults))
    by = () if by == defaults else by
    arguments = [by_name[name] for name in by or defaults]
    changes = [_change_array(array) for array in arguments]
    weights = [_weight_array(array) for array in function.results]
    extra_arguments, results = {
        "jvp": (changes, [_change_array(array) for array in function.results]),
        "vjp": (weights, [_weight_array(array) for array in arguments]),
        "jacobian": (
            [],
            [
                _derivative_array(result, array)
                for result in function.results
                for array in arguments
            ],
        ),
        "hvp": ([*weights, *changes], [_change_array(_weight_array(array)) for array in arguments]),
    }[derivative.mode]
    name = derivative._replace(by=by).name
    description = f"{derivatives.MODES[derivative.mode].format(function.name)}: {function.what}"
    return replace(
        function,
        name=name,
        arguments=(*function.arguments, *extra_arguments),
        results=tuple(results),
        what=description,
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


def _tangent_shape(array: Array) -> tuple[Size, ...]:
    """Return the shape of a change: NV entries for positions."""
    return tuple("NV" if size == "NQ" else size for size in array.shape)


def _change_array(array: Array) -> Array:
    """Return the array of the change of an array."""
    step = ", one entry for each velocity" if "NQ" in array.shape else ""
    return replace(
        array,
        name=derivatives.change_name(array.name),
        drawn="",
        shape=_tangent_shape(array),
        what=f"change of {array.name}{step}",
    )


def _weight_array(array: Array) -> Array:
    """Return the array of the adjoint weight of an array."""
    return replace(
        array,
        name=derivatives.weight_name(array.name),
        drawn="",
        shape=_tangent_shape(array),
        what=f"weight of {array.name}",
    )


def _derivative_array(result: Array, argument: Array) -> Array:
    """Return the array of a derivative. The argument's dimensions come last; those of several
    wrenches are one row.
    """
    return replace(
        result,
        name=derivatives.derivative_name(result.name, argument.name),
        shape=(*_tangent_shape(result), *_tangent_shape(argument)),
        what=f"derivative of {result.name} with respect to {argument.name}",
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
                depends_on=FORCE_ARGUMENTS,
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
                depends_on=FORCE_ARGUMENTS,
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
                depends_on=FORCE_ARGUMENTS,
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
                depends_on=FORCE_ARGUMENTS,
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
                        "natural logarithm of the determinant of the mass matrix, in SI units; kT/2"
                        " times it is Fixman's potential",
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
                        "J M^-1 J^T: angular rows first, axes of the base, at the frame's origin",
                    ),
                ),
                "inverse of the operational-space inertia at the chosen frame, J M^-1 J^T",
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
                        "acceleration of each link at the origin of the frame that its joint "
                        "moves: angular part first, axes of the base, gravity not included",
                    ),
                    Array(
                        "alpha_tip",
                        (6,),
                        "acceleration of the chosen frame: angular part first, axes of the base,"
                        " gravity not included",
                    ),
                ),
                "accelerations of the links under the joint forces tau",
                needs_frame=True,
                needs_inverse=True,
                depends_on=FORCE_ARGUMENTS,
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
                        "wrench that the parent (or the base) exerts on each link, at the origin of"
                        " the frame that its joint moves: moment first, axes of the base, gravity"
                        " included (N·m, N)",
                    ),
                    A,
                ),
                "wrenches across the joints, and the joint accelerations, under the joint"
                " forces tau",
                needs_inverse=True,
                own_inertia=True,
                depends_on=FORCE_ARGUMENTS,
                long_check="link_dynamics",
            ),
            Function(
                "forward_kinematics",
                (Q,),
                (R, P),
                "pose of the chosen frame in the base",
                needs_frame=True,
                depends_on=(),
                long_check="totals",
            ),
            Function(
                "jacobian",
                (Q,),
                (J,),
                "twist of the chosen frame = J(q) v",
                needs_frame=True,
                depends_on=(),
                long_check="frame",
            ),
            Function(
                "bias_acceleration",
                (Q, V),
                (JDOT_V,),
                "velocity-product acceleration of the chosen frame, dJ/dt v",
                needs_frame=True,
                depends_on=(),
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
                depends_on=(),
                long_check="totals",
            ),
            Function(
                "center_of_mass",
                (Q,),
                (Array("com", (3,), "mass centre of all moving links in the base (m)"),),
                "mass centre of all moving links",
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
                        "potential energy of the moving links (J); zero when their mass centre is"
                        " at the base's origin",
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
                        "angular (kg·m²/s) first, then linear (kg·m/s), axes of the base, about the"
                        " mass centre",
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
                        "centroidal momentum matrix: angular rows first, axes of the base, about"
                        " the mass centre",
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
                        "moment (N·m) first, then force (N), axes of the base, about the mass"
                        " centre",
                    ),
                ),
                "dh/dt at (q, v, a): the total wrench of the base and the surroundings, weight"
                " included",
                keeps_mass=True,
                needs_mass=True,
                long_check="totals",
            ),
            Function(
                "inverse_dynamics_derivatives",
                (Q, V, A),
                (DTAU_DQ, DTAU_DV, M),
                "derivatives of inverse dynamics with respect to q (δ in q ⊕ δ) and v, and M",
                depends_on=FORCE_ARGUMENTS,
                explicit_only=True,
                weight_by_joints=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
            ),
            Function(
                "forward_dynamics_derivatives",
                (Q, V, TAU),
                (DA_DQ, DA_DV, MINV),
                "derivatives of forward dynamics with respect to q (δ in q ⊕ δ) and v, and M^-1,"
                " the derivative with respect to tau",
                needs_inverse=True,
                depends_on=FORCE_ARGUMENTS,
                explicit_only=True,
                weight_by_joints=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
            ),
            Function(
                "integrate",
                (Q, V, DT),
                (Q_NEXT,),
                "q moved for a time dt by the constant velocity v (exponential map for a "
                "joint of several coordinates); a quaternion keeps its length",
                depends_on=(),
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
                        "displacement from q to q_next, one entry for each velocity (rad, m)",
                    ),
                ),
                "the velocity that takes q to q_next in 1 s (logarithm for a joint of several"
                " coordinates), by the shorter of two rotations",
                depends_on=(),
                smooth=True,
                long_check="totals",
            ),
            Function(
                "step",
                (Q, V, TAU, INSTANT),
                (Q_NEXT, V_NEXT),
                "one step of semi-implicit Euler: v_next = v + M^-1 (tau - c) dt, then q moved for"
                " a time dt by v_next",
                needs_inverse=True,
                depends_on=FORCE_ARGUMENTS,
                explicit_only=True,
            ),
            Function(
                "step_rk4",
                (Q, V, TAU, INSTANT),
                (Q_NEXT, V_NEXT),
                "one step of the classical Runge-Kutta method of order 4 at constant tau"
                " (Munthe-Kaas's for a joint of several coordinates)",
                needs_inverse=True,
                depends_on=FORCE_ARGUMENTS,
                explicit_only=True,
            ),
            Function(
                "coriolis_matrix",
                (Q, V),
                (CORIOLIS,),
                "C(q,v) with dM/dt - 2 C skew-symmetric and C v = c - g",
                explicit_only=True,
                layouts_of=("inverse_dynamics", "mass_matrix"),
            ),
            Function(
                "mass_matrix_coriolis_and_bias",
                (Q, V),
                (M, CORIOLIS, C),
                "M(q), C(q,v) and c(q,v) in one pass",
                depends_on=FORCE_ARGUMENTS,
                explicit_only=True,
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
                        "ten columns for each link: m (kg), m c (3, kg·m) and moments xx xy xz yy"
                        " yz zz (kg·m²) about the origin of its frame, in its axes",
                    ),
                ),
                "Y(q,v,a) with tau = Y pi, linear in the inertial parameters pi",
                depends_on=(PREPARED,),
                explicit_only=True,
                declared_frames=True,
            ),
            Function(
                "base_regressor",
                (Q, V, A),
                (
                    Array(
                        "Y_base",
                        ("NV", "NR"),
                        "the columns of Y that are linearly independent of the columns before them",
                    ),
                ),
                "Y_base(q,v,a) with tau = Y_base pi_base, with the smallest number of parameters",
                depends_on=(PREPARED,),
                explicit_only=True,
                declared_frames=True,
            ),
            Function(
                "base_parameters",
                (
                    Array(
                        "pi",
                        ("NP",),
                        "ten numbers for each link: m (kg), m c (3, kg·m) and moments xx xy xz yy"
                        " yz zz (kg·m²) about the origin of its frame, in its axes",
                    ),
                ),
                (
                    Array(
                        "pi_base",
                        ("NR",),
                        "one base parameter for each column of Y_base: the column's parameter and"
                        " the terms of the parameters grouped with it",
                    ),
                ),
                "base parameters as combinations of the inertial parameters",
                depends_on=(),
                explicit_only=True,
            ),
            Function(
                "operational_inertia",
                (Q,),
                (
                    Array(
                        "Lambda",
                        ("NK", "NK"),
                        "rows of the task (default wx wy wz x y z), axes of the base, "
                        "at the frame's origin",
                    ),
                ),
                "operational-space inertia along the rows of the task, (J M^-1 J^T)^-1",
                needs_frame=True,
                needs_inverse=True,
                explicit_only=True,
            ),
            Function(
                "dynamically_consistent_inverse",
                (Q,),
                (
                    Array(
                        "Jbar",
                        ("NV", "NK"),
                        "one column for each row of the task (default wx wy wz x y z)",
                    ),
                ),
                "M^-1 J^T Lambda: dynamically consistent inverse of the task's Jacobian J",
                needs_frame=True,
                needs_inverse=True,
                explicit_only=True,
            ),
            Function(
                "contact_forward_dynamics",
                (Q_CLOSED, V_CLOSED, TAU, ACTIVE),
                (A, FORCES),
                "a and forces with M a + c = tau + J^T forces such that the points of active"
                " contacts do not accelerate; friction cones and lift-off are left to the"
                " controller",
                needs_inverse=True,
                depends_on=AT_RUN_TIME,
                explicit_only=True,
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
                "v_after and impulses with M (v_after - v) = J^T impulses such that the points of"
                " active contacts have no velocity: an impact without rebound",
                needs_inverse=True,
                explicit_only=True,
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
BY_DEFAULT = tuple(name for name, function in FUNCTIONS.items() if not function.explicit_only)
"""Functions that are generated if none is named."""
PROVED_BY_DEFAULT = tuple(
    sorted(
        (name for name, function in FUNCTIONS.items() if function.proved),
        key=lambda name: FUNCTIONS[name].needs_inverse,
    )
)
"""Functions that `symgen prove` takes if none is named; those that divide come last."""
