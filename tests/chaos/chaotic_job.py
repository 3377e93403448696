"""The processes of one job under a supervisor of its own: each is started, struck, watched, and started again when it
is lost, in a life with its own log and its own part of the history. chaos.py decides what happens to them."""
import bisect
import contextlib
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from running_job import PATIENCE, History, Trouble, now, wait_for  # noqa: E402

PAUSE = 0.5  # seconds until what was lost is started again
LONGEST_PAUSE = 30  # where it ends by itself as soon as it is started
LONG_FILLED = 20
WELL = (0, 130, 143)  # statuses of a process whose job is over, or was stopped

OVER, NEW = r"view (\d+) is over", r"view \d+(,|$)"  # what the coordinator says of views


class FaultProxy:
    """The proxy's process; `tell` gives it a command and returns the answer."""

    def __init__(self, program, seed):
        self.process = subprocess.Popen([program, "--seed", str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        start_new_session=True)
        self.answers = b""

    def tell(self, *words):
        command = " ".join(str(word) for word in words)
        try:
            self.process.stdin.write(command.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Trouble(f"the proxy has ended, and cannot be told: {command}") from None
        end = now() + PATIENCE
        while b"\n" not in self.answers:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - now()))
            got = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not got:
                raise Trouble(f"the proxy does not answer: {command}")
            self.answers += got
        line, _, self.answers = self.answers.partition(b"\n")
        answer = line.decode()
        if answer.startswith("error"):
            raise Trouble(f"the proxy: {answer}")
        return answer

    def route(self, name, target):
        """Where it listens."""
        return self.tell("route", name, target).split()[1]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def free_port():
    """Not one that the system gives to whoever dials: it must still be free when its process is started again."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        highest = int(file.read().split()[0])
    for _ in range(1000):
        port = random.SystemRandom().randrange(10240, highest)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise Trouble("no port is free")


class Role:
    """One of the job's processes, through all its lives."""

    def __init__(self, job, name, words):
        self.job = job
        self.name = name
        self.words = words  # of one life, told the file for its part of the history
        self.short = name[0] + name.partition(" ")[2]
        self.lives = 0
        self.process = None
        self.began = 0.0
        self.stopped = False
        self.struck = False  # this life was killed on purpose
        self.pause = PAUSE
        self.again_at = None  # when the next life begins
        self.log = None
        self.rest = ""
        self.unread = []  # lines of the life before
        self.endings = []  # of lives that ended without being killed: (status, lived for, last words)

    def file(self, folder):
        return self.job.path(folder, f"{self.short}-{self.lives}")

    def start(self):
        self.unread = self.lines()
        self.lives += 1
        self.stopped = self.struck = False
        self.again_at = None
        if self.log:
            self.log.close()
        with open(self.file("logs"), "w") as output:
            self.process = subprocess.Popen([self.job.yoke, *self.words(self.file("history"))], cwd=self.job.folder,
                                            env=self.job.environment, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, start_new_session=True)
        self.began = now()
        self.log = open(self.file("logs"), errors="replace")
        self.rest = ""

    def running(self):
        return self.process is not None and self.process.poll() is None

    def up(self):
        return self.running() and not self.stopped

    def send(self, number):
        if self.running():
            os.kill(self.process.pid, number)

    def kill(self):
        self.struck = True
        self.send(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.stopped = True
        self.send(signal.SIGSTOP)

    def go_on(self):
        self.stopped = False
        self.send(signal.SIGCONT)

    def lines(self):
        """What it has said since the last look."""
        if not self.log:
            return []
        lines = (self.rest + self.log.read()).split("\n")
        self.rest = lines.pop()
        before, self.unread = self.unread, []
        return before + lines

    def tail(self, count=15, lives=2):
        text = ""
        for life in range(max(1, self.lives - lives + 1), self.lives + 1):
            with open(self.job.path("logs", f"{self.short}-{life}"), errors="replace") as file:
                lines = file.read().splitlines()[-count:]
            text += f"--- {self.name}, life {life} of {self.lives}\n" + "".join(f"    {line}\n" for line in lines)
        return text

    def look(self, again):
        """Notices its end, and starts the next life when it is due. Whether it has just ended."""
        if self.again_at is not None:
            if again and now() >= self.again_at:
                self.start()
            return False
        if self.process is None or self.process.poll() is None:
            return False
        lived = now() - self.began
        status = self.process.returncode
        if self.struck or lived > 60:
            self.pause = PAUSE
        if not self.struck:
            self.endings.append((status, round(lived, 1), self.tail(3, lives=1)))
        self.again_at = now() + self.pause
        if not self.struck:
            self.pause = min(LONGEST_PAUSE, 2 * self.pause)
        return True


class Listening(Role):
    """The coordinator or a server, behind a port of the proxy. Where no process listens, the proxy's port refuses, too:
    one that is no more is not to look like one that is silent."""

    def __init__(self, job, name, words=None):
        super().__init__(job, name, words)
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.route = job.proxy.route(self.short, self.address) if job.proxy else self.address

    def start(self):
        self.tell("open")  # first: once others know of this life it must not be refused
        super().start()

    def kill(self):
        self.struck = True
        self.send(signal.SIGKILL)
        self.tell("close")  # at the same moment, as near as can be
        self.process.wait()

    def look(self, again):
        ended = super().look(again)
        if ended:
            self.tell("close")
        return ended

    def tell(self, command, *words):
        if self.job.proxy:
            self.job.proxy.tell(command, self.short, *words)

    def heal(self):
        self.tell("heal")
        self.tell("delay", 0)
        self.tell("flip", 0)


# --- the coordinator's store ---


def fields_of(text):
    """A protobuf message as a list of (number, value); None: it is none."""

    def varint(at):
        value = shift = 0
        while True:
            byte = text[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at
            if shift > 63:
                raise ValueError

    found, at = [], 0
    try:
        while at < len(text):
            key, at = varint(at)
            number, kind = key >> 3, key & 7
            if number == 0 or kind not in (0, 1, 2, 5):
                return None
            if kind == 0:
                value, at = varint(at)
            else:
                size = {1: 8, 5: 4}.get(kind)
                if size is None:
                    size, at = varint(at)
                if at + size > len(text):
                    return None
                value, at = text[at:at + size], at + size
            found.append((number, value))
    except (IndexError, ValueError):
        return None
    return found


def host_in(text):
    parts = dict(fields_of(text) or ())
    if not isinstance(parts.get(2), bytes):
        raise ValueError("it is no host")
    return parts.get(1, 0), parts[2].decode()


def view_in(text, depth=0):
    """The ServerView of yoke.proto in these bytes, or in a message around it: see src/wire/yoke.proto. None: there is
    none."""
    parts = fields_of(text)
    if parts is None:
        return None
    with contextlib.suppress(ValueError, TypeError, UnicodeDecodeError):
        shards = []
        for entry in (value for number, value in parts if number == 5):
            one = dict(fields_of(entry) or ())
            shards.append({"primary": host_in(one[1]), "backup": host_in(one[2]) if 2 in one else None,
                           "filled": bool(one.get(3)), "since": one.get(4, 0)} if 1 in one else None)
        if shards and None not in shards:
            flat = dict(parts)
            return {"number": flat.get(1, 0), "revision": flat.get(2, 0), "over": bool(flat.get(7)), "shards": shards}
    inside = [view_in(value, depth + 1) for _, value in parts if isinstance(value, bytes) and depth < 3]
    return next((view for view in inside if view), None)


def view_stored(file):
    """The view in the last whole entry of the journal (src/cluster/view_journal.h); None: there is none yet."""
    try:
        with open(file, "rb") as journal:
            text = journal.read()
    except FileNotFoundError:
        return None
    at, last = 0, None
    while text[at:at + 8] == b"YOKEVIEW" and len(text) >= at + 24:
        size = int.from_bytes(text[at + 16:at + 24], "little")
        if len(text) < at + 32 + size:
            break
        last, at = text[at + 24:at + 24 + size], at + 32 + size
    if last is None:
        return None
    view = view_in(last)
    if not view:
        raise Trouble(f"{file}: what the coordinator has stored is not a view as this test knows it")
    return view


def port_of(address):
    return address.rpartition(":")[2]


class Views:
    """Who hosts what, and whether it is backed up, from what the coordinator stores and says."""

    def __init__(self, job):
        self.job = job
        self.file = job.path("store", "views.journal")
        self.stamp = None
        self.view = None
        self.said_filled = set()  # (view, shard, the backup's life, since)
        self.presumed = 0  # so many, of whom nobody said it
        self.over = 0  # the last view that was said to be over
        self.changed = 0.0  # when a view or revision was stored last
        self.last_line = 0.0

    def read(self):
        try:
            status = os.stat(self.file)
        except FileNotFoundError:
            return
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        if stamp != self.stamp:
            self.stamp = stamp
            before, self.view = self.view, view_stored(self.file)
            if self.view != before:
                self.changed = now()

    def key(self, shard):
        one = self.view["shards"][shard]
        return self.view["number"], shard, one["backup"][0], one["since"]

    def hear(self, line):
        self.read()
        if found := re.search(r"shard (\d+) has a backup, at (\S+)", line):
            shard = int(found[1])
            backup = self.view and self.view["shards"][shard]["backup"]
            if backup and port_of(backup[1]) == port_of(found[2]):
                self.said_filled.add(self.key(shard))
        elif found := re.search(r"shard (\d+) has lost its backup", line):
            if self.view and self.view["shards"][int(found[1])]["backup"]:
                self.said_filled.discard(self.key(int(found[1])))
        elif found := re.search(OVER, line):
            self.over = int(found[1])
        elif not re.search(NEW, line):
            return
        self.last_line = now()

    def between(self):
        """A view is over, and the next is not stored."""
        return self.view is not None and self.view["number"] <= self.over

    def server(self, host):
        return next((server for server in self.job.servers if port_of(server.route) == port_of(host[1])), None)

    def primary(self, shard):
        return self.server(self.view["shards"][shard]["primary"])

    def backup(self, shard):
        host = self.view["shards"][shard]["backup"]
        return self.server(host) if host else None

    def unfilled(self):
        """The shards that have no filled backup, as far as is known."""
        self.read()
        if not self.view:
            return list(range(self.job.args.servers))
        return [shard for shard, one in enumerate(self.view["shards"])
                if not one["backup"] or not (one["filled"] or self.key(shard) in self.said_filled)]

    def presume(self):
        """A coordinator that was not there when a backup was filled cannot have said so. Where everybody who has a part
        in the view is there, and the job makes steps in it, it has been filled for long."""
        calm = now() - max(self.changed, self.last_line, *(role.began for role in self.job.servers)) > LONG_FILLED
        if calm and self.job.coordinator.lives > 1 and not self.between():
            for shard in self.unfilled():
                if self.view["shards"][shard]["backup"]:
                    self.said_filled.add(self.key(shard))
                    self.presumed += 1


# --- the job ---


class ChaoticJob:
    """All processes of a job in a folder of their own. `args`: see chaos.py."""

    def __init__(self, args, folder=None):
        self.args = args
        self.yoke = os.path.abspath(args.yoke)
        self.folder = folder or tempfile.mkdtemp(prefix="yoke-c", dir="/tmp")
        for name in ("history", "logs"):
            os.makedirs(self.path(name), exist_ok=True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("YOKE_")}
        self.environment["TMPDIR"] = self.folder
        if "YOKE_CACHE" in os.environ:
            self.environment["YOKE_CACHE"] = os.environ["YOKE_CACHE"]
        self.proxy = self.coordinator = None
        self.servers, self.replicas = [], []
        self.over = False  # nobody is started again
        self.chief = None
        self.crashes = []  # what ended in a way that nobody had a hand in, and nothing excuses
        self.history = History(self.path("history", "s*"))
        self.views = Views(self)

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.kill_all()
            raise
        return self

    def __exit__(self, *_):
        self.kill_all()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def begin(self):
        args = self.args
        if args.proxy:
            self.proxy = FaultProxy(os.path.abspath(args.proxy), args.seed)
        if not args.static:
            self.coordinator = Listening(self, "coordinator", self.coordinator_words)
            self.coordinator.start()
            wait_for("the coordinator's address", lambda: self.listens(self.coordinator))
        for index in range(args.servers * (1 if args.static else 2)):
            server = Listening(self, f"server {index}")
            server.words = self.server_words(server, index)
            self.servers.append(server)
            server.start()
            if args.static:
                wait_for(f"{server.name} to listen", lambda: self.listens(server))
        for index in range(args.replicas):
            replica = Role(self, f"replica {index}", self.replica_words(index))
            self.replicas.append(replica)
            replica.start()
        self.chief = self.replicas[0]

    def roles(self):
        return [*([self.coordinator] if self.coordinator else []), *self.servers, *self.replicas]

    @staticmethod
    def listens(role):
        if not role.running():
            raise Trouble(f"{role.name} ended at once:\n{role.tail()}")
        with open(role.file("logs")) as log:
            return re.search(r" at \S+:\d+$", log.read(), re.MULTILINE)

    # --- what is typed ---

    def coordinator_words(self, _):
        return ["coordinator", "--listen", self.coordinator.address, "--servers", str(self.args.servers), "--backups",
                "1", "--store", self.path("store"), *self.args.coordinator_words]

    def server_words(self, server, index):
        where = ["--coordinator", self.coordinator.route] if self.coordinator else []
        if self.coordinator and self.proxy:
            where += ["--advertise", server.route]
        if not self.coordinator:
            where = ["--shard", f"{index}/{self.args.servers}"]
            # Directly: servers that have no backups do without the loss of each other.
            where += ["--join", self.servers[0].address] if index > 0 else []
        return lambda history: ["server", "--listen", server.address, *where, "--history", history,
                                *self.args.server_words]

    def replica_words(self, index):
        where = (["--coordinator", self.coordinator.route] if self.coordinator else
                 ["--join", self.servers[0].route])
        return lambda history: ["replica", *where, "--replica", str(index), "--replicas", str(self.args.replicas),
                                "--spares", str(self.args.spares), "--strategy", "sync", "--history", history,
                                *self.args.job_words]

    # --- while it runs ---

    def look(self):
        """A turn of the supervisor; to be called all the time."""
        for role in self.roles():
            if role.look(not self.over) and not role.struck:
                self.judge(role)
        if not self.chief.running():
            self.chief = next((replica for replica in self.replicas if replica.running()), self.chief)
        self.views.read()

    def judge(self, role):
        """Of one that has ended by itself: whether the job is over with it, or it should not have."""
        status = role.process.returncode
        if status in WELL and role in self.replicas:
            self.over = True
        elif status < 0:
            name = signal.Signals(-status).name
            self.crashes.append(f"{role.name} was ended by {name}, which was not sent from here\n{role.tail()}")
        elif 2 <= status <= 5:
            self.crashes.append(f"{role.name} ended with status {status}\n{role.tail()}")

    def up(self):
        return [replica for replica in self.replicas if replica.up()]

    def all_count(self):
        """Whether a gradient of every replica that runs has counted."""
        self.history.read()
        lives = [self.history.life(index) for index in range(len(self.replicas))]
        return all(life and life in self.history.counted and life not in self.history.left for life in lives)

    def commits_after(self, when):
        return len(self.history.commits) - bisect.bisect_right(self.history.commits, when)

    def tails(self):
        return "".join(role.tail() for role in self.roles() if role.lives)

    # --- its end ---

    def stop(self):
        """In good order: one of the replicas is told."""
        self.over = True
        self.chief.send(signal.SIGTERM)

    def ended(self):
        self.look()
        return not any(role.running() for role in self.roles())

    def endings(self):
        return {role.name: role.process.returncode for role in self.roles()}

    def check(self):
        """Holds the parts of all lives against the promises: whether all held, and what was said."""
        names = sorted(name for name in os.listdir(self.path("history")))
        done = subprocess.run([self.yoke, "check", *names], cwd=self.path("history"), capture_output=True, text=True,
                              timeout=60 * PATIENCE)
        return done.returncode == 0 and "every promise held" in done.stdout, (done.stdout + done.stderr).strip()

    def kill_all(self):
        for role in self.roles():
            if role.running():
                role.process.kill()
        for role in self.roles():
            if role.process:
                role.process.wait()
            if role.log:
                role.log.close()
        if self.proxy:
            self.proxy.end()
        for part in self.history.files.values():
            part[0].close()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
