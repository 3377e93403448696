"""Jobs of many processes as a user runs them: launched, by hand, under torchrun's variables, on two hosts (network
namespaces, where they can be made), with processes that are killed and stopped on the way.

usage: launch_test.py YOKE EXAMPLE [unittest arguments]     EXAMPLE: the README's program
"""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

YOKE = EXAMPLE = ""
DEADLINE = 120  # of everything, so that nothing hangs


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(what, condition, within=DEADLINE):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {within} s in vain for {what}")
        time.sleep(0.02)


class Job:
    """A process whose output is gathered; ended with the test, whatever happens."""

    def __init__(self, test, words, environment=None, prefix=()):
        self.process = subprocess.Popen([*prefix, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        cwd=test.folder.name, env={**test.environment, **(environment or {})})
        self.text = ""
        test.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def until(self, pattern):
        """Reads on until a line matches."""
        end = time.monotonic() + DEADLINE
        while not (found := re.search(pattern, self.text)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"'{pattern}' did not come:\n{self.text}")
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"it ended without '{pattern}':\n{self.text}")
            self.text += line
        return found

    def wait(self, status=0):
        rest, _ = self.process.communicate(timeout=DEADLINE)
        self.text += rest
        if status is not None and self.process.returncode != status:
            raise AssertionError(f"status {self.process.returncode} instead of {status}:\n{self.text}")
        return self.text

    def address(self):
        return self.until(r"`yoke status (\S+)`")[1]

    def role(self, name):
        """The process id of "replica 2" or "server 0"."""
        kind, _, number = name.partition(" ")
        for pid in children(self.process.pid):
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if kind == "replica" and f"YOKE_REPLICA={number}".encode() in variables:
                return pid
            if kind == "server" and b"server" in words and any(w.startswith(f"{number}/".encode()) or
                                                                re.search(rf"/s{number}(-\d+)?$".encode(), w)
                                                                for w in words):
                return pid
            if kind == "coordinator" and b"coordinator" in words:
                return pid
        raise AssertionError(f"there is no {name}")


class LaunchTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = dict(os.environ, YOKE_CACHE=self.path("cache"), TMPDIR=self.folder.name)
        self.environment.pop("XDG_RUNTIME_DIR", None)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def job(self, *words, **options):
        return Job(self, [YOKE, *words], **options)

    def launch(self, *words, status=0):
        return self.job("launch", *words).wait(status)

    def status(self, address):
        done = subprocess.run([YOKE, "status", address, "--json"], capture_output=True, text=True, timeout=DEADLINE)
        return json.loads(done.stdout) if done.returncode == 0 else {"step": -1, "replicas": []}

    def reach(self, address, step):
        wait_for(f"step {step}", lambda: self.status(address)["step"] >= step)

    SYNTHETIC = ("--model", "synthetic:200k:5ms", "--steps", "60", "--check")

    # --- every strategy over every transport ---

    def test_every_strategy_over_every_transport_keeps_its_promises(self):
        for transport in ("shm", "unix", "tcp"):
            for strategy in (("sync", "--servers", "2"), ("sync", "--servers", "3", "--spares", "1"),
                             ("async", "--servers", "2", "--max-staleness", "3"), ("mirrored",)):
                with self.subTest(transport=transport, strategy=strategy):
                    text = self.launch("--transport", transport, "--replicas", "4", "--strategy", *strategy,
                                       *self.SYNTHETIC)
                    self.assertIn("60 updates", text)
                    self.assertIn("every promise held", text)

    def test_clipping_and_the_remedies_of_async_work_on_servers(self):
        self.launch("--replicas", "3", "--strategy", "sync", "--servers", "2", "--clip-norm", "0.5", *self.SYNTHETIC)
        self.launch("--replicas", "3", "--strategy", "async", "--stale", "scale", "--max-lead", "4",
                    "--delay-compensation", "0.1", "--state-per-replica", "--momentum", "0.5", *self.SYNTHETIC)

    def test_a_model_smaller_than_its_servers(self):
        self.launch("--replicas", "2", "--strategy", "sync", "--servers", "4", "--model", "synthetic:2:1ms", "--steps",
                    "10", "--check")

    def test_train_processes_is_a_launch(self):
        text = self.job("train", "--processes", "--shards", "2", "--replicas", "2", *self.SYNTHETIC).wait()
        self.assertIn("2 servers, 2 replicas", text)
        self.assertIn("every promise held", text)

    def test_report_and_history_are_the_jobs(self):
        self.launch("--replicas", "3", "--strategy", "sync", "--servers", "2", "--report", "r.json", "--history",
                    "h.jsonl", "--model", "synthetic:10k:2ms", "--steps", "30")
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual(report["steps"], 30)
        self.assertEqual([r["steps"] for r in report["replica"]], [30, 30, 30])
        self.assertIn("every promise held", self.job("check", "h.jsonl").wait())

    # --- the same bits ---

    def test_the_same_bits_in_one_process_and_in_many(self):
        words = ("--data", "digits", "--model", "mlp", "--steps", "25", "--replicas", "3", "--deterministic", "--quiet",
                 "--result", "last")
        for strategy in ("sync", "mirrored"):
            self.job("train", *words, "--strategy", strategy, "--save", "one.safetensors").wait()
            with open(self.path("one.safetensors"), "rb") as file:
                one = file.read()
            ways = [("shm", "1"), ("shm", "3"), ("tcp", "3")] if strategy == "sync" else [("shm", "0"), ("tcp", "0")]
            for transport, servers in ways:
                with self.subTest(strategy=strategy, transport=transport, servers=servers):
                    self.launch(*words, "--strategy", strategy, "--transport", transport, "--servers", servers,
                                "--save", "many.safetensors")
                    with open(self.path("many.safetensors"), "rb") as file:
                        self.assertEqual(one, file.read())

    # --- containers ---

    def test_a_snapshot_is_as_good_as_the_client_said_before_it_went(self):
        server = self.job("serve", "--listen", "127.0.0.1:0")
        at = server.until(r"shard 0 of 1 at (\S+)")[1]
        for model in ("mlp", "resnet:8x1"):
            with self.subTest(model=model):
                name = model.split(":")[0]
                self.launch("--container", name, "--join", at, "--data", "digits", "--model", model, "--epochs", "2",
                            "--replicas", "2", "--report", "r.json", "--quiet")
                with open(self.path("r.json")) as file:
                    said = json.load(file)["test"]
                self.job("snapshot", name, "s.safetensors", "--at", at).wait()
                told = self.job("eval", "s.safetensors", "--data", "digits", "--json").wait()
                found = json.loads(told[told.index("{"):])  # a word on the machine may stand before it
                self.assertEqual(found["accuracy"], said["accuracy"])
                self.assertEqual(found["samples"], said["samples"])

    # --- a program of the user's own ---

    def test_a_program_of_ones_own(self):
        for strategy in (("sync", "--servers", "2", "--spares", "1"), ("mirrored",)):
            with self.subTest(strategy=strategy):
                text = self.launch("--replicas", "3", "--strategy", *strategy, "--", EXAMPLE, "--epochs", "8")
                accuracy = float(re.search(r"\[replica 0\] test accuracy (\S+)", text)[1])
                self.assertGreater(accuracy, 0.8)

    def test_a_program_gets_only_flags_that_are_its_to_have(self):
        self.assertIn("--data", self.launch("--data", "digits", "--", EXAMPLE, status=2))

    # --- processes that are lost ---

    LONG = ("--model", "synthetic:200k:10ms", "--steps", "800", "--check")

    def test_a_killed_replica_with_a_spare_and_the_chief_moves_on(self):
        job = self.job("launch", "--replicas", "4", "--spares", "1", "--strategy", "sync", "--servers", "2", *self.LONG)
        self.reach(job.address(), 50)
        os.kill(job.role("replica 0"), signal.SIGKILL)
        text = job.wait()
        self.assertIn("replica 0 was ended by SIGKILL", text)
        self.assertRegex(text, r"replica 1 \(.*\) is the chief")
        self.assertRegex(text, r"replica 0: .* LOST")
        self.assertIn("every promise held", text)

    def test_a_killed_replica_under_async(self):
        job = self.job("launch", "--replicas", "3", "--strategy", "async", "--model", "synthetic:200k:10ms", "--steps",
                       "2500", "--check")
        self.reach(job.address(), 50)
        os.kill(job.role("replica 2"), signal.SIGKILL)
        self.assertIn("every promise held", job.wait())

    def test_a_stopped_replica_holds_nobody_up(self):
        job = self.job("launch", "--replicas", "4", "--spares", "1", "--strategy", "sync", *self.LONG)
        self.reach(job.address(), 50)
        os.kill(job.role("replica 3"), signal.SIGSTOP)
        text = job.wait()
        self.assertIn("800 updates", text)
        self.assertIn("every promise held", text)

    MIRRORED = ("--replicas", "3", "--strategy", "mirrored", "--model", "synthetic:200k:10ms", "--steps", "300",
                "--history", "h.jsonl")

    def lives_that_counted(self, replica):
        """Of which gradients were applied, by the history."""
        lives = set()
        with open(self.path("h.jsonl")) as file:
            for event in map(json.loads, file):
                if event["event"] == "decided":
                    lives |= {part["gradient"]["incarnation"] for part in event["record"]["applied"]
                              if part["gradient"]["replica"] == replica}
        return lives

    def test_the_others_of_mirrored_go_on_without_a_killed_replica(self):
        for replica in (2, 0):
            with self.subTest(replica=replica):
                job = self.job("launch", *self.MIRRORED)
                self.reach(job.address(), 50)
                os.kill(job.role(f"replica {replica}"), signal.SIGKILL)
                text = job.wait()
                self.assertIn(f"replica {replica} was ended by SIGKILL", text)
                self.assertRegex(text, rf"replica {replica}: .* LOST")
                self.assertIn("300 updates", text)
                self.assertIn("every promise held", self.job("check", "h.jsonl").wait())

    def test_a_killed_replica_of_mirrored_comes_again(self):
        for replica, transport in ((1, "tcp"), (0, "shm")):
            with self.subTest(replica=replica, transport=transport):
                job = self.job("launch", *self.MIRRORED, "--restarts", "1", "--transport", transport)
                self.reach(job.address(), 50)
                os.kill(job.role(f"replica {replica}"), signal.SIGKILL)
                job.until(rf"replica {replica} was ended by SIGKILL .*; restart 1 of 1 in 0.5 s")
                self.assertIn("300 updates", job.wait())
                self.assertEqual(len(self.lives_that_counted(replica)), 2)
                self.assertIn("every promise held", self.job("check", "h.jsonl").wait())

    def test_a_newcomer_takes_a_free_seat_of_mirrored(self):
        words = ("replica", "--replicas", "3", "--strategy", "mirrored", "--model", "synthetic:200k:10ms", "--steps",
                 "300")
        jobs = [self.job(*words, "--join", "unix:r", "--replica", str(i), "--history", f"h{i}") for i in range(3)]
        self.reach("unix:" + self.path("r"), 50)
        jobs[1].end()
        jobs.append(self.job(*words, "--join", "unix:r,unix:r.2", "--history", "h3"))
        text = "".join(job.wait() for job in jobs if job is not jobs[1])
        self.assertIn("300 updates", text)
        self.assertIn("every promise held", self.job("check", "h0", "h1", "h2", "h3").wait())

    def test_mirrored_is_lost_with_its_last_replica(self):
        job = self.job("launch", *self.MIRRORED, "--restarts", "3", "--checkpoint", "kept")
        self.reach(job.address(), 50)
        for pid in children(job.process.pid):
            os.kill(pid, signal.SIGKILL)
        text = job.wait(status=1)
        self.assertIn("no replica is left that has the state", text)
        for replica in range(3):
            self.assertRegex(text, rf"(?s)what failed:\n.*  replica {replica} was ended by SIGKILL .*what was saved:")
        self.assertRegex(text, r"to go on:\n  yoke launch .*--resume kept\n")

    def test_a_job_that_hangs_ends_and_names_who_is_waited_for(self):
        for strategy in (("sync", "--spares", "0", "--servers", "2"), ("mirrored",)):
            with self.subTest(strategy=strategy):
                text = self.launch("--replicas", "3", "--strategy", *strategy, "--model", "synthetic:10k:2ms",
                                   "--steps", "100", "--slow", "1:100000", "--deadline", "6", status=1)
                self.assertRegex(text, r"the job hangs: .* for 6.0 s without any news, waiting for "
                                       r"replica 1 ")

    def test_a_lost_server_ends_the_job_and_is_named(self):
        job = self.job("launch", "--replicas", "2", "--strategy", "sync", "--servers", "2", *self.LONG)
        self.reach(job.address(), 50)
        os.kill(job.role("server 1"), signal.SIGKILL)
        text = job.wait(status=1)
        self.assertIn("server 1", text)

    def test_servers_backups_and_the_coordinator_are_lost_and_the_model_is_the_very_same(self):
        words = ("--data", "digits", "--model", "mlp", "--epochs", "30", "--replicas", "2", "--strategy", "sync",
                 "--servers", "2", "--deterministic", "--result", "last", "--save")
        self.launch(*words, "undisturbed.safetensors")
        job = self.job("launch", *words, "model.safetensors", "--backups", "1", "--check")
        for shard in 0, 1:
            job.until(rf"shard {shard} has a backup")
        os.kill(job.role("server 0"), signal.SIGKILL)
        job.until(r"view 2, from version \d+")
        job.until(r"shard 0 has a backup, at \S+s0-1")
        os.kill(job.role("coordinator"), signal.SIGKILL)
        job.until(r"going on from view 2")
        os.kill(job.role("server 3"), signal.SIGKILL)
        job.until(r"shard 1 has a backup, at \S+s3-1")
        self.assertIn("every promise held", job.wait())
        with open(self.path("undisturbed.safetensors"), "rb") as one, open(self.path("model.safetensors"), "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_a_lost_server_without_a_backup_comes_from_a_replica_and_the_model_is_the_very_same(self):
        # Without momentum the parameters are all there is.
        words = ("--data", "digits", "--model", "mlp", "--epochs", "20", "--replicas", "2", "--strategy", "sync",
                 "--servers", "2", "--deterministic", "--slow", "0:8", "--momentum", "0", "--result", "last", "--save")
        self.launch(*words, "undisturbed.safetensors")
        job = self.job("launch", *words, "model.safetensors", "--backups", "0", "--checkpoint", "kept", "--every",
                       "20steps", "--check")
        job.until(r"checkpoint of version \d{2,}: kept")
        # Between a step and its parameters no replica has the newest: then it is the checkpoint.
        for view in range(2, 8):
            os.kill(job.role("server 1"), signal.SIGKILL)
            if job.until(rf"view {view}, from (the checkpoint of|version \d+; a replica brings) ")[1] != "the checkpoint of":
                break
            job.until(rf"(?s)view {view}: this is the primary of shard 1.*checkpoint of version \d+: kept")
        text = job.wait()
        self.assertIn("shard 1 was lost with its server: its values of version", text)
        self.assertIn("every promise held", text)
        with open(self.path("undisturbed.safetensors"), "rb") as one, open(self.path("model.safetensors"), "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_a_lost_server_without_a_backup_comes_from_the_checkpoint(self):
        job = self.job("launch", "--replicas", "2", "--strategy", "sync", "--servers", "1", "--backups", "0",
                       "--model", "synthetic:200k:10ms", "--steps", "900", "--checkpoint", "kept", "--every", "20steps",
                       "--check")
        job.until(r"checkpoint of version \d{2,}: kept")
        os.kill(job.role("server 0"), signal.SIGKILL)
        job.until(r"view 2, from the checkpoint of version \d+")
        self.assertIn("every promise held", job.wait())

    def test_an_early_end_says_what_failed_what_was_saved_and_how_to_go_on(self):
        words = ("--replicas", "2", "--strategy", "sync", "--servers", "2", "--model", "synthetic:200k:10ms", "--steps",
                 "8000", "--checkpoint", "my runs")
        job = self.job("launch", *words)
        self.reach(job.address(), 50)
        pid = job.role("server 1")
        os.kill(pid, signal.SIGKILL)
        text = job.wait(status=1)
        self.assertRegex(text, rf"(?s)the job ended early\nwhat failed:\n"
                               rf".*  server 1 was ended by SIGKILL \(process {pid} on \S+\) at \d\d:\d\d:\d\d\n"
                               rf".*what was saved:\n.*my runs.*to go on:\n")
        self.assertIn("  yoke launch " + " ".join(words[:-1]) + " 'my runs' --resume 'my runs'\n", text)

    def test_killed_as_a_whole_it_goes_on_to_the_very_same_model(self):
        words = ("--data", "digits", "--model", "mlp", "--epochs", "8", "--replicas", "3", "--strategy", "sync",
                 "--servers", "2", "--deterministic", "--result", "last", "--save")
        self.launch(*words, "undisturbed.safetensors")
        keeps = ("--checkpoint", "kept", "--every", "5steps")
        job = self.job("launch", *words, "model.safetensors", *keeps)
        job.until(r"checkpoint of version [1-9]\d+: kept")
        for pid in (job.process.pid, *children(job.process.pid)):
            os.kill(pid, signal.SIGKILL)
        job.wait(status=-signal.SIGKILL)
        self.assertFalse(os.path.exists(self.path("model.safetensors")))
        self.assertIn("going on from kept", self.launch(*words, "model.safetensors", *keeps, "--resume", "kept"))
        with open(self.path("undisturbed.safetensors"), "rb") as one, open(self.path("model.safetensors"), "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_a_full_disk_holds_nobody_up(self):
        os.mkdir(self.path("small"))
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m", "none", self.path("small")],
                                               capture_output=True).returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("small")])
        # Values and momentum have 1.6 MB: the third checkpoint finds no room beside the two that are kept.
        text = self.launch("--replicas", "2", "--strategy", "sync", "--servers", "2", "--model", "synthetic:200k:10ms",
                           "--steps", "100", "--momentum", "0.9", "--checkpoint", "small/kept", "--every", "20steps",
                           "--keep", "5", "--report", "report.json")
        self.assertIn("100 updates", text)
        self.assertRegex(text, r"the checkpoint failed: .*small/kept.*No space left on device: make room there.*; "
                               r"training goes on, and the last good one stays")
        with open(self.path("report.json")) as file:
            self.assertIn("No space left on device", file.read())
        self.assertIn("whole", self.job("inspect", "small/kept").wait())

    def test_a_lost_replica_is_started_again_as_often_as_it_may(self):
        job = self.job("launch", "--replicas", "2", "--spares", "1", "--strategy", "sync", "--restarts", "1", "--model",
                       "synthetic:10k:10ms", "--steps", "600")
        self.reach(job.address(), 20)
        pid = job.role("replica 1")
        os.kill(pid, signal.SIGKILL)
        job.until(rf"replica 1 was ended by SIGKILL \(process {pid} on \S+\); restart 1 of 1 in 0.5 s")
        job.until(r"(?s)restart 1 of 1 .*\[server 0\] replica 1 (?!is gone)")  # its next life is at the door
        self.assertIn("600 updates", job.wait())

    def test_a_program_s_checkpoints_are_the_launcher_s_business(self):
        text = self.launch("--replicas", "1", "--", EXAMPLE, "--checkpoint", "here", status=2)
        self.assertIn("before the `--`", text)

    def test_nobody_is_left_when_the_launcher_is_killed(self):
        job = self.job("launch", "--replicas", "3", "--strategy", "sync", "--servers", "2", "--model",
                       "synthetic:10k:10ms", "--steps", "1000000")
        self.reach(job.address(), 5)
        pids = children(job.process.pid)
        self.assertEqual(len(pids), 5)
        job.process.kill()
        job.process.wait()
        wait_for("the end of all", lambda: not any(alive(pid) for pid in pids))

    def test_ctrl_c_stops_all_and_keeps_the_model(self):
        job = self.job("launch", "--replicas", "2", "--strategy", "sync", "--data", "digits", "--model", "mlp",
                       "--epochs", "100000", "--save", "m.safetensors")
        self.reach(job.address(), 20)
        pids = children(job.process.pid)
        job.process.send_signal(signal.SIGINT)
        text = job.wait(status=130)
        self.assertTrue(os.path.exists(self.path("m.safetensors")))
        self.assertRegex(text, r"yoke launch .*--init m.safetensors")
        self.assertFalse(any(alive(pid) for pid in pids))

    def test_a_start_that_fails_leaves_nobody(self):
        text = self.launch("--replicas", "2", "--data", "no-such-data", status=None)
        self.assertIn("no-such-data", text)
        self.assertNotIn("did they take part", text)
        text = self.launch("--replicas", "2", "--", "./no-such-program", status=3)
        self.assertIn("no-such-program", text)

    # --- by hand ---

    def by_hand(self, strategy, hosts, replicas=3, servers=2, words=None):
        """`hosts`: (prefix of commands, address without port) of each."""
        words = words or ("--model", "synthetic:100k:5ms", "--steps", "50")
        started = []
        first = f"{hosts[0][1]}:7411"
        histories = []
        def history(name):
            histories.append(self.path(name))
            return ("--history", histories[-1])
        if strategy[0] != "mirrored":
            for i in range(servers):
                prefix, host = hosts[i % len(hosts)]
                join = ("--join", first) if i else ()
                started.append(self.job("server", "--listen", f"{host}:{7411 + i}", "--shard", f"{i}/{servers}", *join,
                                        *history(f"s{i}"), prefix=prefix))
        for i in range(replicas):
            prefix, host = hosts[i % len(hosts)]
            number = ("--replica", str(i)) if strategy[0] == "mirrored" else ()
            started.append(self.job("replica", "--join", first, *number, "--replicas", str(replicas), "--strategy",
                                    *strategy, *words, *history(f"r{i}"), prefix=prefix))
        text = "".join(job.wait() for job in started)
        self.assertIn("every promise held", self.job("check", *histories).wait())
        return text

    def test_servers_and_replicas_by_hand(self):
        here = [((), "127.0.0.1")]
        for strategy in (("sync", "--spares", "1"), ("async",), ("mirrored",)):
            with self.subTest(strategy=strategy):
                self.assertIn("50 updates", self.by_hand(strategy, here))

    def test_two_hosts(self):
        if os.geteuid() != 0 or not shutil.which("ip"):
            self.skipTest("network namespaces need root and iproute2")
        names = [f"yoke{os.getpid()}a", f"yoke{os.getpid()}b"]
        def ip(*words):
            return subprocess.run(["ip", *words], capture_output=True).returncode == 0
        if not ip("netns", "add", names[0]):
            self.skipTest("network namespaces cannot be made here")
        for name in names:
            self.addCleanup(ip, "netns", "del", name)
        ip("netns", "add", names[1])
        made = ip("link", "add", "va", "netns", names[0], "type", "veth", "peer", "name", "vb", "netns", names[1])
        self.assertTrue(made)
        hosts = []
        for name, device, address in ((names[0], "va", "10.77.0.1"), (names[1], "vb", "10.77.0.2")):
            self.assertTrue(ip("-n", name, "addr", "add", f"{address}/24", "dev", device))
            self.assertTrue(ip("-n", name, "link", "set", device, "up"))
            ip("-n", name, "link", "set", "lo", "up")
            hosts.append((("ip", "netns", "exec", name), address))
        # Without certificates and a secret nothing is listened on or dialled there.
        refused = self.job("server", "--listen", "10.77.0.1:0", prefix=hosts[0][0]).wait(status=1)
        self.assertIn("neither certificates nor a secret", refused)
        self.job("secret", "new", "job.secret").wait()
        self.job("cert", "new", "certs", "10.77.0.1", "10.77.0.2").wait()
        self.environment = {**self.environment, "YOKE_SECRET_FILE": "job.secret", "YOKE_CERTS": "certs"}
        for strategy in (("sync", "--spares", "1"), ("async",), ("mirrored",)):
            with self.subTest(strategy=strategy):
                self.assertIn("50 updates", self.by_hand(strategy, hosts))
        digits = ("--data", "digits", "--model", "mlp", "--epochs", "3")
        text = self.by_hand(("sync",), hosts, words=digits)
        self.assertGreater(float(re.search(r"test +accuracy (\S+),", text)[1]), 0.8)

    def test_torchruns_variables(self):
        for strategy in ("mirrored", "sync"):
            with self.subTest(strategy=strategy):
                jobs = [self.job("train", "--strategy", strategy, "--model", "synthetic:10k:2ms", "--steps", "30",
                                 environment={"RANK": str(i), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1",
                                              "MASTER_PORT": "7431"}) for i in range(3)]
                text = "".join(job.wait() for job in jobs)
                self.assertIn("30 updates", text)
                self.assertIn("replica 2: 30 applied", text)

    # --- how it goes ---

    def test_status_tells_who_is_there_slow_and_gone(self):
        job = self.job("launch", "--replicas", "4", "--spares", "1", "--strategy", "sync", "--servers", "2", "--slow",
                       "1:6", "--model", "synthetic:10k:20ms", "--steps", "100000")
        address = job.address()
        self.reach(address, 150)
        os.kill(job.role("replica 3"), signal.SIGKILL)
        wait_for("its end", lambda: self.status(address)["replicas"][3]["gone"])
        now = self.status(address)
        self.assertEqual(now["strategy"], "sync")
        self.assertEqual([s["present"] for s in now["servers"]], [True, True])
        self.assertTrue(now["replicas"][1]["slow"])
        self.assertFalse(now["replicas"][0]["slow"])
        self.assertGreater(now["steps_per_second"], 0)
        words = self.job("status", address).wait()
        self.assertRegex(words, r"slow: \d")
        self.assertIn("gone: replica 3", words)
        job.process.send_signal(signal.SIGTERM)
        job.wait(status=None)

    def test_a_server_has_no_libtorch_and_is_up_at_once(self):
        server = self.job("server", "--listen", "127.0.0.1:0")
        server.until("shard 0 of 1 at tcp:127.0.0.1:[1-9]")
        with open(f"/proc/{server.process.pid}/maps") as file:
            self.assertNotIn("libtorch", file.read())
        server.process.send_signal(signal.SIGTERM)
        server.wait(status=143)

    def test_replicas_that_do_not_fit_are_refused_with_the_difference(self):
        server = self.job("server", "--listen", "unix:s")
        first = self.job("replica", "--join", "unix:s", "--replicas", "2", "--strategy", "sync", "--model",
                         "synthetic:10k:2ms", "--steps", "20", "--replica", "0")
        server.until("")
        other = self.job("replica", "--join", "unix:s", "--replicas", "2", "--strategy", "sync", "--model",
                         "synthetic:20k:2ms", "--steps", "20", "--replica", "1")
        self.assertRegex(other.wait(status=1), "networks differ.*1250.*2500|networks differ.*2500.*1250")
        first.wait(status=None)
        server.process.kill()


if __name__ == "__main__":
    YOKE, EXAMPLE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
