#!/usr/bin/env python3
"""Chaos on a job of real processes: replicas, servers, the coordinator and the links between them are struck by a
seeded schedule, never more at once than the promises allow. Does the job go on, and does it keep its promises?

usage: tests/chaos/chaos.py [--yoke build/yoke] [--proxy build/fault_proxy] [--seconds N] [--seed N] [more: --help]

Replicas: kill -9, and SIGSTOP for 1 to 12 s; at least as many stay as are waited for. Servers and the coordinator, one
fault at a time: kill -9 of a primary, a backup, the coordinator or the chief; SIGSTOP of a server; its link cut one way
or both ways, reset, slowed down, with bits flipped. Where a primary or a backup was killed, the seed may have the
coordinator or replicas killed right after something is said about it, or the new primary as soon as it may be. The next
fault waits until the job makes steps and every shard has a filled backup again.

This is the supervisor of the job: what dies is started again after 0.5 s. First the same job is measured undisturbed.
Status 0: every promise held in both, nothing hung (30 s without a step), nothing crashed, all ended in good order.
"""
import argparse
import bisect
import collections
import json
import os
import random
import re
import shlex
import signal
import statistics
import sys
import time

from chaotic_job import LONG_FILLED, NEW, OVER, PATIENCE, WELL, ChaoticJob, Trouble, now

HANG = 30  # seconds without a step
TICK = 0.01
RECOVERY = 120  # seconds until every shard has a filled backup again
LATE = 10  # seconds before the job's end: who comes then may find nobody

# Who says something at which the next may be struck, and what.
VIEW_OVER, NEW_VIEW, BACKUP_GONE = ("coordinator", OVER), ("coordinator", NEW), ("coordinator", "has lost its backup")
LAID_DOWN, NEW_PRIMARY, NEW_BACKUP, LOST = (("server", words) for words in (
    "is laid down", "this is the primary of", "this is the backup of", "the backup of shard .* is lost"))


def progress(text):
    print(text, file=sys.stderr, flush=True)


class Watch:
    """A job that runs, with an eye on it: `tick` all the time."""

    def __init__(self, job):
        self.job = job
        self.began = now()
        self.awake_since = None  # steps are expected from then on
        self.read_at = 0.0
        self.news = []  # (role, line), of the coordinator and the servers

    def tick(self):
        job = self.job
        job.look()
        for role in (job.coordinator, *job.servers):
            for line in role.lines() if role else ():
                self.news.append((role, line))
                if role is job.coordinator:
                    job.views.hear(line)
        if now() >= self.read_at:
            job.history.read()
            self.read_at = now() + 0.1
        if job.crashes:
            raise Trouble("crashed: " + "\n".join(job.crashes))
        if self.awake_since and not job.over:
            last = max([self.awake_since, *job.history.commits[-1:]])
            if now() - last > HANG:
                raise Trouble(f"hangs: no step for {HANG} s")
        time.sleep(TICK)

    def ticks_until(self, what, condition, within=PATIENCE):
        end = now() + within
        while not condition():
            if now() > end:
                raise Trouble(f"waited {within} s in vain for {what}")
            self.tick()

    def begin(self):
        self.ticks_until("all replicas to count", self.job.all_count)
        self.awake_since = now()

    def steps_a_second(self, begin, end):
        commits = self.job.history.commits
        return (bisect.bisect_right(commits, end) - bisect.bisect_left(commits, begin)) / max(1e-9, end - begin)

    def longest_pause(self, begin, end):
        commits = self.job.history.commits
        some = commits[max(0, bisect.bisect_left(commits, begin) - 1):bisect.bisect_right(commits, end) + 1]
        return max((later - sooner for sooner, later in zip(some, some[1:])), default=0.0)

    def replicas_ended(self, over):
        """One that was just started when the job ended looks for its servers in vain: it is not waited for."""
        running = [one for one in self.job.replicas if one.running()]
        if not any(server.running() for server in self.job.servers):
            for one in running:
                if one.began > over - LATE:
                    one.kill()
        return not running

    def finish(self):
        """To the end of all processes, in good order: what was wrong with it."""
        wrong = []
        over = now()
        try:
            self.ticks_until("the replicas to end", lambda: self.replicas_ended(over))
            end = now() + LATE
            while not self.job.ended() and now() < end:
                self.tick()
            for role in self.job.roles():
                if role.running():
                    wrong.append(f"{role.name} did not end with the job, and was told to")
                    role.struck = True
                    role.send(signal.SIGTERM)
            self.ticks_until("all to end", self.job.ended, 30)
        except Trouble as trouble:
            return [*wrong, str(trouble)]
        for role in self.job.roles():
            status = role.process.returncode
            late = role in self.job.replicas and status == 1 and role.began > over - LATE
            if status not in WELL and not role.struck and not late:
                wrong.append(f"{role.name} ended with status {status}:\n{role.tail()}")
        if not any(one.process.returncode in WELL for one in self.job.replicas):
            wrong.append("no replica ended well")
        return wrong


