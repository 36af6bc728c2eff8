"""Every function by every method on every robot: comparison with the reference, and relations
between functions.

In ball arithmetic, a Program (constants of 64 digits) must agree with the reference on the declared
numbers to 40 digits, relative to the largest entry of the result. In floats the Programs must be
stable.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.mechanism import Body, Part
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array, Scalars
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS
from tests.shared.oracles import CLOSED_FORMS, christoffel_bias
from tests.shared.robots_for_tests import (
    BALLS,
    FEW,
    MOVING,
    OF_ANY_ROBOT,
    PAIRS,
    PROVIDED,
    ROBOTS,
    TELLING,
    draw,
    largest,
    point_mass_arm,
    program,
    reference_results,
    robot,
    run,
    states,
    tried,
)

LONGEST = ("panda", "puma560", "planar_point_mass", "chain5", "tree5")
"""Robots with the longest chains, where round-off accumulates."""
BRANCHED = tuple(name for name in ROBOTS if len(set(robot(name).parents)) < robot(name).nv)
FROM_THE_FACTOR = (
    "inverse_mass_matrix",
    "mass_matrix_determinant",
    "mass_matrix_log_determinant",
    "operational_inertia_inverse",
    "operational_inertia",
    "dynamically_consistent_inverse",
)
"""Functions computed from the factor that also solves; the chains and trees of every joint type
test them too.
"""
TEXTBOOK_RESULTS = {"tau", "a", "c", "g", "M", "Minv", "x", "det", "logdet", "grad", "T"}
"""Results that textbooks give for small arms."""
STEP = Fraction(1, 10**25)
"""Step of central differences: their truncation error is 1e-50, and 55 of 80 digits remain."""


def results(
    name: str, function: str, method: str | None, count: int, scalars: Scalars
) -> dict[str, Array]:
    return run(program(name, function, method), states(name, count, scalars), scalars)


def first_result(
    name: str, function: str, method: str | None = None, count: int = 2, scalars: Scalars = BALLS
) -> Array:
    """Return the first result of a function, in ball arithmetic unless given other scalars."""
    return results(name, function, method, count, scalars)[FUNCTIONS[function].results[0].name]


def rows_of(name: str, function: str, method: str | None) -> np.ndarray:
    """Return the row number of each entry of a square result."""
    return np.array(program(name, function, method).outputs[0].rows).reshape(robot(name).nv, -1)


def dot(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]


# -- against the reference -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "function", "method"),
    [(name, f, m) for name in TELLING for f, m in PROVIDED if tried(name, f)],
)
def test_every_program_equals_the_reference_to_forty_digits(
    function: str, method: str, name: str
) -> None:
    actual, expected = (
        results(name, function, method, 2, BALLS),
        reference_results(name, function, 2, BALLS),
    )
    assert set(actual) == set(expected)
    with BALLS.working():
        for result, value in expected.items():
            # a result that is zero within 80 digits is compared with 1; a condition number of 1e6
            # costs 12 of the 64 digits
            size = largest(value)
            assert largest(actual[result] - value) <= 1e-40 * (size if size > 1e-70 else 1.0)


@pytest.mark.parametrize(
    ("function", "method"), [(f, m) for f, m in PROVIDED if f not in FROM_THE_FACTOR]
)
def test_every_pair_of_joint_types_equals_the_reference_to_forty_digits(
    function: str, method: str
) -> None:
    suited = [name for name in PAIRS if methods.find(method).refusal(robot(name)) is None]
    assert (
        suited or methods.find(method).refusal(robot("scara")) is not None
    )  # methods for planar chains refuse all of them
    for name in suited:
        test_every_program_equals_the_reference_to_forty_digits(function, method, name)


@pytest.mark.parametrize(
    ("name", "function", "method"),
    [
        (name, f, m)
        for name in MOVING
        for f, m in PROVIDED
        if f not in FROM_THE_FACTOR
        and methods.canonical_name(m, f, robot(name)) == m
        and (f in BY_DEFAULT or robot(name).nv < 10)
        and tried(name, f)
    ],
)
def test_floating_robots_equal_the_reference_to_forty_digits(
    function: str, method: str, name: str
) -> None:
    test_every_program_equals_the_reference_to_forty_digits(function, method, name)


@pytest.mark.parametrize(("function", "method"), [(f, m) for f, m in PROVIDED if f in BY_DEFAULT])
@pytest.mark.parametrize("name", LONGEST)
def test_every_program_is_stable_in_floats(function: str, method: str, name: str) -> None:
    actual, expected = (
        results(name, function, method, 16, FLOAT),
        reference_results(name, function, 16),
    )
    mass = reference_results(name, "mass_matrix", 16)["M"]
    # A backward stable solve loses cond M; 1e-11 is 45000 roundings, where the longest chains have
    # 200 operations.
    condition = (
        np.linalg.cond(mass).max()
        if FUNCTIONS[function].needs_inverse or "determinant" in function
        else 1.0
    )
    for result, value in expected.items():
        scale = np.abs(value).max() + (
            0.1 if function in ("gravity_force", "bias_force") else 0.0
        )  # 10 g and 1 m
        assert np.abs(actual[result] - value).max() <= 1e-11 * scale * (1 + 0.01 * condition), (
            result
        )


@pytest.mark.parametrize("method", methods.providers("forward_dynamics"))
@pytest.mark.parametrize("name", LONGEST)
def test_forward_dynamics_leaves_no_residual_in_floats(name: str, method: str) -> None:
    """The backward error, M a + c − tau relative to the size of its terms, does not depend on a
    condition number.
    """
    at = states(name, 16)
    a = results(name, "forward_dynamics", method, 16, FLOAT)["a"]
    mass, c = (
        reference_results(name, "mass_matrix", 16)["M"],
        reference_results(name, "bias_force", 16)["c"],
    )
    residual = np.abs(dot(mass, a) + c - at["tau"]).max(axis=-1)
    of_mass = np.abs(mass).sum(axis=-1).max(axis=-1)
    norms = (
        of_mass * np.abs(a).max(axis=-1) + np.abs(c).max(axis=-1) + np.abs(at["tau"]).max(axis=-1)
    )
    assert (residual <= 1e-11 * norms).all()


@pytest.mark.parametrize("form", CLOSED_FORMS)
@pytest.mark.parametrize(
    ("function", "method"),
    [(f, m) for f, m in PROVIDED if TEXTBOOK_RESULTS & {r.name for r in FUNCTIONS[f].results}],
)
def test_programs_equal_the_closed_forms_of_textbooks(
    function: str, method: str, form: str
) -> None:
    oracle = CLOSED_FORMS[form]()
    if methods.find(method).refusal(oracle.mechanism) is not None:
        pytest.skip("the method refuses this robot by name")
    state = draw(oracle.mechanism, 1, BALLS)
    actual = run(symgen.program(oracle.mechanism, function, method), state, BALLS)
    with BALLS.working():
        q, v = state["q"][0], state["v"][0]
        mass, c, g = (
            np.array(x)
            for x in oracle.answer(BALLS.constant, lambda x: x.sin(), lambda x: x.cos(), q, v)
        )
        previous_cap, flint.ctx.cap = (
            flint.ctx.cap,
            2,
        )  # first-order power series along each joint give the derivative of the determinant
        derivatives = []
        for i in range(2):
            moving = [flint.arb_series([x, int(i == j)]) for j, x in enumerate(q)]
            (a, b), (_, d) = oracle.answer(
                BALLS.constant, flint.arb_series.sin, flint.arb_series.cos, moving, v
            )[0]
            derivatives.append(flint.arb_series(a * d - b * b).log()[1])
        flint.ctx.cap = previous_cap
        checks = {
            "tau": lambda x: x - mass @ state["a"][0] - c,
            "a": lambda x: mass @ x + c - state["tau"][0],
            "c": lambda x: x - c,
            "g": lambda x: x - g,
            "M": lambda x: x - mass,
            "Minv": lambda x: x @ mass - np.eye(2, dtype=int),
            "x": lambda x: mass @ x - state["b"][0],
            "det": lambda x: x - mass[0, 0] * mass[1, 1] + mass[0, 1] * mass[1, 0],
            "logdet": lambda x: x - (mass[0, 0] * mass[1, 1] - mass[0, 1] * mass[1, 0]).log(),
            "grad": lambda x: x - derivatives,
            "T": lambda x: x - v @ mass @ v / 2,
        }
        assert set(checks) == TEXTBOOK_RESULTS
        for result in TEXTBOOK_RESULTS & set(actual):
            assert (
                largest(checks[result](actual[result][0])) < 1e-55
            )  # rational data: only the 80 digits of the sines


@pytest.mark.parametrize("name", ["scara", "tree4"])
def test_the_bias_force_is_that_of_christoffel_symbols(name: str) -> None:
    """Christoffel symbols follow from the energies, a derivation independent of reference and
    Programs.
    """
    at = states(name, 1, BALLS)
    c = first_result(name, "bias_force", count=1)[0]
    with BALLS.working():
        christoffel = christoffel_bias(
            Reference(robot(name), BALLS), at["q"][0], at["v"][0], step=STEP
        )
        assert largest(christoffel - c) < 1e-40 * largest(c)


# -- relations between the functions ---------------------------------------------------------------


@pytest.mark.parametrize("method", methods.providers("forward_dynamics"))
@pytest.mark.parametrize("name", FEW)
def test_forward_dynamics_inverts_inverse_dynamics(method: str, name: str) -> None:
    at = states(name, 2, BALLS)
    tau = run(program(name, "inverse_dynamics"), at, BALLS)["tau"]
    a = run(program(name, "forward_dynamics", method), {**at, "tau": tau}, BALLS)["a"]
    with BALLS.working():
        assert largest(a - at["a"]) <= 1e-40 * largest(at["a"])


@pytest.mark.parametrize("name", TELLING)
def test_inverse_dynamics_is_mass_times_acceleration_plus_bias(name: str) -> None:
    at = states(name, 2, BALLS)
    mass_and_bias = results(name, "mass_matrix_and_bias", None, 2, BALLS)
    with BALLS.working():
        tau = first_result(name, "inverse_dynamics")
        assert largest(
            dot(mass_and_bias["M"], at["a"]) + mass_and_bias["c"] - tau
        ) <= 1e-40 * largest(tau)
        at_rest = {**at, "v": 0 * at["v"]}
        c = run(program(name, "bias_force"), at_rest, BALLS)["c"]
        assert largest(c - first_result(name, "gravity_force")) <= 1e-40 * (largest(c) or 1.0)


@pytest.mark.parametrize("method", methods.providers("inverse_mass_matrix"))
@pytest.mark.parametrize("name", FEW)
def test_the_inverse_and_the_solve_are_those_of_the_mass_matrix(method: str, name: str) -> None:
    at = states(name, 2, BALLS)
    inverse, mass = (
        first_result(name, "inverse_mass_matrix", method),
        first_result(name, "mass_matrix"),
    )
    with BALLS.working():
        assert largest(inverse @ mass - np.eye(robot(name).nv, dtype=int)) < 1e-40 * largest(
            mass
        ) * largest(inverse)
        x = (
            first_result(name, "mass_matrix_solve", method)
            if method in methods.providers("mass_matrix_solve")
            else dot(inverse, at["b"])
        )
        assert largest(dot(inverse, at["b"]) - x) <= 1e-40 * largest(x)
    assert (
        rows_of(name, "inverse_mass_matrix", method)
        == rows_of(name, "inverse_mass_matrix", method).T
    ).all()


@pytest.mark.parametrize("method", methods.providers("mass_matrix"))
@pytest.mark.parametrize("name", TELLING)
def test_the_mass_matrix_is_symmetric_and_positive_definite(method: str, name: str) -> None:
    mass = first_result(name, "mass_matrix", method)
    n, rows = robot(name).nv, rows_of(name, "mass_matrix", method)
    assert (rows == rows.T).all()  # one row for both entries, so symmetric to the last bit
    with BALLS.working():
        for matrix in mass:
            for k in range(1, n + 1):  # Sylvester: leading minors, as balls that exclude zero
                assert flint.arb_mat(k, k, matrix[:k, :k].ravel().tolist()).det() > 0


@pytest.mark.parametrize("method", methods.providers("mass_matrix_determinant"))
@pytest.mark.parametrize("name", FEW)
def test_the_determinant_is_that_of_the_mass_matrix(method: str, name: str) -> None:
    """det M = Π D(k)."""
    mass, det = (
        first_result(name, "mass_matrix"),
        first_result(name, "mass_matrix_determinant", method),
    )
    with BALLS.working():
        expected = BALLS.determinant(mass)
        assert largest(det - expected) <= 1e-40 * largest(expected)


def _series(scalars: Scalars) -> Numbers:
    """Return an arithmetic of first-order power series in t, which gives exact directional
    derivatives.
    """
    series = flint.arb_series
    return Numbers(
        lambda x: series([scalars.constant(x)]), series.sin, series.cos, series.sqrt, series.log
    )


def mass_along(name: str, q: Array, rate: Array) -> tuple[Array, Array]:
    """Return M and its derivative along q + rate t, both (n, n)."""
    previous_cap, flint.ctx.cap = flint.ctx.cap, 2
    try:
        moving = [flint.arb_series([x, d]) for x, d in zip(q, rate, strict=True)]
        entries = evaluate(program(name, "mass_matrix"), {"q": moving}, _series(BALLS))["M"]
        value, derivative = (
            np.array([x[k] for x in entries], dtype=object).reshape(len(q), -1) for k in (0, 1)
        )
        return value, derivative
    finally:
        flint.ctx.cap = previous_cap


@pytest.mark.parametrize("name", TELLING)
def test_the_mass_rate_minus_twice_the_coriolis_matrix_is_skew_symmetric(name: str) -> None:
    """C follows from the bias by polarisation: C(v) e_j = ½ [h(v + e_j) − h(v) − h(e_j)] with h = c
    − g.
    """
    n, at = robot(name).nv, states(name, 1, BALLS)
    q, v = at["q"][0], at["v"][0]
    with BALLS.working():
        units = BALLS.array(np.eye(n))
        speeds = np.concatenate([[v], units, v + units, [0 * v]])
        c = run(
            program(name, "bias_force"), {"q": np.array([q] * len(speeds)), "v": speeds}, BALLS
        )["c"]
        h = c[:-1] - c[-1]
        coriolis = ((h[n + 1 :] - h[1 : n + 1] - h[0]) / 2).T
        _, rate = mass_along(name, q, v)
        skew = rate - 2 * coriolis
        assert largest(skew + skew.T) <= 1e-40 * (largest(rate) + largest(coriolis) + 1e-3)


@pytest.mark.parametrize("name", TELLING)
def test_power_is_the_rate_of_energy(name: str) -> None:
    """v·tau = d/dt (½ vᵀMv + V) along the motion, with V the reference's potential energy."""
    mechanism, at = robot(name), {key: value[0] for key, value in states(name, 1, BALLS).items()}
    with BALLS.working():
        mass, rate = mass_along(name, at["q"], at["v"])
        tau = first_result(name, "inverse_dynamics", count=1)[0]
        h = BALLS.constant(STEP)
        reference = Reference(mechanism, BALLS)
        up, down = (reference.potential_energy(at["q"] + s * h * at["v"]) for s in (1, -1))
        kinetic = at["v"] @ mass @ at["a"] + at["v"] @ rate @ at["v"] / 2
        potential = np.asarray(up - down).item() / (2 * h)
        assert largest(at["v"] @ tau - kinetic - potential) <= 1e-40 * (
            largest(kinetic) + largest(potential) + 1e-3
        )


