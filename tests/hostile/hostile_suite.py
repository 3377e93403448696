#!/usr/bin/env python3
"""Strangers of every kind at the port of a live server, plain with a secret and with TLS and a secret: none is let in,
nothing crashes or leaks, and a training beside it goes on. What each kind costs the server is shown in a table.

usage: hostile_suite.py YOKE HOSTILE_PEER [--short] [--seed N]
"""
import argparse
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import tempfile
import time

import strangers
from watched import PATIENCE, Process, Server, wait_for

MOST_GROWTH = 8 << 20  # bytes of memory, from a warm server to the end: a kilobyte and a half a connection
LEAST_SHARE = 0.5  # of the steps a second that a training makes when it is left alone
TOO_OFTEN = 300  # more failures than a server takes from one source
STEPS = 10_000_000  # more than there is time for


class Suite:
    def __init__(self, flags, folder):
        self.yoke, self.peer = flags.yoke, flags.peer
        self.each, self.idle, self.warm, self.mixed = (12, 100, 0, 60) if flags.short else (250, 2000, 300, 1500)
        self.window = 3 if flags.short else 10  # seconds
        self.dallying = 1 if flags.short else len(strangers.HELD)  # kinds that take five seconds each
        self.random = random.Random(flags.seed)
        self.frames = strangers.frames_of(self.peer)
        self.folder = folder
        self.connections = 0
        for words in (["secret", "new", f"{folder}/secret"], ["cert", "new", f"{folder}/certs", "127.0.0.1"],
                      ["cert", "new", f"{folder}/others", "127.0.0.1"]):
            subprocess.run([self.yoke, *words], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)
        self.secret = {"YOKE_SECRET_FILE": f"{folder}/secret"}
        self.with_tls = {**self.secret, "YOKE_CERTS": f"{folder}/certs"}

    # --- good ones ---

    def status(self, port, environment):
        """What `yoke status` says; it must be let in, whatever else goes on."""
        done = subprocess.run([self.yoke, "status", f"127.0.0.1:{port}", "--json"], env={**os.environ, **environment},
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"a good peer was not let in: {done.stderr}"
        return json.loads(done.stdout)

    def target(self, server, environment):
        words = [self.yoke, "status", "--json"]
        recorded = strangers.record(server.port, lambda port: subprocess.Popen(
            [*words, f"127.0.0.1:{port}"], env={**os.environ, **environment}, stdout=subprocess.DEVNULL))
        assert len(recorded) > 200, "a good peer's handshake was not recorded"
        certs = environment.get("YOKE_CERTS")
        return strangers.Target(server.port, self.frames, certs, certs and f"{self.folder}/others", recorded)

    # --- strangers ---

    def kinds(self, target):
        return {**strangers.KINDS, **(strangers.KINDS_IN_TLS if target.certs else {})}

    def none_let_in(self, kind, heard):
        self.connections += len(heard)
        for words in heard:
            assert not strangers.let_in(words), f"{kind}: it was let in, and heard {words[:200]}"

    def come(self, server, environment, target, each, dallying, idle):
        """All kinds, one after another; a row of the table for each."""
        rows = []

        def measured(kind, count, act):
            before, descriptors = server.cpu_seconds(), server.descriptors()
            act()
            wait_for(f"the end of all connections ({kind})", lambda: server.descriptors() <= descriptors)
            rows.append((kind, count, (server.cpu_seconds() - before) / count * 1e6))
            assert server.process.poll() is None, f"the server ended after: {kind}\n{server.text()}"

        for kind, act in self.kinds(target).items():
            measured(kind, each, lambda: self.none_let_in(kind, [act(target) for _ in range(each)]))
        measured("one source, too often", TOO_OFTEN, lambda: self.none_let_in(
            "too often", [strangers.too_often(target) for _ in range(TOO_OFTEN)]))
        for kind in strangers.HELD if idle else ():
            count = idle if kind == "idle" else dallying
            measured(kind, count, lambda: self.none_let_in(kind, strangers.held(
                target, kind, count, lambda: self.status(server.port, environment))))
        measured("wrong role, right secret", each, lambda: self.wrong_roles(server, environment, each))
        measured("(let in: yoke status)", 10, lambda: [self.status(server.port, environment) for _ in range(10)])
        return rows

    def wrong_roles(self, server, environment, count):
        self.connections += count
        subprocess.run([self.peer, "roles", server.address, str(count)], check=True,
                       env={**os.environ, **environment}, timeout=PATIENCE + count)

    # --- what must hold ---

    def idle_server(self, name, environment, ended):
        """A server that has nothing else to do: what strangers cost it, and what they leave behind."""
        server = Server(self.yoke, environment)
        ended.callback(server.kill)
        target = self.target(server, environment)
        # It is warm when it has had as many at once as there will be.
        self.come(server, environment, target, max(2, self.each // 10), self.each, self.warm)
        warm = server.resident()
        descriptors = server.descriptors()
        rows = self.come(server, environment, target, self.each, self.each, self.idle)
        wait_for("the descriptors of strangers", lambda: server.descriptors() <= descriptors)
        growth = server.resident() - warm
        assert growth <= MOST_GROWTH, f"{name}: the server has grown by {growth / 2**20:.1f} MiB"
        server.process.send_signal(signal.SIGTERM)
        assert server.wait() == 143, f"{name}: the server ended badly:\n{server.text()}"
        assert "joined" not in server.text(), f"{name}: somebody has joined:\n{server.text()}"
        print(f"\n{name}: {growth / 1024:+.0f} KiB from {warm / 2**20:.1f} MiB, {descriptors} descriptors before and after")
        print(f"{'':<30} {'connections':>12} {'server CPU, us each':>20}")
        for kind, count, cost in rows:
            print(f"{kind:<30} {count:>12} {cost:>20.0f}")

    def rate(self, server, environment, act):
        """Steps a second while `act` goes on."""
        before, began = self.status(server.port, environment)["step"], time.monotonic()
        act()
        took = time.monotonic() - began
        return (self.status(server.port, environment)["step"] - before) / took

    def beside_training(self, ended):
        """A training of two replicas over TLS goes on while strangers of all kinds come."""
        server = Server(self.yoke, self.with_tls)
        ended.callback(server.kill)
        words = [self.yoke, "replica", "--join", server.address, "--replicas", "2", "--strategy", "sync", "--model",
                 "synthetic:1M:20ms", "--steps", str(STEPS), "--quiet"]
        replicas = [Process([*words, "--replica", str(number)], self.with_tls) for number in range(2)]
        for replica in replicas:
            ended.callback(replica.kill)
        wait_for("the first steps", lambda: self.status(server.port, self.with_tls)["step"] >= 20)
        target = self.target(server, self.with_tls)
        kinds = list(self.kinds(target).items())
        alone = self.rate(server, self.with_tls, lambda: time.sleep(self.window))

        def mixed():
            for _ in range(self.mixed):
                kind, act = self.random.choice(kinds)
                self.none_let_in(kind, [act(target)])
            for kind in strangers.HELD[:self.dallying]:
                self.none_let_in(kind, strangers.held(target, kind, min(self.idle, 300)))
            self.wrong_roles(server, self.with_tls, 8)

        beside = self.rate(server, self.with_tls, mixed)
        again = self.rate(server, self.with_tls, lambda: time.sleep(self.window))
        told = self.status(server.port, self.with_tls)
        for replica in told["replicas"]:
            assert replica["present"] and not replica["gone"] and replica["refused"] == 0, replica
        assert len(told["replicas"]) == 2, told["replicas"]
        replicas[0].process.send_signal(signal.SIGTERM)
        for replica in replicas:
            replica.wait()
        assert server.wait() == 0, f"the server of the training ended badly:\n{server.text()}"
        share = beside / ((alone + again) / 2)
        print(f"\nbeside a training: {alone:.1f} steps/s alone, {beside:.1f} among strangers, {again:.1f} alone again: "
              f"{share:.2f}")
        assert share >= LEAST_SHARE, f"strangers have slowed the training down to {share:.2f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("yoke")
    parser.add_argument("peer")
    parser.add_argument("--short", action="store_true", help="some 2,000 connections instead of 16,000")
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16384), most))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ended:
        suite = Suite(flags, folder)
        suite.idle_server("plain, with a secret", suite.secret, ended)
        suite.idle_server("TLS and a secret", suite.with_tls, ended)
        suite.beside_training(ended)
        print(f"\n{suite.connections} connections of strangers, none let in")


if __name__ == "__main__":
    main()
