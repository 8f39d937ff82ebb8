#!/usr/bin/env bash
# A new destination as its author comes by it: from an installed Waybill and an empty folder to the first delivery. // H3 D9
# usage: end_to_end.sh BUILD RECEIVER FLAGS: the build folder to install from, the program that receives, and compiler flags that go
# with the build (sanitizers).
set -euo pipefail
build=$1 receiver=$2 flags=$3
for setting in "${!WAYBILL_@}"; do unset "$setting"; done  # the host would take them for its own
umask 002  # as many users have it: what is installed must not become writable for their group

work=$(mktemp -d /tmp/waybill-sdk-XXXXXX)
chmod 755 "$work"  # run by root, the database runs as user postgres
log=$work/log
host='' destination=''  # process ids, while they run

end_process() { # PID: asks it to end, and makes it after a while
  kill "$1" || return 0
  within 30 gone "$1" || kill -9 "$1"
  wait "$1" || true
}
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"; }
within() { # SECONDS COMMAND...: until the command succeeds
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}
clean_up() {
  local server
  [ -z "$host" ] || end_process "$host"
  [ -z "$destination" ] || end_process "$destination"
  for server in $(find "$work" -name postmaster.pid -exec head -n 1 {} +); do  # its host could not stop it
    kill -QUIT "$server" && within 30 gone "$server" || true
  done
  rm -rf "$work"
}
trap clean_up EXIT

step() {
  echo "-- $*"
  : >"$log"
}
fail() {
  echo "FAILED: $*"
  cat "$log"
  if [ -s "$work/site/host.log" ]; then echo "the host's log ends:"; tail -n 40 "$work/site/host.log"; fi
  exit 1
}
run() { "$@" >>"$log" 2>&1 || fail "$*"; }

start_host() {
  rm -f "$work/site/port"
  (cd "$work/site" && exec setpriv --pdeathsig TERM waybill serve) >>"$work/site/host.log" 2>&1 &
  host=$!
  within 120 ready || fail "the host does not come up"
  still_up
}
stop_host() {
  local ended=$host code=0
  host=''
  kill "$ended"
  wait "$ended" || code=$?
  [ $code = 0 ] || fail "the host ended with $code"
}
still_up() { ! gone "$host" || fail "the host has ended"; }
ready() { gone "$host" || curl -sf --noproxy '*' "http://127.0.0.1:$(cat "$work/site/port")/readyz"; }

step "install, and move what was installed somewhere else"
run cmake --install "$build" --prefix "$work/staged"
run mv "$work/staged" "$work/waybill"
export PATH=$work/waybill/bin:$PATH
[ "$(command -v waybill)" = "$work/waybill/bin/waybill" ] || fail "another waybill is on the PATH"

