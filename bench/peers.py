#!/usr/bin/env python3
"""Yoke beside its peers on this machine: all-reduce against Gloo and OpenMPI, push + update + pull against a
ps-lite-like exchange over ZeroMQ, training against PyTorch's DistributedDataParallel on Gloo, and against the limit,
two processes that exchange nothing. (gRPC is beside the transports in transport_bench.) All sides take turns, round by
round; what counts is the ratio of the medians over the rounds. Prints a table; writes results.json and plot.svg.

usage: bench/peers.py --yoke build/yoke --build build [--rounds 5] [--out FOLDER] [--only allreduce,exchange,training]
                      [--quick]
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from html import escape

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 300  # seconds, of every run
COMPILE = ["-O3", "-march=native", "-std=c++20"]
PROGRAMS = {"all_reduce_gloo": ("g++", ["-lgloo", "-pthread"]), "all_reduce_mpi": ("mpicxx", []),
            "exchange_zmq": ("g++", ["-lzmq"])}
# What Yoke sets for itself. Thresholds larger than any tensor here; huge pages where the kernel gives them to who asks.
SAME_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
               "MALLOC_TOP_PAD_": str(64 << 20), "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
MIB = 1 << 20
ALL_REDUCES = [  # words, bytes, processes, iterations, runs a round, at least so many times Gloo and OpenMPI
    ("all-reduce 64 MiB, 2 processes", 64 * MIB, 2, 20, 1, 4, 2.5),
    ("all-reduce 64 MiB, 4 processes", 64 * MIB, 4, 10, 1, 4, 2.5),
    # A run takes milliseconds, and where the host has put the two virtual cores meanwhile makes a difference of 2x.
    ("all-reduce 4 KiB, 2 processes", 4096, 2, 20000, 9, 1, 1),
]
EXCHANGES = [  # Yoke's transport, ZeroMQ's, steps of each, at least so many times as fast
    ("shm", "ipc", 100, 30, 2.5),
    ("tcp", "tcp", 60, 20, 1.1),
]
NETWORKS = [  # name, Yoke's name, batch, steps; mirrored to DDP, sync to DDP, mirrored to the limit
    ("mlp", "mlp:784-512-512-10", 128, 300, 1.8, 1.3, 0.9),
    ("cnn", "cnn", 64, 60, 1.15, 1.0, 0.9),
    ("mlp20m", "mlp:784-4096-4096-10", 32, 40, 2, 1.4, 0.85),
]


class Trouble(Exception):
    """A side did not do what it should."""


class Missing(Exception):
    """A side is not there (yet)."""


class Children:
    """Programs that are run to their end, each in a process group of its own, and ended with this one."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []
        # What the user's shell says about malloc, threads and kernels must not reach one side alone.
        private = re.compile("MALLOC_|GLIBC_TUNABLES|OPENBLAS_|OMP_|MKL_|YOKE_|GLOO_")
        self.environment = {name: value for name, value in os.environ.items() if not private.match(name)}
        self.environment["TMPDIR"] = folder

    def run(self, *commands, environment=None):
        """All of these at once: what each has printed."""
        started = []
        try:
            for words in commands:
                started.append(subprocess.Popen(
                    words, cwd=self.folder, env={**self.environment, **(environment or {})}, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True))
                self.running.append(started[-1])
            outputs = []
            for process, words in zip(started, commands):
                try:
                    output, errors = process.communicate(timeout=PATIENCE)
                except subprocess.TimeoutExpired:
                    raise Trouble(f"{' '.join(words)}\n  did not end within {PATIENCE} s") from None
                if process.returncode != 0:
                    last = "\n  ".join((output + errors).strip().splitlines()[-5:])
                    raise Trouble(f"{' '.join(words)}\n  ended with status {process.returncode}:\n  {last}")
                outputs.append(output + errors)
            return outputs
        finally:
            for process in started:
                end(process)
                self.running.remove(process)

    def figures(self, *commands, environment=None):
        """The same, of programs that print a line of JSON: what stands in it, of those that did."""
        outputs = "\n".join(self.run(*commands, environment=environment))
        found = [json.loads(line) for line in outputs.splitlines() if line.startswith("{")]
        if not found:
            raise Trouble(f"{' '.join(commands[0])}\n  printed no figures")
        return found


