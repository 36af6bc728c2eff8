"""Loops over links as text: declarations, headings and checks in every kind of function, and what
the text computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import pytest

from symgen.emission import loop_work, looped_lanes, printer, wrapper
from symgen.emission.backends import c99
from symgen.emission.looped import tables_and_loops
from symgen.emission.lowering.loop_checks import guarded
from symgen.emission.lowering.loop_function import LoopFunction, plus, times
from symgen.emission.lowering.thread_calls import _runs
from symgen.ir.loops import LoopProgram
from symgen.ir.program import Program
from symgen.readback import batches, kernels, loops
from symgen.readback.batches import BatchText
from symgen.readback.device import Names
from symgen.readback.kernels import CudaText, Options
from symgen.support.errors import RequestError
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target
from tests.ir.loop_toys import (
    in_elements,
    in_parts,
    in_tree,
    in_two_scans,
    of_sines,
    saving,
    with_base_step,
    with_epilogue,
)
from tests.shared.recursions import BRANCHED, TOYS, framed, sums


def dividing(form: LoopProgram) -> LoopProgram:
    """Return a form in parts with divisions in place of products."""

    def divide(step: Program) -> Program:
        rows = [row._replace(op="div") if row.op == "mul" else row for row in step.rows]
        return replace(step, rows=tuple(rows))

    return replace(form, stages=tuple(stage.by(divide) for stage in form.stages))


FORMS: dict[str, Callable[[], LoopProgram]] = {
    **TOYS,
    "to the first link": lambda: framed((-1, 0, 0), (0, 1, 0), 0),
    "base step, inward": lambda: with_base_step(True),
    "base step, outward": lambda: with_base_step(False),
    "base step without a carry": lambda: with_base_step(True, with_carry=False),
    "saved values": saving,
    "epilogue": with_epilogue,
    "a quaternion": lambda: replace(sums(6), quaternions=(1,)),
    "sums over subtrees": lambda: in_tree(BRANCHED),
    "one block of sines": lambda: of_sines(5, "sin", "cos"),
    "blocks of sines": lambda: of_sines(40, "sin", "cos"),
}
MANY = [name for name in FORMS if name not in ("sums", "chain", "chain, its tip", "two classes")]
"""Forms of which the texts differ most."""
KINDS: dict[str, dict[str, Any]] = {
    "state": {},
    "checked state": {"checked": True},
    "sines": {"trig": "auto"},
    "checked sines": {"trig": "auto", "checked": True},
    "block": {"lanes": 4},
    "checked block": {"lanes": 4, "checked": True},
    "thread": {"threads": True},
    "checked thread": {"threads": True, "checked": True},
}
OK = "(status == arm_OK) && "


@cache
def text(name: str, kind: str) -> str:
    """Return the text of the function of a form."""
    options, form = dict(KINDS[kind]), FORMS[name]()
    lanes, threads = options.pop("lanes", 0), options.pop("threads", False)
    target = Target("arm", Sizes(2, 2, 2), TextOptions(**options))
    checked_form = guarded(form, target) if target.checked else form
    return tables_and_loops(LoopFunction(checked_form, target, lanes, threads))[1]


def declared(source: str) -> set[str]:
    """Return the parameters and local variables, of any type."""
    kinds = r"(?:const )?(?:double|int|ptrdiff_t|arm_turns)"
    return set(re.findall(rf"\b{kinds}\s+\(?\*?(?:const )?(\w+)", source)) - {
        name for name in re.findall(r"(\w+)\(", source) if name.startswith("arm_")
    }


def uses(source: str, name: str) -> int:
    """Return how often a name is used, without its declarations and without (void)."""
    kinds = r"(?:const )?(?:double|int|ptrdiff_t|arm_turns)"
    source = re.sub(rf"\b{kinds}\s+\(?\*?(?:const )?{name}\b", "", source)
    return len(re.findall(rf"\b{name}\b", source.replace(f"(void){name};", "")))


@pytest.mark.parametrize("name", MANY)
def test_exactly_the_parameters_that_nothing_reads_are_named_unused(name: str) -> None:
    """Every local variable is used. The stride of an array is unused where the array is."""
    for kind in KINDS:
        heading, _, body = text(name, kind).partition("\n{\n")
        parameters = declared(heading)
        unused = re.findall(r"^ *\(void\)(\w+);$", body, re.MULTILINE)
        assert len(unused) == len({*unused})
        # copies of many elements in a thread count with k
        element = {"k"} if kind.endswith("thread") else set()
        assert {local for local in declared(body) if not uses(body, local)} <= element
        strides = {f"{array}_element": array for array in parameters} | {"threads": "work"}
        strides = {stride: array for stride, array in strides.items() if stride in parameters}
        for parameter in parameters - {*strides, "work"}:
            assert (parameter in unused) == (not uses(body, parameter))
        for stride, array in strides.items():
            assert (stride in unused) == (array in unused)
        assert ("status" in body) is kind.startswith("checked")
        if "work" not in unused:
            assert uses(body, "work")
        elif kind not in ("checked state", "checked sines"):  # these hold results there besides
            assert not uses(body, "work")


@pytest.mark.parametrize(
    ("name", "headings"),
    [
        ("chain", ["outward, from the base", "inward, from the tips", "outward, from the base"]),
        (
            "chain, from its middle",
            ["outward, from the base to the frame", "inward, from the frame"],
        ),
        ("to the first link", ["outward, from the base to the frame", "inward, from the frame"]),
        ("base step, inward", ["inward, from the tips"]),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_each_sweep_has_a_heading_with_its_order(name: str, headings: list[str], kind: str) -> None:
    comments = re.findall(r"^ {4}/\* (\w+ward, .*) \*/$", text(name, kind), re.MULTILINE)
    assert comments == headings


def test_sines_at_once_have_a_heading_with_the_links_of_a_block() -> None:
    for name, links in (("one block of sines", 5), ("blocks of sines", 14)):
        (heading,) = re.findall(r"/\* (sines .*) \*/", text(name, "sines"))
        assert heading == f"sines and cosines of {links} links at once"
        assert "at once" not in text(name, "state")
    # 40 links in three blocks of at most sixteen, 5 links in one without a loop over blocks
    assert "for (block = 0;" in text("blocks of sines", "sines")
    assert "block" not in text("one block of sines", "sines")


def test_a_base_step_has_a_scope_of_its_own_only_in_a_block() -> None:
    for name in ("base step, inward", "base step, outward"):
        assert "\n    {\n" not in text(name, "state")
        assert text(name, "block").count("\n        {\n") == 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("checked")])
@pytest.mark.parametrize("name", MANY)
def test_a_checked_function_of_one_state_goes_on_only_while_nothing_is_refused(
    name: str, kind: str
) -> None:
    """Every statement of a sweep stands behind a condition; in a block all states go to the end."""
    source = text(name, kind)
    if kind == "checked block":
        assert OK.strip(" &") not in re.sub(r"\(\(status\[lane\] == arm_OK\)", "", source)
        assert re.findall(r"^    return\b", source, re.MULTILINE) == []
        return
    stages = source.partition("ward, ")[2]
    for line in stages.splitlines():
        if re.match(r" {4}for ", line):
            assert OK in line
        if re.match(r" {4}(if|arm_)", line):
            assert line == "    if (status == arm_OK) {"
    assert source.endswith("    return status;\n}\n")


# -- indices ---------------------------------------------------------------------------------------


def text_of(index: Any) -> str:
    """Return the text of an index, whose parts may be nested."""
    return index if isinstance(index, str) else "".join(map(text_of, index))


@pytest.mark.parametrize("index", ["0", "i", ("i", " + 1"), ("2*", "i")])
@pytest.mark.parametrize("factor", [0, 1, 3])
@pytest.mark.parametrize("number", [0, 4])
def test_an_index_is_a_product_and_a_sum(index: Any, factor: int, number: int) -> None:
    value = {"i": 5}
    product, total = text_of(times(factor, index)), text_of(plus(index, number))
    exact = eval(text_of(index), value)
    assert eval(product, value) == factor * exact
    assert eval(total, value) == exact + number
    assert eval(text_of(plus(times(factor, index), number)), value) == factor * exact + number


def test_indices_are_short() -> None:
    """Nothing is added to or multiplied by 0, nor multiplied by 1."""
    assert [times(0, "i"), times(1, "i"), times(3, "0")] == ["0", "i", "0"]
    assert [plus("i", 0), plus("0", 4), plus("0", 0)] == ["i", "4", "0"]
    assert text_of(times(3, "i")) == "3*i"
    assert text_of(plus("i", 4)) == "i + 4"
    assert text_of(plus(times(3, "i"), 4)) == "(3*i) + 4"


def test_elements_that_follow_each_other_are_runs() -> None:
    """A thread copies a run of four elements and more in a loop."""
    assert _runs([0, 1, 2, 5, 7, 8]) == [(0, 2), (5, 5), (7, 8)]
    assert _runs([3]) == [(3, 3)]
    assert _runs([]) == []


def test_sines_are_taken_at_once_only_by_a_function_of_one_state() -> None:
    form = FORMS["one block of sines"]()
    target = Target("arm", Sizes(2, 2, 2), TextOptions("auto"))
    assert [*LoopFunction(form, target).sine_blocks] == [0]
    assert LoopFunction(form, target, 4).sine_blocks == {}
    assert LoopFunction(form, target, 0, True).sine_blocks == {}


# -- what the text computes ------------------------------------------------------------------------


PARTS: dict[str, Callable[[], LoopProgram]] = {
    "parts of one length": lambda: in_parts((3,) * 8),
    "parts of two lengths": lambda: in_parts((3, 2, 3, 3, 2, 3, 3, 3)),
    "parts from the tip on": lambda: in_parts((2,) * 8, inward=True),
    "two groups of parts": lambda: in_parts((2,) * 16),
    "elements of parts": lambda: in_elements(13, 8, 2),
    "elements of two groups": lambda: in_elements(40, 16, 3),
    "two parallel scans": lambda: in_two_scans(14, 8, 2),
    "parts with divisors": lambda: dividing(in_parts((3, 2, 3, 3, 2, 3, 3, 3))),
    "elements with divisors": lambda: dividing(in_elements(13, 8, 2)),
}
READ_MANY = [
    ("two classes", True),
    ("tree, on a way", True),
    ("epilogue", True),
    ("base step, outward", False),
    ("a quaternion", True),
    ("parts of two lengths", False),
    ("parts with divisors", True),
    ("elements with divisors", True),
    ("two parallel scans", False),
]
READ_THREADS = [
    ("two classes", True),
    ("tree", True),
    ("epilogue", True),
    ("a quaternion", True),
    ("base step, outward", False),
]
"""Forms, checked or not, that are read back also for many states and for threads."""


def aimed(form: LoopProgram, **options: Any) -> Target:
    n = len(form)
    ports = {port.name: port.size for port in (*form.inputs, *form.outputs)}
    return Target(
        "arm",
        Sizes(ports.get("q", n), ports.get("v", ports.get("q", n)), n),
        TextOptions(**options),
    )


def functions(source: str) -> list[tuple[str, list[str], str]]:
    """Return the name, the parameters and the body of each function of a text."""
    function = r"^(?:static )?(?:void|int) (\w+)\(([^;{]*?)\)[^;{]*\n\{\n(.*?)^\}"
    return [
        (name, re.findall(r"(\w+)(?:\[[^\]]*\])*(?=,|$)", parameters), body)
        for name, parameters, body in re.findall(function, source, re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("name", "count"),
    [("parts of two lengths", 7), ("elements of parts", 13), ("two parallel scans", 21)],
)
def test_each_stage_of_a_form_in_parts_names_its_unused_parameters(
    name: str, count: int, batch: bool
) -> None:
    """Sums of a parallel scan may be stored in results, which are named besides."""
    form = PARTS[name]()
    target = aimed(form, batch=batch, checked=batch)
    source = c99.source(form, target)
    if batch:
        source = c99.batches({form.function: form}, target)[target.batch_file(form.function)]
    stages = functions(source)
    assert len(stages) >= count
    for symbol, parameters, body in stages:
        named = re.findall(r"\(void\)(\w+);", body)
        unused = [parameter for parameter in parameters if not uses(body, parameter)]
        assert {*named} - {"g"} == {*unused} - {"g"}, symbol
        assert {*unused} <= {*named}
        assert "g" not in named or "g" in unused or symbol.endswith("_sums")


@pytest.mark.parametrize("name", PARTS)
def test_the_head_of_a_form_in_parts_states_links_segments_and_operations(name: str) -> None:
    form = PARTS[name]()
    head, _, code = c99.source(form, aimed(form)).partition(" */\n")
    title = head.splitlines()[0]
    if form.maps:
        assert title.endswith(
            f" for {len(form)} links, by cyclic reduction over {form.part_count} segments, one in"
            " each lane"
        )
        assert "Method by_hand: a row is a joint and the link before it" in head
        assert f"arm_toy_1, one row: 1 {'div' if 'divisors' in name else 'mul'}\n" in head
    else:
        assert title.endswith(
            f" for {len(form)} links in {form.part_count} segments, one in each lane"
        )
        # a product or a quotient, and a sum, in each of two sweeps
        assert "Method by_hand: 4 operations for each link, plus operations once" in head
        order = "inward" if "tip" in name else "outward"
        operations = "1 add, 1 div" if "divisors" in name else "1 mul, 1 add"
        assert head.count(f", {order}: {operations}\n") == 2
    assert f"a workspace of {loop_work.work(form, False)} numbers" in head
    assert f"work[{loop_work.work(form, False)}]" in code


@pytest.mark.parametrize(
    ("name", "loops_over_groups"),
    [
        ("parts of one length", 0),
        ("two groups of parts", 2),
        ("elements of parts", 0),
        ("elements of two groups", 3),
    ],
)
def test_groups_of_parts_run_at_the_same_time_if_there_are_several(
    name: str, loops_over_groups: int
) -> None:
    """Each sweep, map or scan has a loop over them. In a block the lanes are states."""
    form = PARTS[name]()
    target = aimed(form, batch=True)
    pragma = "#pragma omp parallel for"
    assert c99.source(form, target).count(pragma) == loops_over_groups
    block = c99.batches({form.function: form}, target)[target.batch_file(form.function)]
    assert block.count(pragma) == 0


@pytest.mark.parametrize("name", ["parts of one length", "parts from the tip on"])
@pytest.mark.parametrize(
    ("batch", "where"), [(False, "one group of segments"), (True, "one segment")]
)
def test_sweeps_of_parts_have_headings_with_their_order(name: str, batch: bool, where: str) -> None:
    form = PARTS[name]()
    target = aimed(form, batch=batch)
    source = c99.source(form, target)
    if batch:
        source = c99.batches({form.function: form}, target)[target.batch_file(form.function)]
    order, first = ("inward", "last") if "tip" in name else ("outward", "first")
    headings = re.findall(r"^ *\/\* (\w+ward, .*|across .*) \*\/$", source, re.MULTILINE)
    sweep = f"{order}, from the {first} link of {where}"
    assert headings == [sweep, sweep, f"across the segments, {order}"]
    assert source.count("the first segment has no predecessor") == (0 if batch else 1)


def test_pointers_of_a_block_of_states_are_not_to_constants() -> None:
    """C converts no pointer to a vector to one to a vector of constants. Of one state, roots of
    parts are read in the upsweep, and stored in the downsweep.
    """
    for name in ("elements of parts", "parts of two lengths"):
        form = PARTS[name]()
        target = aimed(form, batch=True)
        block = c99.batches({form.function: form}, target)[target.batch_file(form.function)]
        assert not re.search(r"const double \(\*", block)
    state = c99.source(PARTS["elements of parts"](), aimed(PARTS["elements of parts"]()))
    assert re.findall(r"(\w* ?double) \*const root", state) == ["const double", " double"]


@pytest.mark.parametrize("classes", [(0, 0, 0), (0, 2, 0), (2, 1, 2)])
def test_the_stated_stack_of_a_block_is_that_of_its_arrays_and_its_largest_step(
    classes: tuple[int, ...],
) -> None:
    """Two halves of each carry, and the columns of one joint, which may have two velocities."""
    form = framed(range(-1, 2), classes, 2)
    facts = looped_lanes.function(form, aimed(form, batch=True))
    sizes_of = re.compile(r"double (carry_\d+|column)\[(\d+)\](?:\[(\d+)\])?\[8\]")
    numbers: dict[str, int] = {}
    for array, *sizes in sizes_of.findall(facts["block"]):
        count = prod(int(size) for size in sizes if size)
        numbers[array] = max(count, numbers.get(array, 0))
    assert {*numbers} == {"carry_1", "carry_2", "column"}
    largest = max(step["bytes"] for step in facts["steps"])
    assert facts["stack"] == 8 * 8 * sum(numbers.values()) + largest


@pytest.mark.parametrize(
    ("name", "buffered"), [("parts of one length", set()), ("parts of two lengths", {"g"})]
)
def test_a_block_buffers_only_the_results_of_parts_that_may_be_idle(
    name: str, buffered: set[str]
) -> None:
    """Rows of parts lie apart in the arrays of one state, which are all buffered."""
    form = PARTS[name]()
    target = aimed(form, batch=True)
    block = c99.batches({form.function: form}, target)[target.batch_file(form.function)]
    assert set(re.findall(r"\blocal_(\w+)\[", block)) == buffered
    assert set(re.findall(r"\blocal_(\w+)\[", c99.source(form, target))) == {"q", "g"}


@pytest.mark.parametrize("lengths", [(2,) * 7, (2,) * 12])
def test_parts_that_fill_no_vectors_are_refused(lengths: tuple[int, ...]) -> None:
    form = in_parts(lengths)
    with pytest.raises(
        RequestError,
        match=rf"{len(lengths)} segments do not fill vectors of 8 lanes; take a multiple",
    ):
        c99.source(form, aimed(form))


@pytest.mark.parametrize(
    ("name", "trig", "checked"),
    [
        *((name, "auto", True) for name in [*FORMS, *PARTS]),
        *((name, "libm", False) for name in PARTS if "divisors" not in name),
        *((name, "libm", False) for name in ("three classes", "tree, on a way", "epilogue")),
        ("one block of sines", "inline", True),
        ("blocks of sines", "inline", False),
    ],
)
def test_the_text_of_one_state_computes_the_form(name: str, trig: str, checked: bool) -> None:
    form = (FORMS | PARTS)[name]()
    target = aimed(form, trig=trig, checked=checked)
    header = c99.header({form.function: form}, target)
    assert loops.compare(form, c99.source(form, target), header, checked=checked) == []


@pytest.mark.parametrize(("name", "checked"), READ_MANY)
def test_the_text_of_many_states_computes_the_form(name: str, checked: bool) -> None:
    form = (FORMS | PARTS)[name]()
    target = aimed(form, checked=checked, batch=True)
    files = c99.batches({form.function: form}, target)
    names = target.batch_file(form.function), target.lanes_file, target.batch_header
    text_of_files = BatchText(*(files[file] for file in names))
    assert batches.compare(form, text_of_files, "arm", checked, {}) == []


@pytest.mark.parametrize(("name", "checked"), READ_THREADS)
def test_the_text_of_a_thread_computes_the_form(name: str, checked: bool) -> None:
    form = FORMS[name]()
    target, programs = aimed(form, checked=checked), {form.function: form}
    files = wrapper("cuda").files(programs, target, {})
    names = target.device_file(form.function), target.kernel_file(form.function), target.cuda_header
    device, kernel, cuda_header = (files[file] for file in names)
    header = printer().headers(programs, target)[target.header]
    text_of_files = CudaText(device, kernel, cuda_header, header)
    symbols, options = Names("arm", target.symbol(form.function)), Options(checked, False, {})
    assert kernels.compare(form, text_of_files, symbols, options) == []
