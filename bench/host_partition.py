#!/usr/bin/env python3
"""How long a job is without a step when the host of its first server is cut off from all others for a while, and how
long after that until it is of use again: a server in a network namespace of its own, whose link is taken down.

usage: host_partition.py YOKE [TRIALS] [SECONDS]     as root; with an address of this run's own, so that many may run
"""
import json
import os
import statistics
import subprocess
import sys
import time

from running_job import History, Job, Trouble, now, wait_for


class Apart:
    """A network namespace with one link to here, as long as this is."""

    def __init__(self):
        number = os.getpid() % 60000
        self.name, self.link = f"yoke{number}", f"yk{number}"
        self.here, self.there = (f"10.{200 + number // 16384}.{number // 64 % 256}.{number % 64 * 4 + end}" for end in (1, 2))

    def ip(self, *words, inside=False):
        subprocess.run(["ip", *(["-n", self.name] if inside else []), *words], check=True)

    def __enter__(self):
        self.ip("netns", "add", self.name)
        self.ip("link", "add", self.link, "type", "veth", "peer", "name", "e0", "netns", self.name)
        self.ip("addr", "add", f"{self.here}/30", "dev", self.link)
        self.ip("link", "set", self.link, "up")
        self.ip("addr", "add", f"{self.there}/30", "dev", "e0", inside=True)
        self.ip("link", "set", "lo", "up", inside=True)
        self.ip("link", "set", "e0", "up", inside=True)
        return self

    def __exit__(self, *_):
        self.ip("netns", "del", self.name)


def output_of(job, number):
    with open(job.path(f"output-{number}"), errors="replace") as file:
        return file.read()


def trial(yoke, apart, seconds):
    with Job(yoke) as job:
        meet = f"{apart.here}:7000"
        job.start("coordinator", "--listen", meet, "--servers", "2", "--backups", "1", "--store", job.path("store"),
                  "--insecure")
        serve = ("server", "--coordinator", meet, "--insecure")
        job.start(*serve, "--listen", f"{apart.there}:7001", "--history", job.path("h-1"),
                  prefix=("ip", "netns", "exec", apart.name))
        wait_for("the first server", lambda: output_of(job, 1))  # whoever comes first is the first
        for number in 2, 3, 4:
            job.start(*serve, "--listen", f"{apart.here}:{7000 + number}", "--history", job.path(f"h-{number}"))
        for _ in range(4):
            job.start("replica", "--coordinator", meet, "--replicas", "4", "--spares", "1", "--shards", "2",
                      "--strategy", "sync", "--model", "synthetic:1M:20ms", "--steps", "1000000", "--insecure")
        backed = f"shard 0 has a backup, at tcp:{apart.there}"
        wait_for("backups", lambda: all(f"shard {shard} has a backup" in output_of(job, 0) for shard in (0, 1)))
        if "this is the primary of shard 0" not in output_of(job, 1):
            raise Trouble("the server that is to be cut off is not the first")
        history = History(job.path("h-*"))
        wait_for("steps", lambda: len(history.read().commits) > 60)
        cut = now()
        apart.ip("link", "set", "e0", "down", inside=True)
        time.sleep(seconds)
        apart.ip("link", "set", "e0", "up", inside=True)
        healed = now()
        wait_for("the server to be a backup", lambda: backed in output_of(job, 0), 60, 0.002)
        back = now() - healed
        wait_for("more steps", lambda: history.read().commits[-1] > now() - 0.1 and now() > healed + 1)
        commits = [cut, *(at for at in history.commits if at > cut)]
        return max(b - a for a, b in zip(commits, commits[1:])), back


def main():
    yoke = sys.argv[1]
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    pauses, backs = [], []
    with Apart() as apart:
        for _ in range(trials):
            pause, back = trial(yoke, apart, seconds)
            pauses.append(pause)
            backs.append(back)
            print(f"{pause:.2f} s without a step, {back:.2f} s until it is a backup", file=sys.stderr, flush=True)
    print(json.dumps({"what": "host partition", "trials": trials, "seconds": seconds,
                      "median_s": round(statistics.median(pauses), 3), "worst_s": round(max(pauses), 3),
                      "healed_median_s": round(statistics.median(backs), 3), "healed_worst_s": round(max(backs), 3)}))


if __name__ == "__main__":
    main()
