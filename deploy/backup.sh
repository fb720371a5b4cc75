#!/bin/sh
# Copies the append-only file of a running Redis, on the machine where that runs:
#
#   backup.sh DATA/appendonlydir TARGET redis-cli [-h HOST -p PORT --user …]
#
# To restore, make TARGET the appendonlydir of a Redis that has not been started yet. TARGET has everything that Redis
# wrote before the backup began; what is written meanwhile may be in it or not. Nothing in Redis is changed. The script
# ends with 0 if TARGET is complete; otherwise there is no TARGET.
#
# The files that the manifest names are all of the data at any moment, and are only ever appended to. A rewrite of the
# file ends with a new manifest, and removes what the old one named: then the copy starts again.
set -eu
umask 077  # hands, seeds and tokens are in it
fail() { echo "backup: $*" >&2; exit 1; }
[ $# -ge 3 ] || fail "usage: backup.sh DATA/appendonlydir TARGET redis-cli [-h HOST -p PORT --user …]"
source=$1 target=$2 part=$2.part manifest=appendonly.aof.manifest
shift 2
[ -f "$source/$manifest" ] || fail "$source holds no append-only file"
"$@" info persistence < /dev/null | grep -q '^aof_enabled:1' || fail "this Redis writes no append-only file, or does not answer"

mkdir -p "$(dirname "$target")"
mkdir "$part" || fail "$part is there already: of a backup that still runs, or that broke off: then remove it"
trap 'rm -rf "$part"' EXIT
trap 'exit 1' INT TERM HUP
[ ! -e "$target" ] || fail "$target is there already"

copied() {
  cp "$source/$manifest" "$part/$manifest" || return
  # "file NAME seq NUMBER type LETTER": h has been replaced, and may be gone already.
  files=$(awk '$1 == "file" && $6 != "h" { print $2 }' "$part/$manifest")
  [ -n "$files" ] || fail "$source/$manifest names no file"
  for file in $files; do cp "$source/$file" "$part/$file" || return; done
}
tries=1
until copied; do
  ! cmp -s "$source/$manifest" "$part/$manifest" || fail "$source cannot be copied"
  [ $tries -lt 10 ] || fail "Redis rewrites its file faster than it can be copied"
  tries=$((tries + 1))
  rm -f "$part"/*
done
mv "$part" "$target"
trap - EXIT
ls "$target"
