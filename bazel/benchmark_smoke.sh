#!/usr/bin/env bash
# Runs every case of one benchmark binary for a moment: it must not crash.
set -eu
exec "$1" --benchmark_min_time=0.001
