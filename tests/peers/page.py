"""`docs/reference/benchmarks.md` and its pictures, from the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from symgen.pages.pictures.comparison import canvas
from tests.peers.contestants import CROWD, DERIVATIVES, FUNCTIONS, PLAIN

DOCS = Path(__file__).parents[2] / "docs"
PAGE, FOLDER = DOCS / "reference" / "benchmarks.md", DOCS / "reference" / "benchmarks"
FIGURES = FOLDER / "figures.json"
COLOURS = {
    "symgen": "#1f5a94",
    "CasADi": "#c46a1b",
    "CppADCodeGen": "#8a9a3b",
    "Pinocchio C++": "#8b6bb1",
    "MuJoCo": "#999999",
}
SHORT = {
    "inverse_dynamics": "inverse dynamics",
    "forward_dynamics": "forward dynamics",
    "mass_matrix": "mass matrix",
    "inverse_mass_matrix": "its inverse",
    "inverse_dynamics_derivatives": "∂ inverse dynamics",
    "forward_dynamics_derivatives": "∂ forward dynamics",
}

HEAD = """# Benchmarks

This page compares symgen's C with other generators and libraries for the same robot, measured in \
one run by `make bench`, which rewrites
this page. Each robot is built joint by joint from one description for all of them, and every \
answer is compared with the reference
before it is timed.

- **symgen, default** is the folder of `symgen generate`, compiled with the flags of its own \
CMake file. **native,
  contracted** is the same with `-DNAME_CONTRACT=ON -DCMAKE_C_FLAGS=-march=native`.
- **CasADi** and **CppADCodeGen** write C of Pinocchio's algorithms (`rnea`, `aba`, `crba`, \
`computeMinverse`) on their scalars,
  CppADCodeGen's tape optimised. It is compiled in several ways, always contracted, and the ratios \
are to the quickest.
- **Pinocchio C++** is its own templates at `-O3 -march=native`; **MuJoCo** the wheel's library, \
whose `mj_forward` does more than
  forward dynamics. MuJoCo has no inverse of the mass matrix.
- Times are nanoseconds a call: medians of {rounds} interleaved rounds over {states} random \
states. **Dependent** calls wait for
  the one before, as in a simulation; the others may overlap in the processor.
"""


OF_DERIVATIVES = """- **∂** are the derivatives: by q, by v, and M or its inverse, three matrices \
in one call. CasADi's C is of
  Pinocchio's analytic ones (`computeRNEADerivatives`, `computeABADerivatives`), which Pinocchio \
C++ calls. CppADCodeGen and
  MuJoCo have none here.
