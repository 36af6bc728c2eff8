"""The report of a verification as text, plain data and HTML, from checks with given figures."""

from __future__ import annotations

import json
from math import inf, nan

import pytest

from symgen.verification.refusals import lines_by_reason
from symgen.verification.report import Check, Report, precision_loss

GOOD = Check("algebra", "f", 2e-61, 1e-40)
READ = Check("text", "f", 0, 0)
ROUNDED = Check("floating", "f", 1.25, 20, " eps", "largest in tau, state 3")
LOSS = Check("floating", "g", 900.0, 20, " eps", unjudged=precision_loss(2.5e7), lost=True)
UNCOMPILED = Check("floating", "h", 1, 20, " eps", unjudged="not compiled")
WRONG = Check("algebra", "g", 0.5, 1e-40, detail="largest in tau, state 1")


def report(*checks: Check, condition: float = 12.0, **more: object) -> Report:
    return Report("arm", "double", 4, 63, condition, checks, **more)  # type: ignore[arg-type]


# -- verdicts --


@pytest.mark.parametrize(
    ("error", "bound", "unjudged", "lost", "verdict", "mark"),
    [
        (1, 1, "", False, "passed", ""),
        (2, 1, "", False, "failed", " FAILED"),
        (nan, 1, "", False, "failed", " FAILED"),
        (1, 1, "why", False, "not judged", " not judged"),
        (2, 1, "why", False, "failed", " FAILED"),
        (2, 1, "why", True, "not judged", " not judged"),
    ],
)
def test_an_error_beyond_the_bound_fails_unless_it_proves_nothing(
    error: float, bound: float, unjudged: str, lost: bool, verdict: str, mark: str
) -> None:
    check = Check("floating", "f", error, bound, unjudged=unjudged, lost=lost)
    assert (check.verdict, check.mark, check.passed) == (verdict, mark, verdict == "passed")


def test_a_miss_has_three_digits_and_names_a_bound_of_zero() -> None:
    assert ROUNDED.miss == "1.25 eps against 20 eps"
    assert Check("files", "all", 2, 0, " files").miss == "2 files, and 0 are allowed"
    assert Check("algebra", "f", 1.23456, 12345).miss == "1.23 against 1.23e+04"


def test_facts_of_a_check_have_no_infinite_number() -> None:
    assert ROUNDED.facts() == {
        "kind": "floating",
        "subject": "f",
        "verdict": "passed",
        "passed": True,
        "why": "",
        "error": 1.25,
        "bound": 20,
        "unit": " eps",
        "detail": "largest in tau, state 3",
    }
    assert [Check("floating", "f", x, 1).facts()["error"] for x in (inf, -inf, nan)] == [
        "inf",
        "-inf",
        "nan",
    ]


def test_a_function_has_the_worst_verdict_of_its_checks() -> None:
    identity = Check("identities", "f = f", 1, 0)  # no check of one function
    for order in (
        (GOOD, WRONG, LOSS, UNCOMPILED, identity),
        (identity, UNCOMPILED, LOSS, WRONG, GOOD),
    ):
        assert report(*order).verdicts == {"f": "passed", "g": "failed", "h": "not judged"}


def test_checks_are_sorted_by_verdict() -> None:
    outcome = report(GOOD, LOSS, WRONG, UNCOMPILED)
    assert outcome.failures == (WRONG,)
    assert outcome.unjudged == (LOSS, UNCOMPILED)
    assert outcome.lost == ("g",)
    assert outcome.of("floating") == (LOSS, UNCOMPILED)


def test_texts_of_another_version_are_unread_once_for_each_function() -> None:
    old = {"unjudged": "another version wrote it", "lost": True}
    checks = [
        Check(kind, subject, 0, 0, **old)  # type: ignore[arg-type]
        for kind in ("text", "blocks", "device", "floating", "files")
        for subject in ("f", "g")
    ]
    assert report(*checks).unread == ("f", "g")
    assert report(Check("text", "f", 0, 0, unjudged="why")).unread == ()
    assert not report(GOOD, checks[0]).passed


@pytest.mark.parametrize(
    ("checks", "passed"),
    [
        ((), False),
        ((GOOD,), True),
        ((GOOD, UNCOMPILED), True),
        ((GOOD, LOSS), False),
        ((GOOD, WRONG), False),
    ],
)
def test_a_report_passes_without_failures_and_losses(
    checks: tuple[Check, ...], passed: bool
) -> None:
    assert report(*checks).passed is passed


@pytest.mark.parametrize(
    ("checks", "refused", "closing"),
    [
        ((), {}, "nothing was checked"),
        ((GOOD,), {}, "verified"),
        ((GOOD,), {"a": "why", "b": "why"}, "verified, except 2 left out: a, b"),
        ((GOOD, UNCOMPILED), {"a": "why"}, "1 of 2 checks passed, 1 not judged"),
        ((GOOD, WRONG), {"a": "why"}, "1 of 2 checks failed"),
        ((GOOD, WRONG, LOSS), {}, "1 of 3 checks failed, 1 not judged"),
    ],
)
def test_the_closing_sentence_counts_what_was_run(
    checks: tuple[Check, ...], refused: dict[str, str], closing: str
) -> None:
    assert report(*checks, refused=refused).closing == closing


