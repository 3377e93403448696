"""`yoke train` and its companions as a user runs them: the program, real files, its report. Model files are read here by
an implementation of its own, and TorchScript files are written and read by Python's torch.

usage: train_test.py YOKE [unittest arguments]
"""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

YOKE = ""
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read_safetensors(file):
    """name -> (dtype, shape, numbers of F32 or bytes), and the metadata."""
    with open(file, "rb") as stream:
        data = stream.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    about = header.pop("__metadata__", {})
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        raw = data[8 + length + begin:8 + length + end]
        numbers = struct.unpack(f"<{len(raw) // 4}f", raw) if info["dtype"] == "F32" else raw
        tensors[name] = (info["dtype"], info["shape"], numbers)
    return tensors, about


def read(file):
    with open(file) as stream:
        return stream.read()


def write_png(file, pixels):
    """An 8-bit gray image from rows of bytes."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 0, 0, 0, 0)
    body = b"".join(b"\0" + bytes(row) for row in pixels)
    with open(file, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(body)) +
                  chunk(b"IEND", b""))


class TrainTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        # What the tests train is small; what somebody fetched is none of their business.
        self.environment = dict(os.environ, YOKE_CACHE=self.path("cache"))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as out:
            out.write(text)
        return self.path(name)

    def yoke(self, *words, status=0):
        done = subprocess.run([YOKE, *words], capture_output=True, text=True, cwd=self.folder.name,
                              env=self.environment, timeout=280)
        self.assertEqual(done.returncode, status, f"yoke {' '.join(words)}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def train(self, *words, status=0):
        """Trains, and returns the report."""
        self.yoke("train", "--report", self.path("report.json"), *words, status=status)
        return json.loads(read(self.path("report.json")))

    # --- one command each ---

    def test_a_csv_regression(self):
        report = self.train("--data", "diabetes", "--model", "mlp:10-32-1", "--strategy", "sync", "--replicas", "2",
                            "--batch", "16", "--epochs", "40", "--lr", "0.02", "--validation", "0.2", "--save", self.path("m.safetensors"))
        self.assertIsNone(report["test_accuracy"])
        self.assertGreater(report["test"]["r2"], 0.25)
        # A model that always says the mean is wrong by 65 to 70.
        self.assertLess(report["test"]["mae"], 55)
        result = json.loads(self.yoke("eval", self.path("m.safetensors"), "--data", "diabetes", "--json"))
        self.assertAlmostEqual(result["mae"], report["test"]["mae"], places=3)

    def test_a_character_lstm_beats_pairs_of_characters(self):
        text = "".join(read(os.path.join(SOURCE, "docs", name))
                       for name in ("protocol.md", "architecture.md", "libtorch.md", "glossary.md"))
        file = self.write("text.txt", text)
        report = self.train("--data", file, "--model", "lstm:96", "--strategy", "mirrored", "--replicas", "2",
                            "--batch", "16", "--epochs", "14", "--optimizer", "adam", "--lr", "0.01")
        self.assertLess(report["test"]["perplexity"], report["bigram_perplexity"])

    def test_a_small_resnet_with_batch_norm(self):
        report = self.train("--data", "digits", "--model", "resnet:8x1", "--strategy", "sync", "--replicas", "2",
                            "--batch", "32", "--epochs", "4", "--save", self.path("m.safetensors"))
        self.assertGreater(report["test_accuracy"], 0.85)
        tensors, about = read_safetensors(self.path("m.safetensors"))
        self.assertEqual(about["yoke.model"], "resnet:8x1")
        self.assertIn("stem_bn.running_mean", tensors)
        self.assertEqual(tensors["stem_bn.num_batches_tracked"][0], "I64")

    def test_torchscript_from_python_and_back(self):
        script = self.write("export.py", """
import torch, sys
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(64, 48)
        self.head = torch.nn.Linear(48, 10)
    def forward(self, x):
        return self.head(torch.relu(self.hidden(x.flatten(1))))
