"""`yoke secret` and `yoke cert` as a user runs them; the command `openssl` says what it thinks of the files.

usage: keys_test.py YOKE [unittest arguments]
"""
import os
import shlex
import stat
import subprocess
import sys
import tempfile
import unittest

YOKE = ""
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class KeysTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_in_folder(self, *words):
        return subprocess.run(words, capture_output=True, text=True, cwd=self.folder.name, timeout=60,
                              stdin=subprocess.DEVNULL)

    def yoke(self, *words, status=0):
        """Runs it; returns what it said, both streams."""
        done = self.run_in_folder(YOKE, *words)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, status, f"yoke {' '.join(words)}\n{said}")
        return said

    def openssl(self, *words):
        done = self.run_in_folder("openssl", *words)
        return done.returncode == 0, done.stdout + done.stderr

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def mode(self, name):
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)

    def read(self, name):
        with open(self.path(name)) as stream:
            return stream.read()

    def files(self, name="."):
        return sorted(os.listdir(self.path(name)))

    def test_a_secret_is_written_and_not_shown(self):
        said = self.yoke("secret", "new", "job.secret")
        secret = self.read("job.secret")
        self.assertEqual(len(secret), 44)
        self.assertNotIn(secret.strip(), said)
        self.assertIn("--secret-file job.secret", said)
        self.assertEqual(self.mode("job.secret"), 0o600)
        self.assertIn("is there already", self.yoke("secret", "new", "job.secret", status=3))
        self.assertEqual(self.read("job.secret"), secret)
        self.assertIn("no secret", self.yoke("secret", "new", "-", status=2))
        self.assertEqual(self.files(), ["job.secret"])

    def test_hosts_of_one_authority_believe_each_other(self):
        said = self.yoke("cert", "new", "one", "node1", "10.0.0.1")
        self.assertIn("one/ca-key.pem stays here", said)
        self.yoke("cert", "new", "two", "node2", "--from", "one", "--days", "30")
        self.yoke("cert", "new", "ann", "ann", "--from", "one", "--client")
        self.assertEqual(self.files("one"), ["ca-key.pem", "ca.pem", "cert.pem", "key.pem"])
        self.assertEqual(self.files("two"), ["ca.pem", "cert.pem", "key.pem"])
        for name in "one/ca-key.pem", "one/key.pem", "two/key.pem":
            self.assertEqual(self.mode(name), 0o600)
        self.assertEqual(self.mode("one"), 0o700)

        def believed(*words):
            return self.openssl("verify", "-x509_strict", "-CAfile", "two/ca.pem", *words)

        for words in (["-purpose", "sslserver", "-verify_hostname", "node1", "one/cert.pem"],
                      ["-purpose", "sslserver", "-verify_ip", "10.0.0.1", "one/cert.pem"],
                      ["-purpose", "sslserver", "-verify_hostname", "node2", "two/cert.pem"],
                      ["-purpose", "sslclient", "ann/cert.pem"]):
            self.assertTrue(*believed(*words))
        self.assertFalse(*believed("-purpose", "sslserver", "ann/cert.pem"))
        self.assertFalse(*believed("-verify_hostname", "node1", "two/cert.pem"))
        self.yoke("cert", "new", "strange", "node1")
        self.assertFalse(*believed("strange/cert.pem"))

    def test_show(self):
        self.yoke("cert", "new", "one", "node1", "10.0.0.1", "--days", "1")
        self.yoke("cert", "new", "ann", "ann", "--from", "one", "--client")
        said = self.yoke("cert", "show", "one")
        _, dates = self.openssl("x509", "-noout", "-enddate", "-dateopt", "iso_8601", "-in", "one/cert.pem")
        for words in ("node1, 10.0.0.1", "serve and dial", "Yoke authority", "authority at home", "holds",
                      dates.strip().removeprefix("notAfter=")[:10]):
            self.assertIn(words, said)
        self.assertIn("dial, not serve", self.yoke("cert", "show", "ann"))
        os.replace(self.path("one/key.pem"), self.path("ann/key.pem"))
        self.assertIn("key.pem is not the key of cert.pem", self.yoke("cert", "show", "ann", status=3))
        os.chmod(self.path("ann/key.pem"), 0o640)
        self.assertIn("chmod 600 ann/key.pem", self.yoke("cert", "show", "ann", status=3))

    def test_what_the_guide_says(self):
        with open(os.path.join(SOURCE, "SECURITY.md")) as guide:
            commands = [shlex.split(line, comments=True) for line in guide if line.startswith("    yoke ")]
        self.assertGreaterEqual(len(commands), 4)
        for command in commands:
            self.yoke(*command[1:])

    def test_nothing_is_made_when_something_is_wrong(self):
        self.yoke("cert", "new", "home", "node1")
        before = {name: self.read("home/" + name) for name in self.files("home")}
        self.assertIn("is there already", self.yoke("cert", "new", "home", "node2", status=3))
        self.assertIn("node:7", self.yoke("cert", "new", "a", "good", "node:7", status=2))
        self.assertIn("no authority is at home", self.yoke("cert", "new", "a", "node2", "--from", "b", status=3))
        self.yoke("cert", "new", "two", "node2", "--from", "home")
        self.assertIn("without ca-key.pem", self.yoke("cert", "new", "a", "node3", "--from", "two", status=3))
        self.yoke("cert", "new", "a", "node3", "--days", "0", status=2)
        self.assertEqual(self.files(), ["home", "two"])
        self.assertEqual(before, {name: self.read("home/" + name) for name in self.files("home")})


if __name__ == "__main__":
    YOKE = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
