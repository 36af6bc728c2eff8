"""`python -m tests.fuzz`: try inputs for some seconds; return 1 and keep the file if one fails."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.engine import CORPUS, Engine, name_of
from tests.fuzz.judging import JUDGES

CASES = Path("build/fuzz")
_LARGEST_KEPT = 2000
_MOST_KEPT = 30
_REPORT = 300


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=60, help="how long, in all formats together"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--format", choices=JUDGES, action="append", help="one format (more than once: several)"
    )
    parser.add_argument(
        "--keep", action="store_true", help="add small inputs that reach new lines to the corpus"
    )
    options = parser.parse_args()
    forms = options.format or list(JUDGES)
    engines = {form: Engine(form, options.seed) for form in forms}
    runs = {form: iter(engine) for form, engine in engines.items()}
    tally: Counter[tuple[str, str]] = Counter()
    failures: dict[str, str] = {}
    start = last = time.monotonic()
    while (now := time.monotonic()) - start < options.seconds:
        if now - last > _REPORT:
            last = now
            _say(tally, engines, failures, now - start)
        for form, run in runs.items():
            for tried in (next(run) for _ in range(25)):
                tally[form, tried.verdict] += 1
                kind = f"{form}: " + re.sub(r"'[^']*'|\d+", "…", tried.failure)[:160]
                if tried.failure and kind not in failures:
                    failures[kind] = _keep_failure(
                        CASES / form / name_of(tried.data, form), tried.data, tried.failure
                    )
                if (
                    options.keep
                    and tried.new_lines
                    and not tried.failure
                    and len(tried.data) <= _LARGEST_KEPT
                ):
                    _add(form, tried.data)
    for engine in engines.values():
        engine.close()
    _say(tally, engines, failures, time.monotonic() - start)
    return 1 if failures else 0


def _keep_failure(path: Path, data: bytes, failure: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"FAILURE {path}: {failure}", flush=True)
    return str(path)


def _add(form: str, data: bytes) -> None:
    folder = CORPUS / form
    path = folder / name_of(data, form)
    if len(list(folder.iterdir())) < _MOST_KEPT and not any(
        path.read_bytes() == data for path in folder.iterdir()
    ):
        path.write_bytes(data)


def _say(
    tally: Counter[tuple[str, str]],
    engines: dict[str, Engine],
    failures: dict[str, str],
    seconds: float,
) -> None:
    for form, engine in engines.items():
        read_count, refused_count, failed_count = (
            tally[form, verdict] for verdict in ("read", "refused", "failed")
        )
        print(
            f"{form}: {read_count + refused_count + failed_count} inputs "
            f"({read_count} read, {refused_count} refused, {failed_count} failed), "
            f"{len(engine.lines)} lines reached, {len(engine.pool)} in the pool",
            flush=True,
        )
    total = sum(tally.values())
    print(f"{total} inputs in {seconds:.0f} s, {len(failures)} kinds of failure", flush=True)


if __name__ == "__main__":
    sys.exit(main())
