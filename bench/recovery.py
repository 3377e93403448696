#!/usr/bin/env python3
"""How long a job needs to get over a loss, and what being ready for it costs.

usage: bench/recovery.py COMMAND [--yoke build/yoke] [--trials N] [--json] [--seed N] [more: COMMAND --help]

  kill     kill -9 of a replica: to the next completed step, and from the start of its next life to its first gradient
           that counts; with a spare and without, or (--strategy mirrored) without servers
  stop     SIGSTOP of a replica: until it is taken for gone; SIGCONT: until it counts again
  cut      a cable pulled between two hosts, which are network namespaces (needs root): the same
  churn    kill -9 of a random replica every 2 s: the rate against undisturbed runs before and after, promises, hangs
  learn    the same on real data, each seed with and without the kills: test accuracy, promises, hangs
  resume   kill -9 of everything at random moments, and --resume: the same model bit for bit
  cost     step time with a history, and while a checkpoint is written, against none

Real processes, started as a user starts them. Times are those of the first server's part of the history (mirrored: of
the replicas' parts), which is read while it is written, on the clock that this script has, too. A job that does not do
what it should ends the measurement with its last words and status 1; what was measured until then is printed.
"""
import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

from running_job import History, Job, Trouble, kill, now, started_at, state, wait_for

FOREVER = ("--steps", "100000000")


class Figures:
    """What was measured: lists of numbers by name, each with its unit and what it should stay below."""

    def __init__(self):
        self.rows = {}
        self.words = []

    def add(self, name, value, unit="ms", goal=None):
        row = self.rows.setdefault(name, {"unit": unit, "goal": goal, "values": []})
        row["values"].append(value)

    def say(self, text):
        self.words.append(text)

    def table(self):
        lines = ["| what | trials | median | worst | goal |", "|---|---|---|---|---|"]
        for name, row in self.rows.items():
            values, unit = row["values"], row["unit"]
            goal = "" if row["goal"] is None else f"{row['goal']:g} {unit}"
            lines.append(f"| {name} | {len(values)} | {statistics.median(values):.4g} {unit} | "
                         f"{max(values):.4g} {unit} | {goal} |")
        return "\n".join(lines if self.rows else []) + "\n" + "\n".join(self.words)

    def as_json(self):
        return json.dumps({"figures": self.rows, "words": self.words})


def progress(text):
    print(text, file=sys.stderr, flush=True)


def counting(history, replicas):
    """Whether all of these are in, and a gradient of each has counted."""
    history.read()
    lives = [history.life(replica) for replica in replicas]
    return all(life and life in history.counted and life not in history.left for life in lives)


def counts_again(history, replica, former):
    """Its next life, once a gradient of it has counted."""
    life = history.read().life(replica)
    return life if life and life != former and life in history.counted else None


def last_words(job):
    """Ends a launched job as a user does, and holds it against the promises."""
    kill(job.launcher.pid, signal.SIGTERM)
    job.finish(job.launcher, status=143)
    if "every promise held" not in job.output():
        raise Trouble("the promises were not checked, or broken:\n" + job.output()[-3000:])


# --- kill ---


def kill_one(job, history, replica, figures, name):
    """Kills one replica after a while of quiet, and waits until its next life counts."""
    quiet_since = now()
    time.sleep(random.uniform(0.5, 1.0))
    process, former = job.replicas()[replica], history.read().life(replica)
    at = now()
    kill(process)
    wait_for("the next steps", lambda: len([when for when in history.read().commits if when > at]) >= 4)
    normal = statistics.median(history.steps_between(quiet_since, at))
    next_step = min(when for when in history.commits if when > at)
    before = max(when for when in history.commits if when <= at)
    around = history.steps_between(before, [when for when in history.commits if when > at][3])
    figures.add(f"{name}: a normal step", 1e3 * normal)
    figures.add(f"{name}: kill to the next completed step", 1e3 * (next_step - at))
    figures.add(f"{name}: kill to the next completed step, less a normal step", 1e3 * (next_step - at - normal),
                goal=50)
    figures.add(f"{name}: longest of the 4 steps around the kill, less a normal step", 1e3 * (max(around) - normal),
                goal=50)
    again = wait_for("the next life's process", lambda: replaced(job, replica, process))
    began = started_at(again)
    life = wait_for(f"a gradient of replica {replica}'s next life", lambda: counts_again(history, replica, former))
    figures.add(f"{name}: start of the next life to joined", 1e3 * (history.joined[life] - began))
    figures.add(f"{name}: start of the next life to its first counted gradient", 1e3 * (history.counted[life] - began))