# -- structure of the Programs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "method"), [p for p in PROVIDED if p[0] in ("mass_matrix", "inverse_mass_matrix")]
)
@pytest.mark.parametrize("name", BRANCHED)
def test_entries_between_branches_are_the_constant_zero(
    function: str, method: str, name: str
) -> None:
    """M_ij is the constant 0 unless one of i, j is an ancestor of the other, M⁻¹_ij unless i and j
    have the same root.
    """
    mechanism, derived = robot(name), program(name, function, method)

    def path_to_root(i: int) -> list[int]:
        return [] if i < 0 else [*path_to_root(mechanism.joints[i].parent), i]

    for i in range(mechanism.nv):
        for j in range(mechanism.nv):
            row = derived.rows[derived.outputs[0].rows[i * mechanism.nv + j]]
            unrelated = (
                j not in path_to_root(i) and i not in path_to_root(j)
                if function == "mass_matrix"
                else path_to_root(i)[0] != path_to_root(j)[0]
            )
            if unrelated:
                assert (row.op, row.value) == ("const", 0), (i, j)


def test_the_robots_include_branches_and_two_roots() -> None:
    parents = [robot(name).parents for name in {*BRANCHED, *TELLING}]
    assert any(len(set(p)) < len(p) and p.count(-1) == 1 for p in parents)
    assert any(p.count(-1) > 1 for p in parents)


