"""What every method has to say of itself, whoever wrote it; and that each way of not saying it is caught."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from symgen import methods
from symgen.derivation import constants
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.composite_body import Elimination, mass_matrix
from symgen.methods.shared.factor import Half, MakeFactor
from symgen.methods.shared.method import Method, Variant
from symgen.methods.udut.solutions import Decomposition, at_origins
from symgen.pipeline.derive import Attempt, models
from symgen.support.errors import ArgumentError, UnknownName
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import BALLS, FEW, ROBOTS, largest, program, robot, run, states

FOLLOWS = (
    "mass_matrix_solve",
    "inverse_mass_matrix",
    "mass_matrix_determinant",
    "mass_matrix_log_determinant",
    "forward_dynamics",
    "operational_inertia_inverse",
)
"""What whoever applies M⁻¹ computes, by an algorithm of its own or by its factor."""
MAY_IMPORT = (
    "symgen.derivation",
    "symgen.support.errors",
    "symgen.mechanism.closed_loops",
    "symgen.mechanism.mechanism",
)
"""The last three say which robots a method suits."""
FACTORED = [name for name in methods.names() if methods.find(name).factor is not None]
UNDATED = "Saha"
"""The author whose paper carries no date in the copy at hand."""
SOURCE = "Saha, (10)-(16)"


# -- what a method says --------------------------------------------------------------------------------------------------


def faults(name: str, method: Method, made: Iterable[Mechanism]) -> list[str]:
    """What is wrong with what a method, found by that name, says of itself and of these robots."""
    found = []
    if not re.search(rf"(\b(19|20)\d\d\b|^{UNDATED}\b).*\(\d+(\.\d+)?\)", method.source):
        found.append("its source names no year or no equation")
    if any(function not in FUNCTIONS for function in method.functions):
        found.append("it computes what is no function")
    if (
        any(f in method.functions for f in FOLLOWS[:4])
        and not set(FOLLOWS) <= set(method.functions)
        and not method.looped_only
    ):
        found.append("it solves with M and is not completed")
    if "mass_matrix" in method.functions and "mass_matrix_and_bias" not in method.functions:
        found.append("it has M without the bias force beside it")
    for mechanism in made:
        why = method.refusal(mechanism)
        if why is not None and not is_refusal(why, name.partition(":")[0], mechanism):
            found.append(f"of {mechanism.name} it says '{why}'")
    return found


def is_refusal(why: str, stem: str, mechanism: Mechanism) -> bool:
    """One sentence that names the method, the robot and a way out."""
    reason, _, way_out = why.partition(";")
    named = reason.startswith((f"{stem} ", f"{stem}:")) and f"'{mechanism.name}'" in reason
    return (
        named
        and "use " in way_out
        and ";" not in way_out
        and "\n" not in why
        and not why.endswith(".")
    )


@pytest.mark.parametrize("name", methods.names())
def test_a_method_keeps_the_contract(name: str) -> None:
    assert not faults(name, methods.find(name), map(robot, ROBOTS))


def test_some_method_refuses_some_robot() -> None:
    assert {
        m for m in methods.names() for name in ROBOTS if methods.find(m).refusal(robot(name))
    } >= {"constraint_force", "fixman:planar", "fixman:spatial"}


def test_what_is_found_by_name_is_one_object_and_its_derivations_too() -> None:
    for name in methods.names():
        assert methods.find(name) is methods.find(name)
        for function in methods.find(name).functions:
            assert methods.derivation(name, function) is methods.derivation(name, function)
            assert (name in methods.providers(function)) != methods.find(
                name
            ).looped_only  # which is no way to rows


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of methods besides ours."""
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    known = methods.names, methods.find, methods.providers
    for one in known:
        one.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    for one in known:
        one.cache_clear()


def test_a_file_without_a_method_is_named(mine: Path) -> None:
    (mine / "unsaid.py").write_text("SOURCE = 'Saha, (1)'\nFUNCTIONS = {}\n")
    with pytest.raises(
        ArgumentError, match="method 'unsaid' declares no METHOD; end its file with METHOD ="
    ):
        methods.names()


