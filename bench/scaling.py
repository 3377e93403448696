#!/usr/bin/env python3
"""How samples per second grow with replicas, a process each, on the physical cores of this machine, one a replica:
mirrored, sync and async. Then the same job under sync with a spare while one replica is throttled from outside (stopped
and continued), beside itself undisturbed. Each figure is a long run less a short one, so that what is done once does not
count; the median of the rounds.

usage: bench/scaling.py [--yoke build/yoke] [--data fashion-mnist] [--model cnn] [--batch 64] [--steps 60]
                        [--replicas 1,2,4,8] [--rounds 3] [--out results.json]
"""
import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading

WAYS = {"mirrored": ["--strategy", "mirrored"], "sync": ["--strategy", "sync", "--spares", "0", "--servers", "1"],
        "async": ["--strategy", "async", "--servers", "1"]}


def physical_cores():
    """One logical processor of every core that this process may run on."""
    allowed, seen, cores = os.sched_getaffinity(0), set(), []
    for line in subprocess.run(["lscpu", "-p=CPU,CORE,SOCKET"], capture_output=True, text=True, check=True).stdout.splitlines():
        if not line.startswith("#"):
            cpu, *core = line.split(",")
            if int(cpu) in allowed and tuple(core) not in seen:
                seen.add(tuple(core))
                cores.append(int(cpu))
    return cores


class Runs:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.cores = physical_cores()

    def wall(self, steps, replicas, way, throttle=False):
        report = os.path.join(self.folder, "report.json")
        words = [os.path.abspath(self.arguments.yoke), "launch", "--data", self.arguments.data, "--model",
                 self.arguments.model, "--batch", str(self.arguments.batch), "--lr", "0.001", "--schedule", "constant",
                 "--validation", "0", "--optimizer", "sgd", "--momentum", "0.9", "--replicas", str(replicas), "--steps",
                 str(steps), "--threads-per-replica", "1", "--quiet", "--report", report, *way]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: os.sched_setaffinity(0, self.cores))
        over = threading.Event()
        thief = threading.Thread(target=self.slow_down, args=(process.pid, over)) if throttle else None
        if thief:
            thief.start()
        errors = process.communicate()[1]
        over.set()
        if thief:
            thief.join()
        if process.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{errors}")
        with open(report) as file:
            told = json.load(file)
        return told["wall_seconds"], told["samples"]

    def pace(self, replicas, way, throttle=False, steps=None):
        steps = steps or self.arguments.steps
        short, long = (self.wall(length, replicas, way, throttle) for length in (steps // 4 + 2, steps // 4 + 2 + steps))
        return (long[1] - short[1]) / (long[0] - short[0])

    def slow_down(self, launcher, over):
        """Half of the time the process stands still, 100 ms at a time."""
        victim = None
        while not over.wait(0.1):
            if victim is None:
                victim = self.last_replica_of(launcher)
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGSTOP)
                over.wait(0.1)
                os.kill(victim, signal.SIGCONT)

    @staticmethod
    def last_replica_of(launcher):
        with open(f"/proc/{launcher}/task/{launcher}/children") as file:
            children = [int(number) for number in file.read().split()]
        replicas = []
        for child in children:
            with contextlib.suppress(OSError):
                with open(f"/proc/{child}/cmdline", "rb") as file:
                    if file.read().split(b"\0")[1:2] == [b"replica"]:
                        replicas.append(child)
        return max(replicas) if len(replicas) > 1 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yoke", default="build/yoke")
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--replicas", default="1,2,4,8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    counts = [int(number) for number in arguments.replicas.split(",")]
    with tempfile.TemporaryDirectory(prefix="yoke-s") as folder:
        runs = Runs(arguments, folder)
        print(f"{len(runs.cores)} physical cores: {runs.cores}", flush=True)
        paces = {}
        for number in range(arguments.rounds):
            for way, flags in WAYS.items():
                for count in counts:
                    steps = arguments.steps * (count if way == "async" else 1)
                    paces.setdefault(f"{way} {count}", []).append(runs.pace(count, flags, steps=steps))
                    print(f"round {number + 1}: {way}, {count} replicas: {paces[f'{way} {count}'][-1]:.0f} samples/s", flush=True)
            most = counts[-1]
            spare = ["--strategy", "sync", "--spares", "1", "--servers", "1"]
            for name, throttle in (("spare", False), ("spare, one throttled", True)):
                paces.setdefault(name, []).append(runs.pace(most, spare, throttle))
                print(f"round {number + 1}: {name}: {paces[name][-1]:.0f} samples/s", flush=True)
    medians = {name: statistics.median(values) for name, values in paces.items()}
    for way in WAYS:
        base = medians[f"{way} {counts[0]}"]
        print(f"{way:9}" + "  ".join(f"{count}: {medians[f'{way} {count}'] / base:.2f}x" for count in counts))
    print(f"sync, {counts[-1]} replicas with a spare, one throttled: "
          f"{medians['spare, one throttled'] / medians['spare']:.2f} of undisturbed")
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"cores": runs.cores, "medians": medians, "rounds": paces}, file, indent=1)


if __name__ == "__main__":
    main()
