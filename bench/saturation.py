#!/usr/bin/env python3
"""Where bandwidth saturates: updates per second of a model that only passes time (by default 1 million parameters, 100
ms a step), for growing numbers of replicas on one or more servers. Every server and every replica is a process in a
network namespace of its own, with a link of 1 Gbit/s (tbf, both ways). Asynchronous: nobody waits for anybody, so what
bends the curve is the servers' links alone.

The arithmetic: a replica alone takes t = compute + pull for a step, where the pull is bytes / rate; the push, as long, is
hidden behind the computation, as every block leaves when it is ready. A server's link carries rate / (bytes / servers) pushes a second one way and as many pulls the other. So N replicas make
min(N / t, servers * rate / bytes) updates a second, and the knee lies where the two meet. The knee of the measurement is
where the line through its first points meets its plateau, the median of the points past 1.3 times the knee's place.

usage (as root): bench/saturation.py [--yoke build/yoke] [--servers 1,2,4] [--replicas 1,2,3,...,24] [--seconds 6]
                                     [--out FOLDER]
"""
import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RATE = 1e9 / 8          # bytes a second, of every link
ON_THE_WIRE = 1.045     # Ethernet's, IP's and TCP's heads: 1514 bytes and tbf's count for 1448 of ours
PARAMETERS, COMPUTE = 1_000_000, 0.1


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Network:
    """Namespaces, each with a link to one in the middle that forwards, as long as this is."""

    def __init__(self, size):
        self.tag = f"ys{os.getpid() % 100000}"
        self.size = size

    def name(self, number):
        return f"{self.tag}-{number}"

    @staticmethod
    def address(number):
        return f"10.231.{number}.2"

    def __enter__(self):
        ip("netns", "add", self.tag)
        subprocess.run(["ip", "netns", "exec", self.tag, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"], check=True)
        for number in range(self.size):
            name = self.name(number)
            ip("netns", "add", name)
            ip("-n", self.tag, "link", "add", f"v{number}", "type", "veth", "peer", "name", "e0", "netns", name)
            ip("-n", self.tag, "addr", "add", f"10.231.{number}.1/24", "dev", f"v{number}")
            ip("-n", self.tag, "link", "set", f"v{number}", "up")
            ip("-n", name, "addr", "add", f"{self.address(number)}/24", "dev", "e0")
            for link in "lo", "e0":
                ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "route", "add", "default", "via", f"10.231.{number}.1")
            for namespace, device in ((name, "e0"), (self.tag, f"v{number}")):
                subprocess.run(["ip", "netns", "exec", namespace, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate",
                                "1gbit", "burst", "256k", "latency", "50ms"], check=True)
        return self

    def __exit__(self, *_):
        for number in range(self.size):
            subprocess.run(["ip", "netns", "del", self.name(number)], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "del", self.tag], check=False, stderr=subprocess.DEVNULL)

    def start(self, number, words, output):
        return subprocess.Popen(["ip", "netns", "exec", self.name(number), *words], stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT, start_new_session=True)