def test_a_method_elsewhere_is_found_by_its_presence(mine: Path) -> None:
    (mine / "another.py").write_text(
        "from symgen.methods.shared.method import Method\n"
        "METHOD = Method(source='Saha, (16)', functions={'mass_matrix': lambda linkage: ([linkage.zero],)})\n"
    )
    assert "another" in methods.names()
    assert set(methods.find("another").functions) == {
        "mass_matrix",
        "mass_matrix_and_bias",
        "reduced_mass_matrix",
    }
    assert "another" in methods.providers("mass_matrix_and_bias")


def test_a_method_without_source_is_caught() -> None:
    with pytest.raises(ArgumentError, match="the method has no source; name the paper"):
        Method(source=" ", functions={"mass_matrix": mass_matrix})
    assert faults(
        "composite_body", replace(methods.find("composite_body"), source="somebody, some day"), ()
    )


def test_a_method_that_computes_nothing_is_caught() -> None:
    with pytest.raises(ArgumentError, match=r"the method after Saha, .* computes nothing"):
        Method(source=SOURCE)
    with pytest.raises(
        ArgumentError, match=r"variant 'links' of the method after Saha, .* computes nothing"
    ):
        Method(source=SOURCE, functions={"mass_matrix": mass_matrix}, variants={"links": Variant()})


def test_a_function_that_there_is_not_is_caught() -> None:
    with pytest.raises(UnknownName, match="did you mean 'mass_matrix'"):
        Method(source=SOURCE, functions={"mas_matrix": mass_matrix})


def test_a_variant_that_is_not_completed_is_caught() -> None:
    variant = Variant(
        functions={"mass_matrix_solve": methods.derivation("udut:links", "mass_matrix_solve")}
    )
    made = Method(source=SOURCE, factor=Elimination, variants={"links": variant})
    assert faults("udut:links", made.variant("links"), ()) == [
        "it solves with M and is not completed"
    ]
    assert not faults("udut:links", methods.find("udut:links"), ())


@pytest.mark.parametrize(
    "why",
    [
        "no",
        "udut suits no 'scara'; lump it",
        "udut suits no 'scara'; use riccati.",
        "udut suits no 'scara'",
        "it suits no 'scara'; use riccati",
        "udut suits no robot; use riccati",
        "udut suits no 'scara';\nuse riccati",
    ],
)
def test_a_refusal_that_is_no_sentence_is_caught(why: str) -> None:
    method = methods.find("udut")
    assert len(faults("udut", replace(method, refusal=lambda _: why), [robot("scara")])) == 1
    assert not faults(
        "udut",
        replace(method, refusal=lambda _: "udut suits no 'scara'; use riccati"),
        [robot("scara")],
    )


def test_a_variant_says_for_itself_what_it_says_and_the_rest_is_the_methods() -> None:
    made = Method(
        source=SOURCE,
        functions={"mass_matrix": mass_matrix},
        refusal=lambda _: "all",
        cancels=lambda _: True,
        variants={
            "own": Variant(factor=at_origins, refusal=lambda _: "mine", cancels=lambda _: False),
            "plain": Variant(factor=at_origins),
        },
        regroups=False,
        sweeps=True,
    )
    own, plain = made.variant("own"), made.variant("plain")
    assert (own.refusal(robot("scara")), plain.refusal(robot("scara"))) == ("mine", "all")
    assert (own.cancels(robot("scara")), plain.cancels(robot("scara"))) == (False, True)
    assert not own.functions
    assert (own.source, own.regroups, own.sweeps) == (SOURCE, False, True)


# -- what a factor gives -------------------------------------------------------------------------------------------------


