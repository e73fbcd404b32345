#!/usr/bin/env bash
# Installs Chromium, as root on Debian.
set -euo pipefail
command -v chromium > /dev/null && exit 0
apt-get update --quiet --quiet
DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes chromium
