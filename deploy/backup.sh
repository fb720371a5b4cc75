#!/bin/sh
# Copies the append-only file of a running Redis, on the machine where that runs:
#
#   backup.sh DATA/appendonlydir TARGET redis-cli [-h HOST -p PORT --user …]
#
# Restored, TARGET is the appendonlydir of a Redis that has not been started yet. What is written meanwhile may be in it
# or not; everything acknowledged before is. While it copies, Redis does not rewrite the file, which would move it away.
set -eu
umask 077  # hands, seeds and tokens are in it
source=$1 target=$2
shift 2
fail() { echo "backup: $*" >&2; exit 1; }
[ -f "$source/appendonly.aof.manifest" ] || fail "$source holds no append-only file"
[ ! -e "$target" ] || fail "$target is there already"

setting=auto-aof-rewrite-percentage
before=$("$@" --raw config get $setting | tail -n 1)
"$@" config set $setting 0 > /dev/null
trap '"$@" config set $setting "$before" > /dev/null' EXIT
trap 'exit 1' INT TERM HUP
while "$@" --raw info persistence | grep -qE '^aof_rewrite_(in_progress|scheduled):1'; do sleep 1; done

mkdir -p "$(dirname "$target")"
cp -R "$source" "$target.part"
mv "$target.part" "$target"
ls "$target"
