"""Meaning of a request: the letter of a method or a paper, or a result of a function."""

from __future__ import annotations

import pytest

from symgen import methods
from symgen.description.loading import load
from symgen.inspection.catalogue import (
    PaperQuantity,
    Result,
    choose,
    heading,
    listing,
    methods_with_quantities,
    refusal_reason,
    results,
)
from symgen.methods.shared.quantities import Quantity
from symgen.papers.identities import PAPERS
from symgen.support.errors import RequestError, SymgenError, UnknownName
from symgen.vocabulary.functions import FUNCTIONS

ARM, MASSES = load("planar_arm"), load("planar_point_mass:3")


def test_a_letter_of_several_methods_is_that_of_the_first_which_accepts_the_robot() -> None:
    """D is a letter of riccati and udut; alpha of udut is a result, too."""
    pivot = choose(ARM, "D[0]")
    assert (pivot.method, type(pivot.target)) == ("riccati", Quantity)
    assert pivot.notes == ("D is that of riccati; to see another D, add --method udut",)
    alpha = choose(ARM, "alpha")
    assert alpha.method == "udut"
    provider = methods.providers(results()["alpha"].function)[0]
    assert alpha.notes == (f"alpha is that of udut; to see another alpha, add --method {provider}",)
    assert choose(ARM, "D[0]", "udut").method == "udut"
    assert choose(ARM, "D[0]", "udut").notes == ()
    assert choose(ARM, "Mhat[0]").notes == ()


def test_a_result_has_no_method_unless_one_is_named() -> None:
    plain = choose(ARM, "M[0,0]")
    assert isinstance(plain.target, Result)
    assert (plain.target.function, plain.target.index) == ("mass_matrix", 0)
    assert (plain.method, plain.notes) == (None, ())
    assert choose(ARM, "M", "newton_euler").method == "newton_euler"
    alpha = choose(ARM, "alpha", methods.providers(results()["alpha"].function)[0])
    assert isinstance(alpha.target, Result)
    with pytest.raises(SymgenError, match="does not compute inverse_dynamics"):
        choose(ARM, "tau", "riccati")


def test_a_letter_of_papers_only_is_that_of_the_first_one() -> None:
    """d with a method is that of the first of its papers that covers the robot, or of the last."""
    lengths = choose(MASSES, "H_L_theta[0,0]")
    assert (lengths.target, lengths.method) == (PaperQuantity("lc", "H_L_theta"), "fixman")
    assert lengths.notes == ()
    accelerations = choose(ARM, "theta_ddot")
    assert accelerations.target == PaperQuantity("rk", "theta_ddot")
    assert accelerations.notes == (
        "theta_ddot is that of rk; to see that of sa, add --method udut",
    )
    assert choose(ARM, "theta_ddot", "udut").target == PaperQuantity("sa", "theta_ddot")
    assert choose(MASSES, "d", "fixman").target == PaperQuantity("lc", "d")
    assert choose(ARM, "d", "fixman").target == PaperQuantity("wc", "d")


def test_a_letter_that_the_robot_lacks_is_refused_with_the_reason() -> None:
    """No link of a chain of point masses has an inverse of its inertia."""
    with pytest.raises(RequestError, match=r"^W of constraint_force: .* divides by the inertia"):
        choose(MASSES, "W")
    with pytest.raises(RequestError, match="divides by the inertia of every link"):
        choose(MASSES, "W", "constraint_force")


def test_rows_of_a_task_apply_to_results_of_a_task_only() -> None:
    assert isinstance(choose(ARM, "Lambda", task_rows=(3, 4)).target, Result)
    for what in ("M", "Lambda_inv", "D[0]"):
        with pytest.raises(
            RequestError,
            match="does not depend on a task, so --task-rows does not"
            " apply; it applies to Lambda and Jbar",
        ):
            choose(ARM, what, task_rows=(3, 4))


def test_the_first_function_counts_of_two_with_a_result_of_one_name() -> None:
    for name, result in results().items():
        functions = [f for f in FUNCTIONS.values() if name in [a.name for a in f.results]]
        assert result.function == functions[0].name
        assert FUNCTIONS[result.function].results[result.index].name == name
    assert results()["M"].heading == "M[i,j]"
    assert results()["R_links"].heading == "R_links[i,j,k]"
    assert results()["det"].heading == heading("det", ()) == "det"


