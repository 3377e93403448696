"""Jobs by hand on two hosts, which are network namespaces of this machine.

usage: hosts_test.py YOKE [--long] [unittest arguments]     --long: the documented commands as they are, with Fashion-MNIST
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

from cluster_case import SHORT, ClusterCase, documented, shortened

LONG = "--model synthetic:200k:10ms --steps 1000000 --history h"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True).returncode == 0


class HostsCase(ClusterCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not shutil.which("ip"):
            self.skipTest("network namespaces need root and iproute2")
        self.names = [f"yokec{os.getpid()}{end}" for end in "ab"]
        if not ip("netns", "add", self.names[0]):
            self.skipTest("network namespaces cannot be made here")
        for name in self.names:
            self.addCleanup(ip, "netns", "del", name)
        ip("netns", "add", self.names[1])
        self.assertTrue(ip("link", "add", "va", "netns", self.names[0], "type", "veth", "peer", "name", "vb", "netns",
                           self.names[1]))
        for name, device, address in zip(self.names, ("va", "vb"), ("10.78.0.1", "10.78.0.2")):
            self.assertTrue(ip("-n", name, "addr", "add", f"{address}/24", "dev", device))
            self.assertTrue(ip("-n", name, "link", "set", device, "up"))
            ip("-n", name, "link", "set", "lo", "up")

    def commands(self):
        """The documented ones, of the first and of the second host."""
        return documented("by hand").replace("/shared/yoke", self.path("meet")).splitlines()

    def on(self, host, command, **options):
        return self.start(command, prefix=("ip", "netns", "exec", self.names[host]), **options)


class HostsTest(HostsCase):
    def test_the_documented_commands(self):
        # The second before the first: the order does not matter.
        jobs = [self.on(host, shortened(command) + " --history h") for host, command in
                reversed(list(enumerate(self.commands())))]
        other, first = [self.finish(job) for job in jobs]
        self.assertIn("1 server, 2 replicas on 2 ranks, 2 nodes", first)
        self.assertIn("yoke status tcp:10.78.0.1:", first)
        self.assertIn("60 updates", first)
        self.assertNotIn("updates", other)
        self.assert_nothing_left()
        self.assertIn("every promise held", self.run_command("yoke check h.*"))

    def test_mirrored(self):
        jobs = [self.on(host, shortened(command) + " --strategy mirrored") for host, command in
                enumerate(self.commands())]
        self.assertIn("60 updates", "".join(self.finish(job) for job in jobs))
        self.assert_nothing_left()

    def test_how_it_goes_is_told_to_who_has_the_keys(self):
        jobs = [self.on(host, f"yoke launch --rank {host}/2 --meet {self.path('meet')} {LONG}") for host in (0, 1)]
        self.training(2)
        said = jobs[0].stdout.readline()
        command = re.search(r"`(YOKE_SECRET_FILE=.* yoke status \S+)`", said)[1]
        self.assertIn("training: step", self.finish(self.on(0, "env " + command)))
        bare = command[command.index("yoke status"):] + " --insecure"
        self.assertNotIn("training: step", self.finish(self.on(0, bare), status=1))
        jobs[0].send_signal(signal.SIGTERM)
        for job, status in zip(jobs, (143, 0)):
            self.finish(job, status)

    def test_pods_of_an_indexed_job_meet_nowhere(self):
        for command in ("cert new yoke-job job.yoke.internal", "secret new yoke-job/secret"):  # as the page says
            self.run_command(f"yoke {command}")
        pods = [self.on(index, f"yoke launch --servers 2 {SHORT} --history h", JOB_COMPLETION_INDEX=str(index),
                        KUBERNETES_SERVICE_HOST="10.96.0.1", YOKE_RANKS="2", YOKE_FIRST="10.78.0.1:7000",
                        YOKE_SECRET_FILE=self.path("yoke-job/secret"), YOKE_CERTS=self.path("yoke-job"),
                        YOKE_PEER_NAME="job.yoke.internal") for index in (1, 0)]
        text = [self.finish(pod) for pod in pods][1]
        self.assertIn("2 servers, 2 replicas on 2 ranks, 2 nodes", text)
        self.assertIn("60 updates", text)
        self.assertFalse(os.path.exists(self.path("meet")))
        self.assert_gone()

    def test_a_killed_rank_ends_what_cannot_go_on_without_it(self):
        jobs = [self.on(host, f"yoke launch --rank {host}/2 --meet {self.path('meet')} --strategy sync --servers 2 {LONG}")
                for host in (0, 1)]
        self.training(2)
        jobs[1].kill()
        self.assertIn("server 1", self.finish(jobs[0], status=1))
        self.finish(jobs[1], status=-signal.SIGKILL)
        self.assert_gone()

    def test_sigterm_to_the_other_rank_stops_and_saves(self):
        jobs = [self.on(host, f"yoke launch --rank {host}/2 --meet {self.path('meet')} {LONG}") for host in (0, 1)]
        self.training(2)
        jobs[1].send_signal(signal.SIGTERM)
        self.assertIn("To go on from here", self.finish(jobs[0], status=143))
        self.finish(jobs[1], status=0)
        self.assert_nothing_left()

    def test_a_rank_that_nobody_joins_gives_up_and_names_the_other(self):
        text = self.run_command(f"yoke launch --rank 1/2 --meet {self.path('meet')} --deadline 0.5 --model "
                                "synthetic:10k:2ms --steps 9", status=1)
        self.assertIn("for rank 0", text)
        waits = self.start(f"yoke launch --rank 1/2 --meet {self.path('meet')} --model synthetic:10k:2ms --steps 9")
        job = os.path.join("meet", "by-hand")
        self.wait_for_file(os.path.join(job, "hello.1"))
        waits.send_signal(signal.SIGINT)
        self.finish(waits, status=130)
        self.assertEqual(os.listdir(self.path(job)), [])

    def test_what_is_wrong_with_a_meeting_is_said(self):
        job = "--model synthetic:10k:2ms --steps 9"
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        self.assertIn("others may write", self.run_command(f"yoke launch --rank 0/2 --meet open {job}", status=1))
        self.assertIn("--meet DIR", self.run_command(f"yoke launch --rank 0/2 {job}", status=2))
        self.assertIn("--rank I/N", self.run_command(f"yoke launch --meet open {job}", status=2))
        self.assertIn("I/N", self.run_command(f"yoke launch --rank 2 --meet meet {job}", status=2))
        self.assertIn("0 to 1", self.run_command(f"yoke launch --rank 2/2 --meet meet {job}", status=2))


class HostsLongTest(HostsCase):
    def test_the_documented_commands_as_they_are(self):
        jobs = [self.on(host, command) for host, command in enumerate(self.commands())]
        texts = [job.communicate(timeout=1800)[0] for job in jobs]
        self.assertEqual([job.returncode for job in jobs], [0, 0], texts)
        print(texts[0])
        self.assertGreaterEqual(float(re.search(r"test +accuracy (\S+),", texts[0])[1]), 0.87)
        self.assert_nothing_left()


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(HostsLongTest if LONG_RUN else HostsTest)


if __name__ == "__main__":
    ClusterCase.YOKE = os.path.abspath(sys.argv[1])
    LONG_RUN = "--long" in sys.argv
    unittest.main(argv=[sys.argv[0], *[word for word in sys.argv[2:] if word != "--long"]], verbosity=2)
