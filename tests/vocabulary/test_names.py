"""Names as users write them: known names, suggestions and refusals."""

from __future__ import annotations

import pytest

from symgen.support.errors import UnknownName
from symgen.vocabulary.names import closest, function_named, method_named, nearest, no_attribute

COLOURS = ["red", "green", "blue"]
MANY = [f"n{k:02}" for k in range(13)]


def test_the_closest_name_is_the_most_similar_one_in_any_case() -> None:
    assert closest("GREN", COLOURS) == "green"
    assert closest("blu", ["blunt", "Blue"]) == "Blue"
    assert closest("yellow", COLOURS) is None
    # 2·3/(3 + 4) = 0.857 of the letters are shared, then 2·2/(3 + 3) = 0.667
    assert closest("rid", COLOURS) is None
    assert closest("rid", COLOURS, cutoff=0.6) == "red"
    assert closest("", COLOURS) is None
    assert closest("x" * 60 + "y" * 60, ["x" * 60]) == "x" * 60  # only the first 60 are compared


@pytest.mark.parametrize("choices", [COLOURS, dict.fromkeys(COLOURS, 1), iter(COLOURS)])
def test_a_name_among_the_choices_is_returned(choices: list[str]) -> None:
    assert nearest("green", choices, "colour") == "green"


@pytest.mark.parametrize("choices", [COLOURS, dict.fromkeys(COLOURS, 1)])
def test_an_unknown_name_is_refused_with_the_most_similar_choice(choices: list[str]) -> None:
    with pytest.raises(UnknownName, match=r"^no colour is named 'gren'; did you mean 'green'\?$"):
        nearest("gren", choices, "colour")
    # "bxyz" and "blue" share one of four letters, less than half
    with pytest.raises(
        UnknownName, match=r"^no colour is named 'bxyz'; there are: red, green, blue$"
    ):
        nearest("bxyz", choices, "colour")
    with pytest.raises(UnknownName, match="did you mean 'blue'"):
        nearest("blah", choices, "colour")  # half of the letters


def test_a_refusal_lists_at_most_twelve_names() -> None:
    with pytest.raises(UnknownName, match=f"there are: {', '.join(MANY[:12])}$"):
        nearest("?", MANY[:12], "number")
    with pytest.raises(UnknownName, match=f"there are: {', '.join(MANY[:12])} …$"):
        nearest("?", MANY, "number")


def test_a_refusal_shows_at_most_sixty_characters_of_a_name() -> None:
    with pytest.raises(UnknownName, match=f"named '{'?' * 0}{'z' * 60}…'; there"):
        nearest("z" * 61, COLOURS, "colour")
    with pytest.raises(UnknownName, match=f"named '{'z' * 60}'; there"):
        nearest("z" * 60, COLOURS, "colour")
    with pytest.raises(UnknownName, match=f"there are: {'q' * 60}…$"):
        nearest("z", ["q" * 70], "colour")


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(UnknownName, match="give the colour by its name, a string, not 3"):
        nearest(3, COLOURS, "colour")  # type: ignore[arg-type]


def test_an_unknown_attribute_names_a_similar_one_unless_it_is_private() -> None:
    assert str(no_attribute("gren", COLOURS, "colour")).endswith("did you mean 'green'?")
    assert str(no_attribute("_gren", COLOURS, "colour")) == "_gren"
    assert isinstance(no_attribute("gren", COLOURS, "colour"), AttributeError)


@pytest.mark.parametrize(
    "name",
    ["mass_matrix", "constraint_bias", "mass_matrix:jvp", "contact_impulse:hvp", "loop_equation"],
)
def test_a_function_or_a_derivative_has_its_own_name(name: str) -> None:
    assert function_named(name) == name


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        (" inverse_dynamics : jvp ( a , q )", "inverse_dynamics:jvp(q,a)"),
        ("inverse_dynamics:jvp(a,v,q)", "inverse_dynamics:jvp"),
        ("inverse_dynamics:jvp(a,a)", "inverse_dynamics:jvp(a)"),
    ],
)
def test_a_derivative_has_its_arguments_in_the_order_of_the_function(
    name: str, canonical: str
) -> None:
    assert function_named(name) == canonical


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("RNEA", "'RNEA' is called inverse_dynamics here"),
        ("computeMinverse", "'computeMinverse' is called inverse_mass_matrix here"),
        ("crba", "is called mass_matrix here"),
        ("ik", "'ik': symgen has no inverse kinematics"),
        ("mass_matrx", "no function is named 'mass_matrx'; did you mean 'mass_matrix'?"),
        ("constraint_jacobean", "did you mean 'constraint_jacobian'?"),
        ("mass_matrix:jvp:q", "'mass_matrix:jvp:q' names no derivative; write FUNCTION:MODE"),
        ("crba:jvp", "'crba' is called mass_matrix here"),
        ("mass_matrix:Gradient", "'Gradient' is called vjp here"),
        ("mass_matrix:jvq", "no derivative of mass_matrix is named 'jvq'; did you mean 'jvp'?"),
        ("mass_matrix:jvp(tau)", "no argument of mass_matrix is named 'tau'"),
        ("inverse_dynamics:jvp(parameters)", "no derivative with respect to run-time parameters"),
        ("inverse_dynamics:jvp(prepared)", "no derivative with respect to run-time parameters"),
        ("center_of_mass:jacobian", "is called center_of_mass_jacobian here"),
    ],
)
def test_a_wrong_function_is_refused_with_the_right_one(name: str, reason: str) -> None:
    with pytest.raises(UnknownName) as refusal:
        function_named(name)
    assert reason in str(refusal.value)


def test_a_method_is_called_by_its_name_or_refused_with_it() -> None:
    methods = ["riccati", "newton_euler", "aba"]
    assert method_named("riccati", methods) == "riccati"
    assert method_named("aba", methods) == "aba"  # a name of its own here
    for name in ("aba", "Articulated-Body"):
        with pytest.raises(UnknownName, match=f"method '{name}' is called riccati here"):
            method_named(name, methods[:2])
    with pytest.raises(UnknownName, match="no method is named 'ricati'; did you mean 'riccati'"):
        method_named("ricati", methods)
