"""How long does a million judgments take, stage by stage, from the command line?

`juryrank simulate` draws 1,000,000 judgments of 500 items by 20 judges into Parquet; `juryrank rank --json` ranks them
with BT-sigma. The stages are the command's own progress lines; wall time and peak memory are the operating system's,
process start included.

    python benchmarks/million_judgments.py [rows]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scipy.stats import kendalltau


def command(*arguments: str) -> tuple[str, str, float]:
    """Run juryrank; standard output, standard error, wall seconds."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "juryrank", *arguments], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr, time.perf_counter() - start


def main(rows: str = "1000000") -> None:
    with tempfile.TemporaryDirectory() as folder:
        votes, truth = str(Path(folder) / "votes.parquet"), str(Path(folder) / "truth.json")
        drawn = ("--items", "500", "--judges", "20", "--rows", rows, "--truth", truth)
        _, _, seconds = command("simulate", "-o", votes, *drawn)
        print(f"simulate: {seconds:.1f} s, {Path(votes).stat().st_size / 1e6:.1f} MB")
        for options in ([], ["--model", "bt"], ["--on", "showings"]):
            out, err, seconds = command("rank", votes, "--json", *options)
            document = json.loads(out)
            strengths = json.loads(Path(truth).read_text())["strengths"]
            rows_of = {row["item"]: row["strength"] for row in document["ranking"]}
            tau = kendalltau([rows_of[i] for i in strengths], list(strengths.values())).statistic
            stages = "; ".join(line for line in err.splitlines() if line.endswith(" s"))
            print(f"\nrank {' '.join(options) or '(default)'}: {seconds:.1f} s wall, Kendall tau to the truth {tau:.3f}")
            print(f"  {stages}\n  converged {document['fit']['converged']}, {document['fit']['iterations']} iterations")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(f"\npeak memory of the largest process: {peak:.2f} GB")


if __name__ == "__main__":
    main(*sys.argv[1:])