"""


def timed(figures: dict[str, Any]) -> list[str]:
    """The functions that figures of a robot speak of."""
    return [function for function in FUNCTIONS if function in figures]


def shorts(figures: dict[str, Any]) -> list[str]:
    return [SHORT[function] for function in timed(figures)]


def text(figures: dict[str, Any], rounds: int, states: int) -> str:
    head = HEAD.format(rounds=rounds, states=states)
    if any(function in robot for robot in figures["robots"].values() for function in DERIVATIVES):
        head += OF_DERIVATIVES
    lines = [head, *_machine(figures)]
    for robot, robot_figures in figures["robots"].items():
        lines += [
            f"## {robot}\n",
            f"![Times of {robot}](benchmarks/{robot}.svg)\n",
            *_ratios(robot_figures),
            *_times(robot_figures),
            *_blocks(robot_figures),
            *_crowds(robot_figures),
            *_counts(robot_figures),
            *_generation_table(robot_figures),
        ]
    lines += [
        "## Growth\n",
        "Chains of general revolute joints: nanoseconds a call, calls beside each other.\n",
        "![Growth](benchmarks/growth.svg)\n",
        *_growth(figures["growth"]),
        *_gains(figures["gains"]),
    ]
    if figures["absent"]:
        lines += ["## Left out\n", *(f"- {name}: {why}" for name, why in figures["absent"].items())]
    return "\n".join(lines).rstrip("\n") + "\n"


def _machine(figures: dict[str, Any]) -> list[str]:
    facts = figures["machine"]
    times = [
        times
        for robot in figures["robots"].values()
        for f in timed(robot)
        for times in robot[f]["times"].values()
    ]
    busy = (
        f"of the processor's time while it raced: {min(times['share'] for times in times):.0%};"
        f" load up to {max(times['load'] for times in times):.1f}"
    )
    return [
        f"Measured on {figures['date']}.\n",
        *_since(figures),
        *_table(["", ""], [*facts.items(), ("share", busy)]),
        "",
    ]


def _since(figures: dict[str, Any]) -> list[str]:
    """Return a sentence on the timed C, if its operations are not those that are counted."""
    if "counted" not in figures:
        return []
    robots = figures["robots"]
    before = [
        f"{robot} {' / '.join(str(robot_figures[f]['timed']) for f in timed(robot_figures))}"
        for robot, robot_figures in robots.items()
    ]
    functions = shorts(next(iter(robots.values())))
    return [
        f"Operations were counted again on {figures['counted']}."
        " Times and instructions are those of the C that symgen wrote "
        f"before, of these operations ({', '.join(functions)}): {'; '.join(before)}.\n"
    ]


def _table(heads: list[str], rows: list[Any]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        "|" + "---|" * len(heads),
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
    ]


def _ratios(figures: dict[str, Any]) -> list[str]:
    rows = []
    for variant in ("default", "native, contracted"):
        for kind, meant in (("many", "beside each other"), ("chain", "dependent")):
            cells = []
            for function in timed(figures):
                ratio = figures[function]["ratios"].get(f"{variant}, {kind}")
                cells.append(
                    f"**{ratio['median']:.2f}** ({ratio['low']:.2f}–{ratio['high']:.2f})"
                    if ratio
                    else "–"
                )
            rows.append((f"symgen, {variant}", meant, *cells))
    return [
        "Time over that of the quickest generator's C, median of the rounds (quartiles):\n",
        *_table(["", "calls", *shorts(figures)], rows),
        "",
    ]


def _times(figures: dict[str, Any]) -> list[str]:
    names = dict.fromkeys(label for f in timed(figures) for label in figures[f]["times"])
    rows = []
    for label in names:
        times_of_functions = [figures[f]["times"].get(label) for f in timed(figures)]
        rows.append(
            (
                label,
                *(
                    f"{times['ns']:.0f} / {times['latency']:.0f}" if times else "–"
                    for times in times_of_functions
                ),
            )
        )
    return [
        "Nanoseconds a call, beside each other / dependent:\n",
        *_table(["", *shorts(figures)], rows),
        "",
    ]


def _blocks(figures: dict[str, Any]) -> list[str]:
    """Return the table of blocks of states, if they were timed."""
    if "blocks" not in figures:
        return []
    functions = list(figures["blocks"])
    names = dict.fromkeys(label for times in figures["blocks"].values() for label in times)
    rows = [
        (
            label,
            *(
                f"{figures['blocks'][f][label]:.0f}" if label in figures["blocks"][f] else "–"
                for f in functions
            ),
        )
        for label in names
    ]
    return [
        (
            "Nanoseconds a state of many, on one core: symgen's blocks (`--batch`), and the"
            " function of one state in a loop, which is what CasADi's `map` makes of its C, and"
            " what MuJoCo's `rollout` and Pinocchio's OpenMP share out between threads:\n"
        ),
        *_table(["", *(SHORT[f] for f in functions)], rows),
        "",
    ]


def _crowds(figures: dict[str, Any]) -> list[str]:
    """Return the table of many states by each library's own batch interface, if they were timed."""
    if "crowds" not in figures:
        return []
    functions = list(figures["crowds"])
    names = dict.fromkeys(label for times in figures["crowds"].values() for label in times)
    rows = [
        (
            label,
            *(
                f"{figures['crowds'][f][label]:.0f}" if label in figures["crowds"][f] else "–"
                for f in functions
            ),
        )
        for label in names
    ]
    return [
        (
            f"Nanoseconds a state of {CROWD:,} at once, by everybody's own way: symgen's solver in"
            " Python; CasADi's `map`, which is OpenMP over its C, and so are Pinocchio and MuJoCo,"
            " each thread with its own data; symgen's function in JAX, on as many threads as that"
            " likes:\n"
        ),
        *_table(["", *(SHORT[f] for f in functions)], rows),
        "",
    ]


def _counts(figures: dict[str, Any]) -> list[str]:
    peers = dict.fromkeys(peer for f in timed(figures) for peer in figures[f]["operations"])
    rows = [
        (peer, *(figures[f]["operations"].get(peer, "–") for f in timed(figures))) for peer in peers
    ]
    lines = [
        "Operations (multiplications, additions, subtractions, divisions) in the C:\n",
        *_table(["", *shorts(figures)], rows),
        "",
    ]
    names = dict.fromkeys(label for f in timed(figures) for label in figures[f]["instructions"])
    rows = [
        (
            label,
            *(
                f"{figures[f]['instructions'][label]:.0f}"
                if label in figures[f]["instructions"]
                else "–"
                for f in timed(figures)
            ),
        )
        for label in names
    ]
    if rows:
        lines += [
            (
                "Instructions of a call, libm's included, counted by callgrind (`native` is"
                " `x86-64-v3` here, the widest that it knows):\n"
            ),
            *_table(["", *shorts(figures)], rows),
            "",
        ]
    return lines


