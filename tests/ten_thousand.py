"""Ten thousand links from a CSV file to verified C, with the time of each step.

`python -m tests.ten_thousand` prints the times."""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from random import Random

from symgen.delivery.verifying import verify
from symgen.delivery.writing import generate
from symgen.description.loading import load
from tests.shared.folders import selftest

FUNCTIONS = ("inverse_dynamics=newton_euler", "forward_dynamics=riccati")


def written(count: int, path: Path) -> Path:
    """Write a chain of links with general, all different parameters as a CSV file."""
    random = Random(1)
    spans = (
        (0.1, 0.3),
        (-1.5, 1.5),
        (-0.1, 0.2),
        (-3, 3),
        (0.5, 2),
        *[(-0.1, 0.1)] * 3,
        *[(0.024, 0.036)] * 3,
        *[(-0.002, 0.002)] * 3,
    )
    rows = [",".join(f"{random.uniform(*span):.4f}" for span in spans) for _ in range(count)]
    head = (
        "# name: long\n# convention: mdh\n# gravity: 0 0 -9.81\n"
        "a,alpha,d,theta,mass,cx,cy,cz,ixx,iyy,izz,ixy,ixz,iyz"
    )
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def main() -> None:
    """Print the time of each step; any failure raises an exception."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=10_000)
    count = parser.parse_args().links
    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.perf_counter()

        def tell(step: str) -> None:
            nonlocal began
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"{time.perf_counter() - began:7.1f} s  {step} ({memory:.2f} GB at most so far)",
                flush=True,
            )
            began = time.perf_counter()

        mechanism = load(written(count, folder / "long.csv"))
        tell(f"read {count} links")
        generate(mechanism, folder / "long", FUNCTIONS, form="looped")
        tell("generated")
        ran = selftest(folder / "long")
        tell("compiled by gcc -O1, and its self-test run")
        print(ran.stdout)
        report = verify(folder / "long", [request.partition("=")[0] for request in FUNCTIONS], 1)
        tell("verified" if report.passed else "NOT VERIFIED")
        print(report)


if __name__ == "__main__":
    main()
