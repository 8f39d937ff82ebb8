#!/bin/bash
# old_version.sh SOURCE_FOLDER: builds Waybill as it was before its newest migration came, from the repository's history, and prints four
# lines: the commit, the program, the folder of its plugins, and whether it may run beside the newest schema (beside, refused).
# WAYBILL_OLD_COMMIT names another commit. What was built is kept in build/old-version/. Exit code 77: not possible here; why is on stderr.
set -euo pipefail
source_folder=$1
git=(git -c "safe.directory=*" -C "$source_folder")
not_possible() { echo "$*" >&2; exit 77; }

command -v git >/dev/null || not_possible "git is not installed"
"${git[@]}" rev-parse --git-dir >/dev/null 2>&1 || not_possible "the sources are not in a git repository"
newest=$(cd "$source_folder/schema" && printf '%s\n' *.sql | sort | tail -1)
commit=${WAYBILL_OLD_COMMIT:-}
if [ -z "$commit" ]; then
  for one in $("${git[@]}" rev-list --first-parent HEAD); do
    "${git[@]}" cat-file -e "$one:schema/$newest" 2>/dev/null || { commit=$one; break; }
  done
fi
[ -n "$commit" ] || not_possible "no commit in this history is older than schema/$newest"
commit=$("${git[@]}" rev-parse --verify --quiet "$commit^{commit}") || not_possible "there is no commit $WAYBILL_OLD_COMMIT"

folder=$source_folder/build/old-version/$commit
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9  # another test may build it now
if [ ! -f "$folder/built" ]; then
  "${git[@]}" archive "$commit" | tar -x -C "$folder"
  (cd "$folder" && cmake --preset dev -DWAYBILL_UNITY=ON && cmake --build build/dev --target waybill sms) >"$folder/build.log" 2>&1 ||
    { tail -20 "$folder/build.log" >&2; exit 1; }
  touch "$folder/built"
fi

old=$("${git[@]}" ls-tree --name-only "$commit" schema/ | grep '\.sql$' | sort | tail -1 | sed 's|schema/0*\([0-9]*\)_.*|\1|')
first=$(cd "$source_folder/schema" && printf '%s\n' *.sql | sort | head -1 | sed 's|^0*\([0-9]*\)_.*|\1|')
[ "$old" -ge "$first" ] || not_possible "$commit has schema $old, and this program leads on from $first"
word=beside
for file in "$source_folder"/schema/*.sql; do
  version=$(basename "$file" | sed 's|^0*\([0-9]*\)_.*|\1|')
  [ "$version" -gt "$old" ] || continue
  beside=$(head -5 "$file" | sed -n 's|^-- Runs beside: \([0-9]*\)$|\1|p' | head -1)
  { [ -n "$beside" ] && [ "$beside" -le "$old" ]; } || word=refused
done
program=$(find "$folder/build/dev" -maxdepth 2 -name waybill -type f -perm -u+x | head -1)
printf '%s\n' "$commit" "$program" "$folder/build/dev/plugins" "$word"
