"""Processes of Yoke that the hostile suite starts, and what the kernel says about them."""
import os
import re
import subprocess
import threading
import time

PATIENCE = 60  # seconds; of everything, so that nothing hangs


def wait_for(what, condition, within=PATIENCE):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {within} s in vain for {what}")
        time.sleep(0.02)


class Process:
    """A process whose output is gathered; ended with the suite, whatever happens."""

    def __init__(self, words, environment):
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace",
                                        env={**os.environ, **environment})
        self.pid = self.process.pid
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def text(self):
        return "".join(self.lines)

    def until(self, pattern):
        """The first line that matches."""
        found = []

        def look():
            if match := re.search(pattern, self.text()):
                found.append(match)
            elif self.process.poll() is not None:
                raise AssertionError(f"it ended without '{pattern}':\n{self.text()}")
            return found

        wait_for(f"'{pattern}'", look)
        return found[0]

    def wait(self):
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def cpu_seconds(self):
        """Of all its threads, to the nanosecond where the kernel says so."""
        total = 0.0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            try:
                with open(f"/proc/{self.pid}/task/{task}/schedstat") as file:
                    total += int(file.read().split()[0]) / 1e9
            except FileNotFoundError:
                with open(f"/proc/{self.pid}/task/{task}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return total

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident(self):
        with open(f"/proc/{self.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Server(Process):
    """`yoke server` on a free port of the loopback."""

    def __init__(self, yoke, environment):
        super().__init__([yoke, "server", "--listen", "127.0.0.1:0"], environment)
        self.address = self.until(r"shard 0 of 1 at (\S+)")[1]
        self.port = int(self.address.rpartition(":")[2])
