#!/usr/bin/env python3
"""Says which stage of 'tare quantize' takes how much time, by sampling: seconds by the clock, and of all processors.

usage: scripts/profile_quantize.py build/release/bin/tare quantize MODEL --data SAMPLES -o OUT --threads 2

Needs Linux's perf. A sample belongs to the stage that the main thread is in. Code that oneDNN makes while the program runs
has no names, and stacks end there; such a sample belongs to the stage of the one before it.
"""
import bisect
import collections
import os
import re
import subprocess
import sys
import tempfile

HERTZ = 50
# The innermost of these functions on the stack is the stage.
STAGES = {
    "equalization_factors": "equalization",
    "Stages::independent_table": "ranges for sensitivities",
    "sensitivities": "sensitivities",
    "error_together": "trials of plans",
    "best_plan_within": "search of plans",
    "decide_levels": "sequential schedule, runs and ranges",
    "round_weights": "sequential schedule, rounding",
    "put_least_sensitive": "choice of calibrators",
    "exchange_candidates": "choice of calibrators",
    "compare_result": "verdict",
}
FUNCTION = re.compile(r"\b(" + "|".join(map(re.escape, STAGES)) + r")(?:\[abi|\(|$| )")


def samples(command):
    """Time, thread and stack of each, outermost function first."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        subprocess.run(["perf", "record", "-q", "-o", data, "-e", "cpu-clock", "-F", str(HERTZ), "--call-graph", "dwarf,65528",
                        *command], check=True)
        text = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "tid,time,ip,sym"], check=True,
                              capture_output=True, text=True).stdout
    for block in text.split("\n\n"):
        first, *stack = block.strip().split("\n")
        found = re.match(r"\s*(\d+)\s+([\d.]+):", first)
        if found:
            yield float(found[2]), int(found[1]), stack[::-1]


def is_whole(stack):
    return any("_start" in line for line in stack[:2])


def stage_of(stack):
    """Nothing where the stack does not begin where the thread does."""
    if not is_whole(stack):
        return None
    for line in reversed(stack):
        found = FUNCTION.search(line)
        if found:
            return STAGES[found[1]]
    return "all else"


def without_gaps(stages):
    after = list(stages)
    for i in range(len(after) - 2, -1, -1):
        after[i] = after[i] if after[i] is not None else after[i + 1]
    before = "all else"
    result = []
    for stage, next_one in zip(stages, after):
        if stage is not None:
            before = stage
        elif before == "all else":
            before = next_one or before
        result.append(before)
    return result


def main():
    all_samples = sorted(samples(sys.argv[1:]), key=lambda sample: sample[0])
    # Files are first opened in a child, whose samples are few.
    thread = collections.Counter(own for _, own, stack in all_samples if is_whole(stack)).most_common(1)[0][0]
    times = [time for time, own, _ in all_samples if own == thread]
    stages = without_gaps([stage_of(stack) for _, own, stack in all_samples if own == thread])
    wall = collections.Counter()
    for time, end, stage in zip(times, times[1:] + [all_samples[-1][0]], stages):
        wall[stage] += end - time
    processors = collections.Counter()
    for time, _, _ in all_samples:
        processors[stages[max(bisect.bisect_right(times, time) - 1, 0)]] += 1 / HERTZ
    print(f"{'stage':40} {'seconds':>8} {'CPU':>8}")
    for stage, seconds in wall.most_common():
        print(f"{stage:40} {seconds:8.2f} {processors[stage]:8.2f}")
    print(f"{'together':40} {sum(wall.values()):8.2f} {sum(processors.values()):8.2f}")


if __name__ == "__main__":
    main()
