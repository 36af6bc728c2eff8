"""Programs of a request: which are built, which are refused, and what is read from the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import symgen
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, parallel
from symgen.pipeline.request import Request, make_request
from symgen.support import cache
from symgen.support.errors import ArgumentError, OutOfReach, RequestError, TooLong, UnknownName
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import BY_DEFAULT, JUDGE, PREPARING, REGROUP
from symgen.vocabulary.options import AUTO, HIGH, LOOPED, UNROLLED, ProgramOptions
from tests.shared.robots_for_tests import random_mechanism

TURNS = replace(random_mechanism(2, 3), name="turns")
PLAIN = ProgramOptions()
SMALL = ("gravity_force", "link_poses")


@pytest.fixture
def memory() -> Iterator[dict[str, str]]:
    """Facts that are kept while the test runs, and no longer."""
    with cache.in_memory() as facts:
        yield facts


# -- the cache -------------------------------------------------------------------------------------


class Builder:
    """A builder that counts its calls."""

    def __init__(self, program: Program | None = None) -> None:
        self.calls: list[tuple[str, str]] = []
        self.program = program or symgen.program(TURNS, "gravity_force", "newton_euler")
        self.build = build.cache_programs("test")(self._build)

    def _build(
        self, mechanism: Mechanism, function: str, method: str, options: ProgramOptions
    ) -> Program:
        self.calls.append((function, method))
        if function == "mass_matrix":
            raise TooLong(f"{function} is too long")
        return replace(self.program, real=options.real)

    __name__ = "builder"


@pytest.mark.usefixtures("memory")
def test_a_cached_program_is_built_once_for_all_real_types() -> None:
    builder = Builder()
    for real in ("double", "float", "double"):
        program = builder.build(TURNS, "gravity_force", "newton_euler", ProgramOptions(real))
        assert program == replace(builder.program, real=real)
    assert len(builder.calls) == 1
    builder.build(TURNS, "gravity_force", "newton_euler", ProgramOptions(payload="link1"))
    assert len(builder.calls) == 2


@pytest.mark.usefixtures("memory")
def test_a_refusal_as_too_long_is_cached() -> None:
    builder = Builder()
    for _ in range(2):
        with pytest.raises(TooLong, match=r"^mass_matrix is too long$"):
            builder.build(TURNS, "mass_matrix", "composite_body", PLAIN)
    assert len(builder.calls) == 1


@pytest.mark.usefixtures("memory")
def test_a_cached_program_of_another_function_or_method_is_not_used() -> None:
    """Such an entry has another content than its key says."""
    builder = Builder()
    for function, method in (("gravity_force", "riccati"), ("link_poses", "newton_euler")):
        for _ in range(2):
            builder.build(TURNS, function, method, PLAIN)
    assert len(builder.calls) == 4


@pytest.mark.usefixtures("memory")
def test_an_interrupted_search_is_cached_under_its_number_of_rounds() -> None:
    interrupted = Builder(replace(symgen.program(TURNS, "gravity_force", "newton_euler"), rounds=7))
    searched = ProgramOptions(effort=HIGH)
    request = TURNS, "gravity_force", "newton_euler"
    assert interrupted.build(*request, searched).rounds == 7
    assert interrupted.build(*request, replace(searched, rounds=7)).rounds == 7
    assert len(interrupted.calls) == 1
    interrupted.build(*request, searched)
    assert len(interrupted.calls) == 2


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("error", [TooLong("it is long"), OutOfReach("it is out of reach")])
def test_a_refusal_by_every_method_is_cached_with_its_kind(
    monkeypatch: pytest.MonkeyPatch, error: OutOfReach
) -> None:
    """A function that is too long is left out of a folder; others are errors."""
    calls: list[int] = []

    def best_program(*_: Any) -> Program:
        calls.append(1)
        raise error

    monkeypatch.setattr(build.choose, "best_program", best_program)
    robot = replace(TURNS, name="refused")
    for _ in range(2):
        build._build.cache_clear()
        with pytest.raises(OutOfReach) as raised:
            build.build_program(robot, "mass_matrix", None, PLAIN)
        assert (type(raised.value), str(raised.value)) == (type(error), str(error))
    assert len(calls) == 1


def test_a_rank_loss_is_read_from_the_cache(memory: dict[str, str]) -> None:
    singular = replace(
        TURNS, name="singular", bodies=tuple(replace(body, parts=()) for body in TURNS.bodies)
    )
    lost = build.rank_loss.__wrapped__(singular, None)
    assert lost is not None
    assert build.rank_loss.__wrapped__(singular, None) == lost
    assert build.rank_loss.__wrapped__(TURNS, None) is None
    assert build.rank_loss.__wrapped__(TURNS, None) is None
    assert sum('"loss"' in key for key in memory) == 2


@pytest.mark.parametrize(
    ("method", "options", "function", "expected"),
    [
        (None, PLAIN, "mass_matrix_solve", True),
        ("riccati", PLAIN, "mass_matrix_solve", False),
        (None, ProgramOptions(parameters=("gravity",)), "mass_matrix_solve", False),
        (None, PLAIN, "mass_matrix:jvp", False),
    ],
)
def test_a_choice_takes_long_if_methods_must_be_compared(
    monkeypatch: pytest.MonkeyPatch,
    method: str | None,
    options: ProgramOptions,
    function: str,
    expected: bool,
) -> None:
    panda = symgen.load("panda")
    monkeypatch.setattr(cache, "stamp", lambda: "stamp")
    monkeypatch.setattr(cache, "is_kept", lambda kind, *key: False)
    assert build._takes_long(panda, function, method, options) == expected
    # a robot whose layout must be searched first is not certain to take long in other processes
    assert not build._takes_long(TURNS, function, method, options)
    monkeypatch.setattr(cache, "is_kept", lambda kind, *key: kind == "choice")
    assert not build._takes_long(panda, function, method, options)
    monkeypatch.setattr(cache, "is_kept", lambda kind, *key: False)
    monkeypatch.setattr(cache, "stamp", lambda: None)
    assert not build._takes_long(panda, function, method, options)


# -- requests --------------------------------------------------------------------------------------


def test_a_request_is_validated_once() -> None:
    request = make_request(TURNS, "mass_matrix", {"payload": "link1"}, real="float")
    assert request.functions == ("mass_matrix",)
    assert (request.options.payload, request.options.real) == ("link1", "float")
    assert request.strict
    loose = make_request("planar_arm", None, {"strict": False, "checked": True})
    assert loose.functions is None
    assert loose.mechanism.name == "planar_arm"
    assert not loose.strict
    assert loose.text.checked
    assert make_request(TURNS, iter(["jacobian", "mass_matrix"]), {}).functions == (
        "jacobian",
        "mass_matrix",
    )


def test_programs_are_in_the_order_of_the_functions() -> None:
    programs = build.programs(TURNS, ["link_poses", "gravity_force"])
    assert [*programs] == ["gravity_force", "link_poses"]
    assert all(isinstance(program, Program) for program in programs.values())


def test_progress_counts_the_functions() -> None:
    announced: list[tuple[str, int, int]] = []
    request = Request(TURNS, SMALL, ProgramOptions(form=UNROLLED))
    build.programs_and_refusals(request, lambda *step: announced.append(step))
    assert announced == [
        ("deriving gravity_force", 0, 2),
        ("deriving link_poses", 1, 2),
    ]


def test_a_long_request_is_continued_in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the first functions have taken a while, all others are sent together."""
    sent: list[int] = []

    def run(jobs: Any, announce: Any) -> None:
        sent.append(len(jobs))
        announce(1)

    announced: list[tuple[str, int, int]] = []
    monkeypatch.setattr(parallel, "run", run)
    functions = ("gravity_force", "link_poses", "potential_energy")
    request = Request(TURNS, functions, ProgramOptions(form=UNROLLED))
    monkeypatch.setattr(parallel, "WORTH", 1e9)
    build.programs_and_refusals(request)
    assert sent == []
    monkeypatch.setattr(parallel, "WORTH", -1.0)
    build.programs_and_refusals(request, lambda *step: announced.append(step))
    assert sent == [3]
    assert announced[0] == ("deriving link_poses", 1, 3)
    build.programs_and_refusals(
        Request(TURNS, SMALL, ProgramOptions(form=UNROLLED, effort=HIGH, rounds=0))
    )
    assert sent == [3]  # a search announces its own steps
    monkeypatch.setattr(parallel, "WORTH", 1e9)
    asked: list[str] = []

    def takes_long(mechanism: Mechanism, function: str, *_: Any) -> bool:
        asked.append(function)
        return function == "gravity_force"

    monkeypatch.setattr(build, "_takes_long", takes_long)
    build.programs_and_refusals(request)
    assert sent == [3, 3]
    build.programs_and_refusals(Request(TURNS, functions[1:], ProgramOptions(form=UNROLLED)))
    assert sent == [3, 3]
    assert asked == ["gravity_force", "link_poses"]  # the first function of each request


