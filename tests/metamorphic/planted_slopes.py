"""Errors planted in the derivatives of the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from symgen.reference import differentials, jets, mechanics
from symgen.reference.precision import Array

Patch = pytest.MonkeyPatch


def slopes_of_the_base(patch: Patch) -> None:
    """A floating root moves along the axes of the base instead of those of the body."""
    was = jets.displaced_argument

    def moved_by_axes_of_the_base(
        motion: jets.Motion, name: str, values: Array, directions: Array
    ) -> Array:
        moved_values = was(motion, name, values, directions)
        if name in jets.POSITIONS:
            with motion.scalars.working():
                moved_values[..., :3] = jets.seeded(
                    values[..., :3] + 0 * directions[0, ..., :3],
                    directions[..., :3],
                    motion.scalars,
                )
        return moved_values

    patch.setattr(jets, "displaced_argument", moved_by_axes_of_the_base)
    patch.setattr(differentials, "displaced_argument", moved_by_axes_of_the_base)


def first_result_alone(patch: Patch) -> None:
    """Only the weights of the first result count."""
    was = differentials._weighted_derivatives
    patch.setattr(
        differentials,
        "_weighted_derivatives",
        lambda blocks, arguments: was(
            {x: dict([next(iter(block.items()))]) for x, block in blocks.items()}, arguments
        ),
    )


def half_a_hessian(patch: Patch) -> None:
    """Second derivatives are the coefficients of the power series, without their factor."""
    was = differentials._gradient_changes
    patch.setattr(
        differentials,
        "_gradient_changes",
        lambda *arguments: {name: values / 2 for name, values in was(*arguments).items()},
    )


def _also(patch: Patch, more: Callable[[Mapping[str, Array]], Array]) -> None:
    """Add an error to the change of forces along a change of the arguments."""
    was = differentials._directional

    def along(
        reference: object,
        function: str,
        by: object,
        changed_names: object,
        arguments: Mapping[str, Array],
    ) -> dict[str, Array]:
        return {
            name: values + more(arguments)
            for name, values in was(reference, function, by, changed_names, arguments).items()
        }

    patch.setattr(differentials, "_directional", along)


def springs(patch: Patch) -> None:
    """A spring in every joint, whatever the unit of its coordinate is."""
    _also(patch, lambda arguments: arguments["dq"] / 1024)


def dampers(patch: Patch) -> None:
    _also(patch, lambda arguments: arguments["dv"] / 1024)


def bends(patch: Patch) -> None:
    """A derivative along a change has the square of the change in it."""
    _also(patch, lambda arguments: arguments["da"] ** 2)


def counts_rounds(patch: Patch) -> None:
    """Derivatives of forces grow with the number of full turns of an angle."""
    _also(patch, lambda arguments: arguments["q"][..., 2:3] / 1024 + 0 * arguments["dq"])


def slopes_without_the_load(patch: Patch) -> None:
    """Derivatives of inverse dynamics omit the load."""
    was = differentials._directional

    def along(
        reference: mechanics.Reference,
        function: str,
        by: object,
        changes: Mapping[str, Array],
        arguments: Mapping[str, Array],
    ) -> dict[str, Array]:
        lighter = {
            name: 0 * values if name == "payload" else values for name, values in changes.items()
        }
        return was(reference, function, by, lighter, arguments)

    patch.setattr(differentials, "_directional", along)


OF_SLOPES: tuple[tuple[Callable[[Patch], None], str, str, str], ...] = (
    (slopes_of_the_base, "floating", "derivatives_followed", "forward_kinematics:jacobian"),
    (slopes_of_the_base, "floating", "set_down_elsewhere", "center_of_mass:jvp"),
    (first_result_alone, "tree", "derivatives_followed", "mass_matrix_and_bias:vjp"),
    (half_a_hessian, "tree", "derivatives_followed", "inverse_dynamics:hvp"),
    (springs, "tree", "units_rescaled", "inverse_dynamics:jvp"),
    (springs, "tree", "everything_at_once", "inverse_dynamics:jvp"),
    (dampers, "tree", "time_reversed", "inverse_dynamics:jvp"),
    (bends, "tree", "superposed", "inverse_dynamics:jvp"),
    (counts_rounds, "tree", "turned_round", "inverse_dynamics:jvp"),
    (slopes_without_the_load, "tree", "payload_declared", "inverse_dynamics:jvp"),
)
"""Error, mechanism that shows it, relation that it breaks, and derivative that it breaks."""
