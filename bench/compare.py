#!/usr/bin/env python3
"""The textbook's comparison: one slow replica in eight, under every strategy and remedy; time to a validation accuracy and
the accuracy reached, over several seeds. Writes a table and the curves as csv, and prints the table for docs/comparison.md.

usage: bench/compare.py YOKE OUT_FOLDER [--seeds 1,2,3] [--slow 7:20] [--data fashion-mnist] [--model cnn:8-16]
                        [--epochs 2] [--target 0.85] [--only NAME,...]
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import tempfile

# Name, what it is, flags.
WAYS = [
    ("even", "sync, all replicas equal (what it should be)", ["--strategy", "sync"]),
    ("sync", "sync", ["--strategy", "sync"]),
    ("spare", "sync, 1 spare", ["--strategy", "sync", "--spares", "1"]),
    ("async", "async, stale gradients as they are", ["--strategy", "async"]),
    ("rate", "async, a quarter of the rate", ["--strategy", "async", "--lr", "{quarter}"]),
    ("drop", "async, staler than 10 dropped", ["--strategy", "async", "--stale", "drop", "--max-staleness", "10"]),
    ("scale", "async, scaled by 1/(1+s)", ["--strategy", "async", "--stale", "scale"]),
    ("bound", "async, at most 4 ahead of the slowest", ["--strategy", "async", "--max-lead", "4"]),
    ("warmup", "async, the first epoch alone", ["--strategy", "async", "--warmup-epochs", "1"]),
    ("batch", "async, batch 128", ["--strategy", "async", "--batch", "128"]),
    ("delay", "async, delay compensation", ["--strategy", "async", "--delay-compensation", "0.1"]),
    ("both", "async, scaled, and staler than 10 dropped",
     ["--strategy", "async", "--stale", "scale", "--max-staleness", "10"]),
]
LR = 0.2  # plain SGD, so that what is seen is staleness and not what momentum makes of it


def run(arguments, way, seed):
    name, _, flags = way
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [arguments.yoke, "train", "--data", arguments.data, "--model", arguments.model, "--replicas", "8",
                   "--batch", "32", "--epochs", str(arguments.epochs), "--lr", str(LR), "--momentum", "0", "--validation", "0.1",
                   "--validate-every", str(arguments.every), "--seed", str(seed), "--quiet", "--report", report]
        if name != "even":
            command += ["--slow", arguments.slow]
        for flag in flags:  # a flag that is said again replaces the one before
            flag = flag.format(quarter=LR / 4)
            if flag.startswith("--") and flag in command:
                at = command.index(flag)
                del command[at:at + 2]
            command.append(flag)
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:  # gradients that are not finite are refused, until no replica is left
            print(name, seed, done.stderr.strip().splitlines()[-1:], flush=True)
            return None
        with open(report) as file:
            return json.load(file)


def spread(values, digits):
    if any(value is None for value in values):
        return f"{sum(value is not None for value in values)} of {len(values)} reached it"
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("yoke")
    parser.add_argument("out")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--slow", default="7:20")
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--model", default="cnn:8-16")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--every", type=int, default=9000)
    parser.add_argument("--target", type=float, default=0.85)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    only = [name for name in arguments.only.split(",") if name]
    rows, curves = [], []
    # Seeds outside, ways inside: what else the machine does meanwhile hits all of them alike.
    for seed in map(int, arguments.seeds.split(",")):
        for way in WAYS:
            if only and way[0] not in only:
                continue
            report = run(arguments, way, seed)
            if report is None:
                rows.append({"way": way[0], "seed": seed, "best_validation": None})
                continue
            reached = next((p["seconds"] for p in report["curve"] if (p["accuracy"] or 0) >= arguments.target), None)
            best = max(p["accuracy"] or 0 for p in report["curve"])
            slow = report["replica"][int(arguments.slow.split(":")[0])]
            rows.append({"way": way[0], "seed": seed, "seconds_to_target": reached, "best_validation": best,
                         "test_accuracy": report["test_accuracy"], "wall_seconds": report["wall_seconds"],
                         "samples_per_second": report["samples_per_second"],
                         "dropped": report["gradients"]["dropped"], "mean_staleness": report["staleness"]["mean"],
                         "max_staleness": report["staleness"]["max"],
                         "slow_replica_staleness": slow["mean_staleness"], "slow_replica_dropped": slow["dropped"]})
            curves += [{"way": way[0], "seed": seed, **{k: p[k] for k in ("seconds", "step", "samples", "loss", "accuracy")}}
                       for p in report["curve"]]
            print(rows[-1], flush=True)
    for name, table in (("comparison.csv", rows), ("curves.csv", curves)):
        with open(os.path.join(arguments.out, name), "w", newline="") as file:
            writer = csv.DictWriter(file, max((list(row) for row in table), key=len))
            writer.writeheader()
            writer.writerows(table)
    print(f"| | seconds to {arguments.target} | best held out | test | samples/s | mean staleness | dropped |")
    print("|---|---|---|---|---|---|---|")
    for name, words, _ in WAYS:
        mine = [row for row in rows if row["way"] == name]
        if not mine:
            continue
        if any(row["best_validation"] is None for row in mine):
            failed = sum(row["best_validation"] is None for row in mine)
            print(f"| {words} | {failed} of {len(mine)} ended in gradients that are not finite | | | | | |")
            continue
        print(f"| {words} | {spread([r['seconds_to_target'] for r in mine], 1)} | "
              f"{spread([r['best_validation'] for r in mine], 4)} | {spread([r['test_accuracy'] for r in mine], 4)} | "
              f"{statistics.mean(r['samples_per_second'] for r in mine):.0f} | "
              f"{statistics.mean(r['mean_staleness'] for r in mine):.1f} | "
              f"{statistics.mean(r['dropped'] for r in mine):.0f} |")


if __name__ == "__main__":
    main()
