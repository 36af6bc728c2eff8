"""Disassembly of a linked image: stack depth, reachable code, and cycles on a Cortex-M4."""

from __future__ import annotations

import pytest

from symgen.machine.cycles import cortex_m4, guarded
from symgen.machine.disassembly import Image, Instruction, Unreadable, register_words


def image_of(text: str) -> Image:
    """Build an image from lines 'ADDRESS WORD OPERANDS [-> TARGET]'.

    An instruction has four bytes unless its word ends in .n; a line 'NAME:' names the next instruction.
    """
    instructions, symbols, name = {}, {}, ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            name = line[:-1]
            continue
        instruction, _, target = line.partition(" -> ")
        address, word, *operands = instruction.split(None, 2)
        symbols |= {name: int(address)} if name else {}
        name = ""
        instructions[int(address)] = Instruction(
            2 if word.endswith(".n") else 4,
            word,
            operands[0] if operands else "",
            int(target) if target else None,
        )
    return Image(instructions, symbols)


CALLS = """
    top:
     0 push {r4, lr}
     4 vpush {d8-d9}
     8 sub sp, #12
    12 cbz r0, 24 -> 24
    16 bl 100 -> 100
    20 b.n 12 -> 12
    24 add sp, #12
    28 vpop {d8-d9}
    32 ldmia.w sp!, {r4, lr}
    36 b.w 200 -> 200
    below:
    100 str.w lr, [sp, #-4]!
    104 ldr.w pc, [sp], #4
    tail:
    200 sub.w sp, sp, #400
    204 add.w sp, sp, #400
    208 bx lr
"""


def test_stack_depth_adds_calls_and_takes_the_maximum_of_tail_calls() -> None:
    image = image_of(CALLS)
    assert image.depth(100) == 4
    assert image.depth(200) == 400
    assert image.depth(0) == max(8 + 16 + 12 + 4, 400)
    assert image.reach([0]) == set(image.instructions)
    assert image.reach([0], excluded_functions=[100]) == set(image.instructions) - {100, 104}
    assert image.ranges(image.reach([100, 200])) == [(100, 108), (200, 212)]


def test_the_stack_of_risc_v_includes_its_routines_that_save_registers() -> None:
    image = image_of("""
        top:
         0 jal t0,100 -> 100
         4 add sp,sp,-384
         8 bgeu a4,a5,20 -> 20
        12 jal 300 -> 300
        16 nop
        20 add sp,sp,384
        24 j 200 -> 200
        save:
        100 add sp,sp,-64
        104 li t1,-48
        108 sub sp,sp,t1
        112 jr t0
        restore:
        200 add sp,sp,16
        204 ret
        300 add sp,sp,-32
        304 add sp,sp,32
        308 ret
    """)
    assert image.depth(0) == 16 + 384 + 32


@pytest.mark.parametrize(
    "line",
    [
        "tbb [pc, r3]",
        "blx r3",
        "bx r1",
        "mov sp, r7",
        "ldr pc, [r3]",
        "jr a4",
        "jalr a5",
        "bl 0 -> 0",
    ],
)
def test_code_whose_stack_depends_on_a_run_is_refused(line: str) -> None:
    with pytest.raises(Unreadable):
        image_of(f"0 push {{r4}}\n4 {line}\n8 bx lr").depth(0)


def test_registers_are_counted_in_words() -> None:
    assert [
        register_words(text)
        for text in ("{r4, r5, lr}", "{d8-d9}", "sp!, {s16}", "{r4-r7, lr}", "{d8}")
    ] == [3, 4, 1, 5, 2]


def cycles_of(text: str, executed: tuple[int, ...] = ()) -> tuple[int, int]:
    """Return least and most cycles of the executed addresses; by default all lines are executed."""
    image = image_of(text)
    return cortex_m4(
        executed or sorted(image.instructions), image.instructions, guarded(image.instructions)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 vmul.f32 s0, s1, s2\n4 vadd.f32 s3, s4, s5", (2, 2)),
        ("0 vmul.f32 s0, s1, s2\n4 vadd.f32 s3, s0, s5", (3, 3)),  # the sum waits for the product
        (
            "0 vmul.f32 s0, s1, s2\n4 vmla.f32 s0, s4, s5",
            (4, 4),
        ),  # the accumulator is needed late enough
        ("0 vmul.f32 s0, s1, s2\n4 vmla.f32 s3, s0, s5", (5, 5)),
        ("0 vmul.f32 s0, s1, s2\n4 vstr s0, [r0]", (3, 4)),
        ("0 vldr s0, [r0]\n4 vldr s1, [r0, #4]", (3, 4)),  # loads in a row overlap
        ("0 vldr s0, [pc, #8]", (2, 3)),
        ("0 vdiv.f32 s0, s1, s2\n4 vadd.f32 s3, s4, s5", (15, 15)),
        (
            "0 vdiv.f32 s0, s1, s2\n4 adds r0, r1, r2\n8 udiv r0, r1, r2",
            (14, 27),
        ),  # integers in the shadow of the division
        ("0 vsqrt.f32 s0, s1\n4 vmov.f32 s2, s0", (16, 16)),
        ("0 push {r4, r5, lr}\n4 vpush {d8-d9}", (4 + 5, 4 + 5)),
        ("0 pop {r4, pc}", (3 + 1, 3 + 3)),
        ("0 bl 100 -> 100", (2, 4)),
        ("0 beq.n 100 -> 100\n2 bx lr", (1 + 2, 1 + 4)),  # not taken
        ("0 add r3, r1, r2\n4 ldr r0, [r3]", (1 + 3, 1 + 3)),  # the address waits
        (
            "0 add r3, r1, r2\n4 ldrd r0, r1, [r3]",
            (1 + 3, 1 + 3),
        ),  # an address of a multiple load does not wait
        (
            "0 itt lt\n4 vldrlt s15, [r0]\n8 addlt r0, r1",
            (0 + 1 + 1, 1 + 2 + 1),
        ),  # the condition may skip it
        ("0 ite eq\n4 moveq r0, r1\n8 movne r0, r2", (2, 3)),
        ("0 ldrd r0, r1, [r2]\n4 vmov r0, r1, d0", (3 + 2, 3 + 2)),
    ],
)
def test_cycles_equal_those_of_the_manual(text: str, expected: tuple[int, int]) -> None:
    assert cycles_of(text) == expected


def test_a_taken_branch_refills_the_pipeline() -> None:
    text = "0 beq.n 100 -> 100\n2 nop\n100 bx lr"
    assert cycles_of(text, (0, 100)) == (2 + 2, 4 + 4)


@pytest.mark.parametrize("text", ["0 vadd.f64 d0, d1, d2", "0 vrintz.f32 s0, s1"])
def test_an_instruction_without_known_cycles_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="the cycles of"):
        cycles_of(text)