class Chaos(Watch):
    """Faults as the seed has them. Each schedule is a generator, which goes on with every tick."""

    def __init__(self, job, args):
        super().__init__(job)
        self.args = args
        self.least = args.replicas - args.spares
        self.of_replicas = random.Random(f"{args.seed} replicas")
        self.of_servers = random.Random(f"{args.seed} servers")
        self.wakes = []  # (when, replica, its life)
        self.events = []
        self.counts = collections.Counter()
        self.at_once = False  # the next fault of a server comes as soon as it may
        self.pauses = collections.defaultdict(list)  # by kind: the longest time without a step
        self.kinds = self.kinds_of_fault()

    def strike(self, kind, whom, detail=""):
        at = round(now() - self.began, 2)
        self.counts[kind] += 1
        self.events.append({"at": at, "kind": kind, "whom": whom.name if whom else "", "detail": detail})
        progress(f"{at:8.2f} s  {kind}: {whom.name if whom else ''} {detail}".rstrip())

    def tick(self):
        super().tick()
        for wake in [wake for wake in self.wakes if wake[0] <= now()]:
            self.wakes.remove(wake)
            if wake[1].lives == wake[2]:
                wake[1].go_on()

    def may_lose(self):
        """How many replicas may be away besides those that are."""
        return len(self.job.up()) - self.least

    def pausing(self, seconds):
        end = now() + seconds
        while now() < end:
            yield

    def until(self, what, condition, within=RECOVERY):
        end = now() + within
        while not (found := condition()):
            if now() > end:
                raise Trouble(f"waited {within} s in vain for {what}")
            yield
        return found

    # --- replicas ---

    def replica_faults(self):
        due = now()
        while True:
            due += self.args.every_replica
            yield from self.pausing(due - now())
            seconds = self.of_replicas.uniform(1, 12) if self.of_replicas.random() < 0.3 else None
            choice = self.of_replicas.random()
            if self.may_lose() <= 0:
                self.counts["left out: as many replicas as may be were away"] += 1
                continue
            up = self.job.up()
            victim = up[int(choice * len(up))]
            if seconds is None:
                self.strike("kill a replica", victim)
                victim.kill()
            else:
                self.strike("stop a replica", victim, f"for {seconds:.1f} s")
                self.wakes.append((now() + seconds, victim, victim.lives))
                victim.stop()

    # --- servers and the coordinator ---

    def kinds_of_fault(self):
        kinds = [self.kill_the_chief]
        if self.args.proxy:
            kinds += [self.cut_a_link, self.reset_links, self.slow_links, self.flip_bits]
        if not self.args.static:
            kinds += [self.kill_a_primary, self.kill_a_primary, self.kill_a_backup, self.kill_the_coordinator,
                      self.stop_a_server]
        return kinds

    def server_faults(self):
        yield from self.recovered(now(), settle=0)
        due = now()
        while True:
            due = max(due + self.args.every_server, now())
            while now() < due and not self.at_once:
                yield
            kind, self.at_once = self.of_servers.choice(self.kinds) if not self.at_once else self.at_once, False
            began, before = now(), len(self.events)
            yield from kind()
            yield from self.recovered(now(), settle=0 if self.at_once else 2)
            event = next(one for one in self.events[before:] if not one["kind"].endswith("a replica"))
            pause = self.longest_pause(began, now())
            event["longest_pause"], event["whole_after"] = round(pause, 2), round(now() - began, 2)
            self.pauses[event["kind"]].append(pause)

    def recovered(self, since, settle):
        """All processes are there, every shard has a filled backup, and steps are made."""
        job, views = self.job, self.job.views

        def safe():
            newest = max(since, views.last_line)
            if now() - newest < settle or views.between():
                return False
            if not all(role.up() for role in (job.coordinator, *job.servers) if role):
                return False
            return job.commits_after(newest) >= (5 if settle else 1) and (self.args.static or not views.unfilled())

        def what():
            away = [role.name for role in (job.coordinator, *job.servers) if role and not role.up()]
            return (f"the job to be whole again; away: {away or 'nobody'}; between two views: {views.between()}; "
                    f"shards without a filled backup: {'?' if self.args.static else views.unfilled()}; steps since: "
                    f"{job.commits_after(since)}")

        end = now() + RECOVERY
        while not safe():
            if now() > end:
                raise Trouble(f"waited {RECOVERY} s in vain for " + what())
            if job.coordinator and job.commits_after(now() - 1) > 0:
                views.presume()
            yield

    def some_server(self):
        if self.args.static:
            return self.job.servers[0]
        return self.of_servers.choice(self.job.servers)

    def some_link(self):
        return self.job.coordinator if self.job.coordinator and self.of_servers.random() < 0.15 else self.some_server()

    def kill_a_primary(self, shard=None):
        shard = self.of_servers.randrange(self.args.servers) if shard is None else shard
        victim, mark = self.job.views.primary(shard), len(self.news)
        then = self.then(shard, (VIEW_OVER, NEW_VIEW, LAID_DOWN, NEW_PRIMARY, NEW_BACKUP))
        self.strike("kill a primary", victim, f"of shard {shard}")
        victim.kill()
        yield from then(mark)

    def kill_a_backup(self):
        shard = self.of_servers.randrange(self.args.servers)
        victim, mark = self.job.views.backup(shard), len(self.news)
        then = self.then(shard, (BACKUP_GONE, LOST, NEW_BACKUP))
        self.strike("kill a backup", victim, f"of shard {shard}")
        victim.kill()
        yield from then(mark)

    def then(self, shard, points):
        """What the seed has follow: mostly nothing, or a loss that is allowed while a server is away."""
        point, dice = self.of_servers.choice(points), self.of_servers.random()
        if dice < 0.4:
            return lambda mark: iter(())
        if dice < 0.65:
            return self.coordinator_at(point)
        return self.replicas_at(point) if dice < 0.85 else self.primary_soon(shard)

    def line(self, mark, point):
        """Waits for what is to be said; None: it was not."""
        speaker, pattern = point

        def said():
            return next((line for role, line in self.news[mark:]
                         if role.name.startswith(speaker) and re.search(pattern, line)), None)

        end = now() + 15
        while not (found := said()) and now() < end:
            yield
        if not found:
            self.counts["left out: nobody said what it waited for"] += 1
        return found

    def coordinator_at(self, point):
        def strike(mark):
            found = yield from self.line(mark, point)
            if found and self.job.coordinator.up():
                self.strike("kill the coordinator at a point", self.job.coordinator, f"at: {found}")
                self.job.coordinator.kill()

        return strike

    def replicas_at(self, point):
        def strike(mark):
            found = yield from self.line(mark, point)
            if found and self.may_lose() > 0:
                for victim in self.of_servers.sample(self.job.up(), self.may_lose()):
                    self.strike("kill a replica at a point", victim, f"at: {found}")
                    victim.kill()

        return strike

    def primary_soon(self, shard):
        """The shard's primary, perhaps a new one: not before there is a filled backup again, but then at once."""

        def strike(_):
            self.at_once = lambda: self.kill_a_primary(shard)
            yield

        return strike

    def kill_the_coordinator(self):
        self.strike("kill the coordinator", self.job.coordinator)
        self.job.coordinator.kill()
        yield

    def kill_the_chief(self):
        yield from self.until("replicas, so that the chief can be spared", lambda: self.may_lose() > 0 and
                              self.job.chief.up())
        self.strike("kill the chief", self.job.chief)
        self.job.chief.kill()

    def stop_a_server(self):
        victim, seconds = self.some_server(), self.of_servers.uniform(1, 12)
        self.strike("stop a server", victim, f"for {seconds:.1f} s")
        victim.stop()
        yield from self.pausing(seconds)
        victim.go_on()

    def cut_a_link(self):
        victim, way = self.some_link(), self.of_servers.choice(["up", "down", "both"])
        seconds = self.of_servers.uniform(1, 15)
        self.strike(f"cut a link, {'both ways' if way == 'both' else 'one way'}", victim, f"{way}, for {seconds:.1f} s")
        victim.tell("cut", way)
        yield from self.pausing(seconds)
        victim.tell("heal")

    def reset_links(self):
        victim = self.some_link()
        self.strike("reset links", victim)
        victim.tell("reset")
        yield

    def slow_links(self):
        victim, by, seconds = self.some_link(), self.of_servers.randint(20, 200), self.of_servers.uniform(2, 10)
        self.strike("slow links", victim, f"by {by} ms, for {seconds:.1f} s")
        victim.tell("delay", by)
        yield from self.pausing(seconds)
        victim.tell("delay", 0)

    def flip_bits(self):
        victim, count = self.some_link(), self.of_servers.randint(1, 4)
        self.strike("flip bits", victim, f"{count} times")
        victim.tell("flip", count)
        yield from self.pausing(3)
        victim.tell("flip", 0)

    # --- all of it ---

    def run(self, seconds):
        """Faults for so long, or until the job is over. Then nothing is in its way any more."""
        schedules = []
        if self.args.every_replica:
            schedules.append(self.replica_faults())
        if self.args.every_server:
            schedules.append(self.server_faults())
        end = now() + seconds
        while now() < end and not self.job.over:
            self.tick()
            for schedule in schedules:
                next(schedule)
        self.calm()

    def calm(self):
        for role in (self.job.coordinator, *self.job.servers):
            if role:
                role.heal()
        for role in self.job.roles():
            if role.stopped:
                role.go_on()
        self.wakes.clear()

    def settle(self):
        """Everybody is there again."""
        for _ in self.recovered(now(), settle=2):
            self.tick()
            if self.job.over:
                return
        self.ticks_until("all replicas to count again", lambda: self.job.over or self.job.all_count())


