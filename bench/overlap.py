#!/usr/bin/env python3
"""How much of the exchange is hidden behind the computation: one server and one replica on two hosts (network
namespaces), with a link of 1 Gbit/s between them, and a network of 20 layers of 1024 x 1024. The batch is chosen so that
computing takes about as long as the bytes of one step take one way (the link carries both ways at once).

By the times that the replica records (--timeline): when each gradient was ready, when computing began and ended.
- Without any overlap a step takes compute + push + pull.
- At best (a synchronous step cannot begin before the one before is whole): the link begins with the first gradient and
  is never idle, all but the last block comes back meanwhile, and forward begins when that is back, too. The replay of
  the recorded times says how long that takes.
- Hidden is what the measured step takes less than the first, as a share of what the second does.
- The bound for any order and any protocol: the first layer's gradient is ready last and its values are needed first, so
  one block of it goes and comes back in between; and the link carries all of a step's bytes in every step.

With `--strategy async` nothing can come back before the whole gradient is there: values follow in the order of the forward
pass, which begins with the first of them. There it is told how long a step takes beside one whose forward pass begins when
all are there.

usage (as root): bench/overlap.py [--yoke build/yoke] [--strategy sync|async] [--batch B] [--steps 12] [--out FOLDER]
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from saturation import ON_THE_WIRE, RATE, Network, end

LAYERS = 20
MODEL = "mlp:784-" + "-".join(["1024"] * (LAYERS + 1)) + "-10"
SIZES = [784 * 1024, 1024] + [1024 * 1024, 1024] * LAYERS + [1024 * 10, 10]  # of the slots, in forward order
BLOCK = 1 << 20
PORT = 7000


def seconds_for(floats):
    return floats * 4 * ON_THE_WIRE / RATE


def run(yoke, strategy, network, batch, steps, folder):
    """The replica's spans by step: name, begin and end in seconds."""
    server = f"{network.address(0)}:{PORT}"
    timeline = os.path.join(folder, "timeline.json")
    running = []
    with open(os.path.join(folder, "output"), "w") as output:
        try:
            running.append(network.start(0, [yoke, "server", "--listen", server, "--insecure", "--quiet"], output))
            replica = network.start(1, [
                yoke, "replica", "--join", server, "--replicas", "1", "--strategy", strategy, "--data", "fashion-mnist",
                "--model", MODEL, "--batch", str(batch), "--steps", str(steps), "--lr", "0.001", "--momentum", "0.9",
                "--optimizer", "sgd", "--schedule", "constant", "--validation", "0", "--insecure", "--quiet", "--timeline", timeline], output)
            running.append(replica)
            if replica.wait(timeout=600) != 0:
                output.flush()
                with open(output.name) as said:
                    sys.exit(f"the replica failed:\n{said.read()[-2000:]}")
        finally:
            end(running)
    spans = {}
    with open(timeline) as file:
        for event in json.load(file)["traceEvents"]:
            if event["ph"] == "X":
                spans.setdefault(event["args"]["step"], []).append(
                    (event["name"], event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6))
    return spans


def look_at(spans):
    """A step from the beginning of its computation to the beginning of the next one, for all steps but the first and
    the last ones."""
    steps = sorted(step for step, all_of_it in spans.items() if any(name == "compute" for name, _, _ in all_of_it))
    begin = {step: min(a for name, a, _ in spans[step] if name == "compute") for step in steps}
    found = []
    for step, following in list(zip(steps, steps[1:]))[2:-1]:
        compute = next((a, b) for name, a, b in spans[step] if name == "compute")
        pushes = sorted(a - begin[step] for name, a, _ in spans[step] if name == "push")
        # Where it begins before all values are there, it waits for some of them.
        waits = sum(b - a for name, a, b in spans[step] if name == "pull" and a >= compute[0])
        found.append({"took": begin[following] - begin[step], "compute": compute[1] - compute[0] - waits,
                      "ready": [at - waits for at in pushes]})
    return found


def last_is_pushed(ready):
    """When the whole gradient has gone over a link that begins with the first of it, from the beginning of the step."""
    uplink = 0.0
    for at, floats in zip(ready, reversed(SIZES)):
        uplink = max(uplink, at) + seconds_for(floats)
    return uplink


def at_best(compute, ready):
    """Replays the recorded times over a link that is never idle: when all is back, from the beginning of the step."""
    sizes = list(reversed(SIZES))  # gradients come the last layer first; a slot a push
    uplink = downlink = 0.0
    for at, floats in zip(ready, sizes):
        left = floats
        while left > 0:
            block = min(left, BLOCK // 4)
            uplink = max(uplink, at) + seconds_for(block)
            downlink = max(downlink, uplink) + seconds_for(block)
            left -= block
    return max(compute, downlink)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yoke", default="build/yoke")
    parser.add_argument("--strategy", choices=["sync", "async"], default="sync")
    parser.add_argument("--batch", type=int, help="by default found by a short run")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--out", help="a folder for overlap.json")
    arguments = parser.parse_args()
    yoke = os.path.abspath(arguments.yoke)
    one_way = seconds_for(sum(SIZES))
    folder = tempfile.mkdtemp(prefix="yoke-o")
    try:
        with Network(2) as network:
            batch = arguments.batch
            if not batch:
                few, many = (
                    statistics.median(
                        step["compute"] for step in look_at(run(yoke, arguments.strategy, network, size, 7, folder)))
                    for size in (64, 256))
                each = (many - few) / 192
                batch = max(16, round((one_way - (few - 64 * each)) / each))
            steps = look_at(run(yoke, arguments.strategy, network, batch, arguments.steps, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    middle = {name: statistics.median(step[name] for step in steps) for name in ("took", "compute")}
    if arguments.strategy == "async":
        pushed = statistics.median(last_is_pushed(step["ready"]) for step in steps)
        print(f"{sum(SIZES) * 4 / 1e6:.0f} MB each way take {one_way:.3f} s; batch {batch}: computing takes "
              f"{middle['compute']:.3f} s, the gradient is there after {pushed:.3f} s\n"
              f"a step takes {middle['took']:.3f} s; with a forward pass that waits for all values it would take "
              f"{pushed + one_way:.3f} s")
        return
    best = statistics.median(at_best(step["compute"], step["ready"]) for step in steps)
    apart = middle["compute"] + 2 * one_way
    hidden = (apart - middle["took"]) / (apart - best)
    bound = max(middle["compute"], one_way) + 2 * seconds_for(BLOCK // 4)
    of_bound = (apart - middle["took"]) / (apart - bound)
    result = {"batch": batch, "one_way_s": one_way, "compute_s": middle["compute"], "step_s": middle["took"],
              "without_overlap_s": apart, "at_best_s": best, "hidden": hidden,
              "bound_s": bound, "hidden_of_bound": of_bound}
    print(f"{sum(SIZES) * 4 / 1e6:.0f} MB each way take {one_way:.3f} s; batch {batch}: computing takes {middle['compute']:.3f} s\n"
          f"a step without overlap would take {apart:.3f} s, at best {best:.3f} s; it takes {middle['took']:.3f} s: "
          f"{hidden:.0%} of what could be hidden is\n"
          f"no order and no protocol could take less than {bound:.3f} s: {of_bound:.0%} of that")
    if arguments.out:
        os.makedirs(arguments.out, exist_ok=True)
        with open(os.path.join(arguments.out, "overlap.json"), "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