torch.jit.script(Net()).save(sys.argv[1])
""")
        subprocess.run([sys.executable, script, self.path("net.pt")], check=True)
        report = self.train("--data", "digits", "--model", self.path("net.pt"), "--strategy", "mirrored", "--replicas",
                            "2", "--epochs", "6", "--batch", "32", "--save", self.path("trained.pt"))
        self.assertEqual(report["parameters"], 64 * 48 + 48 + 48 * 10 + 10)
        self.assertGreater(report["test_accuracy"], 0.85)
        # Python judges the result on the very test samples: the last 297 lines.
        check = self.write("check.py", """
import gzip, sys, torch
rows = [list(map(float, line.split(b","))) for line in gzip.open(sys.argv[2])]
x = torch.tensor([r[:64] for r in rows]); y = torch.tensor([int(r[64]) for r in rows])
def accuracy(samples):
    net = torch.jit.load(sys.argv[1]).eval()
    # the normalisation is learnt on the training part less what is held out; the whole of it is close enough
    mean, deviation = x[:1500].mean(), x[:1500].std(unbiased=False)
    with torch.no_grad():
        return (net((x[samples] - mean) / deviation).argmax(1) == y[samples]).float().mean().item()
print(accuracy(slice(1500, None)))
""")
        digits = os.path.join(SOURCE, "data", "digits.csv.gz")
        said = subprocess.run([sys.executable, check, self.path("trained.pt"), digits], check=True,
                              capture_output=True, text=True).stdout
        self.assertAlmostEqual(float(said), report["test_accuracy"], delta=0.02)
        # The same weights as safetensors, into the same module.
        self.yoke("train", "--data", "digits", "--model", self.path("net.pt"), "--strategy", "mirrored", "--steps",
                  "3", "--save", self.path("w.safetensors"))
        load = self.write("load.py", """
import json, struct, sys, torch
data = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", data[:8]); header = json.loads(data[8:8 + n]); header.pop("__metadata__")
state = {k: torch.frombuffer(bytearray(data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]),
                             dtype=torch.float32).reshape(v["shape"]) for k, v in header.items()}