def disagreements(name: str, take_apart: MakeFactor, regroups: bool) -> list[str]:
    """Which of the ways a factor applies M⁻¹, or takes its determinant, is not like the others, to 40 digits."""
    n = robot(name).nv
    with constants.precision():
        home = Derivation({"q": n, "b": n})
        linkage = Linkage(models(robot(name))[regroups], home)
        factor, b = take_apart(linkage), linkage.inputs["b"]
        unit = [linkage.one if i == 0 else linkage.zero for i in range(n)]
        first, other = factor.half_solutions([b, unit])
        results: list[tuple[str, tuple[int, ...], list[Scalar]]] = [
            ("x", (n,), factor.solve(b)),
            ("inverse", (n, n), factor.inverse()),
            ("product", (1,), [linkage.dot(first[0], other[1])]),
            ("back", (1,), [linkage.dot(other[0], first[1])]),
            ("pivots", (1,), [linkage.product(factor.pivots)]),
            ("det", (1,), [factor.determinant()]),
            ("logdet", (1,), [factor.log_determinant()]),
        ]
        made = home.freeze("test", "test", results, {"q": (n,), "b": (n,)})
    given = {key: states(name, 2, BALLS)[key] for key in ("q", "b")}
    with BALLS.working():
        found = run(made, given, BALLS)
        M = run(program(name, "mass_matrix", "newton_euler"), {"q": given["q"]}, BALLS)["M"]
        det = BALLS.determinant(M)
        pairs = {
            "solve": ((M @ found["x"][..., None])[..., 0], given["b"]),
            "inverse": ((found["inverse"] @ given["b"][..., None])[..., 0], found["x"]),
            "halves": (found["product"][:, 0], found["x"][:, 0]),
            "halves the other way": (found["back"][:, 0], found["x"][:, 0]),
            "pivots": (found["pivots"][:, 0], det),
            "determinant": (found["det"][:, 0], det),
            "log determinant": (found["logdet"][:, 0], BALLS.log_determinant(M)),
        }
        return [what for what, (a, b) in pairs.items() if not largest(a - b) <= 1e-40 * largest(b)]


@pytest.mark.parametrize("method", FACTORED)
@pytest.mark.parametrize("name", FEW)
def test_a_factor_applies_one_inverse(name: str, method: str) -> None:
    found = methods.find(method)
    assert found.factor is not None
    assert not disagreements(name, found.factor, found.regroups)


class Crooked(Decomposition):
    """With the halves of one column mixed up, entries of the inverse from the other side, and a pivot too many."""

    def __init__(self, linkage: Linkage) -> None:
        super().__init__(linkage, at_origins(linkage).points)

    def half_solutions(self, columns: Sequence[Sequence[Scalar]]) -> list[Half]:
        return [(z, y) for y, z in super().half_solutions(columns)]

    def inverse(self) -> list[Scalar]:
        return [-x for x in super().inverse()]

    @property
    def pivots(self) -> list[Scalar]:
        return [*super().pivots, super().pivots[0]]

    def determinant(self) -> Scalar:
        return self.linkage.product(super().pivots)


def test_a_crooked_factor_is_caught() -> None:
    assert not disagreements("scara", at_origins, False)
    assert disagreements("scara", Crooked, False) == ["inverse", "pivots", "log determinant"]


# -- what a method's files know ------------------------------------------------------------------------------------------


def files(stem: str) -> list[Path]:
    """The file of a method, or all in its folder."""
    file = Path(str(import_module(f"symgen.methods.{stem}").__file__))
    return sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]


STEMS = [name for name in methods.names() if ":" not in name]


@pytest.mark.parametrize("stem", STEMS)
def test_a_method_imports_the_shared_vocabulary_and_no_other_method(stem: str) -> None:
    for part in files(stem):
        tree = ast.parse(part.read_text(encoding="utf-8"))
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        imported |= {
            f"symgen.{alias.name}" if node.module == "symgen" else node.module or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        own = (
            f"symgen.methods.{stem}.",
            "symgen.methods.shared",
        )  # what it is made of, and what is shared
        assert all(
            name.startswith((*MAY_IMPORT, *own)) for name in imported if name.startswith("symgen")
        )
        assert not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))


@pytest.mark.parametrize("stem", STEMS)
def test_a_method_cites_equations_line_by_line(stem: str) -> None:
    assert any(
        re.search(r"(?:# *|[A-Z]{2} )\(\d", part.read_text(encoding="utf-8"))
        for part in files(stem)
    )


def test_the_operational_inertia_takes_m_apart_once() -> None:
    """As often as there are rows of J, it was 12315 rows on UR5."""
    attempt = Attempt(
        robot("ur5"), "operational_inertia_inverse", "fixman:spatial", ProgramOptions()
    )
    attempt.program()
    assert attempt.length == 5795
