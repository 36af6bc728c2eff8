"""The contract of methods: declarations of each method, and tests that catch each violation."""

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

FROM_THE_FACTOR = (
    "mass_matrix_solve",
    "inverse_mass_matrix",
    "mass_matrix_determinant",
    "mass_matrix_log_determinant",
    "forward_dynamics",
    "operational_inertia_inverse",
)
"""Functions of every method that applies M⁻¹, by its own algorithm or by its factor."""
MAY_IMPORT = (
    "symgen.derivation",
    "symgen.support.errors",
    "symgen.mechanism.closed_loops",
    "symgen.mechanism.mechanism",
)
"""Modules that a method may import; the last three serve to refuse robots."""
FACTORED = [name for name in methods.names() if methods.find(name).factor is not None]
UNDATED = "Saha"
"""The author of the only paper without a date."""
SOURCE = "Saha, (10)-(16)"


# -- declarations of a method ----------------------------------------------------------------------


def faults(name: str, method: Method, robots: Iterable[Mechanism]) -> list[str]:
    """Return messages about what is wrong in a method's declarations and in its refusals of these
    robots.
    """
    messages = []
    if not re.search(rf"(\b(19|20)\d\d\b|^{UNDATED}\b).*\(\d+(\.\d+)?\)", method.source):
        messages.append("its source names no year or no equation")
    if any(function not in FUNCTIONS for function in method.functions):
        messages.append("it computes what is no function")
    if (
        any(f in method.functions for f in FROM_THE_FACTOR[:4])
        and not set(FROM_THE_FACTOR) <= set(method.functions)
        and not method.looped_only
    ):
        messages.append("it solves with M and is not completed")
    if "mass_matrix" in method.functions and "mass_matrix_and_bias" not in method.functions:
        messages.append("it has M without the bias force beside it")
    for mechanism in robots:
        why = method.refusal(mechanism)
        if why is not None and not is_refusal(why, name.partition(":")[0], mechanism):
            messages.append(f"of {mechanism.name} it says '{why}'")
    return messages


def is_refusal(why: str, stem: str, mechanism: Mechanism) -> bool:
    """True for one sentence that names the method, the robot and a remedy."""
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
def test_every_method_satisfies_the_contract(name: str) -> None:
    assert not faults(name, methods.find(name), map(robot, ROBOTS))


def test_some_method_refuses_some_robot() -> None:
    assert {
        m for m in methods.names() for name in ROBOTS if methods.find(m).refusal(robot(name))
    } >= {"constraint_force", "fixman:planar", "fixman:spatial"}


def test_methods_and_derivations_found_by_name_are_single_objects() -> None:
    for name in methods.names():
        assert methods.find(name) is methods.find(name)
        for function in methods.find(name).functions:
            assert methods.derivation(name, function) is methods.derivation(name, function)
            assert (name in methods.providers(function)) != methods.find(
                name
            ).looped_only  # looped methods give no Program


@pytest.fixture
def extra_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Add an empty folder to the folders where symgen finds methods, and return it."""
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    caches = methods.names, methods.find, methods.providers
    for cache_ in caches:
        cache_.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    for cache_ in caches:
        cache_.cache_clear()


def test_a_file_without_a_method_is_refused_by_name(extra_folder: Path) -> None:
    (extra_folder / "unsaid.py").write_text("SOURCE = 'Saha, (1)'\nFUNCTIONS = {}\n")
    with pytest.raises(
        ArgumentError, match="method 'unsaid' declares no METHOD; end its file with METHOD ="
    ):
        methods.names()


def test_a_method_in_another_folder_is_found(extra_folder: Path) -> None:
    (extra_folder / "another.py").write_text(
        "from symgen.methods.shared.method import Method\n"
        "METHOD = Method(source='Saha, (16)',"
        " functions={'mass_matrix': lambda linkage: ([linkage.zero],)})\n"
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
    composed = methods.find("rk4").compositions
    assert Method(source=SOURCE, compositions=composed).functions == {}
    with pytest.raises(ArgumentError, match=r"variant 'links' of the method after .* nothing"):
        Method(source=SOURCE, compositions=composed, variants={"links": Variant()})


def test_a_method_of_an_unknown_function_is_caught() -> None:
    with pytest.raises(UnknownName, match="did you mean 'mass_matrix'"):
        Method(source=SOURCE, functions={"mas_matrix": mass_matrix})


def test_a_variant_without_all_functions_of_a_factor_is_caught() -> None:
    variant = Variant(
        functions={"mass_matrix_solve": methods.derivation("udut:links", "mass_matrix_solve")}
    )
    method = Method(source=SOURCE, factor=Elimination, variants={"links": variant})
    assert faults("udut:links", method.variant("links"), ()) == [
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
def test_a_refusal_without_method_robot_or_remedy_is_caught(why: str) -> None:
    method = methods.find("udut")
    assert len(faults("udut", replace(method, refusal=lambda _: why), [robot("scara")])) == 1
    assert not faults(
        "udut",
        replace(method, refusal=lambda _: "udut suits no 'scara'; use riccati"),
        [robot("scara")],
    )


def test_a_variant_overrides_its_method_and_inherits_the_rest() -> None:
    method = Method(
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
    own_variant, plain_variant = method.variant("own"), method.variant("plain")
    assert (own_variant.refusal(robot("scara")), plain_variant.refusal(robot("scara"))) == (
        "mine",
        "all",
    )
    assert (own_variant.cancels(robot("scara")), plain_variant.cancels(robot("scara"))) == (
        False,
        True,
    )
    assert not own_variant.functions
    assert (own_variant.source, own_variant.regroups, own_variant.sweeps) == (SOURCE, False, True)


def test_methods_that_free_all_links_in_space_divide_by_the_inertia_of_each() -> None:
    """In a plane Fixman's partition divides by masses and moments about one axis."""
    in_a_plane, in_space = robot("planar_arm"), robot("scara")
    inverting = {
        name: [methods.find(name).inverts_inertias(each) for each in (in_a_plane, in_space)]
        for name in methods.names()
    }
    for name, answers in inverting.items():
        stem, _, variant = name.partition(":")
        expected = {
            "fixman": [variant == "spatial", variant not in ("planar",)],
            "constraint_force": [True, True],
        }
        assert answers == expected.get(stem, [False, False]), name