step "waybill plugin new pager"
mkdir "$work/mine"
cd "$work/mine"
run waybill plugin new pager
mapfile -t commands < <(sed -n '/^next$/,/^[^ ]*\.md/s/^  //p' "$log")
[ ${#commands[@]} = 5 ] || fail "waybill plugin new should say what to do next, in five commands"

export CXXFLAGS="-Wall -Wextra -Wpedantic -Wshadow -Werror $flags"
for command in "${commands[@]}"; do  # what it said, to the letter
  step "$command"
  eval "$command" >>"$log" 2>&1 || fail "$command"
  [[ $command != ctest* ]] || grep -q '^100% tests passed' "$log" || fail "ctest ran no tests"
done
[ "$PWD" = "$work/mine/pager" ] || fail "the commands should lead into the plugin's folder"
grep -q 'plugin.pager.conforms' build/CTestTestfile.cmake || fail "ctest does not check the plugin"

step "a machine without GoogleTest can still build it"
run cmake -B plain -DBUILD_TESTING=OFF -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON

step "waybill plugin new in C, and one that blocks, beside each other; no build type was named"  # D9
cd "$work/mine"
for language in c blocking; do
  run waybill plugin new "in_$language" --language $language
  cd "in_$language"
  run env CFLAGS="-Wall -Wextra -Wpedantic -Werror $flags" cmake -B build -DCMAKE_PREFIX_PATH="$work/waybill"
  grep -q '^CMAKE_BUILD_TYPE:STRING=Release$' build/CMakeCache.txt || fail "the build type is not Release"
  run cmake --build build
  run ctest --test-dir build --output-on-failure
  grep -q '^100% tests passed' "$log" || fail "ctest ran no tests"
  run waybill plugin check "build/plugins/in_$language.so" --samples check.json
  cd ..
done

step "two plugins in one folder, each with its tests"  # D9
mkdir -p two/tests
sed 's/in_blocking/one/g; s/InBlocking/One/g' in_blocking/in_blocking.cpp >two/one.cpp
sed 's/in_blocking/other/g; s/InBlocking/Other/g' in_blocking/in_blocking.cpp >two/other.cpp
sed 's/in_blocking/one/g; s/InBlocking/One/g' in_blocking/tests/in_blocking_test.cpp >two/tests/one_test.cpp
sed 's/in_blocking/other/g; s/InBlocking/Other/g' in_blocking/tests/in_blocking_test.cpp >two/tests/other_test.cpp
sed 's/in_blocking/one/g' in_blocking/check.json >two/one.check.json
sed 's/in_blocking/other/g' in_blocking/check.json >two/other.check.json
cat >two/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(two LANGUAGES CXX)
find_package(waybill-plugin 1 REQUIRED)
waybill_add_plugin(one)
waybill_add_plugin(other)
END
cd two
run cmake -B build -DCMAKE_PREFIX_PATH="$work/waybill"
run cmake --build build
run ctest --test-dir build --output-on-failure
grep -q '^100% tests passed' "$log" || fail "ctest ran no tests"
for plugin in one other; do
  grep -q "plugin.$plugin.conforms" build/CTestTestfile.cmake || fail "$plugin is not checked"
  [ -x "build/${plugin}_tests" ] || fail "$plugin has no tests"
done
cd "$work/mine/pager"

step "an installation that runs"
mkdir "$work/site" "$work/received"
cp -r "$work/waybill/share/waybill/registry" "$work/site/registry"
cat >"$work/site/waybill.yaml" <<END
listen: 127.0.0.1:0
port_file: ./port
auth: none
database: { embedded: ./pg }
registry: ./registry
plugins: $work/waybill/lib/waybill/plugins
secrets: { orders: { env: WAYBILL_SECRET_ORDERS } }
senders: { email_template: { from: "Forms <forms@example.org>" } }
END
export WAYBILL_SECRET_ORDERS=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3
setpriv --pdeathsig TERM "$receiver" "$work/received" >>"$log" 2>&1 &
destination=$!
within 30 test -s "$work/received/url" || fail "the receiver does not come up"
start_host

step "drop the plugin in while it runs, and add the target that the plugin's README shows"
run install -m 644 build/plugins/pager.so "$work/waybill/lib/waybill/plugins/"
sed -n '/^```json$/,/^```$/{/^```/d;p}' README.md | sed "s|https://api.example.org|$(cat "$work/received/url")|; \$s/\$/,/" >"$work/target.json"
run sed -i "/\"targets\": \[/r $work/target.json" "$work/site/registry/targets.json"
still_up

step "waybill check"
cd "$work/site"
run waybill check
grep -q '^good: 9 plugin(s)' "$log" || fail "the new plugin is not counted"
run waybill plugin list
grep -q '^pager.so .*pager (process: ' "$log" || fail "the new plugin is not listed"

step "waybill reload"
run waybill reload
grep -q '^  pager: pager 0.1.0 takes new work' "$log" || fail "the host did not take up the plugin"

step "deliver"
run curl -sS --noproxy '*' --max-time 60 "http://127.0.0.1:$(cat port)/v1/intents?waitSeconds=30" \
  --json '{"intentId":"order-4711","submissionTarget":"pager.ops","payload":{"text":"Hello"}}'
grep -q '"status":"accepted"' "$log" || fail "the intent was not accepted"
within 10 test -s "$work/received/1" || fail "nothing was received"
tr -d '\r' <"$work/received/1" >"$log"
grep -q '^POST /messages$' "$log" || fail "this is not what was to be received"
grep -qi '^x-channel: ops$' "$log" || fail "the channel is missing"
grep -qi '^idempotency-key: .' "$log" || fail "the idempotency key is missing"
[ "$(tail -n 1 "$log")" = '{"text":"Hello"}' ] || fail "the payload did not arrive as it was handed in"

step "stop"
stop_host
echo "delivered through a plugin that was not there before"
