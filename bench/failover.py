#!/usr/bin/env python3
"""How long a job of real processes is without a step when a server or the coordinator is lost, or cut off; and what
backups cost while nobody is.

usage: failover.py YOKE FAULT_PROXY WHAT [TRIALS]     WHAT: backup, checkpoint, coordinator, partition, cost
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "chaos"))
from chaotic_job import ChaoticJob, Trouble, now, wait_for  # noqa: E402


class WithoutBackups(ChaoticJob):
    """What is lost with a server comes from the newest checkpoint."""

    def coordinator_words(self, _):
        words = super().coordinator_words(_)
        words[words.index("--backups") + 1] = "0"
        return words


def settle(job, what, condition, within=60):
    def look():
        job.look()
        for line in job.coordinator.lines():
            job.views.hear(line)
        job.history.read()
        return condition()

    return wait_for(what, look, within, 0.005)


def whole(job):
    return not job.views.unfilled() and job.all_count()


def next_step(job, since, within=60):
    settle(job, "the next step", lambda: job.commits_after(since) > 0, within)
    return min(at for at in job.history.commits if at > since) - since


def trial(job, what, number):
    primary = job.views.primary(number % job.args.servers)
    if what in ("backup", "checkpoint"):
        at = now()
        primary.kill()
        return next_step(job, at)
    if what == "coordinator":
        at = now()
        job.coordinator.kill()
        settle(job, "steps without it", lambda: job.commits_after(at) > 20)
        times = [at, *(one for one in job.history.commits if one > at)][:20]
        return max(b - a for a, b in zip(times, times[1:]))
    at = now()  # nobody reaches it; what it has dialled itself stands
    primary.tell("cut", "both")
    while now() < at + 10:
        job.look()
        job.history.read()
        time.sleep(0.01)
    primary.heal()
    healed = now()
    next_step(job, healed)
    settle(job, "all to be well again", lambda: whole(job), 90)
    job.healed.append(now() - healed)
    times = [at, *(one for one in job.history.commits if one > at)]
    return max(b - a for a, b in zip(times, times[1:]))


def bytes_between(servers):
    """What these processes have sent each other over TCP, by the kernel's count; 0 where ss does not say it."""
    pids = {server.process.pid for server in servers}
    if not shutil.which("ss"):
        return 0
    said = subprocess.run(["ss", "-tinpH", "state", "established"], capture_output=True, text=True, check=True).stdout
    sockets = {}  # (local, peer): process, bytes sent
    for place, pid, details in re.findall(r"^\S+\s+\S+\s+(\S+\s+\S+)\s.*?pid=(\d+).*\n(.*)", said, re.MULTILINE):
        sent = re.search(r"bytes_sent:(\d+)", details)
        sockets[tuple(place.split())] = int(pid), int(sent[1]) if sent else 0
    return sum(sent for (local, peer), (pid, sent) in sockets.items()
               if pid in pids and sockets.get((peer, local), (0, 0))[0] in pids)


def cost(args, rounds):
    """The time of a step without and with backups, in turns; and what goes between the servers in a step."""
    args.replicas, args.spares = 2, 0
    args.job_words = ["--shards", "2", "--model", "synthetic:20M:50ms", "--steps", "1000000", "--momentum", "0.9"]
    times, sent = {0: [], 1: []}, {0: [], 1: []}
    for number in range(rounds):
        for backups in (0, 1) if number % 2 == 0 else (1, 0):
            job = (ChaoticJob if backups else WithoutBackups)(args)
            with job:
                settle(job, "all to be well", lambda: job.all_count() and (not backups or whole(job)), 90)
                quiet = now()
                settle(job, "some steps", lambda: job.commits_after(quiet) > 10)
                bytes_before, steps_before = bytes_between(job.servers), len(job.history.commits)
                time.sleep(12)
                job.history.read()
                bytes_after, commits = bytes_between(job.servers), job.history.commits[steps_before:]
                times[backups].append((commits[-1] - commits[0]) / (len(commits) - 1))
                sent[backups].append((bytes_after - bytes_before) / len(commits))
                job.stop()
                settle(job, "the end", job.ended, 60)
            job.remove()
            print(f"backups {backups}: {1e3 * times[backups][-1]:.1f} ms a step, {sent[backups][-1] / 1e6:.2f} MB "
                  f"between servers", file=sys.stderr, flush=True)
    ratios = [b / a for a, b in zip(times[0], times[1])]
    print(json.dumps({"what": "cost", "rounds": rounds, "step_without_s": statistics.median(times[0]),
                      "step_with_s": statistics.median(times[1]), "ratio": statistics.median(ratios),
                      "ratios": ratios, "bytes_without": statistics.median(sent[0]),
                      "bytes_with": statistics.median(sent[1]), "gradient_bytes": 4 * 20_000_000}))
    return 0


def main():
    yoke, proxy, what = sys.argv[1:4]
    trials = int(sys.argv[4]) if len(sys.argv) > 4 else 50
    words = ["--shards", "2", "--model", "synthetic:1M:20ms", "--steps", "1000000"]
    args = argparse.Namespace(yoke=yoke, proxy=proxy if what == "partition" else "", seed=1, servers=2, replicas=4,
                              spares=1, static=False, coordinator_words=[], server_words=[], job_words=words)
    if what == "cost":
        return cost(args, int(sys.argv[4]) if len(sys.argv) > 4 else 5)
    kind = ChaoticJob
    if what == "checkpoint":
        kind = WithoutBackups
    job = kind(args)
    if what == "checkpoint":
        args.server_words = ["--checkpoint", job.path("kept"), "--every", "50steps"]
    job.healed = []
    pauses = []
    with job:
        for number in range(trials):
            if what == "checkpoint":
                begun = now()
                settle(job, "steps", lambda: job.commits_after(begun) > 80 and job.all_count(), 90)
            else:
                settle(job, "all to be well", lambda: whole(job), 90)
                quiet = now()
                settle(job, "some steps", lambda: job.commits_after(quiet) > 20)
            pauses.append(trial(job, what, number))
            if job.crashes:
                raise Trouble(job.crashes[0])
        steps = [b - a for a, b in zip(job.history.commits[20:200], job.history.commits[21:200])]
        job.stop()
        settle(job, "the end", job.ended, 60)
        held, said = job.check()
    print(json.dumps({"what": what, "trials": trials, "median_s": round(statistics.median(pauses), 4),
                      "worst_s": round(max(pauses), 4), "normal_step_s": round(statistics.median(steps), 4),
                      "healed_median_s": round(statistics.median(job.healed), 3) if job.healed else None,
                      "healed_worst_s": round(max(job.healed), 3) if job.healed else None, "promises": held}))
    if not held:
        print(said)
    job.remove()
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
