"""Are the bytes the same when a job is killed and continued? Many runs, killed by SIGKILL at random instants."""

from __future__ import annotations

import argparse
import collections
import tempfile
from pathlib import Path

from killing import CASES, Undisturbed, make_inputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first run, which is its seed")
    parser.add_argument("--cases", help="comma between the names; default all")
    options = parser.parse_args()
    names = options.cases.split(",") if options.cases else [case.name for case in CASES]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        make_inputs(root)
        cases = [Undisturbed(case, root) for case in CASES if case.name in names]
        runs, hits, kills, wrong = (collections.Counter() for _ in range(4))
        for number in range(options.first, options.first + options.runs):
            undisturbed = cases[number % len(cases)]
            instants, differing = undisturbed.kill_and_continue(number)
            name = undisturbed.case.name
            runs[name] += 1
            hits[name] += bool(instants)
            kills[name] += len(instants)
            wrong[name] += bool(differing)
            if differing:
                print(f"run {number}: {name}, killed at {instants}: {', '.join(differing)} differ")
    print("| job | runs | of these killed | kills | runs with differing bytes |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in (*runs, "all"):
        row = [counter.total() if name == "all" else counter[name] for counter in (runs, hits, kills, wrong)]
        print(f"| {name} | {' | '.join(map(str, row))} |")
    raise SystemExit(1 if wrong.total() else 0)


if __name__ == "__main__":
    main()
