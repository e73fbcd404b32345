"""Logger of Snakemake that prints the progress of a run: `snakemake --logger attention-limits`. The default profile uses it.

Instead of every command it prints one line: finished figures and jobs, minutes so far, minutes left. It prints errors completely.
The log of Snakemake below .snakemake/log/ contains the rest; `--verbose` prints it. Snakemake finds this package by its name.
"""

import sys
import time
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.yaml_reader import read_yaml

# Seconds between lines if the program cannot overwrite a line.
INTERVAL = 20.0
# Snakemake prints these at every start, or before every job.
CHATTER = (
    "Select jobs to execute",
    "Assuming unrestricted shared filesystem usage",
    "Using shell:",
    "Conda environments: ignored",
    "Complete log(s):",
    "Elapsed time:",
)


def minutes_left(spent: float, done: int, total: int) -> float | None:
    """Minutes for the other jobs if they take as long as the finished ones; None before the first job is finished."""
    return spent * (total - done) / done / 60 if done else None


class LogHandler(LogHandlerBase):
    """One line with the progress of the run."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.stream = sys.stdout if self.common_settings.stdout else sys.stderr
        # A dry run prints what it would do, and --verbose all messages of Snakemake.
        self.whole = self.common_settings.dryrun or self.common_settings.verbose
        self.names = {}
        self.figures, self.drawn = set(), 0
        self.done = self.total = 0
        self.started = self.reported = time.monotonic()

    def emit(self, record) -> None:
        """Process one event; print it if the user needs it."""
        event = getattr(record, "event", None)
        if event == LogEvent.WORKFLOW_STARTED:
            sources = Path(record.basedir, "config").glob("*/figures.yaml")
            self.figures = {
                f"{load_family(file.parent.name).prefix}_{name}" for file in sources for name in read_yaml(file)
            }
        elif event == LogEvent.RUN_INFO and not self.whole:
            self.figures &= set(record.stats)
            self.total = record.stats["total"]
            self._report("first results are computed", now=True)
        elif event == LogEvent.JOB_INFO and not self.whole:
            self.names[record.jobid] = record.rule_name, record.rule_msg
        elif event == LogEvent.JOB_FINISHED:
            rule, message = self.names.get(record.job_id, ("", ""))
            drawn = rule in self.figures
            self.drawn += drawn
            self.done += 1
            self._report(message or rule, now=drawn or self.done == self.total)
        elif event in (None, LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR, LogEvent.ERROR) or self.whole:
            text = self.format(record)
            if text and not text.startswith(CHATTER):
                self._print(text)

    def _report(self, what: str, now: bool) -> None:
        spent = time.monotonic() - self.started
        if not (now or self.stream.isatty() or time.monotonic() - self.reported >= INTERVAL):
            return
        left = minutes_left(spent, self.done, self.total)
        parts = [
            f"{self.drawn} of {len(self.figures)} figures, {self.done} of {self.total} jobs, {spent / 60:.1f} min gone"
        ]
        if left is not None and self.done < self.total:
            parts.append(f"about {left:.0f} min left" if left >= 1 else "less than 1 min left")
        self.reported = time.monotonic()
        line = f"{', '.join(parts)}: {what}"
        # On a terminal the next line overwrites this one, except when a figure is finished.
        self._print(line, end="\r" if self.stream.isatty() and not now else "\n")

    def _print(self, text: str, end: str = "\n") -> None:
        clear = "\x1b[2K" if self.stream.isatty() else ""
        print(f"{clear}{text}", end=end, file=self.stream, flush=True)
