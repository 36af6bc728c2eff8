"""A function for many states, read back: what one lane of a block does, as the text of a function of one state.

The loops over the lanes are taken apart line by line. Each line of them must be a statement of one lane: an element of an array
is written x[k][lane], and a sine turn.sine[first + lane] of the angle that stands in the array of angles at that place. What one
lane does is written again as a function of one state is, so that `symgen.readback.rows` proves of it what it proves of those.
Everything else, from the blocks in memory to the checks, is the frame: it must be what is printed now, word for word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import NamedTuple

from symgen.ir.program import Program
from symgen.readback.preprocessor import AS_WRITTEN, without_comments
from symgen.readback.rows import compare
from symgen.support.errors import ProgramError

_FUNCTION = re.compile(r"static void (\w+)\((.*)\)")
_PARAMETER = re.compile(
    r"(?:const )?(\w+) (\w+)\[(?:\w+_RESTRICT|restrict) (\d+)\](?:\[\d+\])?|int \w+\[\d+\]"
)
_LOOP = re.compile(r"    for \(lane = 0; lane < \d+; \+\+lane\) \{")
_WORK = re.compile(r"    \w+ (\w+)\[(\d+)\]\[\d+\];")
_ANGLE = re.compile(r" +\w+\[(?:(\d+) \+ )?lane\] = (.+);")
_SINE = re.compile(r"\b(\w+)\.(sine|cosine)\[(?:(\d+) \+ )?lane\]")
_ELEMENT = re.compile(r"\b(\w+)\[(0|[1-9]\d*)\]\[lane\]")
_LIBM = re.compile(r" +\w+\.(sine|cosine)\[lane\] = (\w+)\(\w+\[lane\]\);")
_TURN = re.compile(r"    (\w+) = (\w+)\((\w+)\);")
_CALL = re.compile(r"    (\w+)\((.*)\);")
_STORE = re.compile(r"(\w+)\[(\d+)\] = (.+);")

_TEXT = f"""#include <math.h>
#include "NAME.h"
ANGLES{AS_WRITTEN}#endif
"""


class Lanes(NamedTuple):
    """`text` is that of a function of one state, `frame` the words of everything that is not one lane's arithmetic."""

    text: str
    frame: tuple[str, ...]


class _Function(NamedTuple):
    """`parameters` are (type, name, how many numbers of one state)."""

    symbol: str
    parameters: list[tuple[str, str, str]]
    lines: list[str]


def lanes(text: str, name: str, symbol: str, results: Collection[str]) -> Lanes:
    """Take NAME_<function>_batch.c apart; `symbol` is NAME_<function>, `results` the names of what it stores.

    Raises ProgramError, one sentence, where a line is none that a lane may have.
    """
    functions, frame = _functions(without_comments(text).splitlines())
    if not functions or functions[-1].symbol != f"{symbol}_block":
        raise ProgramError(f"there is no function {symbol}_block, behind its parts")
    read = _Reader(functions[-1], {one.symbol: one for one in functions[:-1]})
    words = tuple(word for line in (*frame, *read.frame) for word in line.split())
    return Lanes(_single(read, name, symbol, results), words)


def of_a_lane(program: Program, text: str, name: str) -> list[str]:
    """What keeps the function of lanes NAME_<function>, one of several in the text, from being the Program; [] when it is."""
    results = [
        own for port in program.outputs for own in (port.name, f"{port.name}_")
    ]  # the second where C has the first
    try:
        return compare(program, _step(text, name, f"{name}_{program.function}", results))
    except ProgramError as error:
        return [str(error)]


def _step(text: str, name: str, symbol: str, results: Collection[str]) -> str:
    """The text of a function of one lane, of the function `symbol` in a text of several such, each in one piece."""
    own = list(
        takewhile(
            lambda line: line != "}",
            _behind(without_comments(text).splitlines(), f"static void {symbol}("),
        )
    )
    functions, _ = _functions([*own, "}"])
    if not functions:
        raise ProgramError(f"there is no function {symbol}")
    return _single(_Reader(functions[0], {}), name, symbol, results)


def _behind(lines: Collection[str], start: str) -> Iterator[str]:
    """The lines from the one on that starts so."""
    return dropwhile(lambda line: not line.startswith(start), lines)


