"""Draw docs/how-to/lqr.svg: Panda released away from its goal.

The code samples of docs/how-to/lqr.md compute the data.

python -m tests.lqr_picture
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

from tests.shared.doc_samples import simulated

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "lqr.md"
PICTURE = PAGE.with_suffix(".svg")


def draw(with_derivatives: Any, without_derivatives: Any) -> Any:
    """Draw the distances of the joints from their goal over time, in two columns."""
    mpl.rcParams.update({"svg.hashsalt": "symgen", "font.size": 11, "svg.fonttype": "none"})
    figure, charts = plt.subplots(1, 2, figsize=(8.2, 3.4), sharey=True, layout="constrained")
    for chart, values, title in zip(
        charts,
        (with_derivatives, without_derivatives),
        ("gains from derivatives", "without them"),
        strict=True,
    ):
        for k in range(7):
            chart.plot(
                [i / 1000 for i in range(len(values))],
                values[:, k],
                label=f"joint {k + 1}",
                linewidth=1.8,
            )
        chart.axhline(0, color="#6b7280", linewidth=1, linestyle=":")
        chart.set(title=title, xlabel="time (s)", xlim=(0, len(values) / 1000), ylim=(-1.2, 1.2))
        chart.grid(color="#e5e7eb")
        chart.spines[["top", "right"]].set_visible(False)
    charts[0].set_ylabel("from its goal (rad)")
    charts[0].legend(loc="lower right", frameon=False, ncols=2, fontsize=9)
    return figure


if __name__ == "__main__":
    names = simulated(PAGE.read_text(encoding="utf-8"))
    draw(names["kept"], names["left"]).savefig(PICTURE, metadata={"Date": None})
