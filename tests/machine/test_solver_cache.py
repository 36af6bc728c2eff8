"""Solvers from the cache and from pickles, and their libraries for blocks of states, without a
compiler.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.description.loading import load
from symgen.machine import solver as machine_solver
from symgen.machine.building import Build, Packed, RobotBuild, runs_on
from symgen.machine.solver import Sent, Solver
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.request import Request
from symgen.pipeline.serialize import outline_to_plain
from symgen.support.errors import ArgumentError, BuildError, UnknownName
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.machine.python_library import Library, outline_of

X, T = np.array([1.0, 2.0]), np.array(0.5)
module: Any = machine_solver


@pytest.fixture(scope="module")
def stub() -> Mechanism:
    """Return a robot with the name of the library in Python."""
    return replace(load("planar_arm"), name="stub")


@pytest.fixture
def recipe(stub: Mechanism) -> Any:
    return Request(stub, ("scale",)), Build(optimize=1)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Open these libraries by name."""
    libraries: dict[str, Any] = {}
    monkeypatch.setattr(module, "open_cached", libraries.get)
    return libraries


@pytest.fixture
def cached_entries(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[Any, ...], Any]:
    """Keep the entries of the cache in memory."""
    entries: dict[tuple[Any, ...], Any] = {}

    def key_of(*key: Any) -> tuple[Any, ...]:
        return tuple(map(repr, key))

    def keep(facts: Any, *key: Any) -> None:
        entries[key_of(*key)] = facts

    store = SimpleNamespace(find=lambda *key: entries.get(key_of(*key)), keep=keep)
    monkeypatch.setattr(module, "cache", store)
    return entries


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "library": "library",
        "functions": [outline_to_plain(outline_of(Library()))],
        "parameters": {"arm.mass": [1.0], "gravity": [0.0, 0.0, -9.81]},
        "notices": [["slow", "a sentence"]],
    } | changes


def stub_solver(stub: Mechanism, library: Library | None = None) -> Solver:
    """Return a solver of the library in Python."""
    solver = Solver.__new__(Solver)
    library_module: Any = library or Library()
    solver._hold(
        {"scale": outline_of(library_module)}, RobotBuild("stub", stub.sizes), library_module
    )
    return solver


def test_a_solver_in_the_cache_is_complete_without_a_derivation(
    stub: Mechanism, recipe: Any, opened: dict[str, Any], cached_entries: dict[Any, Any]
) -> None:
    module.cache.keep(entry(), "solver", *module._key(recipe))
    opened["library"] = Library()
    solver = module._cached_solver(recipe)
    assert solver is not None
    assert solver.mechanism is stub
    assert (solver.name, solver.functions, solver.real) == ("stub", ("scale",), "double")
    assert (solver.nq, solver.nv) == (2, 2)
    assert solver._defaults == {"arm.mass": (1.0,), "gravity": (0.0, 0.0, -9.81)}
    assert solver._notices == [("slow", "a sentence")]
    assert solver._recipe is recipe
    assert solver._robot.build == Build(optimize=1)
    assert solver._kernels["scale"]._many is not None
    assert solver._blocks_when == "background"
    y, s = solver.scale(X, T)
    assert (y.tolist(), s) == ([2.5, 4.5], 0.5)


@pytest.mark.parametrize("missing", ["entry", "library", "outline"])
def test_a_solver_that_is_not_whole_in_the_cache_is_not_used(
    missing: str, recipe: Any, opened: dict[str, Any], cached_entries: dict[Any, Any]
) -> None:
    """An outline of another version cannot be read."""
    facts = entry(functions=[["unknown"]]) if missing == "outline" else entry()
    if missing != "entry":
        module.cache.keep(facts, "solver", *module._key(recipe))
    if missing != "library":
        opened["library"] = Library()
    assert module._cached_solver(recipe) is None