# -- text --


def test_the_text_has_a_table_of_functions_and_a_line_for_each_fault() -> None:
    text = str(
        report(
            GOOD,
            READ,
            ROUNDED,
            WRONG,
            LOSS,
            costs={"f": 120},
            refused={"a": "a of 'arm' needs a frame", "b": "b of 'arm' needs a frame"},
            notes=("a remark",),
        )
    )
    assert text.splitlines() == [
        "arm: 4 states, 63 digits, condition of M up to 1.2e+01, double",
        "",
        "function  operations  algebra       text         floating point (round-offs of bound)",
        "f         120         2e-61         row for row  1.2 of 20",
        "g                     5e-01 FAILED  -            9e+02 of 20 not judged",
        "",
        "left out: a of 'arm' needs a frame; likewise b",
        "a remark",
        "FAILED algebra, g: 0.5 against 1e-40: largest in tau, state 1",
        "not judged floating point, g: precision loss (2.5e+07 round-offs)",
        "arm: 1 of 5 checks failed, 1 not judged",
    ]


def test_the_text_of_a_folder_without_a_condition_number() -> None:
    lines = str(report(GOOD, condition=nan, folder="out/c")).splitlines()
    assert lines[0] == "arm, the folder out/c: 4 states, 63 digits, double"
    assert lines[-1] == "arm: verified"
    assert "row for row" not in "".join(lines)


def test_identities_have_their_own_table_and_large_bounds_two_digits() -> None:
    exact = Check("identities", "ID(FD(tau)) = tau", 3e-70, 1e-40)
    compiled = Check("identities", "ID(FD(tau)) = tau", 2, 1.5e6, " eps")
    alone = Check("identities", "M = Mᵀ", 5, 4, " eps")
    lines = str(report(GOOD, exact, compiled, alone)).splitlines()
    first = lines.index("identity           algebra  compiled (round-offs of bound)")
    assert lines[first + 1 : first + 3] == [
        "ID(FD(tau)) = tau  3e-70    2 of 1.5e+06",
        "M = Mᵀ             -        5 of 4 FAILED",
    ]


def test_passed_checks_of_blocks_devices_and_files_have_one_line_each() -> None:
    single = str(report(GOOD, Check("blocks", "f", 0, 0), Check("device", "f", 0, 0)))
    assert (
        "many states: 1 function, lane by lane the same rows, bit for bit the same results"
        in single
    )
    assert "on a GPU: 1 function, thread by thread the same rows; none was run there" in single
    checks = [Check(kind, name, 0, 0) for kind in ("blocks", "device") for name in "fgh"]
    several = str(report(*checks, Check("files", "all", 0, 0, judged=7)))
    assert "many states: 3 functions," in several
    assert "on a GPU: 3 functions," in several
    assert "files: 7 as symgen prints them, byte for byte" in several
    failed = str(report(GOOD, Check("blocks", "f", 1, 0), Check("files", "all", 0, 0)))
    assert "many states:" not in failed
    assert "as symgen prints them" not in failed
    assert "FAILED many states, f: 1, and 0 are allowed" in failed


def test_facts_are_plain_data() -> None:
    facts = report(GOOD, LOSS, condition=inf, costs={"f": 3}, refused={"a": "why"}).facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts == {
        "robot": "arm",
        "folder": None,
        "passed": False,
        "closing": "1 of 2 checks passed, 1 not judged",
        "functions": {"f": "passed", "g": "not judged"},
        "real": "double",
        "states": 4,
        "digits": 63,
        "condition": "inf",
        "operations": {"f": 3},
        "refused": {"a": "why"},
        "notes": [],
        "checks": [GOOD.facts(), LOSS.facts()],
    }
    assert report(GOOD, folder="c").facts()["folder"] == "c"


def test_html_has_the_tables_and_every_other_line_as_a_paragraph() -> None:
    identity = Check("identities", "a < b", 1e-60, 1e-40)
    html = report(GOOD, WRONG, identity, refused={"a": "a <b> c"}, notes=("x & y",))._repr_html_()
    assert html.count("<table") == 2
    assert "functions with each other" in html
    paragraphs = [line for line in html.splitlines() if line.startswith("<p>")]
    assert paragraphs == [
        "<p>left out: a &lt;b&gt; c</p>",
        "<p>x &amp; y</p>",
        "<p>FAILED algebra, g: 0.5 against 1e-40: largest in tau, state 1</p>",
    ]
    assert report(GOOD)._repr_html_().count("<table") == 1
    assert repr(report(GOOD)) == "<symgen.Report arm: verified; 1 checks at 4 states, double>"


# -- refusals --


def test_equal_reasons_share_a_line() -> None:
    refused = {
        "f": "f of 'arm' needs a frame",
        "g": "too long",
        "h": "h of 'arm' needs a frame",
        "k": "too long",
        "m": "singular",
    }
    assert lines_by_reason(refused) == [
        "f of 'arm' needs a frame; likewise h",
        "g: too long; likewise k",
        "m: singular",
    ]
    assert lines_by_reason({}) == []


def test_a_precision_loss_has_two_digits() -> None:
    assert precision_loss(123456) == "precision loss (1.2e+05 round-offs)"