# --- runs ---


def folder_for(args, name):
    if not args.keep:
        return None
    folder = os.path.join(os.path.abspath(args.keep), name)
    if os.path.exists(folder) and os.listdir(folder):
        sys.exit(f"error: {folder} is there already: name another folder with --keep")
    os.makedirs(folder, exist_ok=True)
    return folder


def one_run(args, name, disturbed):
    """One job from its beginning to its end: what came of it."""
    found = {"name": name, "wrong": []}
    job = ChaoticJob(args, folder_for(args, name))
    watch = Chaos(job, args) if disturbed else Watch(job)
    try:
        with job:
            watch.began = now()
            watch.begin()
            begin, finite = now(), args.data != "synthetic"
            progress(f"{name}: all {args.replicas} replicas count after {begin - watch.began:.1f} s")
            if disturbed:
                watch.run(args.seconds)
            elif not finite:
                watch.ticks_until("the end of the run", lambda: now() >= begin + args.undisturbed,
                                  args.undisturbed + 60)
            if finite:
                watch.ticks_until("the end of the job", lambda: job.over, args.patience)
            end = now()
            job.history.read()
            found["steps_per_second"] = round(watch.steps_a_second(begin, end), 2)
            found["longest_pause"] = round(watch.longest_pause(begin, end), 2)
            if not finite:
                if disturbed:
                    watch.settle()
                job.stop()
            found["wrong"] += watch.finish()
    except Trouble as trouble:
        found["wrong"].append(str(trouble))
    except BaseException:
        if not args.keep:
            job.remove()
        raise
    if found["wrong"]:
        progress("\n".join([f"{name}: {words}" for words in found["wrong"]] + [job.tails()]))
    found["endings"] = {role.name: role.process.returncode for role in job.roles() if role.process}
    found["lives"] = {role.name: role.lives for role in job.roles()}
    found["ended_by_themselves"] = [
        {"who": role.name, "status": status, "after": lived, "last_words": words}
        for role in job.roles() for status, lived, words in role.endings if status not in WELL]
    found["views"] = job.views.view["number"] if job.views.view else None
    if disturbed:
        found["faults"] = dict(watch.counts)
        found["presumed_filled"] = job.views.presumed
        found["pauses"] = {kind: [round(pause, 2) for pause in pauses] for kind, pauses in watch.pauses.items()}
        found["events"] = watch.events
    held, said = job.check()
    found["check"] = said
    if not held:
        found["wrong"].append("yoke check:\n" + said[-3000:])
    if os.path.exists(job.path("report.json")):
        with open(job.path("report.json")) as file:
            found["test_accuracy"] = json.load(file).get("test_accuracy")
    if found["wrong"] and not args.keep:
        progress(f"{name}: what it left is in {job.folder}")
    elif not args.keep:
        job.remove()
    return found


