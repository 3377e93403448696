"""What the tests of clusters share: the commands of docs/clusters.md, and which processes of a test are left."""
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

DEADLINE = 60  # of everything, so that nothing hangs
PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "clusters.md")
# Stands for the model and the data of the documented commands, where it has to be quick.
SHORT = "--model synthetic:200k:10ms --steps 60"


def documented(name):
    """The block of the page that is marked for the test of this name."""
    with open(PAGE) as file:
        text = file.read()
    block = re.search(rf"<!-- test: {re.escape(name)} -->\n((?:    .*\n)+)", text)
    if not block:
        raise AssertionError(f"docs/clusters.md has no block for '{name}'")
    return re.sub(r"^    ", "", block[1], flags=re.M).strip()


def shortened(command):
    assert "--epochs 3" in command
    return command.replace("--epochs 3", SHORT)


def wait_for(what, condition, within=DEADLINE):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {within} s in vain for {what}")
        time.sleep(0.05)


class ClusterCase(unittest.TestCase):
    YOKE = ""

    def setUp(self):
        # Short: sockets lie in it.
        folder = tempfile.TemporaryDirectory(prefix="yoke-c", dir="/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = dict(os.environ, TMPDIR=self.folder, YOKE_MEET=self.path("meet"), MARK=self.folder,
                                PATH=os.path.dirname(self.YOKE) + ":" + os.environ["PATH"],
                                # For a test that runs as root, with more ranks than cores.
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1")
        for name in ("XDG_RUNTIME_DIR", "YOKE_INSECURE"):
            self.environment.pop(name, None)
        self.addCleanup(self.end_all)

    def path(self, name):
        return os.path.join(self.folder, name)

    def processes(self, *words):
        """Those that this test has started, and whose command line has all of these words."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    ours = f"MARK={self.folder}".encode() in file.read().split(b"\0")
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    line = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if ours and all(word in line for word in words):
                found.append(int(pid))
        return sorted(found)

    def end_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def start(self, command, prefix=(), **environment):
        process = subprocess.Popen([*prefix, "bash", "-c", "exec " + command], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**self.environment, **environment})
        self.addCleanup(process.stdout.close)
        return process

    def finish(self, process, status=0):
        text, _ = process.communicate(timeout=DEADLINE)
        if status is not None:
            self.assertEqual(process.returncode, status, text)
        return text

    def run_command(self, command, status=0, **options):
        return self.finish(self.start(command, **options), status)

    def training(self, replicas):
        """Waits until so many replicas have taken part in a step of a job that was given --history h."""
        histories = [f"h.r{i}" for i in range(replicas)]
        wait_for("steps", lambda: all(os.path.exists(self.path(name)) and '"installed"' in self.read(name)
                                      for name in histories))

    def wait_for_file(self, name):
        wait_for(name, lambda: os.path.exists(self.path(name)))

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def assert_gone(self):
        wait_for("the end of all processes", lambda: not self.processes("launch") and not self.processes("replica")
                 and not self.processes("server"))

    def assert_nothing_left(self):
        self.assert_gone()
        left = [name for name in os.listdir(self.folder) if name.startswith("yoke-")]
        self.assertEqual(left, [])
        if os.path.exists(self.path("meet")):
            self.assertEqual(os.listdir(self.path("meet")), [])
