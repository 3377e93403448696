"""A Slurm of three nodes that are all this machine: munged, slurmctld, and a slurmd for each node name. All of its files are
in one folder, and it listens on the loopback only."""
import os
import secrets
import shutil
import socket
import subprocess
import time

NODES = ("node1", "node2", "node3")
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")


def why_not():
    """Why it cannot be had here; None: it can."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return None if os.geteuid() == 0 else "a Slurm of one's own needs root"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    def __init__(self, folder):
        self.folder = folder
        self.config = os.path.join(folder, "slurm.conf")
        self.environment = dict(os.environ, SLURM_CONF=self.config)
        self.daemons = []
        for name in ("state", *(f"tmp-{node}" for node in NODES)):
            os.makedirs(os.path.join(folder, name))
        with open(os.path.join(folder, "munge.key"), "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(secrets.token_bytes(128))
        with open(self.config, "w") as file:
            file.write(self.settings())

    def settings(self):
        host = socket.gethostname()
        control, *ports = free_ports(1 + len(NODES))
        # The ways in which one machine can be several nodes: nothing is tracked or bound per node, every node has a port
        # and a folder for temporary files (where PMIx has its sockets) of its own, and many tasks share its cores. A job
        # that was put back into the queue may run again when its old credentials have run out.
        lines = ["ClusterName=yoke", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root",
                 "AuthType=auth/munge", f"AuthInfo=socket={self.folder}/munge.socket,cred_expire=5",
                 "CredType=cred/munge",
                 f"SlurmctldPort={control}", f"StateSaveLocation={self.folder}/state",
                 f"SlurmdSpoolDir={self.folder}/spool-%n", f"TmpFS={self.folder}/tmp-%n",
                 f"SlurmctldPidFile={self.folder}/slurmctld.pid", f"SlurmdPidFile={self.folder}/slurmd-%n.pid",
                 f"SlurmctldLogFile={self.folder}/slurmctld.log", f"SlurmdLogFile={self.folder}/slurmd-%n.log",
                 "ProctrackType=proctrack/pgid", "TaskPlugin=task/none", "SelectType=select/cons_tres",
                 "SwitchType=switch/none", "MpiDefault=none", "SlurmdParameters=config_overrides", "KillWait=30",
                 "ReturnToService=2"]
        for node, port in zip(NODES, ports):
            lines.append(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 State=UNKNOWN")
        lines.append(f"PartitionName=all Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE")
        return "\n".join(lines) + "\n"

    def start(self, within=60):
        path = lambda name: os.path.join(self.folder, name)
        self.daemon("munged", "--foreground", "--force", f"--socket={path('munge.socket')}",
                    f"--key-file={path('munge.key')}", f"--pid-file={path('munged.pid')}",
                    f"--log-file={path('munged.log')}", f"--seed-file={path('munged.seed')}")
        self.wait("munged", lambda: os.path.exists(path("munge.socket")), within)
        self.daemon("slurmctld", "-D", "-c")
        for node in NODES:
            self.daemon("slurmd", "-D", "-c", "-N", node)
        self.wait("idle nodes", lambda: self.ask("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(NODES), within)

    def daemon(self, *words):
        log = open(os.path.join(self.folder, f"daemon{len(self.daemons)}.out"), "w")
        self.daemons.append(subprocess.Popen(words, env=self.environment, stdout=log, stderr=subprocess.STDOUT))
        log.close()

    def ask(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60).stdout

    def wait(self, what, condition, within):
        end = time.monotonic() + within
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"Slurm has no {what} after {within} s: {self.ask('sinfo', '-R')}")
            time.sleep(0.1)

    def end(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