def test_methods_differ_in_rows_for_one_function() -> None:
    for name in FEW:
        programs = [
            program(name, "mass_matrix_solve", m)
            for m in methods_for(robot(name), "mass_matrix_solve")
        ]
        assert len(programs) > 2
        for i, a in enumerate(programs):
            for b in programs[i + 1 :]:
                if (
                    len(
                        {
                            methods.derivation_for_robot(
                                either.method, "mass_matrix_solve", robot(name)
                            )
                            for either in (a, b)
                        }
                    )
                    == 1
                ):
                    continue  # a method by its plain name is one of its variants
                assert [(r.op, r.args) for r in a.rows] != [(r.op, r.args) for r in b.rows], (
                    a.method,
                    b.method,
                )


def test_the_riccati_algorithms_have_three_different_programs() -> None:
    """FD1 and FD2 use the same sweeps, `riccati` stands for FD4, and FD1, with separate sweeps for
    the bias, is not cheaper.
    """
    for name in FEW:
        programs = {
            v: program(name, "forward_dynamics", f"riccati:{v}")
            for v in ("fd1", "fd2", "fd3", "fd4")
        }
        rows = {v: [(r.op, r.args) for r in program_.rows] for v, program_ in programs.items()}
        assert rows["fd1"] == rows["fd2"]
        assert len({str(rows[v]) for v in ("fd1", "fd3", "fd4")}) == 3
        assert rows["fd4"] == [
            (r.op, r.args) for r in program(name, "forward_dynamics", "riccati").rows
        ]
        assert programs["fd1"].cost >= programs["fd3"].cost