def _generation_table(figures: dict[str, Any]) -> list[str]:
    rows = []
    for peer, peer_figures in figures["made"].items():
        compiled = {}
        for function in PLAIN:
            for label, times in figures[function]["times"].items():
                if times["peer"] == peer and times["compiled"]:
                    compiled.setdefault(label.partition(", ")[2], []).append(times["compiled"])
        rows += [
            (
                f"{peer}, {variant}",
                f"{peer_figures['seconds']:.2f}",
                f"{peer_figures['text'] / 1000:.0f}",
                f"{sum(seconds):.2f}",
            )
            for variant, seconds in compiled.items()
        ]
    return [
        "From the description to C, and through gcc, the four functions together:\n",
        *_table(["", "generated (s)", "text (kB)", "compiled (s)"], rows),
        "",
    ]


def _growth(growth: dict[str, Any]) -> list[str]:
    lines = []
    for function in ("inverse_dynamics", "forward_dynamics"):
        names = dict.fromkeys(label for times in growth.values() for label in times[function])
        rows = [
            (
                label,
                *(
                    f"{times[function][label]['ns']:.0f}" if label in times[function] else "–"
                    for times in growth.values()
                ),
            )
            for label in names
        ]
        lines += [f"{SHORT[function].capitalize()}:\n", *_table(["joints", *growth], rows), ""]
    return lines


def _gains(gains: dict[str, Any]) -> list[str]:
    ideas = list(next(iter(next(iter(gains.values())).values())))
    rows = []
    for robot, robot_gains in gains.items():
        for function, counts in robot_gains.items():
            more = (counts[idea] - counts["now"] for idea in ideas if idea != "now")
            rows.append((robot, SHORT[function], counts["now"], *more))
    return [
        "## What each idea saves\n",
        "Operations when this table was counted last, and how many more there would be without "
        "one idea. They do not add up: what one leaves another may find.\n",
        *_table(
            ["robot", "function", "operations", *(idea for idea in ideas if idea != "now")], rows
        ),
        "",
    ]


# -- pictures --------------------------------------------------------------------------------------


def draw(figures: dict[str, Any]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for robot, robot_figures in figures["robots"].items():
        canvas(str(FOLDER / f"{robot}.svg"))(
            lambda figure_type, robot_figures=robot_figures: _bars(figure_type, robot_figures)
        )
    canvas(str(FOLDER / "growth.svg"))(lambda figure_type: _lines(figure_type, figures["growth"]))


def _bars(figure_type: Any, robot_figures: dict[str, Any]) -> Any:
    functions = timed(robot_figures)
    figure = figure_type(figsize=(13 * max(1, len(functions) / 5), 6.4), layout="constrained")
    axes = figure.subplots(1, len(functions))
    for chart, function in zip(axes, functions, strict=True):
        bars = _quickest(robot_figures[function]["times"])
        chart.set_title(SHORT[function])
        chart.bar(
            range(len(bars)),
            [ns for _, _, ns in bars],
            color=[COLOURS[peer] for peer, _, _ in bars],
            width=0.75,
        )
        for k, (_, _, ns) in enumerate(bars):
            chart.text(k, ns, f"{ns:.0f}", ha="center", va="bottom", fontsize=11)
        chart.set_xticks(
            range(len(bars)), [label for _, label, _ in bars], rotation=90, fontsize=11
        )
        chart.set_yticks([])
        chart.spines["left"].set_visible(False)
    axes[0].set_ylabel("ns a call")
    return figure


def _quickest(times: dict[str, Any]) -> list[tuple[str, str, float]]:
    """(peer, label, ns): both of symgen's ways, the quickest of everybody else's."""
    quickest = []
    for peer in COLOURS:
        nanoseconds_and_labels = [
            (times_of_one["ns"], label)
            for label, times_of_one in times.items()
            if times_of_one["peer"] == peer
        ]
        for ns, label in (
            nanoseconds_and_labels if peer == "symgen" else sorted(nanoseconds_and_labels)[:1]
        ):
            quickest.append((peer, label.replace(", ", ",\n") if peer == "symgen" else peer, ns))
    return quickest


def _lines(figure_type: Any, growth: dict[str, Any]) -> Any:
    figure = figure_type(figsize=(13, 5.6), layout="constrained")
    axes = figure.subplots(1, 2)
    joints = [int(n) for n in growth]
    for chart, function in zip(axes, ("inverse_dynamics", "forward_dynamics"), strict=True):
        names = dict.fromkeys(label for times in growth.values() for label in times[function])
        for label in names:
            peer, variant = label.partition(", ")[::2]
            at = [
                (n, times[function][label]["ns"])
                for n, times in zip(joints, growth.values(), strict=True)
                if label in times[function]
            ]
            chart.plot(
                *zip(*at, strict=True),
                marker="o",
                color=COLOURS[peer],
                linestyle="--" if variant == "default" else "-",
                label=label if peer == "symgen" else peer,
            )
        chart.set_title(SHORT[function])
        chart.set_xscale("log", base=2)
        chart.set_yscale("log")
        chart.set_xticks(joints, [str(n) for n in joints])
        chart.set_xlabel("joints")
    axes[0].set_ylabel("ns a call")
    axes[1].legend(frameon=False, fontsize=12)
    return figure