def replaced(job, replica, process):
    pid = job.replicas().get(replica)
    return pid if pid != process else None


def kill_in_a_job(args, spares, replicas, figures, name):
    """One job, in which each of these is killed once: so every restart comes after the shortest pause."""
    mirrored = args.strategy == "mirrored"
    central = () if mirrored else ("--spares", str(spares), "--servers", "2")
    with Job(args.yoke) as job:
        job.launch("--replicas", "8", *central, "--strategy", args.strategy, "--transport", "shm", "--model", args.model,
                   "--restarts", "1", "--check", *FOREVER)
        history = job.history("r*" if mirrored else "s0")
        for replica in replicas:
            try:
                wait_for("all replicas", lambda: counting(history, range(8)))
                kill_one(job, history, replica, figures, name)
            except Trouble as trouble:
                raise Trouble(f"{trouble}\n{job.output()[-3000:]}") from None
        last_words(job)


def measure_kill(args, figures):
    for spares in args.spares if args.strategy == "sync" else [0]:
        name = args.strategy if args.strategy != "sync" else f"{spares} spare" if spares else "no spare"
        left = args.trials
        while left > 0:
            replicas = random.sample(range(8), min(8, left))
            kill_in_a_job(args, spares, replicas, figures, name)
            left -= len(replicas)
            progress(f"kill, {name}: {args.trials - left} of {args.trials}")


# --- stop and cut ---


def away_and_back(history, processes, replicas, go, come, figures, name, goal):
    """`go` takes these replicas away, `come` lets them come back: how long each thing takes to be noticed."""

    def back(replica):
        if state(processes[replica]) in (None, "Z"):
            raise Trouble(f"replica {replica} ended instead of coming back")
        return counts_again(history, replica, former[replica])

    wait_for("all replicas", lambda: counting(history, replicas))
    time.sleep(random.uniform(0.5, 2.5))
    former = {replica: history.read().life(replica) for replica in replicas}
    gone_at = {}
    for replica in replicas:
        gone_at[replica] = now()
        go(replica)
    wait_for("all to be taken for gone", lambda: all(life in history.read().left for life in former.values()), 60)
    for replica in replicas:
        figures.add(f"{name}, until it is gone", history.left[former[replica]] - gone_at[replica], "s", goal)
    time.sleep(random.uniform(0, 1))
    back_at = {}
    for replica in replicas:
        back_at[replica] = now()
        come(replica)
    for replica in replicas:
        life = wait_for(f"replica {replica} to count again", lambda: back(replica), 60)
        figures.add(f"{name}, once it is back, until it counts again", history.counted[life] - back_at[replica], "s")