def in_words(report):
    lines = []
    chaos = report["chaos"]
    if chaos.get("faults"):
        lines.append("faults:")
        for kind, count in sorted(chaos["faults"].items()):
            pauses = chaos["pauses"].get(kind)
            lines.append(f"  {count:5d}  {kind}")
            if pauses:
                lines[-1] += (f"; longest time without a step: median {statistics.median(pauses):.2f} s, worst "
                              f"{max(pauses):.2f} s")
        if chaos["presumed_filled"]:
            lines.append(f"  {chaos['presumed_filled']:5d}  times nobody said that a backup is filled; presumed after "
                         f"{LONG_FILLED} s")
    for run in report["undisturbed"] + [chaos]:
        if "steps_per_second" in run:
            lines.append(f"{run['name']}: {run['steps_per_second']} steps/s, longest time without one "
                         f"{run['longest_pause']} s" + (f", test accuracy {run['test_accuracy']:.4f}"
                                                        if run.get("test_accuracy") is not None else ""))
    if "ratio" in report:
        lines.append(f"under chaos {100 * report['ratio']:.1f} % of the undisturbed steps")
    for run in report["undisturbed"] + [chaos]:
        states = collections.Counter(run["endings"].values())
        lines.append(f"{run['name']}: views: {run['views']}; lives: {sum(run['lives'].values())}; statuses at the end: "
                     + ", ".join(f"{count} times {status}" for status, count in sorted(states.items())))
        for end in run["ended_by_themselves"]:
            lines.append(f"  {end['who']} ended by itself with status {end['status']} after {end['after']} s:\n"
                         f"{end['last_words'].rstrip()}")
        lines += [f"  {line}" for line in run["check"].splitlines()[:20]]
        lines += [f"  WRONG: {line}" for line in run["wrong"]]
    lines.append("all held" if report["ok"] else f"FAILED, seed {report['seed']}")
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yoke", default="build/yoke")
    parser.add_argument("--proxy", default="build/fault_proxy", help="the program; ''  for none: no faults of links")
    parser.add_argument("--seconds", type=float, default=300, help="of chaos")
    parser.add_argument("--seed", type=int, help="of the schedule, the flipped bits and real data's order")
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--spares", type=int, default=2)
    parser.add_argument("--servers", type=int, default=2, help="shards; each has a primary and a backup")
    parser.add_argument("--every-replica", type=float, default=2, metavar="SECONDS", help="0: none is struck")
    parser.add_argument("--every-server", type=float, default=30, metavar="SECONDS", help="0: none is struck")
    parser.add_argument("--data", choices=("synthetic", "fashion-mnist"), default="synthetic")
    parser.add_argument("--model", help="synthetic:1M:20ms by default; of real data: cnn")
    parser.add_argument("--epochs", type=int, default=2, help="of real data, whose job ends by itself")
    parser.add_argument("--patience", type=float, default=1800, help="seconds for the job on real data")
    parser.add_argument("--undisturbed", type=float, default=30, metavar="SECONDS",
                        help="of the undisturbed run before; 0: none")
    parser.add_argument("--after", action="store_true", help="an undisturbed run after it as well")
    parser.add_argument("--static", action="store_true",
                        help="no coordinator: servers have numbers and no backups, and of them only the links to the "
                             "first are struck")
    parser.add_argument("--json", metavar="FILE", help="the report with every single fault")
    parser.add_argument("--keep", metavar="DIR", help="logs, histories and store are left here")
    for name in ("coordinator", "server", "replica"):
        parser.add_argument(f"--{name}-words", default="", metavar="WORDS", help="further flags of each of these")
    args = parser.parse_args()
    if args.spares >= args.replicas:
        parser.error("--spares: fewer than --replicas")
    args.seed = random.randrange(10**6) if args.seed is None else args.seed
    args.coordinator_words, args.server_words = shlex.split(args.coordinator_words), shlex.split(args.server_words)
    if args.data == "synthetic":
        args.job_words = ["--model", args.model or "synthetic:1M:20ms", "--steps", "100000000"]
    else:
        args.job_words = ["--data", args.data, "--model", args.model or "cnn", "--epochs", str(args.epochs), "--seed",
                          str(args.seed), "--report", "report.json"]
    args.job_words += shlex.split(args.replica_words)
    for program in (args.yoke, args.proxy):
        if program and not os.access(program, os.X_OK):
            parser.error(f"{program} is no program")
    return args


def main():
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended with it
    progress(f"seed {args.seed}")
    report = {"seed": args.seed, "words": sys.argv[1:], "undisturbed": []}
    if args.undisturbed:
        report["undisturbed"].append(one_run(args, "undisturbed", False))
    report["chaos"] = one_run(args, "chaos", True)
    if args.after:
        report["undisturbed"].append(one_run(args, "undisturbed-after", False))
    rates = [run["steps_per_second"] for run in report["undisturbed"] if run.get("steps_per_second")]
    if rates and "steps_per_second" in report["chaos"]:
        report["ratio"] = round(report["chaos"]["steps_per_second"] / statistics.mean(rates), 4)
    report["ok"] = not any(run["wrong"] for run in [*report["undisturbed"], report["chaos"]])
    print(in_words(report))
    if args.json:
        with open(args.json, "w") as file:
            json.dump(report, file, indent=1)
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
