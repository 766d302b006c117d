"""A one-node SLURM on this machine, for the time of a test.

Needs root on Debian or a system like it. Installs slurm-wlm and munge where they are missing, which
stay. Writes /etc/slurm/slurm.conf, since SLURM's own commands inside a job look nowhere else, and
removes it again; one that is there already is never touched. There is no accounting.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

CONF = Path("/etc/slurm/slurm.conf")
PACKAGES = ["slurm-wlm", "munge"]
CONFIGURATION = """\
# Written by tests/slurm/cluster.py of rnca, which removes it when it ends.
ClusterName=rnca
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={state}/munge.socket
StateSaveLocation={state}/saved
SlurmdSpoolDir={state}/spool
SlurmctldPidFile={state}/slurmctld.pid
SlurmdPidFile={state}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# Jobs over their memory are killed, as cgroups do on a real cluster.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
KillWait=2
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class UnavailableError(Exception):
    """Why no cluster can be started here, and what to do."""


class Cluster:
    """The daemons of a running cluster, children of this process."""

    def __init__(self) -> None:
        self.state = Path(tempfile.mkdtemp(prefix="rnca-slurm-"))
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.owns_configuration = False

    def start(self) -> None:
        """Start munge, the controller and the node, and wait until it takes jobs."""
        for name in ("saved", "spool"):
            (self.state / name).mkdir()
        _write_configuration(self.state)
        self.owns_configuration = True
        key = self.state / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        names = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        places = [f"--{option}={self.state}/munge.{ending}" for option, ending in names.items()]
        self._run("munged", "--foreground", "--force", f"--key-file={key}", *places)
        _wait("munged", (self.state / "munge.socket").exists)
        self.start_controller()
        self._run("slurmd", "-D")
        _wait("the node", lambda: command("sinfo", "--noheader", "--format=%T") == "idle")

    def start_controller(self) -> None:
        """Start slurmctld; after `interrupt_controller` it takes up the jobs it had."""
        self._run("slurmctld", "-D", "-i")
        _wait("slurmctld", lambda: "is UP" in command("scontrol", "ping"))

    def interrupt_controller(self) -> None:
        """End slurmctld as an administrator would: it saves what it knows of jobs; they go on."""
        self._end("slurmctld")

    def stop(self) -> None:
        """Cancel the jobs, end the daemons, remove the configuration."""
        with suppress(subprocess.CalledProcessError, TimeoutError):
            command("scancel", f"--user={os.getuid()}")
            _wait("the end of all jobs", lambda: not jobs(), seconds=20)
        for name in reversed(list(self.daemons)):
            self._end(name)
        if self.owns_configuration:
            CONF.unlink(missing_ok=True)
        shutil.rmtree(self.state, ignore_errors=True)

    def _run(self, *command: str) -> None:
        with (self.state / f"{command[0]}.log").open("ab") as log:
            # Out of the terminal's process group: Ctrl-C ends the test, which then ends these.
            self.daemons[command[0]] = subprocess.Popen(
                command, stdout=log, stderr=log, process_group=0
            )

    def _end(self, name: str) -> None:
        daemon = self.daemons.pop(name)
        daemon.terminate()
        try:
            daemon.wait(timeout=20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


@contextmanager
def running() -> Iterator[Cluster]:
    """Start a cluster, and stop it whatever happens."""
    _check_machine()
    _install()
    cluster = Cluster()
    # SIGTERM then ends things as Ctrl-C does: the cluster is stopped.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        signal.signal(signal.SIGTERM, before)


def command(*arguments: str) -> str:
    """Run one of SLURM's commands and return what it prints."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def jobs() -> dict[str, str]:
    """Return the comment (rule and wildcards) of every job that waits or runs, by its id."""
    lines = command("squeue", "--noheader", "--format=%i %k").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise UnavailableError("SLURM's daemons need root: run this as root, on a machine for it.")
    if shutil.which("apt-get") is None:
        raise UnavailableError("apt-get is not here: run this on Debian or a system like it.")
    if CONF.exists():
        raise UnavailableError(
            f"{CONF} is there: this machine belongs to a cluster, which is left alone. If it is "
            "left over from a killed test (its first line says so), end the slurmctld, slurmd and "
            "munged of that test, and remove it."
        )


def _install() -> None:
    if all(shutil.which(name) for name in ("slurmctld", "slurmd", "munged", "sbatch")):
        return
    print(f"installing {' and '.join(PACKAGES)} …", file=sys.stderr)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        subprocess.run(
            ["apt-get", "--quiet", *arguments], env=environment, check=True, stdout=sys.stderr
        )


def _write_configuration(state: Path) -> None:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (one, other)]
    text = CONFIGURATION.format(
        state=state,
        host=socket.gethostname().partition(".")[0],
        ports=ports,
        cpus=psutil.cpu_count(),
        memory=psutil.virtual_memory().total // 2**20 * 9 // 10,
    )
    CONF.parent.mkdir(exist_ok=True)
    with CONF.open("x", encoding="utf-8") as file:
        file.write(text)


def _wait(what: str, ready: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(subprocess.CalledProcessError):
            if ready():
                return
        time.sleep(0.2)
    raise TimeoutError(f"waited {seconds:.0f} s for {what}")