def test_every_function_has_a_method_and_unknown_names_are_refused() -> None:
    assert all(methods.providers(function) for function in FUNCTIONS)
    with pytest.raises(RequestError, match="did you mean 'riccati'"):
        symgen.program(robot("scara"), "forward_dynamics", "ricatti")
    with pytest.raises(
        RequestError, match="does not compute gravity_force; these do: composite_body"
    ):
        symgen.program(robot("scara"), "gravity_force", "riccati")
    with pytest.raises(RequestError, match="did you mean 'mass_matrix'"):
        symgen.program(robot("scara"), "mas_matrix")


@pytest.mark.usefixtures("polished_here")
@pytest.mark.parametrize(
    "function", [name for name in OF_ANY_ROBOT if not FUNCTIONS[name].counts("NK")]
)
@pytest.mark.parametrize("name", ["planar_point_mass", "scara", "chain3"])
def test_the_default_method_is_the_cheapest(function: str, name: str) -> None:
    """Task functions are excluded: the final passes may change their order of costs."""
    chosen = symgen.program(robot(name), function)
    cheapest = program(name, function)
    assert (chosen.cost, chosen.method) == (cheapest.cost, cheapest.method)
    assert chosen.operations["sqrt"] == 0
    states = 4 if function == "step_rk4" else 1  # evaluations of the dynamics in one step
    assert chosen.operations["sin"] <= states * robot(name).nv
    assert chosen.operations["cos"] <= states * robot(name).nv