def end(process):
    """First in good order, as mpirun and `yoke launch` then take their own children along."""
    if process.poll() is not None:
        return
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience)
            return


def compile_peers(folder, children):
    os.makedirs(folder, exist_ok=True)
    for name, (compiler, libraries) in PROGRAMS.items():
        source, program = os.path.join(HERE, "peers", name + ".cc"), os.path.join(folder, name)
        newest = max(os.path.getmtime(file) for file in (source, os.path.join(HERE, "peers", "figures.h")))
        if not os.path.exists(program) or os.path.getmtime(program) < newest:
            print(f"compiling {name}", flush=True)
            children.run([compiler, *COMPILE, source, "-o", program, *libraries])


class Sides:
    """How each side is run; each method returns one figure and notes all that was printed."""

    def __init__(self, arguments, children, remarks):
        self.build, self.yoke = os.path.abspath(arguments.build), os.path.abspath(arguments.yoke)
        self.children, self.remarks = children, remarks
        self.share = 0.2 if arguments.quick else 1
        self.notes = {}  # by side: what its runs have printed
        said = re.search(r"BLAS kernels (\w+),", children.run([self.yoke, "doctor"])[0])
        self.kernels = {"OPENBLAS_CORETYPE": said.group(1)} if said else {}

    def count(self, number):
        return max(4, int(number * self.share))

    def program(self, name):
        path = os.path.join(self.build, name)
        if not os.path.exists(path):
            raise Missing(f"{name} is not built (yet): left out")
        return path

    def peer(self, name):
        return self.program(os.path.join("peers", name))

    def note(self, side, figures):
        self.notes.setdefault(side, []).append(figures)
        return figures

    # All-reduce: microseconds a call.

    def yoke_all_reduce(self, side, size, ranks, iterations):
        words = [self.program("all_reduce_bench"), "--processes", str(ranks), "--bytes", str(size), "--iterations",
                 str(self.count(iterations))]
        return self.note(side, self.children.figures(words)[0])["median_us"]

    def gloo_all_reduce(self, side, size, ranks, iterations):
        with tempfile.TemporaryDirectory(dir=self.children.folder) as folder:
            commands = [[self.peer("all_reduce_gloo"), "--rank", str(rank), "--size", str(ranks), "--folder", folder,
                         "--bytes", str(size), "--iterations", str(self.count(iterations))] for rank in range(ranks)]
            return self.note(side, self.children.figures(*commands)[0])["median_us"]

    def mpi_all_reduce(self, side, size, ranks, iterations):
        words = ["mpirun", "--oversubscribe", "-n", str(ranks), self.peer("all_reduce_mpi"), "--bytes", str(size),
                 "--iterations", str(self.count(iterations))]
        if os.geteuid() == 0:
            words.insert(1, "--allow-run-as-root")
        return self.note(side, self.children.figures(words)[0])["median_us"]

    # Push, update, pull: milliseconds a step. The mean of many steps on both sides, as Yoke tells no median.

    def zmq_exchange(self, side, transport, steps, io_threads):
        words = [self.peer("exchange_zmq"), "--transport", transport, "--steps", str(self.count(steps)), "--io-threads",
                 str(io_threads)]
        return self.note(side, self.children.figures(words)[0])["mean_ms"]

    def yoke_exchange(self, side, transport, steps):
        took, _ = self.launch(side, steps, "--model", "synthetic:16777216:0ms", "--transport", transport, *SYNC)
        return 1e3 * took

    # Training: samples per second, from the mean step as well.

    def yoke_training(self, side, model, batch, steps, how):
        _, rate = self.launch(side, steps, "--data", "fashion-mnist", "--model", model, "--batch", str(batch), "--lr",
                              "0.01", "--schedule", "constant", "--validation", "0", *how)
        return rate

    def launch(self, side, steps, *flags):
        """Seconds a step and samples a second, of a long run less a short one: what is done once does not count."""
        runs = []
        for length in (self.count(steps) // 4 + 2, self.count(steps) // 4 + 2 + self.count(steps)):
            report = os.path.join(self.children.folder, "report.json")
            self.children.run([self.yoke, "launch", "--optimizer", "sgd", "--momentum", "0.9", "--replicas", "2",
                               "--steps", str(length), "--quiet", "--report", report, *flags])
            with open(report) as file:
                runs.append({name: value for name, value in json.load(file).items()
                             if name in ("steps", "samples", "wall_seconds", "replica")})
            os.remove(report)
        wall, made, samples = (runs[1][name] - runs[0][name] for name in ("wall_seconds", "steps", "samples"))
        self.note(side, runs)
        if wall <= 0 or made <= 0:
            raise Trouble(f"{side}: the longer run took no longer")
        return wall / made, samples / wall

    def ddp(self, side, network, steps, *flags, environment):
        words = ["/usr/bin/python3", os.path.join(HERE, "peers", "ddp.py"), network, "--steps", str(self.count(steps)),
                 "--warmup", str(self.count(steps) // 4 + 2), *flags]
        return self.note(side, self.children.figures(words, environment=environment)[0])["mean_samples_per_second"]

    def limit(self, side, network, model, batch, steps):
        """Two processes at once that know nothing of each other."""
        try:
            words = [self.program("plain_loop_bench"), "--model", model, "--batch", str(batch), "--steps",
                     str(self.count(steps))]
        except Missing:
            remark = "no exchange: plain_loop_bench is not built (yet): the same loop in Python stands in for it"
            if remark not in self.remarks:
                self.remarks.append(remark)
            return self.ddp(side, network, steps, "--no-exchange", "--set-to-none",
                            environment={**self.kernels, **SAME_MALLOC})
        found = self.children.figures(words, words, environment={**self.kernels, **SAME_MALLOC})
        return sum(one["samples_per_second"] for one in self.note(side, found))


SYNC = ["--strategy", "sync", "--spares", "0", "--servers", "1"]
MIRRORED = ["--strategy", "mirrored"]


class Plan:
    """Which sides there are, and which are compared."""

    def __init__(self, sides, only):
        self.groups = []  # each the runs a round and the sides of one work, which take turns: (side, its run)
        self.rows = []
        self.sides = sides
        for group, add in (("allreduce", self.all_reduces), ("exchange", self.exchanges), ("training", self.training)):
            if group in only:
                add()

    def row(self, work, ours, peer, theirs, asked, unit, strict=False):
        self.rows.append({"work": work, "ours": ours, "peer": peer, "theirs": theirs, "asked": asked, "unit": unit,
                          "strict": strict})

    def all_reduces(self):
        for work, size, ranks, iterations, runs, gloo, mpi in ALL_REDUCES:
            ours = f"{work}: yoke"
            group = [(ours, self.sides.yoke_all_reduce, (size, ranks, iterations), {})]
            for peer, run, asked in (("Gloo", self.sides.gloo_all_reduce, gloo),
                                     ("OpenMPI", self.sides.mpi_all_reduce, mpi)):
                group.append((f"{work}: {peer}", run, (size, ranks, iterations), {}))
                self.row(work, ours, peer, [f"{work}: {peer}"], asked, "us")
            self.groups.append((runs, group))

    def exchanges(self):
        for transport, other, steps, peer_steps, asked in EXCHANGES:
            work = f"push, update, pull 64 MiB, {transport}"
            group = [(f"{work}: yoke", self.sides.yoke_exchange, (transport, steps), {})]
            names = []
            for io_threads in (1, 2):
                names.append(f"{work}: ZeroMQ {other}, {io_threads} I/O threads")
                group.append((names[-1], self.sides.zmq_exchange, (other, peer_steps, io_threads), {}))
            self.row(work, f"{work}: yoke", f"ZeroMQ {other}", names, asked, "ms")
            self.groups.append((1, group))

    def training(self):
        for network, model, batch, steps, mirrored, sync, limit in NETWORKS:
            def name(side):
                return f"{network}: {side}"
            kernels = self.sides.kernels
            self.groups.append((1, [
                (name("mirrored"), self.sides.yoke_training, (model, batch, steps, MIRRORED), {}),
                (name("DDP"), self.sides.ddp, (network, steps), {"environment": kernels}),
                (name("sync"), self.sides.yoke_training, (model, batch, steps, SYNC), {}),
                (name("DDP, same malloc"), self.sides.ddp, (network, steps),
                 {"environment": {**kernels, **SAME_MALLOC}}),
                (name("no exchange"), self.sides.limit, (network, model, batch, steps), {}),
                (name("DDP, BLAS as it is"), self.sides.ddp, (network, steps), {"environment": {}}),
            ]))
            for how, peer, side, asked, strict in (
                    ("mirrored", "DDP out of the box", "DDP", mirrored, False),
                    ("mirrored", "DDP, same malloc", "DDP, same malloc", 1, True),
                    ("mirrored", "DDP, BLAS as it is", "DDP, BLAS as it is", None, False),
                    ("mirrored", "no exchange at all", "no exchange", limit, False),
                    ("sync", "DDP out of the box", "DDP", sync, False)):
                self.row(f"{network}, {how}", name(how), peer, [name(side)], asked, "samples/s", strict)


def run_rounds(plan, rounds, remarks):
    """By side the figure of every round; a side that is missing or fails has none."""
    figures, failed = {}, False
    for number in range(rounds):
        for turn, group in [(number + i, group) for runs, group in plan.groups for i in range(runs)]:
            # Every other turn backwards: what warms up or slows down meanwhile hits all alike.
            for side, run, words, flags in group if turn % 2 == 0 else reversed(group):
                try:
                    figures.setdefault(side, []).append(run(side, *words, **flags))
                    print(f"round {number + 1}: {side}: {figures[side][-1]:.4g}", flush=True)
                except (Missing, Trouble) as problem:
                    failed |= isinstance(problem, Trouble)
                    if (remark := f"{side}: {problem}") not in remarks:
                        remarks.append(remark)
                        print(remark, flush=True)
    return {side: values for side, values in figures.items() if values}, failed


def compare(row, figures):
    """Fills in the medians and the ratio: how many times as fast we are. Of several variants the peer's best counts."""
    rate = row["unit"] == "samples/s"
    row.update(our_figure=None, peer_figure=None, ratio=None, met=None)
    if row["ours"] in figures:
        row["our_figure"] = statistics.median(figures[row["ours"]])
    medians = [statistics.median(figures[side]) for side in row["theirs"] if side in figures]
    if medians:
        row["peer_figure"] = (max if rate else min)(medians)
    if row["our_figure"] and row["peer_figure"]:
        ours, theirs = row["our_figure"], row["peer_figure"]
        row["ratio"] = ours / theirs if rate else theirs / ours
        if row["asked"]:
            row["met"] = row["ratio"] > row["asked"] if row["strict"] else row["ratio"] >= row["asked"]


def figure_words(value, unit):
    if value is None:
        return "-"
    if unit == "us" and value >= 1000:
        value, unit = value / 1000, "ms"
    return f"{value:.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def ratio_words(row):
    return "-" if row["ratio"] is None else f"{row['ratio']:.2f}x"


def asked_words(row):
    if not row["asked"]:
        return "-"
    met = "" if row["met"] is None else ", met" if row["met"] else ", missed"
    return f"{'>' if row['strict'] else '>='} {row['asked']}x{met}"


def print_table(rows):
    table = [["work", "ours", "peer", "peer's figure", "ratio", "asked for"]]
    table += [[row["work"], figure_words(row["our_figure"], row["unit"]), row["peer"],
               figure_words(row["peer_figure"], row["unit"]), ratio_words(row), asked_words(row)] for row in rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    table.insert(1, ["-" * width for width in widths])
    for line in table:
        print("| " + " | ".join(word.ljust(width) for word, width in zip(line, widths)) + " |")


def plot(rows, file_name):
    """Bars of the ratios, one a row, with a tick where the bar should reach."""
    rows = [row for row in rows if row["ratio"] is not None]
    left, width, right, height, top = 400, 420, 80, 22, 40
    most = max([1.0] + [max(row["ratio"], row["asked"] or 0) for row in rows]) * 1.05

    def at(ratio):
        return left + width * ratio / most
    bottom = top + height * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + right}" height="{bottom + 30}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="20">how many times as fast as the peer (tick: asked for)</text>',
             f'<line x1="{at(1):.1f}" y1="{top - 6}" x2="{at(1):.1f}" y2="{bottom}" stroke="#999" '
             'stroke-dasharray="3 3"/>',
             f'<text x="{at(1):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#666">1</text>']
    for number, row in enumerate(rows):
        y = top + height * number
        colour = {True: "#4a8f5c", False: "#c9772b", None: "#8899aa"}[row["met"]]
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(row["work"])} / '
                     f'{escape(row["peer"])}</text>')
        parts.append(f'<rect x="{left}" y="{y + 2}" width="{at(row["ratio"]) - left:.1f}" height="{height - 8}" '
                     f'fill="{colour}"/>')
        if row["asked"]:
            parts.append(f'<line x1="{at(row["asked"]):.1f}" y1="{y - 1}" x2="{at(row["asked"]):.1f}" '
                         f'y2="{y + height - 3}" stroke="black" stroke-width="2"/>')
        end_of_bar = at(max(row["ratio"], row["asked"] or 0))
        parts.append(f'<text x="{end_of_bar + 6:.1f}" y="{y + 13}">{row["ratio"]:.2f}</text>')
    with open(file_name, "w") as file:
        file.write("\n".join(parts + ["</svg>", ""]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yoke", default="build/yoke")
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", help="by default the folder peers in that of --build")
    parser.add_argument("--only", default="allreduce,exchange,training")
    parser.add_argument("--quick", action="store_true", help="a fifth of the steps: to see that it runs")
    arguments = parser.parse_args()
    only = arguments.only.split(",")
    if unknown := set(only) - {"allreduce", "exchange", "training"}:
        parser.error(f"--only: there is no {', '.join(unknown)}")
    out = arguments.out or os.path.join(arguments.build, "peers")
    os.makedirs(out, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C: what was started is ended
    folder = tempfile.mkdtemp(prefix="yoke-p", dir="/tmp")  # short: sockets lie in it
    children = Children(folder)
    remarks = []
    try:
        compile_peers(os.path.join(os.path.abspath(arguments.build), "peers"), children)
        sides = Sides(arguments, children, remarks)
        plan = Plan(sides, only)
        figures, failed = run_rounds(plan, arguments.rounds, remarks)
    except KeyboardInterrupt:
        sys.exit(130)
    except Trouble as problem:
        sys.exit(str(problem))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for row in plan.rows:
        compare(row, figures)
    with open(os.path.join(out, "results.json"), "w") as file:
        json.dump({"rounds": arguments.rounds, "quick": arguments.quick, "cores": len(os.sched_getaffinity(0)),
                   "kernels": sides.kernels, "rows": plan.rows, "figures": figures, "remarks": remarks,
                   "runs": sides.notes}, file, indent=1)
    plot(plan.rows, os.path.join(out, "plot.svg"))
    print()
    print_table(plan.rows)
    for remark in remarks:
        print("remark:", remark)
    print(f"in {out}: results.json, plot.svg")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
