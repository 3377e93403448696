"""Jobs under a real mpirun of OpenMPI.

usage: mpirun_test.py YOKE [--long] [unittest arguments]     --long: the documented command as it is, with Fashion-MNIST
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

from cluster_case import ClusterCase, documented, shortened

LONG = "--model synthetic:200k:10ms --steps 1000000 --history h"


@unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
class MpirunTest(ClusterCase):
    def test_the_documented_command(self):
        text = self.run_command(shortened(documented("mpirun")) + " --history h")
        self.assertIn("2 servers, 6 replicas on 6 ranks, 1 node", text)
        self.assertIn("60 updates", text)
        self.assert_nothing_left()
        self.assertIn("every promise held", self.run_command("yoke check h.*"))

    def test_every_strategy(self):
        for strategy in ("async --servers 2", "mirrored"):
            with self.subTest(strategy=strategy):
                text = self.run_command(f"mpirun -n 3 yoke launch --strategy {strategy} --model synthetic:10k:2ms --steps 30")
                self.assertIn("30 updates", text)
                self.assert_nothing_left()

    def test_several_replicas_a_rank(self):
        text = self.run_command("mpirun -n 2 yoke launch --replicas 4 --model synthetic:10k:2ms --steps 20")
        self.assertIn("4 replicas on 2 ranks", text)
        self.assertIn("replica 3: ", text)

    def test_one_rank_is_a_job_of_this_machine(self):
        text = self.run_command("mpirun -n 1 yoke launch --replicas 2 --check --model synthetic:10k:2ms --steps 20")
        self.assertIn("every promise held", text)

    def test_a_program_of_ones_own(self):
        text = self.run_command("""mpirun -n 2 yoke launch --strategy mirrored -- sh -c 'echo I am $YOKE_REPLICA of $YOKE_JOIN'""")
        self.assertRegex(text, r"\[replica 1\] I am 1 of shm:")

    def test_without_pmix_they_meet_in_a_folder(self):
        # As where Yoke was built without it.
        text = self.run_command("mpirun -n 3 env -u PMIX_RANK yoke launch --model synthetic:10k:2ms --steps 20")
        self.assertIn("20 updates", text)
        self.assertTrue(os.path.isdir(self.path("meet")))
        self.assert_nothing_left()

    def test_wrong_flags_are_said_and_end_all(self):
        for flags, words in (("--replicas 4", "cannot be spread evenly over 3 ranks"), ("--check", "--history FILE"),
                             ("--server-nodes 1", "the replicas need at least one"),
                             ("--servers 2 --servers-per-node 2", "give one of them")):
            with self.subTest(flags=flags):
                text = self.run_command(f"mpirun -n 3 yoke launch {flags} --model synthetic:10k:2ms --steps 9", status=2)
                self.assertIn(words, text)
                self.assert_gone()

    def test_a_file_that_is_missing_ends_all(self):
        text = self.run_command("mpirun -n 3 yoke launch --data csv:no-such-file.csv --target y", status=3)
        self.assertIn("no-such-file.csv", text)
        self.assert_gone()

    # --- told to stop ---

    def test_sigusr1_to_mpirun_stops_saves_and_can_be_resumed(self):
        job = self.start(f"mpirun -n 4 yoke launch {LONG}")
        self.training(4)
        job.send_signal(signal.SIGUSR1)
        text = self.finish(job, status=143)
        self.assertIn("To go on from here", text)
        self.assert_gone()

    def test_sigterm_to_any_rank_stops_the_job(self):
        job = self.start(f"mpirun -n 4 yoke launch {LONG}")
        self.training(4)
        os.kill(self.processes("launch", "--history")[-1], signal.SIGTERM)
        text = self.finish(job, status=143)
        self.assertIn("To go on from here", text)
        self.assert_gone()

    # --- killed ---

    def ranks(self):
        return [pid for pid in self.processes("launch") if not self.is_mpirun(pid)]

    def is_mpirun(self, pid):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().startswith(b"mpirun")

    def test_a_killed_rank_ends_all(self):
        job = self.start(f"mpirun -n 6 yoke launch --servers 2 {LONG}")
        self.training(6)
        os.kill(self.ranks()[3], signal.SIGKILL)
        self.finish(job, status=137)
        self.assert_gone()

    def test_without_mpirun_all_end(self):
        job = self.start(f"mpirun -n 3 yoke launch {LONG}")
        self.training(3)
        job.kill()
        self.finish(job, status=-signal.SIGKILL)
        self.assert_gone()

    def test_a_replica_that_can_be_done_without_does_not_end_the_job(self):
        job = self.start("mpirun -n 4 yoke launch --spares 1 --model synthetic:200k:10ms --steps 300 --history h")
        self.training(4)
        replica, = [pid for pid in self.processes("replica") if self.number(pid) == 2]
        os.kill(replica, signal.SIGKILL)
        text = self.finish(job)
        self.assertIn("300 updates", text)
        self.assertIn("replica 2 was ended by SIGKILL", text)

    def number(self, pid):
        with open(f"/proc/{pid}/environ") as file:
            return int(re.search(r"\0YOKE_REPLICA=(\d+)\0", file.read())[1])


@unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
class MpirunLongTest(ClusterCase):
    def test_the_documented_command_as_it_is(self):
        done = subprocess.run(["bash", "-c", documented("mpirun")], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, timeout=1800)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout)
        self.assertGreaterEqual(float(re.search(r"test +accuracy (\S+),", done.stdout)[1]), 0.87)
        self.assert_nothing_left()


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(MpirunLongTest if LONG_RUN else MpirunTest)


if __name__ == "__main__":
    ClusterCase.YOKE = os.path.abspath(sys.argv[1])
    LONG_RUN = "--long" in sys.argv
    unittest.main(argv=[sys.argv[0], *[word for word in sys.argv[2:] if word != "--long"]], verbosity=2)
