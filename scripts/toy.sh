#!/bin/sh
# A repository of the toy to try scripts on: sh scripts/toy.sh DIR SCRIPT.star…
set -e
dir=$1
shift
mkdir -p "$dir"
cp "$(dirname "$0")"/toy/* "$@" "$dir"
cd "$dir"
printf '.starling/\n' >.gitignore
git init -q -b main
git config user.name >/dev/null || git config user.name toy
git config user.email >/dev/null || git config user.email toy@example.org
git add -A
git commit -q -m toy
