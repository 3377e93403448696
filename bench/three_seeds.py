#!/usr/bin/env python3
"""Each strategy on Fashion-MNIST with the CNN, 4 replicas, 3 epochs, over several seeds: test accuracy, mean and spread.

usage: bench/three_seeds.py YOKE OUT.csv [--seeds 1,2,3] [--data fashion-mnist] [--epochs 3]
"""
import argparse
import concurrent.futures
import csv
import json
import os
import statistics
import subprocess
import tempfile

WAYS = [
    ("mirrored", ["--strategy", "mirrored"]),
    ("sync", ["--strategy", "sync"]),
    ("sync, 1 spare", ["--strategy", "sync", "--spares", "1"]),
    ("async", ["--strategy", "async"]),
    ("async, scaled", ["--strategy", "async", "--stale", "scale", "--momentum", "0.5"]),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("yoke")
    parser.add_argument("out")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--epochs", default="3")
    parser.add_argument("--at-once", type=int, default=1, help="jobs side by side, where there are cores for it")
    arguments = parser.parse_args()
    def run(job):
        seed, (name, flags) = job
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "report.json")
            subprocess.run([arguments.yoke, "train", "--data", arguments.data, "--model", "cnn", "--replicas", "4",
                            "--epochs", arguments.epochs, "--seed", seed, "--quiet", "--report", file, *flags],
                           check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if not os.path.exists(file):
                return {"way": name, "seed": seed, "test_accuracy": 0, "wall_seconds": 0}  # it diverged
            with open(file) as stream:
                report = json.load(stream)
        row = {"way": name, "seed": seed, "test_accuracy": report["test_accuracy"],
               "validation_accuracy": report["validation_accuracy"], "wall_seconds": report["wall_seconds"],
               "mean_staleness": report["staleness"]["mean"]}
        print(row, flush=True)
        return row

    jobs = [(seed, way) for seed in arguments.seeds.split(",") for way in WAYS]
    with concurrent.futures.ThreadPoolExecutor(arguments.at_once) as pool:
        rows = list(pool.map(run, jobs))
    with open(arguments.out, "w", newline="") as stream:
        writer = csv.DictWriter(stream, max(rows, key=len).keys())
        writer.writeheader()
        writer.writerows(rows)
    print("| | test accuracy | seconds |\n|---|---|---|")
    for name, _ in WAYS:
        found = [row["test_accuracy"] for row in rows if row["way"] == name]
        seconds = [row["wall_seconds"] for row in rows if row["way"] == name]
        deviation = statistics.stdev(found) if len(found) > 1 else 0
        print(f"| {name} | {statistics.mean(found):.4f} ± {deviation:.4f} (lowest {min(found):.4f}) | "
              f"{statistics.mean(seconds):.0f} |")


if __name__ == "__main__":
    main()
