"""The report of a proof on given bounds and observations, as text and as plain data."""

from __future__ import annotations

import json
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from symgen.certificate.divisors import DivisorCertificate, OwnInertia
from symgen.certificate.ranges import Ranges
from symgen.verification.proof import eva
from symgen.verification.proof.report import Divisor, Proof, Proved
from symgen.verification.proof.round_off import RoundOff

SPAN = (Fraction(-1), Fraction(3))
RANGES = Ranges(dict.fromkeys(("q", "v", "a", "tau"), (SPAN, SPAN)), ())
JOINTS = (
    OwnInertia("shoulder", "upper", Fraction(2, 3)),
    OwnInertia("elbow", "lower", None, "no mass"),
)
CERTIFIED = DivisorCertificate(7, 0, Fraction(2, 3), Fraction(1, 3000), Fraction(1999, 3000))
REFUSED = DivisorCertificate(9, 1, reason="no mass")
SQUARES = DivisorCertificate(11, None, Fraction(1, 4), Fraction(0), Fraction(1, 4))
OTHER = DivisorCertificate(12, None, reason="not known", description="pivot 1 of S")


def round_off(observed: float = 1e-15, everywhere: bool = True) -> RoundOff:
    """Return a bound of two elements over three states, of which two are observed."""
    bound = np.array([[2e-15, 4.05e-15], [3e-15, 1e-15], [9.05e-15, 5e-15]])
    return RoundOff(
        everywhere,
        {"tau": bound[:1] if everywhere else bound},
        {"tau": np.array([[observed, 0], [observed / 2, observed / 4]])},
        {"tau": 12.3456},
    )


def proof(*functions: Proved, **more: object) -> Proof:
    arguments: dict[str, Any] = {
        "joints": JOINTS,
        "units": ("kg m²", "kg m²"),
        "assumptions": ("a range",),
    }
    arguments |= more
    return Proof("arm", "double", 300, functions=functions, ranges=RANGES, **arguments)


FORWARD = Proved(
    "forward_dynamics",
    "riccati",
    (
        Divisor(CERTIFIED, 0.7123456789),
        Divisor(REFUSED),
        Divisor(SQUARES, 0.5),
        Divisor(OTHER, 1.0),
    ),
    round_off(everywhere=False),
)
BIAS = Proved("bias_force", "newton_euler", (), round_off())


# -- round-off --


def test_bounds_are_compared_element_by_element_at_the_observed_states() -> None:
    result = round_off(everywhere=False)
    assert result.most("tau") == 9.05e-15
    assert result.largest_observed("tau") == 1e-15
    assert result.ratio("tau") == pytest.approx(4.05)  # 4.05e-15 of the first two states
    assert result.nearest("tau") == pytest.approx(0.5)  # 1e-15 of 2e-15
    assert result.holds


def test_one_bound_of_all_states_is_compared_with_every_observation() -> None:
    result = round_off()
    assert result.most("tau") == 4.05e-15
    assert result.nearest("tau") == pytest.approx(0.5)
    assert not round_off(3e-15).holds
    assert round_off(2e-15).holds


def test_without_the_c_there_is_no_observation() -> None:
    bound = RoundOff(True, {"tau": np.array([[inf, 1.0]])})
    assert (bound.most("tau"), bound.largest_observed("tau")) == (inf, None)
    assert (bound.ratio("tau"), bound.nearest("tau"), bound.holds) == (None, None, True)


def test_an_error_of_zero_has_no_ratio_and_keeps_a_bound_of_zero() -> None:
    exact = RoundOff(True, {"R": np.zeros((1, 2))}, {"R": np.zeros((2, 2))}, {"R": 1.0})
    assert (exact.ratio("R"), exact.nearest("R"), exact.holds) == (None, 0, True)


# -- verdicts --


@pytest.mark.parametrize(
    ("certificate", "least", "holds"),
    [
        (CERTIFIED, 0.67, True),
        (CERTIFIED, 0.66, False),
        (CERTIFIED, None, True),
        (REFUSED, -1.0, True),
    ],
)
def test_an_observed_divisor_below_its_bound_contradicts_the_proof(
    certificate: DivisorCertificate, least: float | None, holds: bool
) -> None:
    divisor = Divisor(certificate, least)
    assert divisor.holds is holds
    assert Proved("f", "m", (divisor,), round_off()).holds is holds
    assert proof(BIAS, Proved("f", "m", (divisor,), round_off())).holds is holds


def test_an_error_above_its_bound_contradicts_the_proof() -> None:
    wrong = Proved("f", "m", (), round_off(9e-15))
    assert not proof(BIAS, wrong).holds
    assert str(proof(BIAS, wrong)).endswith("arm: no division; CONTRADICTED by observations: f")
    assert repr(proof(BIAS, wrong)) == "<symgen Proof arm: 2 functions, double; does not hold>"
    assert repr(proof(BIAS)) == "<symgen Proof arm: 1 functions, double; holds>"


# -- text --


