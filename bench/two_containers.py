#!/usr/bin/env python3
"""What a job in a container loses to another one on the same servers.

usage: bench/two_containers.py build/yoke [STEPS [ROUNDS]]

Two jobs of two replicas each, of different size, on one set of two servers: each alone, then both at once, once a
round. The figure is the median of updates a second at once over the median alone, of the same call. Models that only
pass time take no core of their own, so 1.00 is what servers with time to spare would give; a job whose passes fill the
servers can lose up to half.
"""
import json
import re
import statistics
import subprocess
import sys
import tempfile

yoke = sys.argv[1]
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 300
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3

JOBS = {"small": "synthetic:100k:10ms", "large": "synthetic:4M:20ms"}


def serve(*words):
    process = subprocess.Popen([yoke, "serve", "--listen", "127.0.0.1:0", *words], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    return process, re.search(r" at (\S+)", process.stdout.readline())[1]


def start(at, name, folder):
    return subprocess.Popen([yoke, "launch", "--container", name, "--join", at, "--model", JOBS[name], "--steps",
                             str(steps), "--strategy", "sync", "--replicas", "2", "--quiet", "--report",
                             f"{folder}/{name}.json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rate(name, folder):
    with open(f"{folder}/{name}.json") as file:
        report = json.load(file)
    return report["steps"] / report["wall_seconds"]


def run(at, names):
    with tempfile.TemporaryDirectory() as folder:
        for job in [start(at, name, folder) for name in names]:
            if job.wait() != 0:
                raise RuntimeError(f"a job of {names} failed")
        return {name: rate(name, folder) for name in names}


first, at = serve("--shard", "0/2")
second, _ = serve("--shard", "1/2", "--join", at)
try:
    alone, at_once = {name: [] for name in JOBS}, {name: [] for name in JOBS}
    for _ in range(rounds):
        for name in JOBS:
            alone[name].append(run(at, [name])[name])
        for name, value in run(at, list(JOBS)).items():
            at_once[name].append(value)
finally:
    for process in (first, second):
        process.terminate()
        process.wait()

print(f"{'job':8} {'alone, steps/s':>16} {'at once':>10} {'ratio':>8}")
for name in JOBS:
    before, after = statistics.median(alone[name]), statistics.median(at_once[name])
    print(f"{name:8} {before:16.1f} {after:10.1f} {after / before:8.2f}")
