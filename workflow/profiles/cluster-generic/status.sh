#!/bin/sh
# Print running, success or failed: status.sh NUMBER. Without a status command Snakemake waits forever for a job that was killed.
set -u
if qstat -j "$1" > /dev/null 2>&1; then
    echo running
elif qacct -j "$1" 2> /dev/null | grep -Eq '^exit_status +0 *$'; then
    echo success
elif qacct -j "$1" > /dev/null 2>&1; then
    echo failed
else
    # Accounting lags behind the queue.
    echo running
fi
# PBS:    case "$(qstat -xf "$1" | sed -n 's/ *Exit_status = //p')" in '') echo running ;; 0) echo success ;; *) echo failed ;; esac
