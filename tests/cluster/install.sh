#!/bin/sh
# Slurm and munge from Debian's packages, if they are not there. Their services are not started: the tests bring up their own.
set -eu
export PATH="$PATH:/usr/sbin"
missing=
for program in munged slurmctld slurmd sbatch srun squeue scontrol; do
    command -v "$program" > /dev/null || missing="$missing $program"
done
test -n "$missing" || exit 0
echo "installing slurm-wlm and munge for:$missing" >&2
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends slurm-wlm munge
