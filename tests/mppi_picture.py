"""Draw docs/how-to/mppi.svg: swing-up of an arm with weak motors.

The code samples of docs/how-to/mppi.md compute the data.

python -m tests.mppi_picture
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

from tests.shared.doc_samples import simulated

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "mppi.md"
PICTURE = PAGE.with_suffix(".svg")


def draw(swung: Any, pulled: Any, dt: float) -> Any:
    """Draw the heights of the links over time, in two columns."""
    mpl.rcParams.update({"svg.hashsalt": "symgen", "font.size": 11, "svg.fonttype": "none"})
    figure, charts = plt.subplots(1, 2, figsize=(8.2, 3.4), sharey=True, layout="constrained")
    for chart, values, title in zip(
        charts, (swung, pulled), ("sampled plans", "a spring and a damper"), strict=True
    ):
        for k in range(2):
            chart.plot(
                [i * dt for i in range(len(values))],
                values[:, k],
                label=f"link {k + 1}",
                linewidth=1.8,
            )
        chart.axhline(1, color="#6b7280", linewidth=1, linestyle=":")
        chart.set(title=title, xlabel="time (s)", xlim=(0, len(values) * dt), ylim=(-1.1, 1.1))
        chart.grid(color="#e5e7eb")
        chart.spines[["top", "right"]].set_visible(False)
    charts[0].set_ylabel("hangs −1, stands 1")
    charts[1].legend(loc="upper right", frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    names = simulated(PAGE.read_text(encoding="utf-8"))
    swung, pulled = (names["heights"](names[way]) for way in ("swung", "pulled"))
    draw(swung, pulled, names["dt"]).savefig(PICTURE, metadata={"Date": None})
