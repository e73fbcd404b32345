#!/usr/bin/env bash
# Runs the targets of the Makefile, except `notebook` and with `run` at scale smoke, in a copy of the checkout in a path with a space,
# and prints those that fail: `make release-check`.
set -uo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d "${TMPDIR:-/tmp}/limits XXXXXX")
git ls-files -z --cached --others --exclude-standard | tar --null --files-from - --create | tar --extract --directory "$folder"
cd "$folder" || exit 1
failed=()

# Run one call of make; its output goes to the screen, and what failed is listed at the end.
check() {
    echo "== make $*"
    make "$@" || failed+=("make $*")
}

check setup
check lint
check types
check slurm
check cluster-generic
check smoke
check report SCALE=smoke
check explorer SCALE=smoke
check run SCALE=smoke
# Only `laptop` and `paper` are published. This copy takes the results of `smoke` for those of `laptop`.
check publish RESULTS=results/smoke
check archive SCALE=smoke
check docs REFERENCE=internal
check schemas
check rerun SCALE=smoke RULE=smi_gamp
check golden
check bench
check clean
# After clean, so that nothing of the above helps.
check test-fast
check test
check soak
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    check test-cluster
    check test-browser
else
    echo "== make test-cluster, make test-browser: left out, they need root on Debian"
fi

if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    echo "look into $folder" >&2
    exit 1
fi
rm -rf "$folder"
echo "all these targets work"