def measure_stop(args, figures):
    total = args.at_once + 7
    figures.say(f"One job of {total} replicas, {args.at_once} of them spares; {args.at_once} random ones at once are "
                "stopped, and go on when all are taken for gone.")
    with Job(args.yoke) as job:
        job.launch("--replicas", str(total), "--spares", str(args.at_once), "--servers", "2", "--strategy", "sync",
                   "--transport", "shm", "--model", args.model, "--check", *FOREVER)
        history = job.history()
        wait_for("all replicas", lambda: counting(history, range(total)))
        processes = job.replicas()
        for done in range(0, args.trials, args.at_once):
            some = random.sample(range(total), min(args.at_once, args.trials - done))
            try:
                away_and_back(history, processes, some, lambda replica: kill(processes[replica], signal.SIGSTOP),
                              lambda replica: kill(processes[replica], signal.SIGCONT), figures, "SIGSTOP", 10)
            except Trouble as trouble:
                raise Trouble(f"{trouble}\n{job.output()[-3000:]}") from None
            progress(f"stop: {done + len(some)} of {args.trials}")
        last_words(job)


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Trouble(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Hosts:
    """Hosts at one switch, each a network namespace; number 0 has the address 10.79.0.1, and so on."""

    def __init__(self, count):
        self.switch = f"yoker{os.getpid()}s"
        self.names = [f"yoker{os.getpid()}h{i}" for i in range(count)]

    def __enter__(self):
        try:
            ip("netns", "add", self.switch)
            ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
            ip("-n", self.switch, "link", "set", "bridge", "up")
            for i in range(len(self.names)):
                self.plug_in(i)
        except Trouble:
            self.__exit__()
            raise
        return self

    def plug_in(self, i):
        name = self.names[i]
        ip("netns", "add", name)
        ip("link", "add", f"port{i}", "netns", self.switch, "type", "veth", "peer", "name", "cable", "netns", name)
        ip("-n", self.switch, "link", "set", f"port{i}", "master", "bridge", "up")
        ip("-n", name, "addr", "add", f"{self.address(i)}/24", "dev", "cable")
        ip("-n", name, "link", "set", "cable", "up")
        ip("-n", name, "link", "set", "lo", "up")

    def __exit__(self, *_):
        for name in (*self.names, self.switch):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    @staticmethod
    def address(i):
        return f"10.79.0.{i + 1}"

    def on(self, i):
        return ("ip", "netns", "exec", self.names[i])

    def cable(self, i, way):
        ip("-n", self.switch, "link", "set", f"port{i}", way)


def measure_cut(args, figures):
    total = args.at_once + 3
    figures.say(f"Two servers and 3 replicas on one host, and {args.at_once} hosts with a replica each, TCP through "
                f"one switch; {args.at_once} spares. At the switch the ports of all {args.at_once} go down at once, "
                "and up when all are taken for gone.")
    with Hosts(args.at_once + 1) as hosts, Job(args.yoke) as job:
        first = f"{hosts.address(0)}:7411"
        job.start("server", "--listen", first, "--shard", "0/2", "--insecure", "--history", "s0", prefix=hosts.on(0))
        job.start("server", "--listen", f"{hosts.address(0)}:7412", "--shard", "1/2", "--join", first, "--insecure",
                  "--history", "s1", prefix=hosts.on(0))
        for replica in range(total):  # number i on host i, those beyond them on the servers' host
            host = replica + 1 if replica < args.at_once else 0
            job.start("replica", "--join", first, "--replica", str(replica), "--replicas", str(total), "--spares",
                      str(args.at_once), "--strategy", "sync", "--insecure", "--model", args.model, "--history",
                      f"r{replica}", *FOREVER, prefix=hosts.on(host))
        history = History(job.path("s0"))
        processes = [process.pid for process in job.processes[2:]]
        for done in range(0, args.trials, args.at_once):
            some = range(min(args.at_once, args.trials - done))
            try:
                wait_for("all replicas", lambda: counting(history, range(total)))
                away_and_back(history, processes, some, lambda replica: hosts.cable(replica + 1, "down"),
                              lambda replica: hosts.cable(replica + 1, "up"), figures, "cut", 4)
            except Trouble as trouble:
                raise Trouble(f"{trouble}\n{job.output()[-3000:]}") from None
            progress(f"cut: {done + len(some)} of {args.trials}")
        kill(job.processes[-1].pid, signal.SIGTERM)
        for process in job.processes:
            job.finish(process, status=None)
        figures.say(job.check(*[name for name in os.listdir(job.folder) if name[0] in "rs"]).strip())


# --- churn ---


CHURN = ("--replicas", "8", "--spares", "2", "--servers", "2", "--strategy", "sync", "--transport", "shm", "--restarts",
         "1000000", "--history", "h.jsonl")


def disturb(args, job, history, seconds, figures):
    """Kills a random one of those that run, again and again, for so long or until the job ends. How many kills."""
    ran, end, due = [], now() + seconds, now()
    while now() < end and job.launcher.poll() is None:
        running = job.replicas()
        if running:
            kill(random.choice(list(running.values())))
        ran.append(len(running))
        due += args.period
        while now() < due and job.launcher.poll() is None:
            time.sleep(0.05)
            history.read()
    while ran and not ran[-1]:  # the job was over, and its history was put together
        ran.pop()
    kills = len([count for count in ran if count])
    figures.say(f"{kills} kills; before each {statistics.mean(ran):.1f} replicas ran, at least {min(ran)}")
    return kills


def ends_well(job, history, within, figures, name):
    """Waits for the end of a job, and holds it against the promises."""
    wait_for("its end: it hangs", lambda: history.read() and job.launcher.poll() is not None, within, pause=0.2)
    job.finish(job.launcher)
    figures.say(f"{name}: ended by itself with status 0; {job.check('h.jsonl').strip()}")


def churn_run(args, steps, seconds, figures, kills):
    """One job to its end: steps a second and gradients a second while it lasts, or while it is disturbed."""
    with Job(args.yoke) as job:
        job.launch(*CHURN, "--model", args.model, "--steps", str(steps))
        history = job.history()
        wait_for("all replicas", lambda: counting(history, range(8)))
        begin = now()
        if kills:
            disturb(args, job, history, seconds, figures)
        end = now() if kills else float("inf")
        ends_well(job, history, 5 * seconds + 300, figures, "disturbed" if kills else "undisturbed")
        commits = [at for at in history.commits if begin <= at <= end]
        span = (end if kills else commits[-1]) - begin
        return len(commits) / span, sum(count for at, count in history.gradients if begin <= at <= end) / span


def measure_churn(args, figures):
    quick = churn_run(args, 200, 60, Figures(), False)
    steps = int(quick[0] * args.seconds)
    progress(f"churn: {quick[0]:.1f} steps/s, so {steps} steps take {args.seconds} s")
    before = churn_run(args, max(50, steps // 2), args.seconds, figures, False)
    progress(f"undisturbed: {before[0]:.1f} steps/s")
    disturbed = churn_run(args, steps, args.seconds, figures, True)
    progress(f"disturbed: {disturbed[0]:.1f} steps/s")
    after = churn_run(args, max(50, steps // 2), args.seconds, figures, False)
    for at, what in enumerate(("steps", "gradients")):
        undisturbed = (before[at] + after[at]) / 2
        figures.add(f"{what} a second, undisturbed", undisturbed, "/s")
        figures.add(f"{what} a second, disturbed", disturbed[at], "/s")
        figures.add(f"{what} a second, disturbed of undisturbed", 100 * disturbed[at] / undisturbed, "%")


# --- learn ---


def learn_run(args, seed, figures, kills):
    """One job on real data to its end, killed at from the first steps on: its report, and how many kills."""
    name = f"seed {seed}, {'disturbed' if kills else 'undisturbed'}"
    with Job(args.yoke) as job:
        job.launch(*CHURN, "--data", args.data, "--model", args.model, "--epochs", str(args.epochs), "--seed", str(seed),
                   "--report", "report.json")
        history = job.history()
        wait_for("all replicas", lambda: counting(history, range(8)))
        kills = disturb(args, job, history, args.patience, figures) if kills else 0
        ends_well(job, history, args.patience, figures, name)
        with open(job.path("report.json")) as file:
            report = json.load(file)
    progress(f"{name}: test accuracy {report['test_accuracy']:.4f}, loss {report['test']['loss']:.5f}, of version "
             f"{report['version']} of {report['steps']}, in {report['wall_seconds']:.0f} s, {len(history.joined)} lives, "
             f"{kills} kills")
    return report, kills


def measure_learn(args, figures):
    found = {False: [], True: []}
    lines = ["| seed | undisturbed | disturbed | kills |", "|---|---|---|---|"]
    for seed in args.seeds:
        for way, accuracies in found.items():
            report, kills = learn_run(args, seed, figures, way)
            accuracies.append(report["test_accuracy"])
            figures.add("a run, disturbed" if way else "a run, undisturbed", report["wall_seconds"], "s")
        lines.append(f"| {seed} | {found[False][-1]:.4f} | {found[True][-1]:.4f} | {kills} |")
    figures.say("\n".join(lines))
    for way, accuracies in found.items():
        figures.say(f"{'disturbed' if way else 'undisturbed'}: {min(accuracies):.4f} to {max(accuracies):.4f}, mean "
                    f"{statistics.mean(accuracies):.4f}")


# --- resume ---


def resume_words(args, way):
    return [*way, "--data", "digits", "--model", "mlp", "--epochs", str(args.epochs), "--replicas", "3", "--strategy",
            "sync", "--deterministic", "--result", "last", "--save", "model.safetensors"]


def model_of(job):
    with open(job.path("model.safetensors"), "rb") as file:
        return file.read()


def killed_after(job, process, seconds):
    """Kills all of it at that moment. Whether it still ran."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        job.kill_all()
        return True
    if process.returncode != 0:
        raise Trouble(f"status {process.returncode}:\n{job.output()[-3000:]}")
    return False


def resume_trial(args, way, wanted, took):
    """Starts it, kills it once or twice, has it go on to its end: how many kills met it, and whether a bit differs."""
    with Job(args.yoke) as job:
        kept = ["--checkpoint", "kept", "--every", "20steps", "--keep", "3"]
        kills = 0
        for resume in ([], ["--resume", "kept"])[:random.choice((1, 2))]:
            process = job.start(*resume_words(args, way), *kept, *resume)
            kills += killed_after(job, process, took * random.uniform(0.05, 0.95))
            if not os.path.isdir(job.path("kept")):  # so early
                os.mkdir(job.path("kept"))
        if os.path.exists(job.path("model.safetensors")):
            os.remove(job.path("model.safetensors"))
        job.finish(job.start(*resume_words(args, way), *kept, "--resume", "kept"))
        left = [name for name in os.listdir(job.path("kept")) if name.partition("-")[0] in ("making", "removing",
                                                                                             "replaced")]
        if left:
            raise Trouble(f"this was left of a crash: {left}")
        if model_of(job) != wanted:
            raise Trouble(f"after {kills} kills the model differs from the undisturbed one\n{job.output()[-3000:]}")
        return kills


def measure_resume(args, figures):
    ways = {"launch": ("launch", "--servers", "2"), "train": ("train",)}
    wanted = None
    for name in args.ways:
        with Job(args.yoke) as job:
            began = now()
            job.finish(job.start(*resume_words(args, ways[name])), within=600)
            took = now() - began
            if wanted and wanted != model_of(job):
                raise Trouble("the undisturbed models of one process and of many differ")
            wanted = model_of(job)
        progress(f"resume, yoke {name}: undisturbed it takes {took:.1f} s")
        kills = []
        for trial in range(args.trials):
            kills.append(resume_trial(args, ways[name], wanted, took))
            progress(f"resume, yoke {name}: {trial + 1} of {args.trials}, {kills[-1]} kills")
        figures.say(f"yoke {name}: {len(kills)} of {len(kills)} trials with {sum(kills)} kills of everything gave the "
                    f"same {len(wanted)} bytes as the undisturbed run ({took:.1f} s)")


# --- cost ---


def cost_run(args, steps, *words):
    """Milliseconds a step, by the report; and the history, read afterwards, so that reading it takes no time."""
    with Job(args.yoke) as job:
        job.launch("--replicas", "2", "--servers", "1", "--strategy", "sync", "--transport", "shm", "--model",
                   args.model, "--steps", str(steps), "--report", "report.json", *words)
        job.finish(job.launcher, within=600)
        with open(job.path("report.json")) as file:
            report = json.load(file)
        return 1e3 * report["wall_seconds"] / report["steps"], History(job.path("h")).read()


def measure_cost(args, figures):
    each, _ = cost_run(args, 40)
    steps = max(40, int(1e3 * args.seconds / each))
    progress(f"cost: {each:.1f} ms a step, so {steps} steps a run")
    keep = ("--checkpoint", "kept", "--every", f"{args.every}s", "--keep", "2")
    words = {"nothing": (), "history": ("--history", "h"), "checkpoints": keep, "both": (*keep, "--history", "h")}
    ways = ["nothing", *args.ways]
    means = {name: [] for name in ways}
    for trial in range(args.trials):
        for name in ways[::-1 if trial % 2 else 1]:  # what comes and goes on the machine meets all of them
            mean, history = cost_run(args, steps, *words[name])
            means[name].append(mean)
            figures.add(f"a step with {name}", mean)
            if history.writing:
                while_writing(history, figures)
        progress(f"cost: round {trial + 1} of {args.trials}: " +
                 ", ".join(f"{name} {mean[-1]:.2f} ms" for name, mean in means.items()))
    nothing = means["nothing"]
    for name in args.ways:
        rounds = [100 * (mine / none - 1) for mine, none in zip(means[name], nothing)]
        figures.say(f"{name}: {100 * (statistics.median(means[name]) / statistics.median(nothing) - 1):+.1f} % time a "
                    f"step by the medians, {min(rounds):+.1f} to {max(rounds):+.1f} % in the single rounds, "
                    f"{statistics.median(rounds):+.1f} % in the median of them (the runs with nothing lie within "
                    f"{100 * (max(nothing) / min(nothing) - 1):.1f} %)")
    inside = figures.rows.get("a step while a checkpoint is written")
    if inside:
        outside = statistics.median(figures.rows["a step between checkpoints, the same runs"]["values"])
        figures.say(f"while a checkpoint is written the rate is "
                    f"{100 * outside / statistics.median(inside['values']):.1f} % of that between checkpoints")


def while_writing(history, figures):
    """Each checkpoint's mean step while it was written, and the run's mean step in between."""
    inside, outside = [], list(history.steps_between(0, float("inf")))
    for begin, end in history.writing:
        if not end:
            continue
        # From the last step before to the first after: what is held up by the beginning or the end counts as well.
        before = max([at for at in history.commits if at <= begin], default=begin)
        after = min([at for at in history.commits if at >= end], default=end)
        steps = history.steps_between(before, after)
        if steps:
            inside.append(steps)
            figures.add("a step while a checkpoint is written", 1e3 * statistics.mean(steps))
            figures.add("a checkpoint, from held to whole", 1e3 * (end - begin))
    for steps in inside:
        for step in steps:
            outside.remove(step)
    if outside:
        figures.add("a step between checkpoints, the same runs", 1e3 * statistics.mean(outside))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--yoke", default="build/yoke", help="build/yoke by default")
    common.add_argument("--json", action="store_true", help="every single figure as JSON, behind the table")
    common.add_argument("--seed", type=int, help="of what is drawn by chance here")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, measure, trials=50, model="synthetic:1M:20ms"):
        sub = commands.add_parser(name, parents=[common])
        sub.set_defaults(measure=measure)
        if trials:
            sub.add_argument("--trials", type=int, default=trials)
        if model:
            sub.add_argument("--model", default=model)
        return sub

    sub = command("kill", measure_kill)
    sub.add_argument("--spares", type=int, nargs="+", default=[1, 0], help="so many trials with each of them")
    sub.add_argument("--strategy", choices=("sync", "mirrored"), default="sync")
    for name, measure in (("stop", measure_stop), ("cut", measure_cut)):
        command(name, measure).add_argument("--at-once", type=int, default=5, help="replicas that go at once")
    sub = command("churn", measure_churn, trials=None)
    sub.add_argument("--seconds", type=float, default=300)
    sub.add_argument("--period", type=float, default=2, help="seconds between two kills")
    sub = command("learn", measure_learn, trials=None, model="cnn")
    sub.add_argument("--data", default="fashion-mnist")
    sub.add_argument("--epochs", type=int, default=2)
    sub.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    sub.add_argument("--period", type=float, default=2, help="seconds between two kills")
    sub.add_argument("--patience", type=float, default=600, help="seconds after which a job hangs")
    sub = command("resume", measure_resume, model=None)
    sub.add_argument("--epochs", type=int, default=60)
    sub.add_argument("--ways", nargs="+", choices=("launch", "train"), default=["launch", "train"])
    sub = command("cost", measure_cost, trials=5, model="synthetic:20M:50ms")
    sub.add_argument("--seconds", type=float, default=20, help="of each run")
    sub.add_argument("--every", type=int, default=3, help="seconds between two checkpoints")
    sub.add_argument("--ways", nargs="+", choices=("history", "checkpoints", "both"),
                     default=["history", "checkpoints", "both"], help="each against nothing")
    return parser.parse_args()


def main():
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended with it
    seed = args.seed if args.seed is not None else random.randrange(10**6)
    random.seed(seed)
    progress(f"seed {seed}")
    figures, status = Figures(), 0
    try:
        args.measure(args, figures)
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        status = 1
    print(figures.table())
    if args.json:
        print(figures.as_json())
    return status


if __name__ == "__main__":
    sys.exit(main())