# -- robots whose mass matrix is singular ----------------------------------------------------------

SINGULAR = [f for f, spec in FUNCTIONS.items() if spec.needs_inverse]


@pytest.mark.parametrize("function", SINGULAR)
@pytest.mark.parametrize("singular", ["a massless leaf", "two joints about one axis"])
def test_a_singular_mass_matrix_is_refused_by_naming_the_joint(
    singular: str, function: str
) -> None:
    arm = point_mass_arm(1, 1, 0)
    if (
        singular == "two joints about one axis"
    ):  # the body between them is massless, so they move the same link
        arm = point_mass_arm(1, 0, 1)
        arm = replace(arm, joints=(*arm.joints[:2], replace(arm.joints[2], pose=())))
    for method in (None, *methods.providers(function)):
        with pytest.raises(RequestError, match=r"singular: joint 'j[12]'"):
            symgen.program(arm, function, method)


@pytest.mark.parametrize(
    "method", [None, *methods_for(point_mass_arm(1, 1, 0), "mass_matrix_determinant")]
)
def test_the_determinant_of_a_massless_leaf_is_zero(method: str | None) -> None:
    arm = point_mass_arm(1, 1, 0)
    if method is not None and methods.find(method).refusal(arm) is not None:
        pytest.skip("the method refuses this robot by name")
    assert (
        run(symgen.program(arm, "mass_matrix_determinant", method), draw(arm, 2))["det"] == 0
    ).all()