@pytest.mark.parametrize("is_cached", [True, False])
def test_a_solver_is_built_only_if_the_cache_has_none(
    is_cached: bool, stub: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each solver gets the choice of blocks, and its notices are issued every time."""
    cached, built = stub_solver(stub), stub_solver(stub)
    cached._notices = built._notices = [("slow", "a sentence")]
    issued: list[Any] = []
    recipes: list[Any] = []

    def find(recipe: Any) -> Any:
        recipes.append(recipe)
        return cached if is_cached else None

    def build(recipe: Any) -> Any:
        assert recipes == [recipe]
        return built

    monkeypatch.setattr(module, "_cached_solver", find)
    monkeypatch.setattr(module, "_build_solver", build)
    monkeypatch.setattr(module, "warn_each", issued.append)
    solver = module.compile("planar_arm", ["mass_matrix"], optimize=1, blocks="never")
    assert solver is (cached if is_cached else built)
    assert solver._kernels["scale"].blocks_when == "never"
    assert issued == [[("slow", "a sentence")]]
    request, build_options = recipes[0]
    assert (request.mechanism.name, request.functions) == ("planar_arm", ("mass_matrix",))
    assert build_options == Build(optimize=1)
    again = module._compile_again(recipes.pop())
    assert again is solver


@pytest.mark.parametrize("rounds", [None, 3])
@pytest.mark.parametrize("functions", [None, ("scale",)])
def test_a_new_solver_is_kept_unless_its_search_was_interrupted(
    rounds: int | None,
    functions: tuple[str, ...] | None,
    recipe: Any,
    cached_entries: dict[Any, Any],
    opened: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The notices know whether functions were named."""
    recipe = replace(recipe[0], functions=functions), recipe[1]
    library = Library()
    program = SimpleNamespace(rounds=rounds, outline=outline_of(library), real="double")
    notices: list[Any] = []

    def noticed(
        mechanism: Any, derived: Any, options: Any, is_named: bool, refused: Any
    ) -> list[tuple[str, str]]:
        notices.append((is_named, refused))
        return [("slow", "a sentence")]

    monkeypatch.setattr(
        "symgen.pipeline.build.programs_and_refusals",
        lambda request: ({"scale": program}, {"other": "refused"}),
    )
    monkeypatch.setattr("symgen.certificate.checked_bounds", lambda *arguments: {"scale": {}})
    monkeypatch.setattr("symgen.pipeline.noticing.notices", noticed)
    monkeypatch.setattr(module, "load_library", lambda *arguments: library)
    monkeypatch.setattr(module, "default_parameters", lambda *arguments: {"arm.mass": (1.0,)})
    solver = module._build_solver(recipe)
    assert notices == [(functions is not None, {"other": "refused"})]
    assert solver._programs == {"scale": program}
    assert solver._divisor_bounds == {"scale": {}}
    assert solver.mechanism is recipe[0].mechanism
    assert len(cached_entries) == (rounds is None)
    if rounds is None:
        opened["library"] = library
        again = module._cached_solver(recipe)
        assert again._defaults == solver._defaults == {"arm.mass": (1.0,)}
        assert again._notices == solver._notices == [("slow", "a sentence")]


@pytest.mark.parametrize("sources", [None, {"scale": "/* C */"}])
def test_programs_with_other_text_have_no_blocks(
    sources: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library()
    loaded: list[Any] = []

    def load_library(programs: Any, target: Any, build: Any, texts: Any, bounds: Any) -> Any:
        loaded.append((target.name, texts))
        return library

    monkeypatch.setattr(module, "load_library", load_library)
    programs: Any = {"scale": SimpleNamespace(outline=outline_of(library), real="double")}
    solver = Solver(programs, RobotBuild("stub", Sizes(2, 2, 1)), sources=sources)
    assert loaded == [("stub", sources)]
    assert solver._sources == sources
    assert (solver._kernels["scale"]._many is None) == (sources is not None)
    assert solver.programs == programs
    with pytest.raises(ArgumentError, match="there is no function to compile"):
        Solver({}, RobotBuild("stub", Sizes(2, 2, 1)))


def test_the_key_of_a_solver_has_everything_that_its_c_depends_on(
    stub: Mechanism, recipe: Any
) -> None:
    request, build = recipe
    recipes = [
        recipe,
        (replace(request, mechanism=replace(stub, name="another")), build),
        (replace(request, mechanism=replace(stub, source_sha256="0" * 64)), build),
        (replace(request, functions=("other",)), build),
        (replace(request, functions=None), build),
        (replace(request, options=ProgramOptions(real="float")), build),
        (replace(request, text=TextOptions(checked=True)), build),
        (request, Build(optimize=3)),
    ]
    keys = [repr(module._key(r)) for r in recipes]
    assert len(set(keys)) == len(keys)
    assert keys[0] == repr(module._key((replace(request), Build(optimize=1))))


# -- libraries for blocks of states --


def test_blocks_are_opened_by_their_name_or_else_built_and_named(
    stub: Mechanism, opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = stub_solver(stub)
    built: list[Any] = []

    def load_many(program: Any, target: Any, build: Build, bounds: Any) -> Any:
        built.append((program, target.name, build, bounds))
        return None if program == "chain in lanes" else SimpleNamespace(__name__="blocks")

    monkeypatch.setattr(module, "load_many", load_many)
    solver._programs = {"scale": "chain in lanes"}  # type: ignore[dict-item]
    assert solver._blocks("scale") is None
    assert solver._named == {}
    solver._programs = {"scale": "program"}  # type: ignore[dict-item]
    solver._divisor_bounds = {"scale": {3: 1}}  # type: ignore[dict-item]
    library = solver._blocks("scale")
    assert library is not None
    assert solver._named == {"scale": "blocks"}
    assert built[1] == ("program", "stub", Build(), {3: 1})
    opened["blocks"] = library
    assert solver._blocks("scale") is library
    assert len(built) == 2


def test_blocks_of_a_recipe_are_kept_in_the_cache(
    stub: Mechanism,
    recipe: Any,
    opened: dict[str, Any],
    cached_entries: dict[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solver = stub_solver(stub)
    solver._recipe, solver._divisor_bounds = recipe, {}
    solver._programs = {"scale": "program"}  # type: ignore[dict-item]
    built: list[Any] = []

    def load_many(*arguments: Any) -> Any:
        built.append(arguments)
        return SimpleNamespace(__name__="blocks")

    monkeypatch.setattr(module, "load_many", load_many)
    first = solver._blocks_by_recipe("scale")
    assert [*cached_entries.values()] == [{"library": "blocks"}]
    assert solver._blocks_by_recipe("scale") is not first  # the library was removed
    opened["blocks"] = first
    assert solver._blocks_by_recipe("scale") is first
    assert len(built) == 2


@pytest.mark.parametrize("source", ["pickle", "cache", "nowhere"])
def test_blocks_that_exist_are_not_compiled_in_the_background(
    source: str,
    stub: Mechanism,
    recipe: Any,
    opened: dict[str, Any],
    cached_entries: dict[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "Compilation", lambda *arguments: arguments)
    solver = stub_solver(stub)
    if source == "pickle":
        solver._named["scale"] = "blocks"
        opened["blocks"] = Library()
    elif source == "cache":
        solver._recipe = recipe
        module.cache.keep({"library": "blocks"}, "blocks", "scale", *module._key(recipe))
        started: Any = solver._compile_behind("scale")
        assert started == (solver, "scale", solver._named)  # an entry without its library
        opened["blocks"] = Library()
    started = solver._compile_behind("scale")
    assert started == ((solver, "scale", solver._named) if source == "nowhere" else None)


def test_divisor_bounds_are_those_of_the_function_or_computed_by_the_recipe(
    stub: Mechanism, recipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = stub_solver(stub)
    assert solver._bounds("scale") == {}
    solver._recipe = recipe
    solver._programs = {"scale": 1, "other": 2}  # type: ignore[dict-item]

    def checked_bounds(mechanism: Any, programs: Any, options: Any, text: Any) -> Any:
        assert (mechanism, options, text) == (stub, recipe[0].options, recipe[0].text)
        assert programs == {"scale": 1}
        return {"scale": {7: 8}}

    monkeypatch.setattr("symgen.certificate.checked_bounds", checked_bounds)
    assert solver._bounds("scale") == {7: 8}
    solver._divisor_bounds = {"other": {1: 2}}  # type: ignore[dict-item]
    assert solver._bounds("scale") == {}


def test_programs_are_derived_by_the_recipe_when_they_are_needed(
    stub: Mechanism, recipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Any] = []

    def programs_and_refusals(request: Any) -> Any:
        requests.append(request)
        return {"scale": "program"}, {"other": "refused"}

    monkeypatch.setattr("symgen.pipeline.build.programs_and_refusals", programs_and_refusals)
    solver = stub_solver(stub)
    solver._recipe = recipe
    programs: Any = solver.programs
    assert programs == {"scale": "program"}
    assert solver.programs is programs
    assert requests == [recipe[0]]


def test_a_choice_of_blocks_is_that_of_all_functions(stub: Mechanism) -> None:
    solver = stub_solver(stub)
    assert solver._kernels["scale"].blocks_when == "background"
    solver._choose_blocks("never")
    assert solver._kernels["scale"].blocks_when == solver._blocks_when == "never"
    with pytest.raises(UnknownName, match="never"):
        solver._choose_blocks("nevr")


def test_a_call_is_found_by_its_kernel(stub: Mechanism) -> None:
    solver = stub_solver(stub)
    assert solver.kernel(solver.scale) is solver._kernels["scale"]
    assert solver.kernel(print) is None
    assert solver.kernel(stub_solver(stub).scale) is None


# -- pickles --


@pytest.fixture
def pickled(monkeypatch: pytest.MonkeyPatch) -> dict[str, Packed]:
    """Pack libraries by name; a received library is that in Python, if it is for this platform."""
    packed = {
        name: Packed(name, runs_on(Build()), b"", "") for name in ("library", "blocks", "foreign")
    }
    packed["foreign"] = packed["foreign"]._replace(runs_on=("linux", "other", ".so", "1"))
    monkeypatch.setattr(module, "pack_library", lambda name, build: packed.get(name))
    monkeypatch.setattr(
        module,
        "unpack_library",
        lambda sent, build: Library() if sent.runs_on == runs_on(build) else None,
    )
    return packed


def test_a_pickle_restores_functions_parameters_blocks_and_choices(
    stub: Mechanism, recipe: Any, pickled: dict[str, Packed]
) -> None:
    solver = stub_solver(stub)
    solver._recipe, solver.mechanism = recipe, stub
    solver._defaults = {"arm.mass": (1.0,)}
    solver._kernels[module.REGROUP] = solver._kernels["scale"]
    solver.parameters["arm.mass"] = 3.0
    del solver._kernels[module.REGROUP]
    solver._named = {"scale": "blocks", "lost": "absent"}
    solver._choose_blocks("never")
    restore, (make, origin, sent) = solver.__reduce__()
    assert restore is module._unpickled
    assert make is module._compile_again
    assert origin == (recipe,)
    assert sent.blocks == {"scale": pickled["blocks"]}
    assert sent.library == pickled["library"]
    with pytest.MonkeyPatch.context() as patch:
        parameters: dict[str, Any] = {}
        patch.setattr(Solver, "parameters", parameters)
        again = restore(make, origin, sent)
    assert parameters == {"arm.mass": 3.0}
    assert again.mechanism is stub
    assert again._recipe is recipe
    assert again._named == {"scale": "blocks"}
    assert again._blocks_when == again._kernels["scale"].blocks_when == "never"
    assert again._defaults == {"arm.mass": (1.0,)}
    assert again.scale(X, T)[0].tolist() == [2.5, 4.5]


@pytest.mark.parametrize("has_own_text", [True, False])
def test_a_pickle_of_programs_has_blocks_for_symgen_s_own_text_only(
    has_own_text: bool, stub: Mechanism, pickled: dict[str, Packed]
) -> None:
    solver = stub_solver(stub)
    programs: Any = {"scale": "program"}
    solver._programs = programs
    solver._sources = None if has_own_text else {"scale": "/* C */"}
    restore, (make, origin, sent) = solver.__reduce__()
    assert make is module._from_programs
    assert origin == (programs, solver._robot, solver._sources)
    again = restore(make, origin, sent)
    assert again.mechanism is None
    assert (again._programs, again._sources) == (programs, solver._sources)
    assert (again._kernels["scale"]._many is not None) == has_own_text


def test_a_library_of_another_platform_is_compiled_again(
    stub: Mechanism, pickled: dict[str, Packed]
) -> None:
    robot = RobotBuild("stub", Sizes(2, 2, 1))
    foreign = Sent(robot, {}, pickled["foreign"], {}, {}, {}, "background")

    def refuse(*origin: Any) -> Any:
        raise BuildError("no compiler")

    def make(*origin: Any) -> Any:
        return origin

    assert module._unpickled(make, ("a", "b"), foreign) == ("a", "b")
    assert module._unpickled(make, ("a",), foreign._replace(library=None)) == ("a",)
    with pytest.raises(
        BuildError,
        match=r"solver of 'stub' is for linux other \.so, and cannot be compiled here: no comp",
    ):
        module._unpickled(refuse, (), foreign)
    with pytest.raises(BuildError, match="'stub' came without its library, and cannot be compiled"):
        module._unpickled(refuse, (), foreign._replace(library=None))