def test_methods_with_letters_are_listed_without_variants() -> None:
    names = methods_with_quantities()
    assert names == sorted(names)
    assert "riccati" in names
    assert all(methods.find(name).quantities for name in names)
    assert not any(":" in name for name in names)
    assert set(names) == {
        name for name in methods.names() if methods.find(name).quantities and ":" not in name
    }


def test_what_is_available_is_listed_with_shapes_and_what_is_not_with_reasons() -> None:
    text = listing(MASSES)
    lines = text.splitlines()
    for name in methods_with_quantities():
        assert any(line.startswith(f"{name}: ") for line in lines)
    assert sum(line.startswith("operators of ") for line in lines) == len(PAPERS)
    (mass,) = (line for line in lines if line.startswith("  M[i,j] "))
    assert mass.split()[1] == "NVxNV"
    assert mass.endswith("(mass_matrix)")
    (determinant,) = (line for line in lines if line.startswith("  det "))
    assert determinant.split()[1] == "scalar"
    for name in methods_with_quantities():
        for letter, quantity in methods.find(name).quantities.items():
            reason = refusal_reason(MASSES, name, quantity)
            shown = f"  {heading(letter, quantity.indices)} "
            section = text.split(f"\n{name}: ")[1].split("\noperators")[0]
            if reason is None:
                assert shown in section
            else:
                assert f": not available: {reason}" in section


def test_a_quantity_of_closed_loops_is_refused_for_a_tree() -> None:
    quantity = methods.find("kinematics").quantities["A_loops"]
    assert refusal_reason(ARM, "kinematics", quantity) is not None
    with pytest.raises(RequestError, match=r"^A_loops of kinematics: .*loop"):
        choose(ARM, "A_loops")


def test_the_refusal_of_a_method_lists_its_letters_and_results() -> None:
    """The Riccati recursion computes accelerations and no torques; its paper has innovations."""
    with pytest.raises(UnknownName) as refused:
        choose(ARM, "Nothing", "riccati")
    headings = str(refused.value).partition("it has: ")[2].split(", ")
    assert {"P[k]", "a[i]"} <= set(headings)
    assert any(heading.startswith("innovations") for heading in headings)
    assert "tau[i]" not in headings
    assert len(headings) == len(set(headings))


def test_operators_are_listed_that_no_method_derives() -> None:
    """H_L_L of LC is a letter of the method fixman, and H_L_theta is none."""
    operators = listing(MASSES).split("\noperators of ")[1:]
    (of_lc,) = (text for text in operators if "  H_L_theta[" in text)
    assert "  H_L_L[" not in of_lc
    assert of_lc.splitlines()[0].endswith("(--method fixman)")
    assert any("not available: " in text for text in operators)


@pytest.mark.parametrize(
    ("what", "method", "message"),
    [
        ("Mhatt[0]", None, r"did you mean Mhat\[i\]\? there are: "),
        ("MHAT", None, r"did you mean Mhat\[i\]\?"),
        ("m_hat[0]", None, r"did you mean Mhat\[i\]\?"),
        ("Z", None, r"'Z' is not a quantity; there are: tau\[i\]"),
        ("inverse_dynamics", None, r"it is a function, whose results are tau\[i\]; there are"),
        ("1+1", None, "'1\\+1' is not a quantity; there are"),
        ("Mhatt[0]", "udut", r"udut has no quantity 'Mhatt\[0\]'; did you mean Mhat\[i\]\? it has"),
        ("1+1", "udut", r"udut has no quantity '1\+1'; it has: B\[i,j\]"),
    ],
)
def test_an_unknown_quantity_is_refused_with_the_nearest_one(
    what: str, method: str | None, message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        choose(ARM, what, method)


def test_an_operator_of_a_paper_has_no_program() -> None:
    error = PaperQuantity("lc", "H_L_L").no_program("--plot")
    assert str(error).startswith("H_L_L is an operator of the paper")
    assert str(error).endswith("leave --plot out")
