"""Arguments of wrong types: every public function refuses them in one line, never with a raw
TypeError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import SymgenError
from symgen.benchmarks.bench import bench
from symgen.description.arguments import TYPES
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import (
    HOST,
    FolderRequest,
    ProgramOptions,
    TextOptions,
    VerifyRequest,
    defaults,
)
from tests.shared.descriptions import joint, link, robot


class Thing:
    """A value of a type that no argument takes."""


def values_of_wrong_types() -> tuple[Any, ...]:
    return (
        Thing(),
        [Thing()],
        [None],
        {"a": Thing()},
        {3: Thing()},
        b"\xff",
        iter([Thing()]),
        np.array(Thing()),
    )


NUMBERS: tuple[Any, ...] = (3, [3], np.arange(3.0))
"""Values that are wrong for arguments that take names or texts."""
URDF = robot(link("world", ""), link("b"), joint("j", "world", "b"))


def working_calls() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return by name each public function and arguments that it accepts."""
    arm = symgen.load("planar_arm")
    program = symgen.program(arm, "gravity_force")
    requested = {"robot": arm, "functions": ["gravity_force"]}
    return {
        "load": (symgen.load, {"robot": "planar_arm"}),
        "compile": (symgen.compile, requested),
        "program": (symgen.program, {"robot": arm, "function": "gravity_force"}),
        "generate": (symgen.generate, {**requested, "out": "never"}),
        "verify": (symgen.verify, requested),
        "inspect": (symgen.inspect, {"robot": arm, "what": "g[0]"}),
        "derivative": (symgen.derivative, {"program": program}),
        "convert": (symgen.convert, {"robot": arm, "out": "never.toml"}),
        "assemble": (symgen.assemble, {"robot": "four_bar"}),
        "inertial_parameters": (symgen.inertial_parameters, {"robot": arm}),
    }


@pytest.mark.parametrize("name", working_calls())
def test_a_wrong_type_is_refused_in_one_line_that_names_the_argument(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, works = working_calls()[name]
    for parameter in inspect.signature(function).parameters:
        assert parameter in TYPES, f"{name}({parameter}=) has no type"
        more = () if TYPES[parameter].accepts(3) or TYPES[parameter].accepts([3]) else NUMBERS
        for value in (*values_of_wrong_types(), *more):
            with pytest.raises(SymgenError) as refused:
                function(**{**works, parameter: value})
            assert "\n" not in str(refused.value)
            assert (
                parameter in str(refused.value)
                or "robot" in str(refused.value)
                or "\\xff" in str(refused.value)
                or ("�" in str(refused.value))
            )
    assert not [*tmp_path.iterdir()]


def test_robot_builders_and_importers_of_models_refuse_wrong_types() -> None:
    for options in (
        {"lock": 3},
        {"gravity": 3},
        {"base": 1},
        {"mimic": 2},
        {"strict": "no"},
        {"snap": [1]},
    ):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))} is "):
            symgen.Robot("r").body(
                "a", parent="base", type="revolute", axis=(0, 0, 1), mass=1
            ).build(**options)  # type: ignore[arg-type]
    for convert in (symgen.from_pinocchio, symgen.from_mujoco):
        for model in (3, None, "panda", b"panda", Thing()):
            with pytest.raises(ArgumentError, match="; give a "):
                convert(model)


def test_bench_refuses_wrong_types() -> None:
    for parameter in ("functions", "native", "contact", "baumgarte", "form", "progress"):
        with pytest.raises(ArgumentError, match=f"{parameter} is "):
            bench(symgen.load("planar_arm"), **{parameter: Thing()})


def test_jax_functions_refuse_wrong_types() -> None:
    pytest.importorskip("jax")
    from symgen import jax

    for parameter in inspect.signature(jax.functions).parameters:
        with pytest.raises(ArgumentError, match=f"{parameter} is "):
            jax.functions(**{"robot": "planar_arm", parameter: Thing()})


@pytest.mark.parametrize(
    "text",
    [
        URDF.encode(),
        bytearray(URDF.encode()),
        b"\xef\xbb\xbf" + URDF.encode(),
        URDF.encode("utf-16"),
        f'<?xml version="1.0" encoding="ISO-8859-1"?>{URDF}'.encode("latin-1"),
    ],
    ids=["bytes", "bytearray", "byte order mark", "utf-16", "declared latin-1"],
)
def test_bytes_of_a_description_are_read_as_its_text(text: bytes) -> None:
    assert (
        symgen.load(text) == symgen.load(URDF)
        or symgen.load(text).joints == symgen.load(URDF).joints
    )


def test_bytes_of_toml_and_of_a_path_are_read_as_text(tmp_path: Path) -> None:
    toml = (
        "name = 'a'\n[[body]]\nname = 'a'\nparent = 'base'\nmass = 1\n"
        "joint = {type = 'prismatic', axis = [1, 0, 0]}\n"
    )
    assert symgen.load(toml.encode()).joints == symgen.load(toml).joints
    (tmp_path / "a.toml").write_text(toml, encoding="utf-8")
    assert symgen.load(bytes(tmp_path / "a.toml")).joints == symgen.load(toml).joints
    assert symgen.load(b"planar_arm") == symgen.load("planar_arm")
    assert symgen.inspect(URDF.encode(), "M[0,0]") == symgen.inspect(URDF, "M[0,0]")
    for malformed in (b"\xff\xfe<robot", b"", b"nothing", b"<robot"):
        with pytest.raises(SymgenError):
            symgen.load(malformed)


def test_numpy_values_and_iterators_are_accepted() -> None:
    arm = symgen.load(
        "planar_arm",
        gravity=np.array([0.0, -9.81, 0.0]),
        strict=np.bool_(False),
        lock={"joint2": np.float64(0.5)},
    )
    assert arm.gravity == (0, Fraction("-9.81"), 0)
    assert (
        symgen.program(arm, "jacobian", task_rows=np.array([0, 1]), baumgarte=0).function
        == "jacobian"
    )  # type: ignore[arg-type]
    names = iter(["joint2"])
    assert symgen.load("planar_arm", lock=names).nv == arm.nv
    assert symgen.compile(arm, "gravity_force").functions == ("gravity_force",)


def test_a_missing_or_an_unknown_argument_raises_pythons_type_error() -> None:
    with pytest.raises(TypeError, match="load"):
        symgen.load("planar_arm", colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="generate"):
        symgen.generate("planar_arm")  # type: ignore[call-arg]


def test_the_validated_options_have_the_declared_names_and_defaults() -> None:
    for kind, values in (
        (VerifyRequest, ProgramOptions()),
        (FolderRequest, TextOptions(HOST)),
    ):
        declared = defaults(kind)
        for field in fields(values):
            if (
                field.name in declared and field.name != "task_rows"
            ):  # task_rows is parsed into integers
                assert getattr(values, field.name) == declared[field.name]


def test_a_signature_shows_every_option_and_python_refuses_an_unknown_one() -> None:
    shown = inspect.signature(symgen.generate).parameters
    assert {**defaults(FolderRequest), "trig": None}.items() <= {
        name: parameter.default for name, parameter in shown.items()
    }.items()
    for function in (symgen.load, symgen.program, symgen.compile, symgen.generate, symgen.verify):
        with pytest.raises(TypeError) as refused:
            function("planar_arm", colour="red")
        name = function.__name__
        assert str(refused.value) == f"{name}() got an unexpected keyword argument 'colour'"
