#!/bin/sh
# Submit one job and print its number: submit.sh CORES MEGABYTES MINUTES SCRIPT
set -eu
logs=.snakemake/cluster_logs
mkdir -p "$logs"
# h_vmem is per core.
exec qsub -terse -cwd -V -S /bin/sh -j y -o "$logs" -N limits -pe smp "$1" -l "h_vmem=$(($2 / $1))M,h_rt=$((60 * $3))" "$4"
# PBS:    exec qsub -V -j oe -o "$logs/" -N limits -l "select=1:ncpus=$1:mem=$2mb,walltime=$((60 * $3))" "$4"
# LSF:    bsub -n "$1" -M "$2" -W "$3" -o "$logs/%J" sh "$4" | sed 's/[^<]*<\([0-9]*\)>.*/\1/'
# Slurm:  exec sbatch --parsable --cpus-per-task "$1" --mem "$2" --time "$3" --output "$logs/%j" "$4"
