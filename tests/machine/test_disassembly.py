"""Disassembly of a linked image: stack depth, reachable code, and cycles on a Cortex-M4."""

from __future__ import annotations

import pytest

from symgen.machine.cycles import cortex_m4, guarded
from symgen.machine.disassembly import Image, Instruction, Step, Unreadable, _step, register_words


def image_of(text: str) -> Image:
    """Build an image from lines 'ADDRESS WORD OPERANDS [-> TARGET]'.

    An instruction has four bytes unless its word ends in .n; a line 'NAME:' names the next
    instruction.
    """
    instructions: dict[int, Instruction] = {}
    symbols: dict[str, int] = {}
    name = ""
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


def test_a_routine_that_saves_the_least_registers_takes_no_bytes_more() -> None:
    """It subtracts t1, which has not been set; each path, the caller too, begins without bytes."""
    image = image_of("""
        top:
         0 jal t0,100 -> 100
         4 sub sp,sp,t1
         8 ret
        save:
        100 add sp,sp,-64
        104 sub sp,sp,t1
        108 jr t0
        spares:
        200 jal t0,300 -> 300
        204 sub sp,sp,t1
        208 ret
        300 li t1,-48
        304 add sp,sp,-64
        308 sub sp,sp,t1
        312 jr t0
    """)
    assert image.depth(100) == 64
    assert image.depth(0) == 64
    assert image.depth(200) == 64


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


@pytest.mark.parametrize(
    ("line", "bytes_taken"),
    [
        ("push {r4, r5, lr}", 12),
        ("pop {r4, r5}", -8),
        ("vpush {d8-d10}", 24),
        ("vpop {s16}", -4),
        ("stmdb sp!, {r4-r6, lr}", 16),
        ("ldmia.w sp!, {r4-r6}", -12),
        ("vstmdb sp!, {d8}", 8),
        ("vldmia sp!, {d8}", -8),
        ("strd r4, r5, [sp, #-8]!", 8),
        ("str.w lr, [sp, #-4]!", 4),
        ("ldrd r4, r5, [sp], #8", -8),
        ("ldr.w r4, [sp], #4", -4),
        ("sub sp, #12", 12),
        ("subw sp, sp, #1020", 1020),
        ("add sp, sp, #12", -12),
        ("addw sp, sp, #1020", -1020),
        ("pushne {r4}", 4),
        ("ldr r0, [sp, #4]", 0),
        ("str r0, [sp, #4]", 0),
        ("add r0, sp, #4", 0),
        ("stmdb r0!, {r4, r5}", 0),
        ("cmp sp, r7", 0),
        ("tst sp, r7", 0),
        ("mov r0, r1", 0),
        ("addi sp,sp,-32", 32),
        ("add sp,sp,16", -16),
        ("c.addi16sp sp,sp,-64", 64),
    ],
)
def test_an_instruction_moves_the_stack_pointer_by_its_bytes(line: str, bytes_taken: int) -> None:
    word, _, operands = line.partition(" ")
    assert _step(Instruction(4, word, operands, None)) == Step(bytes_taken)


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("b.n 100", Step(jumps=100, goes_on=False)),
        ("beq.n 100", Step(jumps=100)),
        ("blt 100", Step(jumps=100)),
        ("cbz r0, 100", Step(jumps=100)),
        ("cbnz r0, 100", Step(jumps=100)),
        ("bl 100", Step(calls=100)),
        ("bx lr", Step(goes_on=False, returns=True)),
        ("bxeq lr", Step(returns=True)),
        ("pop {r4, pc}", Step(-8, goes_on=False, returns=True)),
        ("popeq {r4, pc}", Step(returns=True)),
        ("ldmia.w sp!, {r4, r5, pc}", Step(-12, goes_on=False, returns=True)),
        ("ldr.w pc, [sp], #4", Step(-4, goes_on=False, returns=True)),
        ("jal 100", Step(calls=100)),
        ("jal t0,100", Step(jumps=100, goes_on=False)),
        ("j 100", Step(jumps=100, goes_on=False)),
        ("beqz a0,100", Step(jumps=100)),
        ("bltu a0,a1,100", Step(jumps=100)),
        ("ret", Step(goes_on=False, returns=True)),
        ("jr t0", Step(goes_on=False, returns=True)),
        ("jr ra", Step(goes_on=False, returns=True)),
    ],
)
def test_an_instruction_continues_jumps_calls_or_returns(line: str, step: Step) -> None:
    word, _, operands = line.partition(" ")
    target = 100 if operands.endswith("100") else None
    assert _step(Instruction(4, word, operands, target)) == step


