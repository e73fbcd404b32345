"""A real Slurm on one machine, in a separate folder: munged, slurmctld and two slurmd, without root's configuration.

Nothing outside of the folder is written, and every process is ended by the id recorded when it was started. Processes that
the daemons start themselves are known by the path of the configuration in their environment.
"""

import contextlib
import getpass
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

NODES = ("n1", "n2")
MEMORY = 4000
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")

CONFIGURATION = """\
ClusterName=limits
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SwitchType=switch/none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=10
KillWait=2
MinJobAge=3600
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
TmpFS={folder}
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory={memory}
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory={memory}
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """The daemons; use it as a context manager."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.configuration = folder / "slurm.conf"
        self._started: dict[str, subprocess.Popen] = {}

    def environment(self) -> dict[str, str]:
        """The environment of a command for this Slurm and no other."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}:/usr/sbin"
        return {**os.environ, "SLURM_CONF": str(self.configuration), "PATH": path}

    def __enter__(self) -> "Slurm":
        for name in ("state", "bin"):
            (self.folder / name).mkdir(parents=True)
        ports = free_ports(3)
        text = CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            ports=ports,
            user=getpass.getuser(),
            folder=self.folder,
            memory=MEMORY,
        )
        self.configuration.write_text(text)
        # Read by no plugin chosen above, but looked for beside slurm.conf.
        (self.folder / "cgroup.conf").write_text("")
        # The executor takes all SLURM_ variables from the steps of a job, and with them the place of the configuration.
        srun = self.folder / "bin" / "srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.configuration} exec /usr/bin/srun "$@"\n')
        srun.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        try:
            files = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
            self._start("munged", "munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *files)
            self._wait_for(lambda: (self.folder / "munge.socket").exists(), "munged")
            self._start("slurmctld", "slurmctld", "-D")
            for node in NODES:
                self.start_node(node)
            self._wait_for(lambda: set(self.node_states().values()) == {"idle"}, "all nodes to be idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        if "slurmctld" in self._started:
            self.command("scancel", "--user", getpass.getuser(), check=False)
            self._wait_for(
                lambda: not self.command("squeue", "--noheader", check=False), "the last job to end", 20, False
            )
        for process in reversed(self._started.values()):
            process.terminate()
        for process in reversed(self._started.values()):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._started.clear()
        for process_id in self.processes():
            os.kill(process_id, signal.SIGKILL)

    def command(self, *arguments: str, check: bool = True) -> str:
        """The output of a command of Slurm."""
        done = subprocess.run(
            arguments, env=self.environment(), capture_output=True, text=True, timeout=60, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
        return done.stdout.strip()

    def start_node(self, node: str) -> None:
        """Start the daemon of a node."""
        self._start(node, "slurmd", "-D", "-N", node)

    def crash_node(self, node: str) -> None:
        """End a node as a power cut does: its daemon and all that runs on it, at once."""
        daemon = self._started.pop(node)
        daemon.kill()
        daemon.wait()
        for process_id in self.processes(SLURMD_NODENAME=node) + self._step_daemons(node):
            kill(process_id)

    def node_states(self) -> dict[str, str]:
        """Node to its state, such as idle, mixed, down."""
        lines = self.command("sinfo", "-h", "-N", "-o", "%N %t", check=False).splitlines()
        return dict(line.split() for line in lines if len(line.split()) == 2)

    def jobs(self) -> dict[str, tuple[str, str]]:
        """Number of each job, finished ones too, to its state and its nodes."""
        lines = self.command("squeue", "--noheader", "--states=all", "--format=%i|%T|%N").splitlines()
        return {number: (state, nodes) for number, state, nodes in (line.split("|") for line in lines)}

    def processes(self, **more: str) -> list[int]:
        """The ids of all processes whose environment names this configuration, or has the variables `more`."""
        wanted = more if more else {"SLURM_CONF": str(self.configuration), **more}
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            of_ours = any(str(self.folder).encode() in item for item in variables)
            if of_ours and all(f"{key}={value}".encode() in variables for key, value in wanted.items()):
                found.append(int(folder.name))
        return [item for item in found if item != os.getpid()]

    def _step_daemons(self, node: str) -> list[int]:
        """The processes that hold a step on a node; they have the daemon's log of this node open."""
        log = str(self.folder / f"slurmd.{node}.log")
        found = []
        for process_id in self.processes():
            try:
                files = [os.readlink(item) for item in Path(f"/proc/{process_id}/fd").iterdir()]
            except OSError:
                continue
            if log in files:
                found.append(process_id)
        return found

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as output:
            self._started[name] = subprocess.Popen(
                command, env=self.environment(), stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )

    def _wait_for(self, condition, what: str, seconds: float = 60, required: bool = True) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                if required:
                    logs = "\n".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log")))
                    raise RuntimeError(f"waited {seconds:g} s for {what}\n{logs}")
                return
            time.sleep(0.2)


def kill(process_id: int) -> None:
    """SIGKILL, if the process is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process_id, signal.SIGKILL)


def free_ports(number: int) -> list[int]:
    """Ports nobody listens on at the moment."""
    sockets = [socket.socket() for _ in range(number)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports
