"""Jobs under a real Slurm, of three nodes that are all this machine.

usage: slurm_test.py YOKE [--long] [unittest arguments]     --long: the documented commands as they are, with Fashion-MNIST
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from cluster_case import ClusterCase, DEADLINE, documented, shortened, wait_for
from one_machine_slurm import Slurm, why_not

LONG = "--model synthetic:200k:10ms --steps 1000000 --history h"


class SlurmCase(ClusterCase):
    @classmethod
    def setUpClass(cls):
        if reason := why_not():
            raise unittest.SkipTest(reason)
        folder = tempfile.TemporaryDirectory(prefix="yoke-s", dir="/tmp")
        cls.addClassCleanup(folder.cleanup)
        cls.slurm = Slurm(folder.name)
        cls.addClassCleanup(cls.slurm.end)
        cls.slurm.start()

    def setUp(self):
        super().setUp()
        # More tasks than cores: a setting of the test, not of the commands.
        self.environment.update(SLURM_CONF=self.slurm.config, SLURM_OVERCOMMIT="1", SBATCH_OVERCOMMIT="1")

    def batch(self, script):
        """The number of the job that will run it."""
        with open(self.path("script"), "w") as file:
            file.write(script)
        done = subprocess.run(["sbatch", "--parsable", "--output=out", "script"], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def state(self, job):
        return self.slurm.ask("scontrol", "show", "job", job)


class SlurmTest(SlurmCase):
    def test_the_documented_command(self):
        text = self.run_command(shortened(documented("srun")) + " --history h")
        self.assertIn("3 servers, 6 replicas on 6 ranks, 3 nodes", text)
        self.assertIn("60 updates", text)
        self.assert_nothing_left()
        self.assertIn("every promise held", self.run_command("yoke check h.*"))

    def test_over_pmix_and_with_nodes_of_servers(self):
        text = self.run_command("srun --mpi=pmix -N 3 -n 6 yoke launch --server-nodes 1 --model synthetic:10k:2ms --steps 30")
        self.assertIn("2 servers, 4 replicas on 6 ranks, 3 nodes", text)
        self.assertIn("30 updates", text)
        self.assertFalse(os.path.exists(self.path("meet")))  # it was not needed
        self.assert_nothing_left()

    def test_mirrored(self):
        text = self.run_command("srun -N 3 -n 3 yoke launch --strategy mirrored --model synthetic:10k:2ms --steps 30")
        self.assertIn("30 updates", text)
        self.assert_nothing_left()

    def test_a_killed_rank_ends_all(self):
        job = self.start(f"srun -N 3 -n 6 --kill-on-bad-exit=1 yoke launch --servers-per-node 1 {LONG}")
        self.training(6)
        ranks = [pid for pid in self.processes("launch") if "SLURM_PROCID=4" in self.variables(pid)]
        os.kill(ranks[0], signal.SIGKILL)
        self.finish(job, status=137)
        self.assert_gone()

    def variables(self, pid):
        with open(f"/proc/{pid}/environ") as file:
            return file.read().split("\0")

    def test_a_batch_job_that_is_warned_is_put_back_and_goes_on_where_it_was(self):
        script = documented("sbatch")
        self.assertIn("#SBATCH --signal=TERM@60", script)
        # A synthetic model has nothing to save; the second run, which Slurm makes of the requeued job, ends by itself.
        training = "--epochs 3 --save cnn.safetensors"
        self.assertIn(training, script)
        script = script.replace(training, f"$(test -e h.r0 && echo {LONG.replace('1000000', '1')} || echo {LONG})")
        job = self.batch(script)
        self.training(6)
        self.slurm.ask("scancel", "--signal=TERM", job)  # what --signal has Slurm send, without the wait
        wait_for("the second run", lambda: "JobState=COMPLETED" in self.state(job))
        text = self.read("out")
        self.assertRegex(text, r"checkpoint of version \d+: cnn.kept")
        self.assertIn("going on from cnn.kept", text)
        self.assertIn("Restarts=1", self.state(job))
        self.assert_nothing_left()

    def test_in_the_batch_script_itself_it_is_a_job_of_one_machine(self):
        job = self.batch("#!/bin/bash\n#SBATCH --nodes=3\n#SBATCH --ntasks=3\nyoke launch --replicas 2 --check --model synthetic:10k:2ms --steps 20\n")
        wait_for("its end", lambda: re.search("JobState=(COMPLETED|FAILED)", self.state(job)))
        self.assertIn("every promise held", self.read("out"))


class SlurmLongTest(SlurmCase):
    def test_the_documented_command_as_it_is(self):
        done = subprocess.run(["bash", "-c", documented("srun")], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, timeout=1800)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout)
        self.assertGreaterEqual(float(re.search(r"test +accuracy (\S+),", done.stdout)[1]), 0.87)
        self.assert_nothing_left()

    def test_the_documented_batch_job_as_it_is(self):
        job = self.batch(documented("sbatch"))
        wait_for("its end", lambda: re.search("JobState=(COMPLETED|FAILED)", self.state(job)), within=1800)
        text = self.read("out")
        self.assertGreaterEqual(float(re.search(r"test +accuracy (\S+),", text)[1]), 0.87, text)
        self.assertTrue(os.path.exists(self.path("cnn.safetensors")))


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(SlurmLongTest if LONG_RUN else SlurmTest)


if __name__ == "__main__":
    ClusterCase.YOKE = os.path.abspath(sys.argv[1])
    LONG_RUN = "--long" in sys.argv
    unittest.main(argv=[sys.argv[0], *[word for word in sys.argv[2:] if word != "--long"]], verbosity=2)
