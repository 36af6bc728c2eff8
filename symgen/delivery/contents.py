"""Contents of a folder of C: programs of one mechanism, the options that they were built with, and
measured or proved facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from symgen.delivery import coordinates, drives, loops
from symgen.delivery.cases import SelfTestCase
from symgen.delivery.omissions import Omission, omissions
from symgen.emission.adjustable import Parameter
from symgen.ir.loops import Form
from symgen.ir.program import Bound
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.pipeline.adjusting import make_adjusting
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.target import Target

UNPROVED_PIVOTS = (
    "each pivot of M is compared with half of the inertia of the joint's own link and rotor,"
    " computed from the run-time parameters; it is not proved that round-off is smaller than the"
    " other half"
)
"""Omission of checked functions whose numbers may change at run time."""


@dataclass(frozen=True)
class FolderContents:
    """Programs of a mechanism by function, and the other facts that the folder states.

    `name` replaces the robot's as the C name. `options` and `text` are those of the programs, which
    the manifest records. `evidence` is plain data for the manifest and the README ("cost" and
    "proof": `symgen.delivery.evidence`). `divisor_bounds` are certified bounds of divisors by
    function and row (`Source`). `left_out` has the reasons why other functions are not in the
    folder, `missing` those for requested functions.
    """

    mechanism: Mechanism
    programs: Mapping[str, Form]
    name: str | None = None
    options: ProgramOptions = field(default_factory=ProgramOptions)
    text: TextOptions = PLAIN
    cases: Sequence[SelfTestCase] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def target(self) -> Target:
        """C name, sizes, text options and header lines that all files share."""
        mechanism, options = self.mechanism, self.options
        return Target(
            self.name or mechanism.name,
            mechanism.sizes,
            self.text,
            mechanism.source_sha256,
            options.frames,
            tuple(f"{link}{wrench_remark(mechanism, link)}" for link in options.wrenches),
            (
                *coordinates.of_header(mechanism),
                *drives.of_header(mechanism, options.parameters),
                *loops.of_header(mechanism),
            ),
            coordinates.rates(mechanism),
            options.contacts,
            drives.forces(mechanism, options.parameters),
            "armature" in drives.applied(mechanism, options.parameters),
        )

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Numbers that may change at run time, with their values in the description."""
        if not self.options.parameters:
            return []
        adjusted = make_adjusting(self.mechanism, self.options.parameters)
        defaults = iter(adjusted.defaults)
        return [
            Parameter(
                number.words,
                f"{number.name}: {number.unit}",
                tuple(next(defaults) for _ in range(number.size)),
            )
            for number in adjusted.parameters
        ]

    @cached_property
    def not_modelled(self) -> list[Omission]:
        """Properties of the robot, and parts of the request, that the C leaves out."""
        unproved = self.text.checked and self.options.parameters
        return [
            *omissions(self.mechanism, self.left_out, self.missing),
            *([{"kind": "checks", "text": UNPROVED_PIVOTS}] if unproved else []),
        ]


def wrench_remark(mechanism: Mechanism, link: str) -> str:
    """Return the remark after the name of a link with a wrench: the wrench has no effect on the
    base; "" for other links.
    """
    on_base = mechanism.frame(link).body == BASE
    return " (on the base: no effect)" if on_base else ""
