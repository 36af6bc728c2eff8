"""Facts of a command as JSON that every reader accepts."""

from __future__ import annotations

import json
from fractions import Fraction
from types import MappingProxyType

from symgen.cli.commands._sharing import as_json


def test_numbers_that_json_lacks_are_null_or_decimal_at_every_depth() -> None:
    facts = {
        "a": Fraction(1, 4),
        2: [float("nan"), (float("inf"), -float("inf"), 1.5)],
        "c": MappingProxyType({"d": [{"e": Fraction(-3, 2)}], "f": None, "g": True}),
    }
    assert json.loads(as_json(facts)) == {
        "a": 0.25,
        "2": [None, [None, None, 1.5]],
        "c": {"d": [{"e": -1.5}], "f": None, "g": True},
    }
    assert as_json(["ψ"]) == '[\n  "ψ"\n]'