def _functions(lines: Collection[str]) -> tuple[list[_Function], list[str]]:
    """The functions of lanes, and the lines that stand outside."""
    found: list[_Function] = []
    outside: list[str] = []
    inside = False
    for line in lines:
        head = _FUNCTION.fullmatch(line)
        if head:
            matched = [_PARAMETER.fullmatch(one) for one in head[2].split(", ")]
            if not all(matched):
                raise ProgramError(f"{head[1]} has a parameter that is no array of lanes")
            found.append(
                _Function(head[1], [(m[1], m[2], m[3]) for m in matched if m and m[1]], [])
            )
        if inside and line != "}":
            found[-1].lines.extend([line] if line.strip() and line != "{" else [])
        else:
            outside.append(line)
        inside = line != "}" and (inside or head is not None)
    return found, outside


class _Reader:
    """One block function with its parts, line by line."""

    def __init__(self, block: _Function, parts: dict[str, _Function]) -> None:
        self.block, self.parts = block, parts
        self.frame: list[str] = []
        self.work = ("work", 0)
        """The array that loops share, and how many numbers of one state it holds."""
        self.turn = ""
        """What the sines of all angles are called, where they are taken at once."""
        self.angles: dict[int, str] = {}
        """By the place of the first lane."""
        self.calls: dict[str, str] = {}
        """What gives a sine and a cosine, where those of all angles are taken one by one."""
        self.loops: list[list[str]] = []
        lines = iter(block.lines)
        for line in lines:
            self._statement(line, lines)
        if parts:
            raise ProgramError(f"{min(parts)} is never called")

    def _statement(self, line: str, following: Iterator[str]) -> None:
        """A statement of the block function; of a loop, and of a part, the lines inside."""
        if _LOOP.fullmatch(line):
            self._loop(line, list(takewhile(lambda one: one != "    }", following)))
            return
        called, work, turned = _CALL.fullmatch(line), _WORK.fullmatch(line), _TURN.fullmatch(line)
        if called and called[1] in self.parts:
            part = self.parts.pop(called[1])
            if called[2].split(", ") != [name for _, name, _ in part.parameters]:
                raise ProgramError(f"{called[1]} is not given what its parameters are called")
            if (
                part.lines[:1] != ["    int lane;"]
                or not _LOOP.fullmatch(part.lines[1])
                or "    }" in part.lines[:-1]
            ):
                raise ProgramError(f"{called[1]} is not one loop over the lanes")
            self._loop(part.lines[1], part.lines[2:-1])
            self.frame.append(line)
            return
        if work and not self.work[1]:
            self.work = work[1], int(work[2])
        if turned:
            self.turn = turned[1]
        self.frame.append(line)

    def _loop(self, head: str, lines: list[str]) -> None:
        """One loop: of checks, of angles, of their sines one by one, or of rows."""
        self.frame.append(head)
        angles, called = (
            [_ANGLE.fullmatch(line) for line in lines],
            [_LIBM.fullmatch(line) for line in lines],
        )
        if any("[lane] = !(" in line for line in lines):
            self.frame += lines
        elif all(called):
            self.calls = {one[1]: one[2] for one in called if one}
            self.frame += lines
        elif all(angles) and not self.angles:
            self.angles = {
                int(one[1] or 0): _ELEMENT.sub(r"\1[\2]", one[2]) for one in angles if one
            }
        else:
            self.loops.append([self._lane(line) for line in lines])

    def _lane(self, line: str) -> str:
        """A statement as a function of one state has it."""
        line = _ELEMENT.sub(r"\1[\2]", _SINE.sub(self._sine, line)).strip()
        if re.search(r"\blane\b", line) or not line.endswith(";"):
            raise ProgramError(f"'{line}' is no statement of one lane")
        return line

    def _sine(self, found: re.Match[str]) -> str:
        place = int(found[3] or 0)
        if place not in self.angles:
            raise ProgramError(f"{found[0]} is the {found[2]} of no angle")
        if self.calls:
            return f"{self.calls[found[2]]}({self.angles[place]})"
        return f"{found[1]}.{found[2]}[{list(self.angles).index(place)}]"


