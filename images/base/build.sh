#!/usr/bin/env bash
# Makes sure that the base image of our images is there: pulled where a registry answers,
# else bootstrapped from Debian's package archive and tagged with the same name.
# Usage: images/base/build.sh [IMAGE]   (default debian:bookworm-slim; any debian:SUITE-slim)
set -euo pipefail

image=${1:-debian:bookworm-slim}
say() { printf '==> %s\n' "$*"; }

if docker image inspect "$image" >/dev/null 2>&1; then
    say "base image $image is there"
    exit 0
fi
say "base image $image: asking the registry"
if timeout 120 docker pull --quiet "$image" 2>/dev/null; then
    exit 0
fi

suite=${image#debian:}
suite=${suite%-slim}
case "$image" in debian:*) ;; *) echo "error: $image cannot be pulled, and only Debian can be bootstrapped" >&2; exit 1 ;; esac
say "no registry answers: bootstrapping Debian $suite from its package archive (about 1 minute)"
if ! command -v debootstrap >/dev/null; then
    [ "$(id -u)" = 0 ] || { echo "error: debootstrap is missing. Run once: sudo apt-get install debootstrap debian-archive-keyring" >&2; exit 1; }
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap debian-archive-keyring >/dev/null
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase "$suite" "$root" http://deb.debian.org/debian >"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; echo "error: debootstrap failed; its log is $root.log" >&2; exit 1; }
cat > "$root/etc/apt/sources.list" <<SOURCES
deb http://deb.debian.org/debian $suite main
deb http://deb.debian.org/debian $suite-updates main
deb http://deb.debian.org/debian-security $suite-security main
SOURCES
# What the official slim image leaves out too.
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root.log"
find "$root"/usr/share/man "$root"/usr/share/info "$root"/usr/share/locale -mindepth 1 -delete
find "$root"/usr/share/doc -mindepth 1 ! -type d ! -name copyright -delete
# Build caches keep downloaded packages, so the image must not clean them away after each install.
printf 'APT::Install-Recommends "false";\nDPkg::Options { "--path-exclude=/usr/share/man/*"; "--path-exclude=/usr/share/doc/*"; "--path-include=/usr/share/doc/*/copyright"; };\n' \
    > "$root/etc/apt/apt.conf.d/50image"
tar -C "$root" -c . | docker import --change 'CMD ["bash"]' --change "LABEL base.source=debootstrap" - "$image" >/dev/null
say "base image $image: made"
docker image ls "$image"
