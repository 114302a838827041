#!/usr/bin/env bash
# Runs every case of one benchmark binary for a moment: it must not crash. A benchmark that prepares much data prepares
# little of it if BENCHMARK_SMOKE is set.
set -eu
export BENCHMARK_SMOKE=1
exec "$1" --benchmark_min_time=0.001