def _share_sines(turn: str, loops: list[list[str]], array: str, size: int) -> int:
    """Hand the sines that loops after the first reader of `turn` take on in the array that loops share; returns how many.

    In a block every loop sees `turn`. Of one state each loop is a part, and the first of them takes all sines.
    """
    sine = re.compile(rf"\b{turn}\.(?:sine|cosine)\[\d+\]")
    first = next(
        (number for number, loop in enumerate(loops) if any(f"{turn}." in line for line in loop)),
        len(loops),
    )
    later = [line for loop in loops[first + 1 :] for line in loop]
    places = {
        taken: size + k
        for k, taken in enumerate(
            dict.fromkeys(one for line in later for one in sine.findall(line))
        )
    }
    for number in range(first + 1, len(loops)):
        loops[number] = [
            sine.sub(lambda found: f"{array}[{places[found[0]]}]", line) for line in loops[number]
        ]
    if places:
        loops[first] += [f"{array}[{place}] = {taken};" for taken, place in places.items()]
    return len(places)


def _single(read: _Reader, name: str, symbol: str, results: Collection[str]) -> str:
    """The text of a function of one state. Several loops become parts, and what any but the last stores goes through the array
    that they share, since the results of one state may alias its arguments where those of a block do not.
    """
    real = read.block.parameters[0][0]
    loops = [list(loop) for loop in read.loops] or [[]]
    array, size = read.work
    if read.turn:
        _take_sines(read, name, real, loops)
        size += _share_sines(read.turn, loops, array, size)
    size += _postpone_stores(loops, results, array, size)
    head = _TEXT.replace("NAME", name)
    head = head.replace("ANGLES", "\n".join(_includes(read, name, symbol, loops)), 1)
    given = ", ".join(
        f"{'' if parameter in results else 'const '}{kind} {parameter}[{count}]"
        for kind, parameter, count in read.block.parameters
    )
    if not size:
        return "\n".join([head, *_written(f"void {symbol}({given})", loops[0]), ""])
    lines, calls = [head], [f"{real} {array}[{size}];"]
    called = ", ".join([parameter for _, parameter, _ in read.block.parameters] + [array])
    for number, loop in enumerate(loops, 1):
        part = f"{symbol}_part_{number}"
        lines += _written(f"static void {part}({given}, {real} {array}[{size}])", loop)
        calls.append(f"{part}({called});")
    return "\n".join([*lines, *_written(f"void {symbol}({given})", calls), ""])


def _written(head: str, body: Sequence[str]) -> list[str]:
    """Write a function."""
    return [head, "{", *(f"    {line}" for line in body), "}"]


def _take_sines(read: _Reader, name: str, real: str, loops: Sequence[list[str]]) -> None:
    """Take the sines of all angles before the first loop that reads one, or in the last loop."""
    first = next(
        (loop for loop in loops if any(f"{read.turn}." in line for line in loop)), loops[-1]
    )
    first[:0] = [
        f"const {real} all_angles[{name}_ANGLES] = {{{', '.join(read.angles.values())}}};",
        f"const {name}_turns {read.turn} = {name}_sincos(all_angles);",
    ]


def _postpone_stores(
    loops: Sequence[list[str]], results: Collection[str], array: str, size: int
) -> int:
    """Store every result in the last loop; return how many of them go there in the array that loops share."""
    count = 0
    for loop in loops[:-1]:
        for k, line in enumerate(loop):
            store = _STORE.fullmatch(line)
            if store and store[1] in results:
                place = f"{array}[{size + count}]"
                loop[k] = f"{place} = {store[3]};"
                loops[-1].append(f"{store[1]}[{store[2]}] = {place};")
                count += 1
    return count


def _includes(read: _Reader, name: str, symbol: str, loops: Sequence[Sequence[str]]) -> list[str]:
    """Return the directives of the text's own sines: how many angles they take at once, and their header."""
    angles = [f"#define {name}_ANGLES {len(read.angles)}"] if read.turn else []
    renamed = re.search(r"^#define \w+_sincos ", "\n".join(read.frame), re.MULTILINE)
    pairs = any(f"const {name}_pair " in line for loop in loops for line in loop)
    if not (renamed or read.turn or pairs):
        return angles
    return [
        *angles,
        f"#define {name}_sincos {symbol}_sincos",
        f'#include "{name}_sincos.h"',
    ]
