#!/usr/bin/env python3
"""Containers as a user has them: real servers, real clients, files that are read by another program.

    containers_test.py YOKE
"""
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

YOKE = os.path.abspath(sys.argv.pop(1))
DEADLINE = 90  # for anything at all; only a failure takes so long

JOB = ("--strategy", "sync", "--replicas", "2", "--deterministic", "--quiet")


def read_safetensors(path):
    """The words about the model, and each tensor's bytes."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    about = header.pop("__metadata__")
    return about, {name: data[slice(*info["data_offsets"])] for name, info in header.items()}


class Server:
    """`yoke serve`, ended with the test, whatever happens."""

    def __init__(self, test, *words, join=None, shard="0/1"):
        join_words = ("--join", join) if join else ()
        self.process = subprocess.Popen([YOKE, "serve", "--listen", "127.0.0.1:0", "--shard", shard, *join_words,
                                         *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        cwd=test.folder.name)
        self.text = ""
        test.addCleanup(self.end)
        self.at = self.until(r"shard \d+ of \d+ at (\S+)")[1]

    def until(self, pattern):
        end = time.monotonic() + DEADLINE
        while not (found := re.search(pattern, self.text)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"'{pattern}' did not come:\n{self.text}")
            # Not through a buffer, whose content `select` would not see.
            more = os.read(self.process.stdout.fileno(), 65536).decode()
            if not more:
                raise AssertionError(f"it ended without '{pattern}':\n{self.text}")
            self.text += more
        return found

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.text += self.process.communicate(timeout=DEADLINE)[0]
        return self.process.returncode


class ContainersTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def start(self, *words, status=0, **environment):
        """Starts it; what is returned waits for it, checks its status and returns what it said."""
        process = subprocess.Popen([YOKE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   cwd=self.folder.name, env={**os.environ, **environment})

        def finish(expected=status):
            text, _ = process.communicate(timeout=DEADLINE)
            self.assertEqual(process.returncode, expected, text)
            return text

        def end():
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()

        self.addCleanup(end)
        finish.process = process
        return finish

    def yoke(self, *words, status=0, **environment):
        return self.start(*words, status=status, **environment)()

    def train(self, at, name, model="synthetic:200k:2ms", steps="40", lr="0.05", status=0):
        return self.start("launch", "--container", name, "--join", at, "--model", model, "--steps", steps, "--lr", lr,
                          *JOB, status=status)

    def containers(self, at):
        return {each["name"]: each for each in json.loads(self.yoke("containers", "--at", at, "--json"))}

    def when(self, at, name, condition):
        end = time.monotonic() + DEADLINE
        while True:
            container = self.containers(at).get(name)
            if container and condition(container):
                return container
            self.assertLess(time.monotonic(), end, f"waited in vain; the last was {container}")

    def idle(self, at, name):
        return self.when(at, name, lambda container: container["state"] == "idle")

    def snapshot(self, at, name):
        self.yoke("snapshot", name, f"{name}.safetensors", "--at", at)
        return read_safetensors(self.path(f"{name}.safetensors"))

    def two_servers(self, *words):
        first = Server(self, *words, shard="0/2")
        second = Server(self, *words, shard="1/2", join=first.at)
        first.until("server 1 .* is there")
        return first, second

    # --- isolation ---

    def test_two_jobs_at_once_are_the_same_as_each_alone(self):
        first, _ = self.two_servers()
        jobs = {"a": {"lr": "0.05", "steps": "60"}, "b": {"lr": "0.01", "steps": "50", "model": "synthetic:100k:2ms"}}
        at_once = [self.train(first.at, name, **job) for name, job in jobs.items()]
        for finish in at_once:
            finish()
        for name, job in jobs.items():
            self.train(first.at, f"{name}-alone", **job)()
            self.idle(first.at, name)
            self.idle(first.at, f"{name}-alone")
            self.assertEqual(self.snapshot(first.at, name)[1], self.snapshot(first.at, f"{name}-alone")[1])
        self.assertNotEqual(self.snapshot(first.at, "a")[1]["layer0"], self.snapshot(first.at, "b")[1]["layer0"])

    def test_a_client_that_is_killed_leaves_the_others_alone_and_its_values_there(self):
        first, _ = self.two_servers()
        other = self.train(first.at, "other", steps="300")
        victim = self.train(first.at, "victim", steps="100000")
        self.when(first.at, "victim", lambda container: container["step"] >= 20)
        victim.process.kill()
        self.assertGreaterEqual(self.idle(first.at, "victim")["step"], 20)
        other()
        self.assertEqual(self.idle(first.at, "other")["step"], 300)
        self.snapshot(first.at, "victim")

    def test_a_container_has_as_much_memory_as_it_may(self):
        server = Server(self, "--container-memory", "20M", "--memory", "24M")
        text = self.train(server.at, "large", model="synthetic:2M:1ms", status=1)()
        self.assertIn("--container-memory", text)
        self.assertIn("20.0 MiB", text)
        self.assertEqual(self.containers(server.at), {})
        self.train(server.at, "small")()

    def test_each_container_has_a_secret_of_its_own(self):
        os.mkdir(self.path("secrets"))
        for file in ("own", "stranger", "secrets/private"):
            self.yoke("secret", "new", file)
        server = Server(self, "--secret-file", "own", "--secrets", "secrets")
        words = ("--join", server.at, "--model", "synthetic:10k:1ms", "--steps", "10", *JOB)

        def train(name, secret, status=0):
            return self.yoke("launch", "--container", name, "--secret-file", secret, *words, status=status)

        train("common", "own")
        train("private", "secrets/private")
        for name, secret in (("private", "own"), ("common", "secrets/private"), ("common", "stranger")):
            with self.subTest(name=name, secret=secret):
                train(name, secret, status=1)
        # The servers' own secret is a keeper's of all; a container's is of that one alone.
        mine = ("--at", server.at, "--secret-file", "secrets/private", "--container", "private")
        self.assertIn("common", self.yoke("containers", "--at", server.at, "--secret-file", "own"))
        self.assertNotIn("common", self.yoke("containers", *mine))
        self.yoke("snapshot", "private", "p.safetensors", *mine)
        self.assertIn("no say in others", self.yoke("snapshot", "common", "c.safetensors", *mine, status=1))
        self.assertIn("no say in others", self.yoke("containers", "rm", "common", *mine, status=1))
        self.yoke("containers", "--at", server.at, "--secret-file", "secrets/private", status=1)
        # One that is new counts at once.
        self.yoke("secret", "new", "secrets/later")
        train("later", "secrets/later")
        # So does one that is written anew; a file that is no secret closes its own container, and no other.
        self.yoke("secret", "new", "another")
        for file in ("another", "secrets/later"):
            os.chmod(self.path(file), 0o600)
        with open(self.path("another"), "rb") as new, open(self.path("secrets/later"), "wb") as old:
            old.write(new.read())
        train("later", "another")
        with open(self.path("secrets/later"), "wb") as file:
            file.write(b"x")
        for secret in ("another", "own"):
            self.assertNotIn(self.path("secrets"), train("later", secret, status=1))
        train("private", "secrets/private")
        server.until("container later is closed")

    # --- the life of a container ---

    def test_what_was_trained_stays_and_is_gone_on_with(self):
        first, _ = self.two_servers()
        self.train(first.at, "week")()
        container = self.idle(first.at, "week")
        self.assertEqual((container["step"], container["parameters"], container["clients"]), (40, 200_000, 0))
        about, once = self.snapshot(first.at, "week")
        self.assertEqual(about["yoke.model"], "synthetic:200k:2ms")
        self.train(first.at, "week")()
        self.assertEqual(self.idle(first.at, "week")["step"], 80)
        _, twice = self.snapshot(first.at, "week")
        self.assertEqual(once.keys(), twice.keys())
        self.assertNotEqual(once, twice)
        self.assertIn("week", self.yoke("containers", YOKE_AT=first.at))
        self.yoke("containers", "rm", "week", "--at", first.at)
        self.assertEqual(self.containers(first.at), {})
        self.assertIn("there is no container week", self.yoke("snapshot", "week", "x", "--at", first.at, status=1))

    def test_another_model_is_told_the_difference(self):
        server = Server(self)
        self.train(server.at, "mine")()
        self.idle(server.at, "mine")
        text = self.train(server.at, "mine", model="synthetic:100k:2ms", status=1)()
        self.assertIn("container mine has another model: layer0 is [25000] there, [12500] here", text)
        self.train(server.at, "mine")()

    def test_one_more_replica_joins(self):
        server = Server(self)
        words = ("--container", "shared", "--join", server.at, "--strategy", "async", "--replicas", "2", "--model",
                 "synthetic:100k:2ms", "--steps", "3000", "--quiet")
        first = self.start("replica", *words)
        self.when(server.at, "shared", lambda container: container["clients"] == 1)
        second = self.start("replica", *words)
        self.when(server.at, "shared", lambda container: container["clients"] == 2 and container["step"] > 0)
        self.assertIn("the job has 2 replicas, and needs no other", self.yoke("replica", *words, status=1))
        self.assertIn("training", self.yoke("status", server.at, "--container", "shared"))
        first()
        second()
        self.assertEqual(self.idle(server.at, "shared")["step"], 3000)

    def test_a_container_in_use_is_removed_only_by_force(self):
        server = Server(self)
        job = self.train(server.at, "busy", steps="100000")
        self.when(server.at, "busy", lambda container: container["clients"] == 2)
        self.assertIn("has 2 clients", self.yoke("containers", "rm", "busy", "--at", server.at, status=1))
        self.yoke("containers", "rm", "busy", "--force", "--at", server.at)
        self.assertIn("the container was removed", job(1))
        self.assertEqual(self.containers(server.at), {})

    # --- on the disk ---

    def test_a_restart_loses_nothing_that_was_saved(self):
        first, second = self.two_servers("--state", "state")
        for name in ("saved", "at-the-end"):
            self.train(first.at, name)()
            self.idle(first.at, name)
        self.assertIsNone(self.containers(first.at)["saved"]["saved_step"])
        self.yoke("containers", "save", "saved", "--at", first.at)
        self.assertEqual(self.containers(first.at)["saved"]["saved_step"], 40)
        before = {name: self.snapshot(first.at, name) for name in ("saved", "at-the-end")}
        self.assertEqual(second.stop(), 0)
        self.assertEqual(first.stop(signal.SIGINT), 0)
        self.assertEqual(sorted(os.listdir(self.path("state"))),
                         ["at-the-end.0of2.container", "at-the-end.1of2.container", "saved.0of2.container",
                          "saved.1of2.container"])
        with open(self.path("state/damaged.0of2.container"), "wb") as file:
            file.write(b"nothing that makes sense")
        first, second = self.two_servers("--state", "state")
        self.assertIn("damaged.0of2.container", first.text)
        self.assertEqual({name: self.snapshot(first.at, name) for name in before}, before)
        self.train(first.at, "saved")()
        self.assertEqual(self.idle(first.at, "saved")["step"], 80)
        self.yoke("containers", "stop", "--at", first.at)
        self.assertEqual((first.process.wait(DEADLINE), second.process.wait(DEADLINE)), (0, 0))
        self.assertTrue(os.path.exists(self.path("state/damaged.0of2.container")))

    def test_a_server_that_is_killed_comes_back_with_what_was_saved_on_the_way(self):
        server = Server(self, "--state", "state", "--save-every", "0.1")
        self.train(server.at, "job")()
        self.when(server.at, "job", lambda container: container["saved_step"] == 40)
        before = self.snapshot(server.at, "job")
        server.stop(signal.SIGKILL)
        server = Server(self, "--state", "state")
        self.assertEqual(self.snapshot(server.at, "job"), before)

    def test_servers_are_stopped_while_a_job_is_going_on(self):
        first, second = self.two_servers("--state", "state")
        job = self.train(first.at, "cut", steps="100000")
        self.when(first.at, "cut", lambda container: container["step"] >= 20)
        self.assertEqual(second.stop(), 0)
        self.assertEqual(first.stop(), 0)
        self.assertIn("told to end", job(1))
        first, second = self.two_servers("--state", "state")
        step = self.containers(first.at)["cut"]["step"]
        self.assertGreaterEqual(step, 20)
        self.train(first.at, "cut")()  # so both parts were of one version
        self.assertEqual(self.idle(first.at, "cut")["step"], step + 40)

    def test_nothing_is_saved_over_the_last_version_that_all_servers_have(self):
        first, second = self.two_servers("--state", "state")
        self.train(first.at, "idle")()
        self.idle(first.at, "idle")
        self.yoke("containers", "save", "idle", "--at", first.at)
        job = self.train(first.at, "torn", steps="100000")
        self.when(first.at, "torn", lambda container: container["step"] >= 10)
        self.yoke("containers", "save", "torn", "--at", first.at)
        saved = self.containers(first.at)["torn"]["saved_step"]
        self.when(first.at, "torn", lambda container: container["step"] > saved)
        second.stop(signal.SIGKILL)
        job(1)
        self.assertGreater(self.idle(first.at, "torn")["step"], saved)
        self.assertIn("1 of 2 servers are there", self.yoke("containers", "save", "torn", "--at", first.at, status=1))
        second = Server(self, "--state", "state", shard="1/2", join=first.at)
        first.until("(?s)is gone.*server 1 .* is there")
        self.assertIn("may have another", self.yoke("containers", "save", "torn", "--at", first.at, status=1))
        self.assertEqual((first.stop(), second.stop()), (0, 0))
        first, second = self.two_servers("--state", "state")
        # Both parts are of the version that was saved last, so it is trained.
        for name, before in (("idle", 40), ("torn", saved)):
            self.assertEqual(self.containers(first.at)[name]["step"], before)
            self.train(first.at, name)()
            self.assertEqual(self.idle(first.at, name)["step"], before + 40)

    def test_a_container_that_only_another_server_has_is_removed(self):
        first, second = self.two_servers("--state", "state")
        self.train(first.at, "half")()
        self.idle(first.at, "half")
        self.assertEqual((second.stop(), first.stop()), (0, 0))
        os.remove(self.path("state/half.0of2.container"))
        first, second = self.two_servers("--state", "state")
        self.yoke("containers", "rm", "half", "--at", first.at)
        self.assertEqual(os.listdir(self.path("state")), [])
        self.assertIn("there is no container half", self.yoke("containers", "rm", "half", "--at", first.at, status=1))
        self.train(first.at, "half")()
        second.stop()
        first.until("server 1 .* is gone")
        self.assertIn("1 of 2 servers are there", self.yoke("containers", "rm", "half", "--at", first.at, status=1))

    def test_the_first_server_is_stopped_first(self):
        first, second = self.two_servers("--state", "state")
        self.train(first.at, "job")()
        self.idle(first.at, "job")
        self.assertEqual((first.stop(), second.stop()), (0, 0))
        first, _ = self.two_servers("--state", "state")
        self.train(first.at, "job")()
        self.assertEqual(self.idle(first.at, "job")["step"], 80)

    # --- wrong words ---

    def test_wrong_words_are_told_what_is_right(self):
        for words, said in ((("containers",), "--at ADDRESS"),
                            (("launch", "--container", "x", "--model", "synthetic:1k:1ms", "--steps", "1"), "--join"),
                            (("launch", "--container", "../x", "--join", "127.0.0.1:1", "--model", "synthetic:1k:1ms",
                              "--steps", "1"), "a name has at most"),
                            (("launch", "--container", "x", "--join", "127.0.0.1:1", "--strategy", "mirrored",
                              "--model", "synthetic:1k:1ms", "--steps", "1"), "mirrored has none"),
                            (("train", "--container", "x", "--join", "127.0.0.1:1", "--result", "best", "--model",
                              "synthetic:1k:1ms", "--steps", "1"), "the last version"),
                            (("serve", "--listen", "127.0.0.1:0", "--memory", "much"), "512M"),
                            (("serve", "--listen", "127.0.0.1:0", "--save-every", "5"), "--state DIR")):
            with self.subTest(words=words):
                self.assertIn(said, self.yoke(*words, status=2))


if __name__ == "__main__":
    unittest.main()
