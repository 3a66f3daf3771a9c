#!/usr/bin/env bash
# Makes sure that this machine has what the stack needs: a Docker engine with Compose v2, and Python 3.11 or newer; where
# it is asked for, the browser in which reports are tested.
# Installs what is missing where it may (Debian or Ubuntu, as root), and otherwise stops with the command to run.
# With everything there it prints nothing and changes nothing.
#
# Usage: stack/install.sh [docker|python|browser]...   (default: docker python)
set -euo pipefail

say() { printf '==> %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

engine_answers() { docker info >/dev/null 2>&1; }
# `required: false` under depends_on came with Compose 2.20.
compose_is_new_enough() {
    local version
    version=$(docker compose version --short 2>/dev/null) || return 1
    [ "$(printf '%s\n' 2.20.0 "${version#v}" | sort -V | head -n 1)" = 2.20.0 ]
}
python_is_there() { python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_missing_docker() {
    command -v dockerd >/dev/null || engine_answers || missing+=(docker.io)
    compose_is_new_enough || missing+=(compose)
    docker buildx version >/dev/null 2>&1 || missing+=(docker-buildx)
}

install_missing() {
    # shellcheck source=/dev/null
    . /etc/os-release
    local packages=() name
    for name in "${missing[@]}"; do
        case "$ID:$name" in
            debian:chromium) packages+=(chromium) ;;
            ubuntu:chromium) die "Ubuntu's Chromium is a snap: snap install chromium" ;;
            debian:docker.io) packages+=(docker.io docker-cli) ;;
            debian:compose) packages+=(docker-compose) ;;
            ubuntu:compose) packages+=(docker-compose-v2) ;;
            debian:* | ubuntu:*) packages+=("$name") ;;
            *) die "missing: ${missing[*]}. Install Docker Engine (https://docs.docker.com/engine/install/), Compose 2.20+, buildx and Python 3.11+." ;;
        esac
    done
    [ "$(id -u)" = 0 ] || die "missing: ${missing[*]}. Run once as root: sudo $0"
    say "installing ${packages[*]} with apt, which this machine lacks"
    if [ "$ID" = debian ] && [ "$VERSION_ID" -lt 13 ]; then
        use_docker_of_debian_13
    fi
    # The CA bundle is not upgraded where it is: rewriting it can drop a root that was added by hand.
    [ -e /etc/ssl/certs/ca-certificates.crt ] || packages+=(ca-certificates)
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends iptables "${packages[@]}" >/dev/null
}

# Debian 12 has only the old Python Compose. These packages of Debian 13 install on it as they are; nothing else is
# taken from there.
use_docker_of_debian_13() {
    say "adding the Debian 13 suite to apt, for Docker's packages only"
    cat > /etc/apt/sources.list.d/trixie-docker.sources <<-SOURCES
	Types: deb
	URIs: http://deb.debian.org/debian
	Suites: trixie
	Components: main
	Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
	SOURCES
    cat > /etc/apt/preferences.d/trixie-docker <<-PREFERENCES
	Package: *
	Pin: release n=trixie
	Pin-Priority: 50

	Package: docker.io docker-cli docker-compose docker-buildx containerd
	Pin: release n=trixie
	Pin-Priority: 600
	PREFERENCES
}

start_engine() {
    [ "$(id -u)" = 0 ] || die "the Docker engine does not answer. Start it (sudo systemctl start docker), or join the docker group."
    say "starting the Docker engine"
    if [ -d /run/systemd/system ]; then
        systemctl start docker
    else
        setsid dockerd > /var/log/dockerd.log 2>&1 < /dev/null &
    fi
    for _ in $(seq 60); do
        engine_answers && return
        sleep 1
    done
    tail -n 20 /var/log/dockerd.log >&2 2>/dev/null || true
    die "the Docker engine did not start within 60 s; its last lines are above, or in: journalctl -u docker"
}

wanted=" ${*:-docker python} "
missing=()
[[ $wanted != *" docker "* ]] || find_missing_docker
[[ $wanted != *" python "* ]] || python_is_there || missing+=(python3 python3-venv)
[[ $wanted != *" browser "* ]] || command -v chromium >/dev/null || missing+=(chromium)
[ ${#missing[@]} = 0 ] || install_missing

if [[ $wanted == *" docker "* ]]; then
    engine_answers || start_engine
    compose_is_new_enough || die "Compose $(docker compose version --short 2>/dev/null || echo '(none)') is older than 2.20"
fi
if [[ $wanted == *" python "* ]]; then
    python_is_there || die "$(python3 --version 2>&1) is older than 3.11, or lacks venv"
fi
