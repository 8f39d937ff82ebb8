#!/usr/bin/env bash
# What is installed is what is meant to be, nothing of it knows where it was built, others may not write plugins, and every header
# can stand alone. // H3
# usage: installed_files.sh BUILD SOURCE CC CXX
set -euo pipefail
build=$1 source=$2 cc=$3 cxx=$4
umask 002
work=$(mktemp -d /tmp/waybill-sdk-XXXXXX)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}
below() { (cd "$1" && find . -type f -printf "$2%P\n"); }

for component in runtime sdk; do
  cmake --install "$build" --prefix "$work/prefix" --component $component >"$work/log" || { cat "$work/log"; fail "install of $component"; }
done

{
  echo bin/waybill
  echo lib/waybill/waybill-plugin-host
  echo share/waybill/drill.sh
  echo share/waybill/drill_receiver.py
  echo share/waybill/waybill.yaml
  for file in waybill_plugin waybill_testing; do
    echo share/waybill/python/$file.py
    printf "share/waybill/typescript/$file.%s\n" mjs d.mts
  done
  (cd "$source/docs" && find . \( -name '*.md' -o -name '*.schema.json' \) -printf 'share/doc/waybill/%P\n')
  printf 'share/doc/waybill/%s\n' CHANGELOG.md SECURITY.md openapi.yaml schema.sql settle.sql
  printf "share/doc/waybill/operations/%s\n" prometheus/rules.yml prometheus/alerts.yml grafana/waybill.json
  (cd "$source/plugins" && find . -name README.md -not -path '*/tests/*' -printf 'share/doc/waybill/plugins/%P\n')
  for plugin in email_raw email_template govuk_notify happyfox_template push ses sms webhook; do echo lib/waybill/plugins/$plugin.so; done
  echo lib/libwaybill_fakes.a
  for file in waybill-plugin-config.cmake waybill-plugin-config-version.cmake waybill-plugin-targets.cmake WaybillAddPlugin.cmake \
    waybill-testkit-targets.cmake waybill-testkit-targets-CONFIG.cmake plugin.map check_exports.cmake fail_the_test.cpp; do
    echo lib/cmake/waybill-plugin/$file
  done
  below "$source/plugin-api/include" include/
  below "$source/plugin-api/testkit/include" include/
  below "$source/registry" share/waybill/registry/
  if [ -d "$source/plugin-api/examples" ]; then below "$source/plugin-api/examples" share/waybill/examples/; fi
  (cd "$source/plugin-api/rust" && find . \( -name target -o -name check.sh -o -name CMakeLists.txt -o -name .gitignore \) -prune -o \
    -type f -printf "share/waybill/rust/%P\n")
  printf "%s\n" include/waybill/client.hpp share/waybill/clients/cpp/README.md
  for client in python typescript; do
    (cd "$source/clients/$client" && find . \( -name tests -o -name __pycache__ -o -name node_modules -o -name CMakeLists.txt -o -name emit_types.py \) \
      -prune -o -type f -printf "share/waybill/clients/$client/%P\n")
  done
  for page in plugin-authors plugin-sanitizers; do echo share/waybill/$page.md; done
} | sort >"$work/expected"
below "$work/prefix" "" | sed 's/\(testkit-targets-\)[a-z]*\.cmake$/\1CONFIG.cmake/' | sort >"$work/installed"
diff "$work/expected" "$work/installed" || fail "the installed files (>) are not the expected ones (<)"

known=$(grep -rlF -e "$source" -e "$build" "$work/prefix" || true)
[ -z "$known" ] || fail "these files know where they were built: $known"

open=$(find "$work/prefix/lib/waybill" -perm /022)
[ -z "$open" ] || fail "the host would refuse these, as others may write to them: $open"

flags=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$work/prefix/include")
headers=$(cd "$work/prefix/include" && find . -name '*.h*' -printf '%P\n')
for header in $headers; do
  if [[ $header == *.h ]]; then
    echo "#include \"$header\"" >"$work/alone.c"
    "$cc" -std=c11 "${flags[@]}" "$work/alone.c" || fail "$header does not compile alone as C11"
  fi
  echo "#include \"$header\"" >"$work/alone.cpp"
  "$cxx" -std=c++17 "${flags[@]}" "$work/alone.cpp" || fail "$header does not compile alone as C++17"
done
echo "$(wc -l <"$work/installed") files, as expected"
