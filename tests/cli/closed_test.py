"""What strangers get from a server's port, and what its memory gives away: nothing.

usage: closed_test.py YOKE [unittest arguments]
"""
import os
import re
import resource
import select
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

YOKE = ""
DEADLINE = 60


class ClosedTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for words in (("secret", "new", "secret"), ("cert", "new", "certs", "127.0.0.1")):
            subprocess.run([YOKE, *words], cwd=self.folder.name, check=True, capture_output=True, timeout=DEADLINE)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def serve(self, *words, environment=None):
        """A server on a free port of the loopback. Its core file, if it gets one, lies in the folder."""
        def before():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        server = subprocess.Popen([YOKE, "server", "--listen", "127.0.0.1:0", *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, cwd=self.folder.name, preexec_fn=before,
                                  env={**os.environ, **(environment or {})})
        def end():
            server.kill()
            server.wait()
            server.stdout.close()
        self.addCleanup(end)
        self.assertTrue(select.select([server.stdout], [], [], DEADLINE)[0])
        port = int(re.search(r"at tcp:127\.0\.0\.1:(\d+)", server.stdout.readline())[1])
        return server, port

    def expect_unharmed(self, port, *words):
        asked = subprocess.run([YOKE, "status", f"127.0.0.1:{port}", *words], cwd=self.folder.name,
                               capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(asked.returncode, 0, asked.stderr)

    def test_a_plain_port_says_nothing(self):
        _, port = self.serve("--secret-file", "secret")
        requests = (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b" " * 64, b"\0" * 64, b"\x16\x03\x01" + b"x" * 64)
        for request in requests:
            with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as stranger:
                stranger.sendall(request)
                try:
                    self.assertEqual(stranger.recv(1), b"")
                except ConnectionResetError:
                    pass  # no byte either
        self.expect_unharmed(port, "--secret-file", "secret")

    def test_a_tls_port_says_nothing_to_who_has_no_certificate(self):
        _, port = self.serve("--secret-file", "secret", "--certs", "certs")
        context = ssl.create_default_context(cafile=self.path("certs/ca.pem"))
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as plain:
            with self.assertRaisesRegex(ssl.SSLError, "(?i)certificate.required"):
                with context.wrap_socket(plain, server_hostname="127.0.0.1") as stranger:
                    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    stranger.recv(1)
        done = subprocess.run(["openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{port}", "-CAfile",
                               self.path("certs/ca.pem")], input=b"GET / HTTP/1.1\r\n\r\n" * 8, capture_output=True,
                              timeout=DEADLINE)
        self.assertEqual(done.stdout, b"")
        self.expect_unharmed(port, "--secret-file", "secret", "--certs", "certs")

    def test_a_certificate_alone_is_not_enough(self):
        _, port = self.serve("--secret-file", "secret", "--certs", "certs")
        done = subprocess.run(["openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{port}", "-CAfile",
                               self.path("certs/ca.pem"), "-cert", self.path("certs/cert.pem"), "-key",
                               self.path("certs/key.pem")], input=b"GET / HTTP/1.1\r\n\r\n" * 8, capture_output=True,
                              timeout=DEADLINE)
        self.assertEqual(done.stdout, b"")
        for words in ((), ("--secret-file", "other")):
            if words:
                subprocess.run([YOKE, "secret", "new", "other"], cwd=self.folder.name, check=True, capture_output=True)
            asked = subprocess.run([YOKE, "status", f"127.0.0.1:{port}", "--certs", "certs", *words], text=True,
                                   cwd=self.folder.name, capture_output=True, timeout=DEADLINE)
            self.assertEqual(asked.returncode, 1)
            self.assertIn("--secret-file", asked.stderr)
        self.expect_unharmed(port, "--secret-file", "secret", "--certs", "certs")

    def test_a_core_file_has_no_secret(self):
        with open("/proc/sys/kernel/core_pattern") as file:
            if file.read().strip() != "core":
                self.skipTest("core files do not lie in the folder here")
        with open(self.path("secret")) as file:
            secret = file.read().strip()
        with open(self.path("certs/key.pem")) as file:
            key = file.read().split("\n")[1]
        for by_file in (True, False):
            words = ("--secret-file", "secret") if by_file else ()
            server, port = self.serve("--certs", "certs", *words, environment={} if by_file else {"YOKE_SECRET": secret})
            self.expect_unharmed(port, "--secret-file", "secret", "--certs", "certs")  # so it has been used
            for place in ("environ", "cmdline"):
                with open(f"/proc/{server.pid}/{place}") as file:
                    self.assertNotIn(secret, file.read())
            server.send_signal(signal.SIGABRT)
            server.wait(DEADLINE)
            cores = [name for name in os.listdir(self.folder.name) if name.startswith("core")]
            if not cores:
                self.skipTest("no core file came")
            with open(self.path(cores[0]), "rb") as file:
                memory = file.read()
            os.unlink(self.path(cores[0]))
            self.assertIn(f"127.0.0.1:{port}".encode(), memory)  # it is the memory of that process
            self.assertNotIn(secret.encode(), memory)
            self.assertNotIn(key.encode(), memory)


if __name__ == "__main__":
    YOKE = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