net = torch.jit.load(sys.argv[2]); net.load_state_dict(state)
print(sorted(state))
""")
        said = subprocess.run([sys.executable, load, self.path("w.safetensors"), self.path("net.pt")], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn("hidden.weight", said)
        self.yoke("eval", self.path("w.safetensors"), "--data", "digits")

    # --- other data and tasks ---

    def table(self, name, target, rows=400):
        draw = random.Random(7)
        lines = ["x,y,kind,answer" if isinstance(target(0, 0), (int, str)) else "x,y,kind,a,b"]
        for _ in range(rows):
            x, y = draw.uniform(-3, 3), draw.uniform(10, 20)
            answer = target(x, y)
            answer = ",".join(map(str, answer)) if isinstance(answer, tuple) else answer
            lines.append(f"{x:.4f},{y:.4f},{draw.choice(['red', 'blue'])},{answer}")
        return self.write(name, "\n".join(lines) + "\n")

    def test_classes_by_words_binary_and_flags(self):
        common = ["--model", "mlp", "--strategy", "sync", "--replicas", "2", "--batch", "16", "--epochs", "20"]
        words = self.table("words.csv", lambda x, y: "warm" if x + (y - 15) / 2 > 0 else "cold")
        self.assertGreater(self.train("--data", words, "--target", "answer", *common)["test_accuracy"], 0.85)
        yes = self.table("yes.csv", lambda x, y: int(x > 0))
        report = self.train("--data", yes, "--target", "answer", "--task", "binary", *common)
        self.assertGreater(report["test_accuracy"], 0.85)
        flags = self.table("flags.csv", lambda x, y: (int(x > 0), int(y > 15)))
        report = self.train("--data", flags, "--target", "a,b", "--task", "flags", *common)
        self.assertGreater(report["test_accuracy"], 0.85)
        self.assertGreater(report["test"]["exact"], 0.75)

    def test_a_folder_of_images(self):
        draw = random.Random(3)
        for name in ("bars", "rows"):
            os.makedirs(self.path("photos/" + name))
            for i in range(60):
                bright = draw.randrange(2)
                pixels = [[draw.randrange(60) + (150 if (x if name == "bars" else y) % 4 // 2 == bright else 0)
                           for x in range(12)] for y in range(12)]
                write_png(self.path(f"photos/{name}/{i}.png"), pixels)
        report = self.train("--data", self.path("photos"), "--model", "cnn:8-16", "--strategy", "mirrored",
                            "--replicas", "2", "--batch", "8", "--epochs", "8")
        self.assertGreaterEqual(report["test_accuracy"], 0.9)

    def test_eval_measures_as_the_training_did(self):
        file = self.table("numbers.csv", lambda x, y: int(10 * x + y))
        report = self.train("--data", file, "--target", "answer", "--loss", "mae", "--test-share", "0.3", "--model",
                            "mlp:4-8-1", "--strategy", "sync", "--replicas", "2", "--epochs", "3", "--save",
                            self.path("m.safetensors"))
        result = json.loads(self.yoke("eval", self.path("m.safetensors"), "--data", file, "--json"))
        self.assertEqual(result["samples"], report["test"]["samples"])
        self.assertAlmostEqual(result["loss"], report["test"]["loss"], places=5)
        self.yoke("eval", self.path("m.safetensors"), "--data", file, "--test-share", "0", status=2)

    # --- the command ---

    def test_the_report_has_every_field(self):
        report = self.train("--data", "digits", "--model", "mlp", "--strategy", "async", "--replicas", "3", "--batch",
                            "16", "--epochs", "3", "--timeline", self.path("t.json"), "--history",
                            self.path("h.jsonl"), "--check")
        for field in ("strategy", "replicas", "spares", "shards", "steps", "epochs", "samples", "wall_seconds",
                      "samples_per_second", "validation_accuracy", "test_accuracy", "final_loss", "gradients",
                      "staleness", "samples_counted_per_epoch", "replica", "curve", "environment"):
            self.assertIn(field, report)
        self.assertEqual(report["strategy"], "async")
        self.assertEqual(report["epochs"], 3)
        self.assertEqual(report["samples"], 3 * 1350)  # 1,500 less a tenth held out
        self.assertEqual(report["samples_counted_per_epoch"], {"min": 1, "max": 1})
        gradients = report["gradients"]
        self.assertEqual(gradients["asked"], gradients["applied"] + gradients["dropped"] + gradients["refused"])
        self.assertEqual(sum(report["staleness"]["histogram"]), gradients["applied"])
        self.assertEqual(sum(r["steps"] for r in report["replica"]), gradients["applied"])
        self.assertEqual([set(r) >= {"id", "steps", "dropped", "mean_step_ms", "mean_staleness"}
                          for r in report["replica"]], [True] * 3)
        self.assertEqual(len(report["curve"]), 3)
        self.assertGreater(report["batches"]["ready"], 0)
        trace = json.loads(read(self.path("t.json")))["traceEvents"]
        names = {(e["tid"], e["name"]) for e in trace if e["ph"] == "X"}
        for replica in range(3):
            for what in ("compute", "push", "wait", "pull"):
                self.assertIn((replica, what), names)
        events = [json.loads(line) for line in read(self.path("h.jsonl")).splitlines()]
        self.assertEqual(events[0]["event"], "terms")
        self.assertEqual(sum(len(e["record"]["applied"]) for e in events if e["event"] == "decided"),
                         gradients["applied"])

    def test_a_saved_model_evaluates_to_the_same_and_starts_another_training(self):
        words = ["--data", "digits", "--model", "mlp:64-32-10", "--strategy", "sync", "--replicas", "2"]
        report = self.train(*words, "--epochs", "5", "--save", self.path("m.safetensors"))
        result = json.loads(self.yoke("eval", self.path("m.safetensors"), "--data", "digits", "--json"))
        self.assertAlmostEqual(result["accuracy"], report["test_accuracy"], places=6)
        self.assertAlmostEqual(result["loss"], report["test"]["loss"], places=5)
        shown = self.yoke("inspect", self.path("m.safetensors"))
        self.assertIn("1.weight", shown)
        self.assertIn("mlp:64-32-10", shown)
        # Frozen parameters stay to the bit, the others move.
        self.train(*words, "--epochs", "1", "--init", self.path("m.safetensors"), "--freeze", "1.*", "--lr-of",
                   "3.bias=0", "--save", self.path("n.safetensors"), "--result", "last")
        before, _ = read_safetensors(self.path("m.safetensors"))
        after, _ = read_safetensors(self.path("n.safetensors"))
        self.assertEqual(before["1.weight"], after["1.weight"])
        self.assertEqual(before["3.bias"], after["3.bias"])
        self.assertNotEqual(before["3.weight"], after["3.weight"])

    def test_settings_from_a_file_make_the_same_model_and_flags_win(self):
        words = ["--data", "digits", "--model", "mlp:64-16-10", "--strategy", "mirrored", "--replicas", "2",
                 "--deterministic", "--epochs", "1", "--lr", "0.03", "--freeze", "1.bias"]
        settings = self.yoke("train", *words, "--print-config")
        file = self.write("job.toml", settings)
        self.yoke("train", *words, "--save", self.path("a.safetensors"))
        self.yoke("train", "--config", file, "--save", self.path("b.safetensors"))
        self.yoke("train", "--config", file, "--lr", "0.04", "--save", self.path("c.safetensors"))
        a, b, c = (read_safetensors(self.path(f"{x}.safetensors"))[0] for x in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a["3.weight"], c["3.weight"])

    def test_folds(self):
        report = self.train("--data", "digits", "--model", "mlp:64-32-10", "--strategy", "sync", "--replicas", "2",
                            "--epochs", "2", "--validation", "kfold:3")
        self.assertEqual(len(report["fold"]), 3)
        self.assertEqual([f["validation"]["samples"] for f in report["fold"]], [500] * 3)
        self.assertEqual(sum(f["test"] is not None for f in report["fold"]), 1)
        self.assertGreater(report["validation_accuracy"]["mean"], 0.7)

    def test_stops_at_the_target_and_says_when_it_was_missed(self):
        words = ["--data", "digits", "--model", "mlp", "--strategy", "sync", "--replicas", "2"]
        report = self.train(*words, "--epochs", "50", "--target-accuracy", "0.8")
        self.assertEqual(report["ended"], "target reached")
        self.assertLess(report["epochs"], 50)
        report = self.train(*words, "--epochs", "1", "--lr", "0", "--target-accuracy", "0.99", status=6)
        report = self.train(*words, "--epochs", "50", "--lr", "0", "--patience", "2")
        self.assertEqual(report["ended"], "out of patience")
        self.assertEqual(len(report["curve"]), 3)

    def stop(self, number, status):
        running = subprocess.Popen([YOKE, "train", "--data", "digits", "--model", "mlp", "--strategy", "sync",
                                    "--replicas", "2", "--epochs", "1000000"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder.name, env=self.environment)
        self.addCleanup(running.kill)
        for line in running.stdout:  # the first line of progress
            if line.startswith("epoch"):
                break
        running.send_signal(number)
        output, _ = running.communicate(timeout=120)
        self.assertEqual(running.returncode, status, output)
        self.assertIn("--init yoke-stopped.safetensors", output)
        result = json.loads(self.yoke("eval", self.path("yoke-stopped.safetensors"), "--data", "digits", "--json"))
        self.assertGreater(result["accuracy"], 0.5)

    def test_ctrl_c_saves_and_says_how_to_go_on(self):
        self.stop(signal.SIGINT, 130)

    def test_sigterm_saves_and_has_a_status_of_its_own(self):
        self.stop(signal.SIGTERM, 143)

    def test_a_straggler_is_named_in_words(self):
        said = self.yoke("train", "--model", "synthetic:1k:5ms", "--steps", "600", "--replicas", "4", "--strategy",
                         "sync", "--spares", "1", "--slow", "3:40")
        self.assertRegex(said, r"replica 3 is \d+\.\dx slower than the median; with 1 spare it holds nobody up")

    def test_help_and_manual_speak_of_every_exit_status(self):
        for text in (self.yoke("train", "--help"), self.yoke("manual", "train")):
            for status in ("130", "143", "SIGTERM"):
                self.assertIn(status, text)
        self.assertIn("Examples", self.yoke("train", "--help"))


if __name__ == "__main__":
    YOKE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
