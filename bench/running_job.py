"""What the measurements of recovery share: jobs that are started as a user starts them, and their history read live."""
import bisect
import contextlib
import glob
import json
import os
import signal
import subprocess
import tempfile
import time

PATIENCE = 120  # seconds, of every wait that has no better limit


class Trouble(Exception):
    """The job did not do what it should."""


def now():
    """Seconds on the clock that the history of a job has: the host's monotonic one."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def wait_for(what, condition, within=PATIENCE, pause=0.01):
    end = now() + within
    while not (found := condition()):
        if now() > end:
            raise Trouble(f"waited {within} s in vain for {what}")
        time.sleep(pause)
    return found


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def state(pid):
    """Z: a process that has ended. None: there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


def started_at(pid):
    """When the process was started, on the same clock; to 10 ms."""
    with open(f"/proc/{pid}/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    return ticks / os.sysconf("SC_CLK_TCK") - (since_boot - now())


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def number_of(pid):
    """Which replica of a launched job this process is; None: it is none."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            for entry in file.read().split(b"\0"):
                if entry.startswith(b"YOKE_REPLICA="):
                    return int(entry.partition(b"=")[2])
    except OSError:
        pass
    return None


class History:
    """The part that has all that the sequencer does, while it is written: the first server's. Under mirrored the
    sequencer moves on to another replica when its own is lost, so `pattern` may name many files."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.files = {}  # by name: the open file, and a line's beginning
        self.commits = []  # when each step was completed
        self.joined = {}   # (replica, incarnation): when
        self.left = {}     # the same
        self.counted = {}  # (replica, incarnation): when its first gradient counted
        self.gradients = []  # (when, how many gradients counted)
        self.writing = []  # of each checkpoint: when it was held, when it was whole

    def read(self):
        for name in glob.glob(self.pattern):
            if name not in self.files:
                self.files[name] = [open(name), ""]
        for part in self.files.values():
            lines = (part[1] + part[0].read()).split("\n")
            part[1] = lines.pop()
            for line in lines:
                self.take(line)
        return self

    def take(self, line):
        if line.startswith('"event":"', line.find(",") + 1):
            kind = line[line.find(",") + 10:].partition('"')[0]
            if kind in ("committed", "joined", "left", "decided", "captured", "announced"):
                getattr(self, "on_" + kind)(json.loads(line))

    def on_committed(self, event):
        bisect.insort(self.commits, event["at"] / 1e9)

    def on_joined(self, event):
        self.joined.setdefault(life_of(event["life"]), event["at"] / 1e9)

    def on_left(self, event):
        self.left.setdefault(life_of(event["life"]), event["at"] / 1e9)

    def on_decided(self, event):
        applied = event["record"]["applied"]
        if applied:
            self.gradients.append((event["at"] / 1e9, len(applied)))
        for part in applied:
            self.counted.setdefault(life_of(part["gradient"]), event["at"] / 1e9)

    def on_captured(self, event):
        self.writing.append([event["at"] / 1e9, None])

    def on_announced(self, event):
        for window in self.writing:
            window[1] = window[1] or event["at"] / 1e9

    def life(self, replica):
        """Its newest life that was taken in."""
        lives = [life for life in self.joined if life[0] == replica]
        return max(lives, key=lambda life: self.joined[life], default=None)

    def steps_between(self, begin, end):
        """How long the steps took that lie whole in this time."""
        times = [at for at in self.commits if begin <= at <= end]
        return [later - sooner for sooner, later in zip(times, times[1:])]


def life_of(entry):
    return entry["replica"], entry["incarnation"]


class Job:
    """Some processes of one job, in a folder of their own; all of them are ended with it, whatever happens."""

    def __init__(self, yoke):
        self.yoke = os.path.abspath(yoke)
        self.folder = tempfile.mkdtemp(prefix="yoke-r", dir="/tmp")  # short: sockets lie in it
        self.processes = []
        self.environment = dict(os.environ, TMPDIR=self.folder)
        for name in ("XDG_RUNTIME_DIR", "YOKE_JOIN", "YOKE_REPLICA", "YOKE_INSECURE"):
            self.environment.pop(name, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill_all()
        subprocess.run(["rm", "-rf", self.folder], check=False)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *words, prefix=()):
        with open(self.path(f"output-{len(self.processes)}"), "w") as output:
            process = subprocess.Popen([*prefix, self.yoke, *words], cwd=self.folder, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        self.processes.append(process)
        return process

    def launch(self, *words):
        """A job of this machine; its history is read while it runs."""
        self.launcher = self.start("launch", *words)
        return self.launcher

    def history(self, parts="s0"):
        """Of the first server; "r*": of all replicas, under mirrored."""
        pattern = self.path(f"yoke-*/history-{parts}")
        found = wait_for("the first of its processes", lambda: glob.glob(pattern) or self.ended())
        if not isinstance(found, list):
            raise Trouble("the job ended before it began:\n" + self.output())
        return History(pattern)

    def replicas(self):
        """Those of the launcher that run: the process of each number."""
        found = {number_of(pid): pid for pid in children(self.launcher.pid) if state(pid) not in (None, "Z")}
        found.pop(None, None)
        return found

    def output(self):
        text = ""
        for name in sorted(glob.glob(self.path("output-*"))):
            with open(name, errors="replace") as file:
                text += file.read()
        return text

    def ended(self):
        return all(process.poll() is not None for process in self.processes)

    def finish(self, process=None, within=PATIENCE, status=0):
        process = process or self.processes[-1]
        try:
            got = process.wait(timeout=within)
        except subprocess.TimeoutExpired:
            raise Trouble(f"it did not end within {within} s:\n{self.output()[-3000:]}") from None
        if status is not None and got != status:
            raise Trouble(f"status {got} instead of {status}:\n{self.output()[-3000:]}")
        return got

    def check(self, *files):
        """Holds these histories against the promises: what was said."""
        done = subprocess.run([self.yoke, "check", *files], cwd=self.folder, capture_output=True, text=True,
                              timeout=10 * PATIENCE)
        if done.returncode != 0 or "every promise held" not in done.stdout:
            raise Trouble(f"yoke check ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def kill_all(self):
        """SIGKILL to all that was started here, and to their children, at once; returns when they are gone."""
        pids = []
        for process in self.processes:
            if process.poll() is None:
                pids += [process.pid, *children(process.pid)]
        for pid in pids:
            kill(pid)
        for process in self.processes:
            process.wait()
        wait_for("the end of what was killed", lambda: all(state(pid) in (None, "Z") for pid in pids))