@pytest.mark.parametrize(
    "line",
    ["mov pc, r0", "add pc, r0", "ldr pc, [r0, #4]", "tbh [pc, r1]", "blx r3", "bx r4", "bxne r4",
     "mov.w sp, r7", "add sp, r7", "jr t1", "jalr ra,a0", "j a0", "jal a0"],
)  # fmt: skip
def test_an_instruction_that_only_a_run_determines_is_refused(line: str) -> None:
    word, _, operands = line.partition(" ")
    with pytest.raises(Unreadable, match=f"'{word} "):
        _step(Instruction(4, word, operands, None))


def test_paths_that_jump_to_no_instruction_are_refused() -> None:
    with pytest.raises(Unreadable, match="there is no instruction at 0x64"):
        image_of("0 b 100 -> 100").depth(0)


def test_a_function_that_is_left_out_takes_no_stack_and_is_walked_again_later() -> None:
    image = image_of("0 push {r4, lr}\n4 bl 100 -> 100\n8 pop {r4, pc}\n100 sub sp, #40\n104 bx lr")
    assert image.reach([0], [100]) == {0, 4, 8}
    assert image.depth(0) == 48
    assert image.reach([0]) == {0, 4, 8, 100, 104}


def test_ranges_join_instructions_without_a_gap() -> None:
    image = image_of("0 nop.n\n2 nop\n6 nop\n12 nop")
    assert image.ranges([12, 2, 0]) == [(0, 6), (12, 16)]
    assert image.ranges([6, 12]) == [(6, 10), (12, 16)]
    assert image.ranges([]) == []


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
        # loads and stores of one word: two cycles, of a double one more; stores are pipelined
        ("0 ldr r0, [r1]", (2, 2)),
        ("0 ldrb r0, [r1]", (2, 2)),
        ("0 ldrsh r0, [r1]", (2, 2)),
        ("0 str r0, [r1]", (1, 2)),
        ("0 strb r0, [r1]", (1, 2)),
        ("0 strh r0, [r1]", (1, 2)),
        ("0 vldr d0, [r1]", (3, 3)),
        ("0 vstr d0, [r1]", (2, 3)),
        ("0 ldr r0, [r1]\n4 ldr r2, [r3]", (2 + 1, 2 + 2)),
        ("0 ldr r0, [r1]\n4 ldrh r2, [r3]", (2 + 1, 2 + 2)),
        ("0 ldr r0, [pc, #8]", (2, 3)),
        ("0 ldr pc, [sp], #4", (2 + 1, 2 + 3)),
        # several words: one cycle more than words
        ("0 ldmia r0, {r1-r4}", (5, 5)),
        ("0 stm r0, {r1, r2}", (3, 3)),
        ("0 vldmia r0, {s0-s2}", (4, 4)),
        ("0 strd r0, r1, [r2]", (3, 3)),
        ("0 ldmia sp!, {r4, r5, pc}", (4 + 1, 4 + 3)),
        # jumps refill the pipeline in one to three cycles
        ("0 b.n 2 -> 2\n2 nop", (2 + 1, 4 + 1)),
        ("0 bx lr", (2, 4)),
        ("0 blx r3", (2, 4)),
        ("0 cbz r0, 100 -> 100\n4 nop", (1 + 1, 1 + 1)),
        ("0 tbb [pc, r3]", (2 + 1, 3 + 3)),
        ("0 tbh [pc, r3]", (2 + 1, 3 + 3)),
        ("0 bic r0, r1, r2", (1, 1)),
        ("0 udiv r0, r1, r2", (2, 12)),
        ("0 sdiv r0, r1, r2", (2, 12)),
        ("0 it eq", (0, 1)),
        # the FPU: products and sums take one cycle, accumulations three
        ("0 vfma.f32 s0, s1, s2", (3, 3)),
        ("0 vnmls.f32 s0, s1, s2", (3, 3)),
        ("0 vnmul.f32 s0, s1, s2", (1, 1)),
        ("0 vcvt.f32.s32 s0, s1", (1, 1)),
        ("0 vabs.f32 s0, s1", (1, 1)),
        ("0 vcmpe.f32 s0, s1", (1, 1)),
        ("0 vmrs APSR_nzcv, fpscr", (1, 1)),
        ("0 vmov s0, r0", (1, 1)),
        ("0 vmov d0, r0, r1", (2, 2)),
        # thirteen integer cycles are hidden behind a division, until the FPU is needed again
        (
            "0 vdiv.f32 s0, s1, s2\n" + "\n".join(f"{4 * k} add r0, r1, r2" for k in range(1, 16)),
            (14 + 2, 14 + 15),
        ),
        ("0 vsqrt.f32 s0, s1\n4 add r0, r1, r2", (14, 15)),
        ("0 vmul.f32 s0, s1, s2\n4 add r0, r1, r2", (2, 2)),
        ("0 vdiv.f32 s0, s1, s2\n4 vadd.f32 s3, s4, s5\n8 add r0, r1, r2", (16, 16)),
        # what needs the result of an FPU instruction waits for one cycle
        ("0 vmul.f32 s0, s1, s2\n4 vcmp.f32 s0, s3", (3, 3)),
        ("0 vmul.f32 s0, s1, s2\n4 vmov s0, s5", (2, 2)),
        ("0 vmul.f32 s0, s1, s2\n4 vneg.f32 s5, s0", (3, 3)),
        ("0 vmov s0, s1\n4 vadd.f32 s2, s0, s3", (2, 2)),
        # an address waits for an integer result, but not for a load's, a comparison's or another
        # register's
        ("0 add r3, r1, r2\n4 str r0, [r1, r3]", (1 + 2, 1 + 3)),
        ("0 mul r3, r1, r2\n4 vldr s0, [r3, #4]", (1 + 3, 1 + 3)),
        ("0 add r1, r2, r3\n4 ldr r0, [r10]", (1 + 2, 1 + 2)),
        ("0 add r3, r1, r2\n4 add r0, r3, r1", (2, 2)),
        ("0 add r3, r1, r2\n4 ldr r3, [r1]", (1 + 2, 1 + 2)),
        ("0 cmp r3, r1\n4 ldr r0, [r3]", (1 + 2, 1 + 2)),
        ("0 ldr r3, [r1]\n4 ldr r0, [r3]", (2 + 1, 2 + 2)),
        ("0 push {r3}\n4 ldr r3, [r3]", (2 + 2, 2 + 2)),
    ],
)
def test_cycles_equal_those_of_the_manual(text: str, expected: tuple[int, int]) -> None:
    assert cycles_of(text) == expected


