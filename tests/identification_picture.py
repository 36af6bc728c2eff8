"""Draw docs/how-to/identification.svg: errors of base parameters, and measured and predicted
torque.

The code samples of docs/how-to/identification.md compute the data.

python -m tests.identification_picture
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("svg")
from matplotlib import pyplot as plt

from tests.shared.doc_samples import simulated

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "identification.md"
PICTURE = PAGE.with_suffix(".svg")
JOINT = 3


def draw(names: dict[str, Any]) -> Any:
    """Draw the errors in standard deviations, and below them the torque of one joint."""
    mpl.rcParams.update({"svg.hashsalt": "symgen", "font.size": 11, "svg.fonttype": "none"})
    figure, (above, below) = plt.subplots(2, 1, figsize=(8.2, 5.4), layout="constrained")
    errors, count = names["off"], len(names["off"])
    above.axhspan(-1, 1, color="#dbeafe")
    above.bar(np.arange(1, count + 1), errors, color="#0b62a4", width=0.7)
    above.set(
        title="each base parameter: found less true, in its own standard deviations",
        xlabel="base parameter",
        xlim=(0, count + 1),
        ylim=(-3, 3),
    )
    times = names["TIMES"]
    exact = names["solver"].inverse_dynamics(names["q"], names["v"], names["a"])[:, JOINT]
    noisy = exact + names["NOISE"][JOINT] * np.random.default_rng(3).normal(size=len(exact))
    below.plot(
        times[::4], noisy[::4], ".", color="#9ca3af", markersize=3, label="a measurement of it"
    )
    below.plot(
        times,
        names["told"][:, JOINT],
        color="#c2410c",
        linewidth=1.8,
        label="foretold by what was found",
    )
    below.set(
        title=f"torque of joint {JOINT + 1} on a motion that was not measured",
        xlabel="time (s)",
        ylabel="N·m",
        xlim=(times[0], times[-1]),
    )
    below.legend(loc="lower right", frameon=False)
    for chart in (above, below):
        chart.grid(color="#e5e7eb")
        chart.set_axisbelow(True)
        chart.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    draw(simulated(PAGE.read_text(encoding="utf-8"))).savefig(PICTURE, metadata={"Date": None})