def test_a_determinant_with_a_zero_pivot_is_zero_or_refused() -> None:
    """A thin rod on its own axis carries a mass on the same axis: a pivot of `udut` is x sin² + x
    cos² − x = 0.
    """
    rod = tuple(Fraction(x, 1000) for x in (1, 0, 0, 1, 0, 0))
    arm = point_mass_arm(1, 1, 1)
    between = Body("b1", (Part("b1", (), Fraction(1), rod),))
    arm = replace(
        arm,
        joints=(*arm.joints[:2], replace(arm.joints[2], pose=())),
        bodies=(arm.bodies[0], between, arm.bodies[2]),
    )
    with pytest.raises(
        RequestError, match=r"by udut divides by the mass matrix, which is singular: joint 'j[12]'"
    ):
        symgen.program(arm, "mass_matrix_determinant", "udut")
    chosen = symgen.program(arm, "mass_matrix_determinant")
    assert (run(chosen, draw(arm, 2))["det"] == 0).all()
    assert chosen.passed_over == ()


def test_inverse_dynamics_accept_a_massless_leaf() -> None:
    arm, short = point_mass_arm(1, 1, 0), point_mass_arm(1, 1)
    at = draw(arm, 4)
    tau = run(symgen.program(arm, "inverse_dynamics"), at)["tau"]
    assert (tau[:, 2] == 0).all()
    without_leaf = {key: value[:, :2] for key, value in at.items() if value.ndim > 1}
    # the same arm without the leaf, a dozen roundings of numbers of order 100
    assert (
        np.abs(
            tau[:, :2] - run(symgen.program(short, "inverse_dynamics"), without_leaf)["tau"]
        ).max()
        < 1e-12
    )


def test_forward_dynamics_accept_massless_links_inside_a_chain() -> None:
    arm = point_mass_arm(0, 1, 0, 1)
    at = draw(arm, 2, BALLS)
    tau = run(symgen.program(arm, "inverse_dynamics"), at, BALLS)["tau"]
    for method in methods_for(arm, "forward_dynamics"):
        a = run(symgen.program(arm, "forward_dynamics", method), {**at, "tau": tau}, BALLS)["a"]
        with BALLS.working():
            assert largest(a - at["a"]) < 1e-40


def test_rows_are_under_the_heading_of_their_equations() -> None:
    """Right-hand sides and inertias have separate headings: a symbol of one paper is not under an
    equation of another.
    """
    program_ = program("ur5", "forward_dynamics", "udut")
    headings = {
        row.name: program_.steps[row.step] for row in program_.rows if row.name and row.step >= 0
    }
    for name, heading in headings.items():
        if name.startswith(("tauhat_", "tautilde_", "thetaddot_")):
            assert "RK" not in heading, f"{name} stands under '{heading}'"
        if heading.endswith("sines and cosines"):
            assert name.startswith(("s_", "c_")), f"{name} stands under '{heading}'"