def test_the_text_has_tables_of_inertias_divisors_and_round_off() -> None:
    """Lower bounds are rounded down, upper bounds up: 2/3 is 0.666666, and 1/3000 is 0.00034."""
    lines = str(proof(FORWARD, BIAS)).splitlines()
    assert lines == [
        "arm, double",
        "",
        "the link's own inertia H^T M H, a lower bound of its pivot D of the mass matrix",
        "",
        "joint     link          H^T M H",
        "shoulder  upper        0.666666  kg m²",
        "elbow     lower  no certificate         no mass",
        "",
        "divisors of forward_dynamics=riccati",
        "",
        "joint               link   D exact >=  round-off <=   D computed >=  least seen",
        "shoulder            upper    0.666666       0.00034        0.666333    0.712346",
        "elbow               lower           -             -  no certificate           -  no mass",
        "(a sum of squares)               0.25             0            0.25         0.5",
        (
            "pivot 1 of S                        -             -  no certificate           1  not"
            " known"
        ),
        "",
        "round-off",
        "",
        (
            "function          method        result  proved for    bound   seen  bound/seen "
            " largest answer"
        ),
        (
            "forward_dynamics  riccati       tau     300 states  9.1e-15  1e-15           4        "
            "    12.3"
        ),
        (
            "bias_force        newton_euler  tau     the ranges  4.1e-15  1e-15           4        "
            "    12.3"
        ),
        "",
        "assumed:",
        "  a range",
        "",
        "arm: 2 of 4 divisors certified; no observation exceeds its bound",
    ]


def test_remarks_on_rotors_several_velocities_and_folders() -> None:
    text = str(proof(BIAS, armed=True, folder="out/c"))
    assert text.startswith("arm, the folder out/c, double\n")
    assert "(with the armature of the joint's drive)" in text
    assert "several velocities" not in text
    twice = (JOINTS[0], OwnInertia("shoulder.x", "upper", Fraction(1)))
    several = str(proof(BIAS, joints=twice))
    assert (
        "(of a joint with several velocities: the link's own pivot, the later ones free)" in several
    )
    assert "armature" not in several


def test_without_bounds_there_is_no_table_of_round_off() -> None:
    only = Proved("f", "m", (Divisor(CERTIFIED),), RoundOff(False, {}))
    text = str(proof(only))
    assert "round-off\n" not in text
    assert text.endswith("1 of 1 divisors certified; no observation exceeds its bound")
    assert str(proof()).endswith("arm: no function with a proof; no observation exceeds its bound")


def test_an_infinite_bound_is_none() -> None:
    unbounded = Proved("f", "m", (), RoundOff(True, {"a": np.array([[inf]])}))
    row = next(line for line in str(proof(unbounded)).splitlines() if line.startswith("f "))
    assert row.split() == ["f", "m", "a", "the", "ranges", "none", "-", "-", "-"]
    facts = proof(unbounded).facts()["functions"]["f"]["round_off"]
    assert facts["results"]["a"] == dict.fromkeys(
        ("bound", "observed", "nearest", "ratio", "largest")
    )


# -- Frama-C --


def alarm(k: int) -> eva.Alarm:
    return eva.Alarm(f"kind{k}", f"file{k}", k, f"text{k}")


def test_results_of_frama_c_count_alarms_and_admitted_lines() -> None:
    proved = eva.Proof("f", "m", "double", (), ("x >= 1", "y >= 2"))
    failed = eva.Proof("g", "m", "double", tuple(map(alarm, range(eva.SHOWN + 2))), ())
    lines = eva.lines({"f": proved, "g": failed})
    assert lines[:3] == [
        (
            "f (m, double): no out-of-bounds, no uninitialised read, every number finite, given 2"
            " admitted lines"
        ),
        "  admitted: x >= 1",
        "  admitted: y >= 2",
    ]
    assert lines[3] == f"g (m, double): not proved, {eva.SHOWN + 2} statements may fail"
    assert len([line for line in lines if line.startswith("  possible: ")]) == eva.SHOWN
    assert lines[-1] == "  and 2 more, most of them caused by these"
    shown = eva.Proof("g", "m", "double", tuple(map(alarm, range(eva.SHOWN))), ())
    assert "more, most" not in eva.lines({"g": shown})[-1]
    assert eva.lines({}) == ["Frama-C was not run: no function is proved over whole ranges"]
    text = str(proof(BIAS, finite={"f": proved}))
    assert "every operation over the ranges, by Frama-C's Eva" in text
    assert proof(BIAS, finite={"f": proved}).facts()["eva"]["f"]["proved"]
    assert not failed.facts["proved"]


# -- plain data --


def test_facts_are_plain_data() -> None:
    facts = proof(FORWARD, BIAS, folder="c").facts()
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["robot"], facts["folder"], facts["real"], facts["states"]) == (
        "arm",
        "c",
        "double",
        300,
    )
    assert facts["holds"] is True
    assert facts["assumptions"] == ["a range"]
    assert facts["ranges"] == {name: [[-1, 3], [-1, 3]] for name in ("q", "v", "a", "tau")}
    assert facts["joints"][0] == {
        "joint": "shoulder",
        "link": "upper",
        "own_inertia": float(Fraction(2, 3)),
        "unit": "kg m²",
        "reason": "",
    }
    assert facts["joints"][1]["own_inertia"] is None
    forward = facts["functions"]["forward_dynamics"]
    assert forward["method"] == "riccati"
    assert forward["divisors"][0] == {
        "row": 7,
        "joint": "shoulder",
        "link": "upper",
        "exact": float(Fraction(2, 3)),
        "round_off": float(Fraction(1, 3000)),
        "certified": float(Fraction(1999, 3000)),
        "least_seen": 0.7123456789,
        "reason": "",
    }
    assert forward["divisors"][2]["joint"] is None
    assert forward["divisors"][3]["what"] == "pivot 1 of S"
    assert forward["round_off"] == {
        "proved_for": "states",
        "results": {
            "tau": {
                "bound": 9.05e-15,
                "observed": 1e-15,
                "nearest": pytest.approx(0.5),
                "ratio": pytest.approx(4.05),
                "largest": 12.3456,
            }
        },
    }
    assert facts["functions"]["bias_force"]["round_off"]["proved_for"] == "ranges"
    assert "eva" not in facts
    assert proof().facts()["folder"] is None
