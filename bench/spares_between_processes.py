#!/usr/bin/env python3
"""What a replica costs that is slow, killed, stopped or throttled, when there is a spare.

usage: bench/spares_between_processes.py build/yoke [STEPS [ROUNDS]]

Every way is run once a round, one after another; the figure is the median of updates a second over the median of the
undisturbed runs of the same call. The disturbance comes from outside, half way through (slow: by flag, all the time).
"""
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

yoke = sys.argv[1]
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def find_replica(launcher, number):
    for pid in children(launcher):
        with open(f"/proc/{pid}/environ", "rb") as file:
            if f"YOKE_REPLICA={number}".encode() in file.read().split(b"\0"):
                return pid
    raise RuntimeError("no such replica")


def status(address):
    return json.loads(subprocess.run([yoke, "status", address, "--json"], capture_output=True, check=True).stdout)


def disturb(how, pid, over):
    if how == "killed":
        os.kill(pid, signal.SIGKILL)
    elif how == "stopped":
        os.kill(pid, signal.SIGSTOP)
    elif how == "throttled":  # a tenth of the time
        while not over.is_set():
            os.kill(pid, signal.SIGSTOP)
            over.wait(0.09)
            os.kill(pid, signal.SIGCONT)
            over.wait(0.01)


def run(how):
    with tempfile.TemporaryDirectory() as folder:
        report = f"{folder}/report.json"
        words = [yoke, "launch", "--replicas", "8", "--spares", "1", "--strategy", "sync", "--check", "--model",
                 "synthetic:1M:20ms", "--steps", str(steps), "--report", report]
        if how == "slow":
            words += ["--slow", "0:10"]
        job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        over = threading.Event()
        worker = None
        lines = []
        for line in job.stdout:
            lines.append(line)
            found = re.search(r"`yoke status (\S+)`", line)
            if found and how not in ("undisturbed", "slow"):
                def work(address=found[1]):
                    while status(address)["step"] < steps // 2:
                        time.sleep(0.05)
                    disturb(how, find_replica(job.pid, 0), over)
                worker = threading.Thread(target=work)
                worker.start()
            if "updates in" in line:
                over.set()
                if how == "stopped":  # it has to end as well
                    os.kill(find_replica(job.pid, 0), signal.SIGCONT)
        code = job.wait()
        over.set()
        if worker:
            worker.join()
        text = "".join(lines)
        if code != 0 or "every promise held" not in text:
            sys.exit(f"{how}: status {code}\n{text}")
        summary = json.load(open(report))
        return summary


ways = ["undisturbed", "slow", "killed", "stopped", "throttled"]
rates = {way: [] for way in ways}
for _ in range(rounds):
    for way in ways:
        report = run(way)
        rates[way].append(report["steps"] / report["wall_seconds"])
base = statistics.median(rates["undisturbed"])
for way in ways:
    rate = statistics.median(rates[way])
    print(f"{way:12} {rate:7.2f} updates/s  {rate / base:5.2f} of undisturbed  ({', '.join(f'{r:.1f}' for r in rates[way])})")