# -- factors ---------------------------------------------------------------------------------------


def disagreements(name: str, make_factor: MakeFactor, regroups: bool) -> list[str]:
    """Return which results of a factor (solutions, halves, pivots, determinants) are wrong at 40
    digits.
    """
    n = robot(name).nv
    with constants.precision():
        derivation = Derivation({"q": n, "b": n})
        linkage = Linkage(models(robot(name))[regroups], derivation)
        factor, b = make_factor(linkage), linkage.inputs["b"]
        unit = [linkage.one if i == 0 else linkage.zero for i in range(n)]
        first, second = factor.half_solutions([b, unit])
        results: list[tuple[str, tuple[int, ...], list[Scalar]]] = [
            ("x", (n,), factor.solve(b)),
            ("inverse", (n, n), factor.inverse()),
            ("product", (1,), [linkage.dot(first[0], second[1])]),
            ("back", (1,), [linkage.dot(second[0], first[1])]),
            ("pivots", (1,), [linkage.product(factor.pivots)]),
            ("det", (1,), [factor.determinant()]),
            ("logdet", (1,), [factor.log_determinant()]),
        ]
        program_ = derivation.freeze("test", "test", results, {"q": (n,), "b": (n,)})
    inputs = {key: states(name, 2, BALLS)[key] for key in ("q", "b")}
    with BALLS.working():
        results_ = run(program_, inputs, BALLS)
        M = run(program(name, "mass_matrix", "newton_euler"), {"q": inputs["q"]}, BALLS)["M"]
        det = BALLS.determinant(M)
        pairs = {
            "solve": ((M @ results_["x"][..., None])[..., 0], inputs["b"]),
            "inverse": ((results_["inverse"] @ inputs["b"][..., None])[..., 0], results_["x"]),
            "halves": (results_["product"][:, 0], results_["x"][:, 0]),
            "halves the other way": (results_["back"][:, 0], results_["x"][:, 0]),
            "pivots": (results_["pivots"][:, 0], det),
            "determinant": (results_["det"][:, 0], det),
            "log determinant": (results_["logdet"][:, 0], BALLS.log_determinant(M)),
        }
        return [
            title for title, (a, b) in pairs.items() if not largest(a - b) <= 1e-40 * largest(b)
        ]


@pytest.mark.parametrize("method", FACTORED)
@pytest.mark.parametrize("name", FEW)
def test_all_results_of_a_factor_agree(name: str, method: str) -> None:
    method_ = methods.find(method)
    assert method_.factor is not None
    assert not disagreements(name, method_.factor, method_.regroups)


class FactorWithErrors(Decomposition):
    """A factor with planted errors: exchanged halves, inverse negated, and one pivot too many."""

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


def test_a_factor_with_planted_errors_is_caught() -> None:
    assert not disagreements("scara", at_origins, False)
    assert disagreements("scara", FactorWithErrors, False) == [
        "inverse",
        "pivots",
        "log determinant",
    ]


# -- imports and citations of a method's files -----------------------------------------------------


def files(stem: str) -> list[Path]:
    """Return the file of a method, or all files of its folder."""
    file = Path(str(import_module(f"symgen.methods.{stem}").__file__))
    return sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]


STEMS = [name for name in methods.names() if ":" not in name]


@pytest.mark.parametrize("stem", STEMS)
def test_a_method_imports_the_shared_vocabulary_and_no_other_method(stem: str) -> None:
    for path in files(stem):
        tree = ast.parse(path.read_text(encoding="utf-8"))
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
        allowed = (
            f"symgen.methods.{stem}.",
            "symgen.methods.shared",
        )  # the method's own files and shared code
        assert all(
            name.startswith((*MAY_IMPORT, *allowed))
            for name in imported
            if name.startswith("symgen")
        )
        assert not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))


@pytest.mark.parametrize("stem", STEMS)
def test_a_method_cites_equations_line_by_line(stem: str) -> None:
    assert any(
        re.search(r"(?:# *|[A-Z]{2} )\(\d", path.read_text(encoding="utf-8"))
        for path in files(stem)
    )


def test_the_operational_inertia_factors_m_once() -> None:
    """One factorization per row of J would take 12315 rows on UR5."""
    attempt = Attempt(
        robot("ur5"), "operational_inertia_inverse", "fixman:spatial", ProgramOptions()
    )
    attempt.program()
    assert attempt.length == 5795
