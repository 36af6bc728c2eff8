"""Draw docs/how-to/legged-robot.svg: a kick with and without feedback.

The code samples of docs/how-to/legged-robot.md compute the data.

python -m tests.legged_picture
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

from tests.shared.doc_samples import simulated

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "legged-robot.md"
PICTURE = PAGE.with_suffix(".svg")
WITH, WITHOUT = "#0b62a4", "#c2410c"


def draw(with_feedback: Any, without_feedback: Any) -> Any:
    """Draw displacement, height and tilt over time in three rows."""
    mpl.rcParams.update({"svg.hashsalt": "symgen", "font.size": 11, "svg.fonttype": "none"})
    figure, charts = plt.subplots(3, 1, figsize=(7.2, 6.0), sharex=True, layout="constrained")
    for chart, column, scale, label, most in zip(
        charts,
        (1, 2, 3),
        (100, 100, 1),
        ("sideways (cm)", "height (cm)", "tilt (degrees)"),
        ((-2, 10), (-10, 2), (-4, 40)),
        strict=True,
    ):
        for values, colour, name in (
            (without_feedback, WITHOUT, "weight alone"),
            (with_feedback, WITH, "with feedback"),
        ):
            chart.plot(
                [k / 1000 for k in range(len(values))],
                scale * values[:, column],
                color=colour,
                label=name,
                linewidth=2,
            )
        chart.axvline(0.5, color="#6b7280", linewidth=1, linestyle=":")
        chart.set(ylabel=label, ylim=most, xlim=(0, len(with_feedback) / 1000))
        chart.grid(color="#e5e7eb")
        chart.spines[["top", "right"]].set_visible(False)
    charts[0].annotate(
        "kick", (0.5, 8.4), xytext=(6, 0), textcoords="offset points", color="#374151"
    )
    charts[0].legend(loc="center right", frameon=False)
    charts[-1].set_xlabel("time (s)")
    return figure


if __name__ == "__main__":
    names = simulated(PAGE.read_text(encoding="utf-8"))
    draw(names["kept"], names["left"]).savefig(PICTURE, metadata={"Date": None})
    print(f"wrote {PICTURE.relative_to(PAGE.parents[1])}")
