#!/usr/bin/env python3
"""What a job in a container loses to another one on the same servers.

usage: bench/two_containers.py build/yoke [STEPS [ROUNDS]]

Two jobs of two replicas each, of different size, on sets of two servers: each alone; both at once on one set, each in
its container; and both at once, each on a set of its own, which is what sharing the machine costs without sharing the
servers. Figures are medians of updates a second, all of the same call, rounds interleaved. The last column is what
sharing the servers themselves costs: 1.00 is nothing.
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

# As many updates of each as take about the same time.
JOBS = {"small": ("synthetic:100k:10ms", 4 * steps), "large": ("synthetic:4M:20ms", steps)}


def serve(*words):
    process = subprocess.Popen([yoke, "serve", "--listen", "127.0.0.1:0", *words], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    return process, re.search(r" at (\S+)", process.stdout.readline())[1]


def start(at, name, folder):
    return subprocess.Popen([yoke, "launch", "--container", name, "--join", at, "--model", JOBS[name][0], "--steps",
                             str(JOBS[name][1]), "--strategy", "sync", "--replicas", "2", "--quiet", "--report",
                             f"{folder}/{name}.json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rate(name, folder):
    with open(f"{folder}/{name}.json") as file:
        report = json.load(file)
    return report["steps"] / report["wall_seconds"]


def run(places):
    """Runs these jobs at once, each at its address."""
    with tempfile.TemporaryDirectory() as folder:
        for job in [start(at, name, folder) for name, at in places.items()]:
            if job.wait() != 0:
                raise RuntimeError(f"a job of {list(places)} failed")
        return {name: rate(name, folder) for name in places}


servers, sets = [], []
try:
    for _ in range(2):
        first, at = serve("--shard", "0/2")
        servers += [first, serve("--shard", "1/2", "--join", at)[0]]
        sets.append(at)
    alone, apart, together = ({name: [] for name in JOBS} for _ in range(3))
    for _ in range(rounds):
        for name in JOBS:
            alone[name].append(run({name: sets[0]})[name])
        for name, value in run(dict(zip(JOBS, sets))).items():
            apart[name].append(value)
        for name, value in run({name: sets[0] for name in JOBS}).items():
            together[name].append(value)
finally:
    for process in servers:
        process.terminate()
        process.wait()

print(f"{'job':8} {'alone, steps/s':>16} {'at once, own servers':>22} {'one set of servers':>20} {'of own servers':>16}")
for name in JOBS:
    figures = [statistics.median(values[name]) for values in (alone, apart, together)]
    print(f"{name:8} {figures[0]:16.1f} {figures[1]:22.1f} {figures[2]:20.1f} {figures[2] / figures[1]:16.2f}")