def end(processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def committed(yoke, network, server):
    """The version that the first server is at, and when it said so."""
    words = ["ip", "netns", "exec", network.name(0), yoke, "status", server, "--insecure", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        return None
    with contextlib.suppress(ValueError, KeyError):
        return time.monotonic(), json.loads(done.stdout)["step"]
    return None


def measure(yoke, network, servers, replicas, seconds, folder):
    """Updates a second, over a while in the middle of a job that is ended then."""
    addresses = [f"{network.address(number)}:7000" for number in range(servers)]
    running = []
    with open(os.path.join(folder, "output"), "w") as output:
        try:
            for number in range(servers):
                running.append(network.start(number, [yoke, "server", "--listen", addresses[number], "--shard",
                                                      f"{number}/{servers}", "--insecure", "--quiet",
                                                      *(["--join", addresses[0]] if number > 0 else [])], output))
            for number in range(replicas):
                running.append(network.start(servers + number, [
                    yoke, "replica", "--join", addresses[0], "--model", f"synthetic:{PARAMETERS}:{int(COMPUTE * 1e3)}ms",
                    "--strategy", "async", "--replicas", str(replicas), "--shards", str(servers), "--momentum", "0",
                    "--steps", "10000000", "--insecure", "--quiet"], output))
            give_up = time.monotonic() + 60
            while (first := committed(yoke, network, addresses[0])) is None or first[1] < 3 * replicas:
                if time.monotonic() > give_up or any(process.poll() is not None for process in running):
                    output.flush()
                    with open(output.name) as said:
                        sys.exit(f"{servers} servers, {replicas} replicas: the job does not run:\n{said.read()[-2000:]}")
                time.sleep(0.1)
            time.sleep(seconds)
            last = committed(yoke, network, addresses[0])
            return (last[1] - first[1]) / (last[0] - first[0])
        finally:
            end(running)


def knee_of(points, expected):
    """Where the line through the origin and the points well before the bend meets the plateau past it."""
    slope = statistics.median(rate / count for count, rate in points if count <= max(1, 0.5 * expected))
    past = [rate for count, rate in points if count >= 1.3 * expected]
    return (statistics.median(past) / slope, slope, statistics.median(past)) if past else (None, slope, None)


def plot(results, file_name):
    width, height, left, top = 640, 380, 60, 20
    most_x = max(count for result in results.values() for count, _ in result["points"])
    most_y = 1.1 * max(rate for result in results.values() for _, rate in result["points"])

    def at(x, y):
        return f"{left + (width - left - 20) * x / most_x:.1f},{top + (height - top - 50) * (1 - y / most_y):.1f}"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<polyline points="{at(0, most_y)} {at(0, 0)} {at(most_x, 0)}" fill="none" stroke="#444"/>']
    for x in range(0, most_x + 1, 4):
        place = at(x, 0).split(",")
        parts.append(f'<text x="{place[0]}" y="{float(place[1]) + 16}" text-anchor="middle">{x}</text>')
    for y in range(0, int(most_y) + 1, 20):
        place = at(0, y).split(",")
        parts.append(f'<text x="{float(place[0]) - 6}" y="{float(place[1]) + 4}" text-anchor="end">{y}</text>')
    parts.append(f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">replicas</text>')
    parts.append(f'<text x="16" y="{height / 2}" transform="rotate(-90 16 {height / 2})" text-anchor="middle">updates a second'
                 '</text>')
    for (servers, result), colour in zip(results.items(), ("#3465a4", "#4a8f5c", "#c9772b", "#75507b")):
        expected = [at(0, 0), at(result["expected_knee"], result["expected_plateau"])]
        if result["expected_knee"] < most_x:
            expected.append(at(most_x, result["expected_plateau"]))
        parts.append(f'<polyline points="{" ".join(expected)}" fill="none" stroke="{colour}" stroke-dasharray="4 4"/>')
        parts.append(f'<polyline points="{" ".join(at(*point) for point in result["points"])}" fill="none" stroke="{colour}" '
                     'stroke-width="2"/>')
        place = at(*result["points"][-1]).split(",")
        parts.append(f'<text x="{float(place[0]) - 4}" y="{float(place[1]) - 6}" text-anchor="end" fill="{colour}">{servers} '
                     f'server{"s" if int(servers) > 1 else ""}</text>')
    with open(file_name, "w") as file:
        file.write("\n".join([*parts, "</svg>", ""]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yoke", default="build/yoke")
    parser.add_argument("--servers", default="1,2,4")
    parser.add_argument("--replicas", default="1,2,3,4,5,6,8,10,12,16,20,24")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--out", default=".")
    arguments = parser.parse_args()
    counts = [int(number) for number in arguments.replicas.split(",")]
    servers = [int(number) for number in arguments.servers.split(",")]
    transfer = PARAMETERS * 4 * ON_THE_WIRE / RATE
    results = {}
    folder = tempfile.mkdtemp(prefix="yoke-s")
    try:
        with Network(max(servers) + max(counts)) as network:
            for number in servers:
                plateau, alone = number / transfer, COMPUTE + transfer
                points = []
                for count in counts:
                    points.append((count, measure(os.path.abspath(arguments.yoke), network, number, count, arguments.seconds, folder)))
                    print(f"{number} servers, {count:2} replicas: {points[-1][1]:6.1f} updates/s (expected "
                          f"{min(count / alone, plateau):6.1f})", flush=True)
                knee, slope, reached = knee_of(points, plateau * alone)
                results[str(number)] = {"points": points, "expected_knee": plateau * alone, "expected_plateau": plateau,
                                        "knee": knee, "plateau": reached, "alone": 1 / slope}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for number, result in results.items():
        print(f"{number} servers: expected knee at {result['expected_knee']:.1f} replicas, plateau {result['expected_plateau']:.1f}/s; "
              + (f"measured {result['knee']:.1f}, {result['plateau']:.1f}/s: {result['knee'] / result['expected_knee'] - 1:+.0%}"
                 if result["knee"] else "the curve does not reach past it"))
    os.makedirs(arguments.out, exist_ok=True)
    with open(os.path.join(arguments.out, "saturation.json"), "w") as file:
        json.dump(results, file, indent=1)
    plot(results, os.path.join(arguments.out, "saturation.svg"))


if __name__ == "__main__":
    main()
