#!/usr/bin/env bash
# Brings the stack up: installs what is missing, builds the images, starts the services, and waits until they answer.
# STACK=cpu|gpu decides the profile; else `doctor` does.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n==> %s\n' "$*"; }
started=$SECONDS

stack/install.sh
if [ -n "${STACK:-}" ]; then
    case "$STACK" in cpu | gpu) ;; *) echo "error: STACK is cpu or gpu, not $STACK" >&2; exit 1 ;; esac
    echo "profile $STACK (STACK says so)"
else
    STACK=$(stack/doctor.py --profile)
fi
export COMPOSE_PROFILES=$STACK

setting() { docker compose config --environment 2>/dev/null | sed -n "s/^$1=//p"; }

# Where pip's own settings name a folder of wheels, the builds take the CPU torch from there.
if [ -z "${WHEELS:-}" ]; then
    for folder in ${PIP_FIND_LINKS:-} $(python3 -m pip config get global.find-links 2>/dev/null || true); do
        if [ -d "$folder" ] && ls "$folder"/torch-*.whl >/dev/null 2>&1; then
            export WHEELS=$folder
        fi
    done
fi

say "images (the first build takes about 5 minutes, later ones seconds)"
if [ "$STACK" = cpu ]; then
    images/base/build.sh "$(setting BASE_IMAGE)"
fi
mkdir -p results
build_log=results/build.log
# Only the steps that have something to do, one line each.
show_steps() {
    awk -v start="$(date +%s)" '
        /^#[0-9]+ \[/ { step[$1] = $0; sub(/^#[0-9]+ /, "", step[$1]) }
        /^#[0-9]+ [0-9.]+ / && ($1 in step) {
            printf "%4ds  %s\n", systime() - start, substr(step[$1], 1, 110); fflush(); delete step[$1]
        }'
}
docker compose --progress plain build 2>&1 | tee "$build_log" | show_steps || {
    tail -n 30 "$build_log" >&2
    echo "error: a build failed, its last lines are above, the rest in $build_log." >&2
    echo "       Behind a proxy that re-signs TLS, CA_BUNDLE must name its bundle (now: $(setting CA_BUNDLE))." >&2
    exit 1
}

say "services"
docker compose --progress quiet up --detach --no-build --remove-orphans || {
    echo "error: Docker could not start the services, its words are above." >&2
    echo "       A port that is taken: FRONTEND_PORT and REFERENCE_PORT move ours." >&2
    echo "       Left over from an interrupted start: make down, then make up." >&2
    exit 1
}

if ! make --question .venv/installed; then
    say "what make e2e and Locust run with, in .venv (the services start meanwhile)"
    make --silent .venv/installed || echo "warning: it is not there yet; \`make e2e\` tries again. The stack needs none of it." >&2
fi

# Compose's own --wait says nothing until the end; an engine takes a minute on a CPU, and 15 on its first GPU start.
limit=$([ "$STACK" = gpu ] && echo 3600 || echo 600)
states() { docker compose ps --all --format '{{.Service}} {{.State}} {{.Health}}' | sort; }
shown=
until ! states | grep -qv ' running healthy$'; do
    now=$(states)
    if [ "$now" != "$shown" ]; then
        printf '%4ds  %s\n' "$((SECONDS - started))" "$(awk '{printf "%s%s %s", sep, $1, ($2 == "running" ? ($3 == "healthy" ? "ready" : "starting") : $2); sep = " | "}' <<<"$now")"
        shown=$now
    fi
    failed=$(awk '$2 == "exited" || $2 == "dead" || $2 == "restarting" || $3 == "unhealthy" {print $1; exit}' <<<"$now")
    if [ -n "$failed" ] || [ $((SECONDS - started)) -gt "$limit" ]; then
        failed=${failed:-$(awk '$3 != "healthy" {print $1; exit}' <<<"$now")}
        printf '\nerror: %s did not come up. Its last lines:\n\n' "$failed" >&2
        docker compose logs --no-color --no-log-prefix --tail 25 "$failed" >&2
        printf '\nAll of it: docker compose logs %s\n' "$failed" >&2
        exit 1
    fi
    sleep 2
done

frontend=http://$(docker compose port frontend 8000)
reference=http://$(docker compose port "$(docker compose ps --services | grep '^reference')" 30000)
model=$(python3 -c 'import json, sys, urllib.request as r; print(json.load(r.urlopen(sys.argv[1] + "/v1/models"))["data"][0]["id"])' "$frontend")
cat <<DONE

The stack is up after $((SECONDS - started)) s, serving $model$([ "$STACK" = cpu ] && echo ' (scripted answers, no model weights)').
  frontend   $frontend/v1
  reference  $reference/v1

Chat with it:
  curl -s $frontend/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"model": "$model", "messages": [{"role": "user", "content": "Hi"}]}'

Prove it: make e2e
Load it:  .venv/bin/locust -f loadtest/
DONE
