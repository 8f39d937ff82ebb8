#!/bin/sh
# comfort.sh PROGRAM FOLDER: writes manual pages, compressed, and completions into FOLDER.
set -eu
program=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/man1" "$folder/man5"
"$program" manual "$folder"
mv "$folder"/*.1 "$folder/man1/"
mv "$folder"/*.5 "$folder/man5/"
gzip -9n "$folder"/man?/*
for shell in bash zsh fish; do "$program" completion "$shell" >"$folder/completion.$shell"; done
mv "$folder/completion.bash" "$folder/waybill.bash"
mv "$folder/completion.zsh" "$folder/_waybill"
mv "$folder/completion.fish" "$folder/waybill.fish"