@pytest.mark.parametrize(
    ("condition", "inverse"),
    [
        ("eq", "ne"),
        ("cs", "cc"),
        ("mi", "pl"),
        ("vs", "vc"),
        ("hi", "ls"),
        ("ge", "lt"),
        ("gt", "le"),
    ],
)
def test_an_it_block_has_the_condition_and_its_inverse(condition: str, inverse: str) -> None:
    """A block has up to four instructions, of two or four bytes."""
    for first, second in ((condition, inverse), (inverse, condition)):
        image = image_of(f"0 itete {first}\n4 nop\n8 nop.n\n10 nop\n14 nop\n18 nop")
        assert guarded(image.instructions) == {4: first, 8: second, 10: first, 14: second}
    assert guarded(image_of("0 itt eq\n4 nop").instructions) == {4: "eq"}


def test_a_conditional_instruction_takes_at_least_the_cycle_of_its_condition() -> None:
    assert cycles_of("0 it eq\n4 ldreq r0, [r1]") == (0 + 1, 1 + 2)
    assert cycles_of("0 it eq\n4 udiveq r0, r1, r2") == (0 + 1, 1 + 12)


def test_a_taken_branch_refills_the_pipeline() -> None:
    text = "0 beq.n 100 -> 100\n2 nop\n100 bx lr"
    assert cycles_of(text, (0, 100)) == (2 + 2, 4 + 4)


@pytest.mark.parametrize("text", ["0 vadd.f64 d0, d1, d2", "0 vrintz.f32 s0, s1"])
def test_an_instruction_without_known_cycles_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="the cycles of"):
        cycles_of(text)
