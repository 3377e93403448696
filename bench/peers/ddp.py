#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel on Gloo, one process a replica with one thread each: the time of a training step.
Prints a line of JSON: from the median step of all ranks, and from the mean.

usage: bench/peers/ddp.py NETWORK [--processes 2] [--steps 100] [--warmup 20] [--batch B] [--random] [--no-exchange]
                          [--set-to-none]
NETWORK: mlp (784-512-512-10, batch 128), cnn (Yoke's cnn:32-64-128, batch 64), mlp20m (784-4096-4096-10, batch 32)
"""
import argparse
import gzip
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BATCH = {"mlp": 128, "cnn": 64, "mlp20m": 32}
IMAGES = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
LABELS = "/usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz"


def network_of(name):
    import torch
    from torch import nn

    class Pooled(nn.Module):  # as Yoke's cnn pools: faster where the channels of a pixel lie together
        def forward(self, x):
            return nn.functional.max_pool2d(x.contiguous(memory_format=torch.channels_last), 2)

    if name != "cnn":
        hidden = 512 if name == "mlp" else 4096
        return nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                             nn.Linear(hidden, 10))
    layers, channels = [], 1
    for filters in (32, 64, 128):
        layers += [nn.Conv2d(channels, filters, 3, padding=1), Pooled(), nn.ReLU()]
        channels = filters
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 3 * 3, 10))


def samples_of(arguments):
    """This rank's images and labels, in a random order: a batch is then a slice, which costs nothing."""
    import numpy
    import torch
    torch.manual_seed(arguments.rank)
    if arguments.random:
        return torch.randn(8192, 1, 28, 28), torch.randint(10, (8192,))

    def read(name, offset):
        with gzip.open(name) as file:
            return torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=offset).copy())
    order = torch.randperm(60000, generator=torch.Generator().manual_seed(1))[arguments.rank::arguments.processes]
    images = read(IMAGES, 16).view(-1, 1, 28, 28)[order].float()
    return (images - images.mean()) / images.std(), read(LABELS, 8)[order].long()


def replica(arguments):
    import torch
    torch.set_num_threads(1)
    images, labels = samples_of(arguments)
    torch.manual_seed(1)
    network = network_of(arguments.network)
    if not arguments.no_exchange:
        torch.distributed.init_process_group("gloo", init_method=f"file://{arguments.meet}", rank=arguments.rank,
                                             world_size=arguments.processes)
        network = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    batches = len(images) // arguments.batch

    def step(number):
        at = number % batches * arguments.batch
        optimizer.zero_grad(set_to_none=arguments.set_to_none)
        loss = torch.nn.functional.cross_entropy(network(images[at:at + arguments.batch]),
                                                 labels[at:at + arguments.batch])
        loss.backward()
        optimizer.step()
        return loss

    for number in range(arguments.warmup):
        step(number)
    print("ready", flush=True)
    sys.stdin.readline()  # all begin at once, also those that exchange nothing
    times = []
    for number in range(arguments.warmup, arguments.warmup + arguments.steps):
        begin = time.perf_counter()
        loss = step(number)
        times.append(time.perf_counter() - begin)
    loss = loss.item()
    if not loss < 10:
        sys.exit(f"the loss is {loss}")
    print(json.dumps({"times": times, "loss": loss}), flush=True)
    sys.stdin.readline()  # nobody hangs up before all are done


def start(arguments, rank, meet):
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    words = [sys.executable, os.path.abspath(__file__), arguments.network, "--rank", str(rank), "--meet", meet]
    for name in ("processes", "steps", "warmup", "batch"):
        words += [f"--{name}", str(getattr(arguments, name))]
    words += [flag for flag, on in (("--random", arguments.random), ("--no-exchange", arguments.no_exchange),
                                    ("--set-to-none", arguments.set_to_none)) if on]
    return subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(arguments):
    children = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the children are ended
    with tempfile.TemporaryDirectory() as folder:
        try:
            for rank in range(arguments.processes):
                children.append(start(arguments, rank, os.path.join(folder, "meet")))

            def lines():
                found = [child.stdout.readline() for child in children]
                if not all(found):
                    sys.exit("a rank failed")
                for child in children:
                    child.stdin.write("\n")
                    child.stdin.flush()
                return found
            lines()
            done = [json.loads(line) for line in lines()]
            for child in children:
                child.wait(timeout=30)
        finally:
            for child in children:
                if child.poll() is None:
                    child.kill()
    times = [step for rank in done for step in rank["times"]]
    samples = arguments.processes * arguments.batch
    print(json.dumps({"samples_per_second": samples / statistics.median(times),
                      "median_step_ms": 1e3 * statistics.median(times),
                      "mean_samples_per_second": samples / statistics.mean(times),
                      "mean_step_ms": 1e3 * statistics.mean(times), "loss": done[0]["loss"]}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=list(BATCH))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--batch", type=int, help="samples a process and step")
    parser.add_argument("--random", action="store_true", help="random images instead of Fashion-MNIST")
    parser.add_argument("--no-exchange", action="store_true", help="the same loop in processes that know no other")
    parser.add_argument("--set-to-none", action="store_true", help="let go of gradients instead of zeroing them")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--meet", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.batch = arguments.batch or BATCH[arguments.network]
    if arguments.rank is None:
        run(arguments)
    else:
        replica(arguments)


if __name__ == "__main__":
    main()
