"""Run-time inertia equals the inertia of a description that declares the same numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.derivation import constants as k
from symgen.derivation import runtime_inertia
from symgen.derivation.model.links import Inertia, Model, declared, inertia_of
from symgen.derivation.model.regroup import regroup
from symgen.derivation.runtime_inertia import BodyInertia, Entry, Recorder
from symgen.derivation.scalars import Derivation
from symgen.derivation.spatial import RigidInertia
from symgen.mechanism.mechanism import Mechanism, Part
from symgen.vocabulary.poses import pose
from tests.shared.robots_for_tests import random_mechanism

KINDS = ("revolute", "prismatic", "spherical", "helical")
ROBOTS = [(joints, seed) for joints in ((kind,) for kind in KINDS) for seed in (0,)]
ROBOTS += [(KINDS, seed) for seed in (1, 2)]
ANY_ROBOT = pytest.mark.parametrize(("joints", "seed"), ROBOTS)


def model_of(joints: tuple[str, ...], seed: int) -> Model:
    return declared(random_mechanism(5, seed, "tree", joints, general=seed != 0))


def assert_equal(result: RigidInertia, expected: Inertia) -> None:
    S = expected.S
    pairs = [
        (result.m, expected.m),
        *zip(result.h, expected.h, strict=True),
        *zip(result.S.entries, S, strict=True),
        (result.about_z, S[0] + S[3]),
    ]
    for scalar, number in pairs:
        assert scalar.is_constant
        assert k.is_zero(k.normalize(scalar.value - number))


@ANY_ROBOT
def test_run_time_inertia_is_regrouped_like_declared_inertia(
    joints: tuple[str, ...], seed: int
) -> None:
    """`regroup` moves the same numbers by closed forms of a line of matter."""
    with k.precision():
        model, derivation = model_of(joints, seed), Derivation({})
        inertias = [link.inertia for link in model.links]
        summed = runtime_inertia.link_inertias(derivation, model, inertias, [], [])
        regrouped = runtime_inertia.regroup_inertia(derivation, model, summed)
        dropped = runtime_inertia.drop_base_inertia(model, regrouped)
        for results, expected in (
            (summed, model),
            (regrouped, regroup(model, forget=False)),
            (dropped, regroup(model)),
        ):
            for result, link in zip(results, expected.links, strict=True):
                assert_equal(result, link.inertia)


@pytest.mark.parametrize("central", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_a_run_time_body_has_the_inertia_of_its_declared_part(central: bool, turned: bool) -> None:
    """A rod and ball at a slanted place: moments about its mass centre, or about its frame."""
    moments: Any = tuple(Fraction(x) for x in (5, -1, 2, 7, 1, 8))
    part = Part(
        "tool",
        pose((Fraction(1, 5), Fraction(-1, 3), Fraction(2))),
        Fraction(7, 2),
        moments,
    )
    mechanism: Mechanism = random_mechanism(2, 3, general=turned)
    body = replace(mechanism.bodies[1], parts=(part,))
    with k.precision():
        derivation, model = Derivation({}), declared(mechanism)
        axes, origin = model.links[1].placement
        centre = tuple(map(k.rational, (Fraction(1, 5), Fraction(-1, 3), Fraction(2))))
        moments: tuple[Any, ...] = tuple(map(k.rational, part.moments))
        if not central:
            xx, xy, xz, yy, yz, zz = moments
            (x, y, z), m = centre, k.rational(part.mass)
            moments = (
                xx + m * (y * y + z * z),
                xy - m * x * y,
                xz - m * x * z,
                yy + m * (x * x + z * z),
                yz - m * y * z,
                zz + m * (x * x + y * y),
            )
        inverse = k.transpose(axes)
        shift = k.scale(-k.ONE, k.apply(inverse, origin))
        numbers = BodyInertia(1, inverse, shift, k.rational(part.mass), centre, moments, central)
        constant = [replace(link.inertia) for link in model.links]
        results = runtime_inertia.link_inertias(derivation, model, constant, [numbers], [])
        expected = inertia_of(body, (axes, origin)) + model.links[1].inertia
        assert_equal(results[1], expected)
        assert_equal(results[0], model.links[0].inertia)


def test_a_joint_with_a_single_link_has_its_moment_or_mass_as_pivot() -> None:
    with k.precision():
        model, derivation = model_of(KINDS, 1), Derivation({})
        inertias = [link.inertia for link in model.links]
        inertia = runtime_inertia.link_inertias(derivation, model, inertias, [], [])[0]
        assert runtime_inertia.single_pivot("revolute", inertia) is inertia.about_z
        assert runtime_inertia.single_pivot("prismatic", inertia) is inertia.m
        assert runtime_inertia.single_pivot("spherical", inertia) is None
        assert runtime_inertia.single_pivot("helical", inertia) is None


def test_a_recorder_stores_each_run_time_number_once_and_its_opposite_by_sign() -> None:
    derivation = Derivation({"parameters": 3})
    x, y, _ = derivation.inputs["parameters"]
    recorder = Recorder()
    entries = [recorder.entry(each) for each in (x, y, -x, x, derivation.one, -y)]
    number = derivation.one.value
    assert entries == [
        Entry(index=0),
        Entry(index=1),
        Entry(index=0, sign=-1),
        Entry(index=0),
        Entry(number),
        Entry(index=1, sign=-1),
    ]
    negated_first = Recorder()
    assert negated_first.entry(-x) == Entry(index=0, sign=-1)
    assert negated_first.entry(x) == Entry(index=0)
    for stored, result in ((recorder, entries), (negated_first, [negated_first.entry(-x)])):
        for entry, original in zip(result, (x, y, -x, x, derivation.one, -y), strict=False):
            back = entry.scalar(derivation, stored.rows)
            expected = original if stored is recorder else -x
            assert (back.is_constant, back.row, back.sign) == (
                expected.is_constant,
                expected.row,
                expected.sign,
            )


def test_entries_of_a_link_are_read_back_in_their_order() -> None:
    derivation = Derivation({"parameters": 11})
    array = derivation.inputs["parameters"]
    entries = tuple(Entry(index=n) for n in range(11))
    inertia = runtime_inertia.inertia(derivation, entries, array)
    assert Recorder().inertia_entries(inertia) == entries
    assert inertia.m is array[0]
    assert tuple(inertia.h) == tuple(array[1:4])
    assert inertia.S.entries == tuple(array[4:10])
    assert inertia.about_z is array[10]
