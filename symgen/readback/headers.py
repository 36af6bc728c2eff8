"""Check of NAME_batch.h and NAME_cuda.h: they declare exactly the functions of the sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pycparser import c_ast, c_generator

from symgen.readback.parsing import parse_declarations
from symgen.readback.preprocessor import disguises, without_comments
from symgen.support.errors import ProgramError

THREADS = 128
"""Default value of NAME_CUDA_THREADS, the number of threads of a block on a GPU."""
STREAM = "struct CUstream_st *"
"""C type of a CUDA stream in a header that does not include CUDA's headers."""
_BATCH = r"""#ifndef NAME_BATCH_H
#define NAME_BATCH_H
#include <stddef\.h>
#include "NAME\.h"
#ifdef __cplusplus
extern "C" \{
#endif
#define NAME_BATCH_STACK (?P<stack>[1-9]\d*)
(?:#define NAME_BATCH_WORK (?P<work>[1-9]\d*)
)?(?P<functions>[^#]*)
#ifdef __cplusplus
\}
#endif
#endif"""
_CUDA = r"""#ifndef NAME_CUDA_H
#define NAME_CUDA_H
#include <stddef\.h>
#ifndef NAME_CUDA_THREADS
#define NAME_CUDA_THREADS THREADS
#endif
#ifdef __cplusplus
extern "C" \{
#endif
struct CUstream_st;
(?P<functions>[^#]*)
#ifdef __CUDACC__
(?P<kernels>[^#]*)
#endif
#ifdef __cplusplus
\}
#endif
#endif"""


def read_batch(header: str, name: str) -> tuple[int, int]:
    """Return the stack in bytes and the workspace in numbers that NAME_batch.h states.

    Raises ProgramError if the header does not match the template.
    """
    groups = _groups(_BATCH, header, name, f"{name}_batch.h")
    return int(groups["stack"]), int(groups["work"] or 0)


def batch_differences(
    header: str, name: str, symbol: str, functions: Mapping[str, Any]
) -> list[str]:
    """List differences between NAME_batch.h and the definitions of a function for many states."""
    file = f"{name}_batch.h"
    groups = _groups(_BATCH, header, name, file)
    drivers = {n: functions[n] for n in (f"{symbol}_batch", f"{symbol}_strided")}
    declared = _declarations(groups["functions"], f"{name}_API ", file)
    return _differences(declared, drivers, r"\w+_(?:batch|strided)", file)


def cuda_differences(
    header: str, name: str, symbol: str, functions: Mapping[str, Any]
) -> list[str]:
    """List the differences between NAME_cuda.h and the definitions of a kernel and of the functions
    that launch it.
    """
    file = f"{name}_cuda.h"
    groups = _groups(_CUDA.replace("THREADS THREADS", f"THREADS {THREADS}"), header, name, file)
    launches = {n: functions[n] for n in (f"{symbol}_cuda", f"{symbol}_cuda_strided")}
    kernels = {f"{symbol}_kernel": functions[f"{symbol}_kernel"]}
    declared = _declarations(groups["functions"].replace(STREAM, "cudaStream_t "), "", file)
    differences = _differences(declared, launches, r"\w+_cuda(?:_strided)?", file)
    declared = _declarations(groups["kernels"], "__global__ ", file)
    return differences + _differences(declared, kernels, r"\w+_kernel", file)


def _groups(pattern: str, header: str, name: str, file: str) -> dict[str, str]:
    """Return the parts of a header that differ from robot to robot, by the name of the group."""
    if sentences := disguises(header):
        raise ProgramError(f"{file}: {sentences[0]}")
    lines = [" ".join(line.split()) for line in without_comments(header).splitlines()]
    text = "\n".join(line for line in lines if line)
    groups = re.fullmatch(pattern.replace("NAME", name), text)
    if groups is None:
        raise ProgramError(f"{file} has other lines than generated headers around its declarations")
    return groups.groupdict()


@lru_cache(maxsize=2)
def _declarations(text: str, prefix: str, file: str) -> Mapping[str, Any]:
    """Return the declarations of functions by name; each line begins with the prefix.

    A folder has one header for all of its functions, which is parsed only once.
    """
    lines = text.splitlines()
    if strange := [line for line in lines if not line.startswith(prefix)]:
        raise ProgramError(f"{file}: {strange[0]!r} is not a declaration of a generated header")
    code = "\n".join(line.removeprefix(prefix) for line in lines)
    units = parse_declarations(code, file, ("cudaStream_t",))
    declared = {}
    for unit in units:
        plain_function = (
            isinstance(unit, c_ast.Decl)
            and isinstance(unit.type, c_ast.FuncDecl)
            and not (unit.storage or unit.funcspec or unit.name in declared)
        )
        if not plain_function:
            raise ProgramError(f"{file}: a declaration does not declare a function, or is repeated")
        declared[unit.name] = unit
    return declared


def _differences(
    declared: Mapping[str, Any], defined: Mapping[str, Any], others: str, file: str
) -> list[str]:
    """List the functions whose declaration and definition differ, and unknown declarations.

    `others` is the pattern of the names of other functions of the folder.
    """
    differences = []
    for name, function in defined.items():
        if name not in declared:
            differences.append(f"{file} does not declare {name}")
        elif _text(declared[name]) != _text(function.decl):
            differences.append(f"{file} declares {name} differently from its definition")
    strange = [n for n in declared if n not in defined and not re.fullmatch(others, n)]
    return differences + [
        f"{file} declares {name}, which is not a function of this folder" for name in strange
    ]


def _text(declaration: Any) -> str:
    """Return a declaration as one line, without its qualifiers and storage class."""
    generated: str = c_generator.CGenerator().visit(declaration.type)
    return f"{declaration.name}: {generated}"