def test_a_request_with_loops_is_not_continued_in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of one robot in looped form share what they are built from."""

    def run(*_: Any) -> None:
        raise AssertionError("other processes were asked")

    monkeypatch.setattr(parallel, "run", run)
    monkeypatch.setattr(parallel, "WORTH", -1.0)
    monkeypatch.setattr(build, "build_form", lambda mechanism, function, *_: function)
    for form in (LOOPED, AUTO):
        robot = random_mechanism(61, 1) if form == AUTO else TURNS
        built, refused = build.programs_and_refusals(
            Request(robot, SMALL, ProgramOptions(form=form))
        )
        assert (built, refused) == ({name: name for name in SMALL}, {})


def refuse(monkeypatch: pytest.MonkeyPatch, **errors: OutOfReach) -> None:
    """Let functions be refused with these errors."""
    usual = build.build_form

    def build_form(mechanism: Mechanism, function: str, *arguments: Any) -> Any:
        if function in errors:
            raise errors[function]
        return usual(mechanism, function, *arguments)

    monkeypatch.setattr(build, "build_form", build_form)


def test_a_named_function_that_is_out_of_reach_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse(monkeypatch, gravity_force=OutOfReach("no"), link_poses=TooLong("long"))
    unrolled = ProgramOptions(form=UNROLLED)
    for functions, strict, message in (
        (("gravity_force", "potential_energy"), False, "no"),
        (("link_poses", "potential_energy"), True, "long"),
        (("link_poses",), False, "long"),  # none would be left
    ):
        with pytest.raises(OutOfReach, match=f"^{message}$"):
            build.programs_and_refusals(Request(TURNS, functions, unrolled, strict=strict))
    request = Request(TURNS, ("link_poses", "potential_energy"), unrolled, strict=False)
    built, refused = build.programs_and_refusals(request)
    assert [*built] == ["potential_energy"]
    assert refused == {"link_poses": "long"}


def test_without_names_refusals_are_those_of_all_default_functions() -> None:
    """A link without inertia at the tip: the functions that divide by M are left out."""
    empty = replace(TURNS, bodies=(TURNS.bodies[0], replace(TURNS.bodies[1], parts=())))
    refused = build._unavailable_functions(Request(empty, None))
    assert "forward_dynamics" in refused
    assert "gravity_force" not in refused
    assert {*refused} < {*BY_DEFAULT}
    assert build._unavailable_functions(Request(empty, ("forward_dynamics",))) == {}
    with_load = Request(empty, None, ProgramOptions(payload="link1"))
    assert build._unavailable_functions(with_load) == {}


def test_functions_and_links_of_a_request_must_exist() -> None:
    for options in ({"payload": "nobody"}, {"wrench": "nobody"}, {"frame": "nobody"}):
        with pytest.raises(UnknownName):
            symgen.program(TURNS, "gravity_force", **options)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="is an internal equation of derivatives"):
        symgen.program(TURNS, "loop_equation")
    with pytest.raises(ArgumentError, match="which --baumgarte stabilizes"):
        symgen.program(TURNS, "gravity_force", baumgarte=True)


# -- parameters ------------------------------------------------------------------------------------


def test_programs_with_parameters_come_with_those_that_prepare_them() -> None:
    options = ProgramOptions(parameters=("gravity", "link1.mass"))
    programs = build.programs(TURNS, ["gravity_force"], options)
    assert [*programs] == ["gravity_force", *PREPARING]
    read = {row.value[1] for row in programs["gravity_force"].rows if row.op == "input"}
    assert read
    size = programs[REGROUP].outputs[0].size
    assert [port.size for port in programs["gravity_force"].inputs] == [2, size]
    plain = build.programs(TURNS, ["gravity_force"])
    assert [*plain] == ["gravity_force"]


def test_gravity_needs_no_judge() -> None:
    programs = build.programs(TURNS, ["gravity_force"], ProgramOptions(parameters=("gravity",)))
    assert [*programs] == ["gravity_force", REGROUP]
    assert programs[REGROUP].outputs[0].size == 3


def test_bounds_of_divisors_follow_the_numbers_that_are_read() -> None:
    options = ProgramOptions(parameters=("link1.mass", "link1.inertia"))
    sizes = [
        build.programs(TURNS, ["gravity_force"], each)[REGROUP].outputs[0].size
        for each in (options, replace(options, divisor_bounds=True))
    ]
    assert sizes[1] == sizes[0] + 1  # the pivot of the second joint


def test_a_request_that_depends_on_no_parameter_is_refused() -> None:
    options = ProgramOptions(parameters=("gravity",))
    with pytest.raises(
        ArgumentError, match=r"^no requested function \(mass_matrix\) depends on gravity; leave"
    ):
        build.programs(TURNS, ["mass_matrix"], options)


def test_preparing_functions_need_parameters() -> None:
    for name in PREPARING:
        with pytest.raises(OutOfReach, match=f"^{name} needs run-time numbers; name some with"):
            symgen.program(TURNS, name)
    options = ProgramOptions("float", parameters=("link1.mass",))
    for name in PREPARING:
        program = build.build_program(TURNS, name, None, options)
        assert (program.function, program.real) == (name, "float")
    assert JUDGE in PREPARING


def test_the_form_of_a_refused_function_is_refused() -> None:
    empty = replace(TURNS, bodies=tuple(replace(body, parts=()) for body in TURNS.bodies))
    with pytest.raises(RequestError, match="needs the mass centre"):
        build.build_form(empty, "center_of_mass", None, PLAIN)
    assert not build.build_form(TURNS, "gravity_force", None, PLAIN).looped
    looped = build.build_form(TURNS, "link_poses", None, ProgramOptions(form="looped"))
    assert looped.looped


# -- derivatives -----------------------------------------------------------------------------------


def test_a_derivative_is_that_of_the_shorter_of_rows_and_recursion() -> None:
    name = Derivative("inverse_dynamics", "jacobian", ("q", "v")).name
    by_recursion = build._by_recursion(TURNS, name, build.differentiation.RECURSION, PLAIN)
    chosen = symgen.program(TURNS, name)
    by_rows = symgen.program(TURNS, name, "newton_euler")
    assert chosen.cost == min(by_rows.cost, by_recursion.cost)
    with pytest.raises(RequestError, match="request it without a method"):
        build._by_recursion(TURNS, "inverse_dynamics:jvp", build.differentiation.RECURSION, PLAIN)


def test_a_method_that_composes_a_function_needs_no_comparison() -> None:
    assert build._usual_method(TURNS, "step", PLAIN) in build.methods.composers("step")
    assert build._usual_method(TURNS, "mass_matrix", PLAIN) is None
    ranked = build._usual_method(TURNS, "mass_matrix_log_determinant", PLAIN)
    assert ranked == symgen.program(TURNS, "mass_matrix_determinant").method


def test_a_function_that_divides_by_a_singular_matrix_is_refused() -> None:
    """The joint that loses the rank is named, with the remedy."""
    empty = replace(
        TURNS, name="empty", bodies=(TURNS.bodies[0], replace(TURNS.bodies[1], parts=()))
    )
    for function in ("mass_matrix_solve", "forward_dynamics"):
        with pytest.raises(
            RequestError, match=f"^{function} of 'empty' divides by .*lock it with --lock joint1"
        ):
            symgen.program(empty, function)
    with pytest.raises(RequestError, match="needs contact points; name each with --contact LINK"):
        symgen.program(TURNS, "contact_impulse")


def test_a_search_of_no_rounds_returns_the_program_without_one() -> None:
    searched = ProgramOptions(effort=HIGH, rounds=0)
    for function in ("gravity_force", "gravity_force:jvp", "step"):
        program = build.build_program(TURNS, function, None, searched)
        assert program.rows == symgen.program(TURNS, function).rows
        assert program.rounds == 0


PARALLELOGRAM = """
name = "parallelogram"
start = { left_joint = 1.1, top_joint = -1.1, right_joint = 1.1 }
[[body]]
name = "left"
parent = "base"
mass = 1
centre = [0.5, 0, 0]
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
joint = { name = "left_joint", type = "revolute", axis = [0, 0, 1] }
[[body]]
name = "top"
parent = "left"
mass = 1
centre = [1, 0, 0]
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
joint = { name = "top_joint", type = "revolute", axis = [0, 0, 1], xyz = [1, 0, 0] }
[[body]]
name = "right"
parent = "base"
mass = 1
centre = [0.5, 0, 0]
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
joint = { name = "right_joint", type = "revolute", axis = [0, 0, 1], xyz = [2, 0, 0] }
[[loop]]
name = "closing"
type = "revolute"
first = { link = "top", xyz = [2, 0, 0] }
second = { link = "right", xyz = [1, 0, 0] }
"""
ROD = """
[[loop]]
name = "rod"
type = "distance"
distance = 2
first = { link = "left", xyz = [0.5, 0, 0] }
second = { link = "right", xyz = [0.5, 0, 0] }
"""


def test_forces_are_redundant_if_one_row_repeats_others() -> None:
    """A rod between the middles of the cranks of a parallelogram keeps its length by itself."""
    for text, redundant in ((PARALLELOGRAM, False), (PARALLELOGRAM + ROD, True)):
        robot = symgen.load(text)
        assert build.loop_closure.assembly(robot).redundant == int(redundant)
        assert build._redundant(robot, "constrained_forward_dynamics", PLAIN) == redundant
        assert not build._redundant(robot, "forward_dynamics", PLAIN)


def test_contact_forces_are_redundant_if_points_have_more_rows_than_velocities() -> None:
    chain = random_mechanism(3, 1)
    for points, redundant in (("link2:0.1,0.2,0.3", False), (["link2:0.1,0.2,0.3", "link2"], True)):
        options = ProgramOptions(contact=points)
        assert build._redundant(chain, "contact_forward_dynamics", options) == redundant
        assert not build._redundant(chain, "forward_dynamics", options)
