"""The proxy of the chaos tests: each of its commands, between real sockets.

usage: fault_proxy_test.py FAULT_PROXY [unittest arguments]
"""
import contextlib
import os
import random
import select
import socket
import sys
import threading
import time
import unittest

from chaotic_job import FaultProxy, Trouble

PROXY = ""
DEADLINE = 60  # of everything, so that nothing hangs


def wait_for(what, condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {DEADLINE} s in vain for {what}")
        time.sleep(0.005)


class Echo:
    """A server that sends back what it gets, after `prefix`; an end is answered with an end."""

    def __init__(self, test, prefix=b""):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.prefix = prefix
        self.accepted = []
        self.resets = 0
        threading.Thread(target=self.accept, daemon=True).start()
        test.addCleanup(self.end)

    def end(self):
        # Closing alone does not wake who waits in accept().
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.accepted:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                one, _ = self.listener.accept()
                self.accepted.append(one)
                threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        with one:
            try:
                if self.prefix:
                    one.sendall(self.prefix)
                while got := one.recv(1 << 16):
                    one.sendall(got)
            except ConnectionResetError:
                self.resets += 1
            except OSError:
                pass


class FaultProxyTest(unittest.TestCase):
    def setUp(self):
        self.proxy = self.start()
        self.echo = Echo(self)
        self.address = self.proxy.route("a", self.echo.address)

    def start(self, seed=1):
        proxy = FaultProxy(PROXY, seed)
        self.addCleanup(proxy.end)
        return proxy

    def dial(self, address=None):
        host, _, port = (address or self.address).rpartition(":")
        one = socket.create_connection((host, int(port)), timeout=DEADLINE)
        self.addCleanup(one.close)
        return one

    def take(self, one, count):
        text = b""
        while len(text) < count:
            got = one.recv(count - len(text))
            self.assertTrue(got, f"it ended after {len(text)} of {count} bytes")
            text += got
        return text

    def echoes(self, one, text=b"hello"):
        one.sendall(text)
        self.assertEqual(self.take(one, len(text)), text)

    def silent(self, one, seconds=0.2):
        """That nothing comes cannot be waited for: it is seen for a while."""
        self.assertEqual(select.select([one], [], [], seconds)[0], [])

    def bytes_passed(self, name="a"):
        return [int(word) for word in self.proxy.tell("count", name).split()[1:]]

    def ends(self, one, with_reset):
        one.settimeout(DEADLINE)
        if with_reset:
            with self.assertRaises(ConnectionResetError):
                while one.recv(1 << 16):
                    pass
                raise AssertionError("it ended in good order")
        else:
            self.assertEqual(one.recv(1), b"")

    # --- without faults ---

    def test_bytes_pass_both_ways_and_are_counted(self):
        one = self.dial()
        self.echoes(one)
        self.assertEqual(self.proxy.tell("count", "a"), "a 5 5")

    def test_much_passes_whole_on_many_connections_at_once(self):
        text = random.Random(1).randbytes(3 << 20)
        failed = []

        def pass_it():
            one = self.dial()
            sender = threading.Thread(target=lambda: one.sendall(text), daemon=True)
            sender.start()
            if self.take(one, len(text)) != text:
                failed.append(1)
            sender.join()

        threads = [threading.Thread(target=pass_it) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.bytes_passed(), [6 * len(text)] * 2)

    def test_ends_pass_in_good_order_each_way(self):
        one = self.dial()
        one.sendall(b"last words")
        one.shutdown(socket.SHUT_WR)
        self.assertEqual(self.take(one, 10), b"last words")
        self.ends(one, with_reset=False)

    def test_a_reset_of_either_side_passes(self):
        one = self.dial()
        self.echoes(one)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        one.close()
        wait_for("the reset", lambda: self.echo.resets == 1)
        other = self.dial()
        self.echoes(other)
        self.echo.accepted[-1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        os.close(self.echo.accepted[-1].detach())
        try:
            other.sendall(b"x")
        except ConnectionResetError:  # it has come already
            return
        self.ends(other, with_reset=True)

    def test_a_target_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as gone:
            address = "127.0.0.1:%d" % gone.getsockname()[1]
        where = self.proxy.route("b", address)
        with self.assertRaises(ConnectionResetError):  # perhaps before it has begun
            self.dial(where).recv(1)

    def test_what_nobody_reads_is_held_up_to_a_limit(self):
        sink = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(sink.close)
        one = self.dial(self.proxy.route("b", "127.0.0.1:%d" % sink.getsockname()[1]))
        end, _ = sink.accept()
        self.addCleanup(end.close)
        one.setblocking(False)
        sent, quiet_since = 0, time.monotonic()
        while time.monotonic() < quiet_since + 0.5:  # nothing more can be sent
            try:
                sent += one.send(bytes(1 << 16))
                quiet_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.005)
            self.assertLess(sent, 64 << 20)
        with open(f"/proc/{self.proxy.process.pid}/statm") as file:
            self.assertLess(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), 16 << 20)
        end.settimeout(DEADLINE)
        self.take(end, sent)
        wait_for("room again", lambda: select.select([], [one], [], 0)[1])

    # --- faults ---

    def test_delay_holds_back_and_keeps_the_order(self):
        one = self.dial()
        self.echoes(one)
        self.proxy.tell("delay", "a", 150)
        began = time.monotonic()
        self.echoes(one, b"late")
        self.assertGreaterEqual(time.monotonic() - began, 0.3, "there and back")
        for count in range(50):
            one.sendall(b"%03d" % count)
        self.proxy.tell("delay", "a", 0)
        one.sendall(b"end")
        self.assertEqual(self.take(one, 153), b"".join(b"%03d" % count for count in range(50)) + b"end")
        began = time.monotonic()
        self.echoes(one)
        self.assertLess(time.monotonic() - began, 0.3)

    def test_an_end_is_delayed_as_bytes_are(self):
        one = self.dial()
        self.echoes(one)
        self.proxy.tell("delay", "a", 100)
        began = time.monotonic()
        one.sendall(b"x")
        one.shutdown(socket.SHUT_WR)
        self.assertEqual(self.take(one, 1), b"x")
        self.ends(one, with_reset=False)
        self.assertGreaterEqual(time.monotonic() - began, 0.2)

    def test_reset_ends_all_connections_of_the_route_and_no_others(self):
        some = [self.dial() for _ in range(3)]
        other = self.dial(self.proxy.route("b", self.echo.address))
        for one in (*some, other):
            self.echoes(one)
        self.proxy.tell("reset", "a")
        for one in some:
            self.ends(one, with_reset=True)
        wait_for("the target to hear of it", lambda: self.echo.resets == 3)
        self.echoes(other)
        self.echoes(self.dial())

    def test_flip_changes_one_bit_so_many_times(self):
        sink = Echo(self, prefix=bytes(100))
        one = self.dial(self.proxy.route("b", sink.address))
        self.take(one, 100)
        self.proxy.tell("flip", "b", 3)
        flipped = 0
        for _ in range(10):
            one.sendall(bytes(1000))
            flipped += sum(byte.bit_count() for byte in self.take(one, 1000))
        # A bit that is flipped on its way up may be flipped back on its way down.
        self.assertIn(flipped, (1, 3))

    def test_flips_are_the_seeds(self):
        def places(seed):
            proxy = self.start(seed)
            one = self.dial(proxy.route("a", self.echo.address))
            found = []
            for _ in range(8):
                proxy.tell("flip", "a", 1)
                one.sendall(bytes(10))
                text = self.take(one, 10)
                found.append(int.from_bytes(text, "little").bit_length())
            return found

        self.assertEqual(places(7), places(7))
        self.assertNotEqual(places(7), places(8))

    def test_cut_up_and_heal(self):
        one = self.dial()
        self.echoes(one)
        self.proxy.tell("cut", "a", "up")
        one.sendall(b"waits")
        self.silent(one)
        self.assertEqual(self.bytes_passed(), [5, 5])
        self.proxy.tell("heal", "a")
        self.assertEqual(self.take(one, 5), b"waits")

    def test_cut_down_and_heal(self):
        one = self.dial()
        self.echoes(one)
        self.proxy.tell("cut", "a", "down")
        one.sendall(b"waits")
        wait_for("it to get there", lambda: self.bytes_passed() == [10, 5])
        self.silent(one)
        self.proxy.tell("heal", "a")
        self.assertEqual(self.take(one, 5), b"waits")

    def test_cut_both_accepts_newcomers_and_passes_nothing_of_them(self):
        one = self.dial()
        self.echoes(one)
        self.proxy.tell("cut", "a", "both")
        other = self.dial()
        other.sendall(b"new")
        one.sendall(b"old")
        self.silent(one)
        self.silent(other, 0)
        self.assertEqual(len(self.echo.accepted), 1)
        self.proxy.tell("heal", "a")
        self.assertEqual(self.take(one, 3), b"old")
        self.assertEqual(self.take(other, 3), b"new")

    def test_a_cut_hides_the_end_of_a_connection_until_it_is_healed(self):
        one, other = self.dial(), self.dial()
        self.echoes(one)
        self.echoes(other)
        self.proxy.tell("cut", "a", "both")
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        one.close()
        self.echo.accepted[1].shutdown(socket.SHUT_RDWR)
        self.silent(other)
        self.assertEqual(self.echo.resets, 0)
        self.assertLess(self.cpu_while(0.2), 0.1, "ends that wait cost nothing")
        self.proxy.tell("heal", "a")
        wait_for("the reset", lambda: self.echo.resets == 1)
        self.ends(other, with_reset=False)

    def test_target_is_for_those_who_come(self):
        one = self.dial()
        self.echoes(one)
        there = Echo(self, prefix=b"elsewhere")
        self.proxy.tell("target", "a", there.address)
        self.echoes(one)
        self.assertEqual(self.take(self.dial(), 9), b"elsewhere")

    def test_close_refuses_and_open_takes_in_again_at_the_same_port(self):
        one = self.dial()
        self.echoes(one)
        for _ in range(3):
            self.proxy.tell("close", "a")
            self.ends(one, with_reset=True)
            with self.assertRaises(ConnectionRefusedError):
                self.dial()
            self.proxy.tell("open", "a")
            one = self.dial()
            self.echoes(one)

    # --- the proxy itself ---

    def test_what_is_wrong_is_said(self):
        for words in ("", "nonsense", "nonsense a", "delay a", "delay a -1", "delay a x", "flip a 1 2",
                      "cut a sideways", "heal b", "route a 127.0.0.1:1", "route b nowhere", "target a nowhere",
                      "count a b", "reset a b"):
            with self.subTest(words=words), self.assertRaisesRegex(Trouble, "error: "):
                self.proxy.tell(words)
        self.echoes(self.dial())

    def test_it_ends_when_told_and_with_its_input(self):
        self.assertEqual(self.proxy.tell("quit"), "ok")
        self.assertEqual(self.proxy.process.wait(DEADLINE), 0)
        other = self.start()
        other.process.stdin.close()
        self.assertEqual(other.process.wait(DEADLINE), 0)

    def cpu_while(self, seconds):
        def cpu():
            with open(f"/proc/{self.proxy.process.pid}/schedstat") as file:
                return int(file.read().split()[0]) / 1e9

        before = cpu()
        time.sleep(seconds)
        return cpu() - before

    def test_it_sleeps_when_there_is_nothing_to_do(self):
        some = [self.dial() for _ in range(5)]
        for one in some:
            self.echoes(one)
        self.proxy.tell("delay", "a", 20000)
        some[0].sendall(b"held back")
        self.proxy.tell("cut", "a", "both")
        some[1].sendall(bytes(1 << 16))
        some[2].shutdown(socket.SHUT_RDWR)
        self.echo.accepted[3].shutdown(socket.SHUT_RDWR)
        self.bytes_passed()
        self.assertLess(self.cpu_while(0.5), 0.1)


if __name__ == "__main__":
    PROXY = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
