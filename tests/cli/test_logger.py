"""The logger of `make run` says how far a run is, and hides no error."""

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_attention_limits as plugin
from toy import REPOSITORY


@pytest.fixture(params=[False])
def logger(monkeypatch, request):
    """A handler that writes to a text, at a time that the test sets."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(plugin.time, "monotonic", lambda: clock.now)
    settings = SimpleNamespace(stdout=False, dryrun=False, verbose=request.param)
    handler = plugin.LogHandler(settings, None)
    handler.stream = io.StringIO()

    def say(event=None, text="", seconds=0.0, **fields):
        clock.now += seconds
        record = logging.LogRecord("snakemake", logging.INFO, "", 0, text, None, None)
        record.__dict__.update(fields, **({} if event is None else {"event": event}))
        handler.emit(record)
        return handler.stream.getvalue().splitlines()

    say(LogEvent.WORKFLOW_STARTED, basedir=str(REPOSITORY))
    say(LogEvent.RUN_INFO, stats={"smi_gamp": 3, "smi_cube": 1, "smi_fig5": 1, "all": 1, "total": 6})
    for jobid, rule in enumerate(("smi_gamp", "smi_gamp", "smi_gamp", "smi_cube", "smi_fig5", "all")):
        say(LogEvent.JOB_INFO, jobid=jobid, rule_name=rule, rule_msg=f"{rule} {jobid}")
    return say


def test_lines_count_jobs_done_and_left(logger):
    assert logger(LogEvent.JOB_FINISHED, job_id=0, seconds=10.0) == [
        "0 of 1 figures, 0 of 6 jobs, 0.0 min gone: first results are computed"
    ]
    lines = logger(LogEvent.JOB_FINISHED, job_id=1, seconds=80.0)
    assert lines[1:] == ["0 of 1 figures, 2 of 6 jobs, 1.5 min gone, about 3 min left: smi_gamp 1"]
    for jobid in (2, 3):
        logger(LogEvent.JOB_FINISHED, job_id=jobid, seconds=1.0)
    for chatter in ("Select jobs to execute...", "Using shell: /bin/bash", "Conda environments: ignored"):
        assert logger(text=chatter) == lines
    # A figure and the end are printed at once.
    drawn = logger(LogEvent.JOB_FINISHED, job_id=4)
    assert drawn[2:] == ["1 of 1 figures, 5 of 6 jobs, 1.5 min gone, less than 1 min left: smi_fig5 4"]
    assert logger(LogEvent.JOB_FINISHED, job_id=5)[3:] == ["1 of 1 figures, 6 of 6 jobs, 1.5 min gone: all 5"]


def test_errors_and_notes_are_printed_whole(logger):
    assert logger(LogEvent.SHELLCMD, text="rm -rf everything")[1:] == []
    assert logger(text="Nothing to be done.")[1:] == ["Nothing to be done."]
    assert logger(LogEvent.JOB_ERROR, text="Error in rule smi_gamp")[2:] == ["Error in rule smi_gamp"]
    assert logger(LogEvent.ERROR, text="Exiting")[3:] == ["Exiting"]


@pytest.mark.parametrize("logger", [True], indirect=True)
def test_verbose_prints_all(logger):
    assert logger(LogEvent.SHELLCMD, text="rm -rf everything")[-1] == "rm -rf everything"


@pytest.mark.slow
def test_a_run_prints_its_failed_job(toy):
    toy.edit(
        "src/attention_limits/toy/estimators/growth.py",
        "    alphas, replicas",
        "    raise OSError('no luck')\n    alphas, replicas",
    )
    done = toy.snakemake("--logger", "attention-limits")
    assert done.returncode != 0
    assert "0 of 1 figures, 0 of" in done.stderr
    assert "no luck" in done.stdout + done.stderr
    assert "Error in rule toy_growth" in done.stderr
