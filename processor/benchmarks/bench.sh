#!/usr/bin/env bash
# Measures the processor, in the engine image, beside SGLang's own code and Dynamo's own chat processors.
#   bench.sh [--seed N] [--requests N]   table; results.json and two plots in results/bench
set -euo pipefail
cd "$(dirname "$0")/../.."

image=sglang-parity-engine:cpu
docker image inspect "$image" >/dev/null 2>&1 ||
    { echo "error: the engine image $image is not there; \`make up\` builds it" >&2; exit 1; }

mkdir -p results/bench
# Installed as in a frontend's image; from a copy, as a build leaves files beside the sources.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r processor/pyproject.toml processor/src "$folder"
.venv/bin/pip install --quiet --no-deps --no-build-isolation --disable-pip-version-check \
    --target "$folder/installed" "$folder"
docker run --rm --init --network none --user "$(id -u):$(id -g)" --env HOME=/tmp \
    --env DYN_LOG=error --env PYTHONWARNINGS=ignore \
    --env PYTHONPATH=/processor:/repo:/repo/processor/benchmarks:/repo/fixtures/record \
    --volume "$PWD:/repo:ro" --volume "$folder/installed:/processor:ro" --volume "$PWD/results/bench:/results" \
    --workdir /tmp "$image" \
    python /repo/processor/benchmarks/bench.py --checkpoint /models/stand-in --results /results "$@"
