#!/usr/bin/env bash
# A failure drill: breaks a test installation in six ways and checks that it comes out of each as docs/operations says it does.
set -euo pipefail

usage() {
  cat <<'END'
usage: drill.sh [options] [DRILL...]
Without DRILL all of them, in this order:
  host      a host is killed in the middle of its work
  receiver  the receiver is away for a while
  database  the database is stopped and started
  registry  a bad registry is refused, and the old one stays in use
  letter    a dead letter is found, edited and replayed
  restore   a backup is restored into another installation

  --program FILE   the waybill to drill (default: the one installed beside this script, else the one on the PATH)
  --plugins DIR    its plugins (default: those installed beside it); needs webhook.so and email_raw.so
  --config FILE    drill this installation, which must be a test installation with no host running and nothing left to send,
                   instead of one made for the drill in a temporary folder
  --yes-this-is-a-test-installation
                   needed with --config: the drill starts and kills hosts on its database and stops that database
  --stop-database COMMAND, --start-database COMMAND
                   with --config and database.url: how; without them the drill "database" is left out
  --keep           do not remove the drill's folder: logs, what was received, the backup
Exit code: 0 if every drill passed, 1 if one failed, 2 if it was called wrongly.
END
}
refuse() { echo "drill: $*" >&2; exit 2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program='' plugins='' config='' confirmed=false stop_command='' start_command='' keep=false drills=()
while [ $# -gt 0 ]; do
  case $1 in
    --program | --plugins | --config | --stop-database | --start-database) [ $# -ge 2 ] || refuse "$1 needs a value" ;;&
    --program) program=$(realpath -e "$2"); shift 2 ;;
    --plugins) plugins=$(realpath -e "$2"); shift 2 ;;
    --config) config=$(realpath -e "$2"); shift 2 ;;
    --stop-database) stop_command=$2; shift 2 ;;
    --start-database) start_command=$2; shift 2 ;;
    --yes-this-is-a-test-installation) confirmed=true; shift ;;
    --keep) keep=true; shift ;;
    -h | --help) usage; exit 0 ;;
    host | receiver | database | registry | letter | restore) drills+=("$1"); shift ;;
    *) usage >&2; exit 2 ;;
  esac
done
[ ${#drills[@]} -gt 0 ] || drills=(host receiver database registry letter restore)
[ -z "$config" ] || $confirmed ||
  refuse "$config: this kills hosts and stops a database. If it is a test installation, say --yes-this-is-a-test-installation"
[ -n "$stop_command" ] || [ -z "$start_command" ] || refuse "--start-database needs --stop-database"
[ -z "$stop_command" ] || [ -n "$start_command" ] || refuse "--stop-database needs --start-database"
if [ -z "$program" ]; then
  program=$here/../../bin/waybill
  [ -x "$program" ] || program=$(command -v waybill) || refuse "there is no waybill here: name it with --program"
  program=$(realpath "$program")
fi
[ "$(basename "$program")" = waybill ] || refuse "--program: its name has to be waybill"
for needed in curl python3 setpriv; do command -v $needed >/dev/null || refuse "this needs $needed"; done

# ---- what every drill stands on ----

work=$(mktemp -d "${TMPDIR:-/tmp}/waybill-drill-XXXXXX")
chmod 755 "$work"  # run by root, the private database runs as user postgres
log=$work/log run=drill-$(date +%s)-$$
declare -A hosts=()  # name -> process id
receiver='' current='' database_is_down=false
failures=0 left_out=0

gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
within() { # SECONDS COMMAND...: until the command succeeds
  local end=$((SECONDS + $1))
  shift
  until "$@" >>"$log" 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}
end_process() { # PID
  kill "$1" 2>/dev/null || return 0
  within 30 gone "$1" || kill -9 "$1" || true
  wait "$1" 2>/dev/null || true
}
end_drill() {  # of each drill, however it ends
  local name
  trap '' INT TERM HUP
  ! $database_is_down || start_database || echo "drill: the database could not be started again" >&2
  for name in "${!hosts[@]}"; do end_process "${hosts[$name]}"; done
}
clean_up() {
  local server
  trap '' INT TERM HUP
  if [ -n "$current" ] && kill "$current" 2>/dev/null; then wait "$current" || true; fi
  [ -z "$receiver" ] || end_process "$receiver"
  for server in "$work"/pg "$work"/restored/pg; do  # still there only if its host could not stop it
    [ ! -e "$server/data/postmaster.pid" ] || stop_embedded "$server" immediate || true
  done
  if $keep; then echo "kept: $work"; else rm -rf "$work"; fi
}
trap clean_up EXIT
trap 'echo "drill: interrupted" >&2; exit 130' INT TERM HUP

say() { echo "   $*"; }
wrong() { # the verdict of a drill that failed; it ends there
  echo "   WRONG: $*"
  tail -n 8 "$log" | sed 's/^/     | /'
  exit 1
}
must() { # WHAT COMMAND...: within a minute
  local what=$1
  shift
  within 60 "$@" || wrong "$what"
  say "$what"
}

mode() { echo "$1" >"$work/mode.new" && mv "$work/mode.new" "$work/mode"; }
received() { grep -cE "^$1( |\$)" "$work/received" || true; }  # how often: asked KEY, took KEY, mail MESSAGE-ID
received_is() { [ "$(received "$1")" = "$2" ]; }
received_at_least() { [ "$(received "$1")" -ge "$2" ]; }

start_host() { # NAME [CONFIG]
  local name=$1 file=${2:-$config}
  rm -f "$work/$name.port"
  WAYBILL_PORT_FILE=$work/$name.port setpriv --pdeathsig TERM "$program" serve --config "$file" >>"$work/$name.log" 2>&1 &
  hosts[$name]=$!
  if ! within 120 up_or_gone "$name" || gone "${hosts[$name]}"; then
    tail -n 5 "$work/$name.log" >>"$log"
    wrong "host $name does not come up"
  fi
}
up_or_gone() { gone "${hosts[$1]}" || ready "$1"; }
stop_host() { # NAME
  end_process "${hosts[$1]}"
  unset "hosts[$1]"
}
kill_host() { # NAME: as a crash would
  kill -9 "${hosts[$1]}"
  wait "${hosts[$1]}" 2>/dev/null || true
  unset "hosts[$1]"
}
ask() { # HOST PATH [BODY]: the body of the answer in $work/answer, the status on standard output
  [ -s "$work/$1.port" ] || return 0  # not up yet
  curl -sS --noproxy '*' --max-time 30 -o "$work/answer" -w '%{http_code}' ${3+--json "$3"} "http://127.0.0.1:$(<"$work/$1.port")$2" \
    2>>"$log" || true
}
answers() { # STATUS HOST PATH [BODY]
  local status
  status=$(ask "${@:2}")
  echo "$3: $status $(cat "$work/answer")"
  [ "$status" = "$1" ]
}
ready() { answers 200 "$1" /readyz; }
intent() { echo "{\"intentId\":\"$1\",\"submissionTarget\":\"${2:-drill.hook}\",\"payload\":{\"drill\":\"$1\"}}"; }
hand_in() { answers 200 "$1" /v1/intents "$(intent "$2")" >>"$log" || wrong "intent $2 was not taken"; }  # HOST ID
says() { answers 200 "$1" "$2" && grep -qF "$3" "$work/answer"; }                                        # HOST PATH TEXT
accepted() { # HOST ID...
  local id
  for id in "${@:2}"; do says "$1" "/v1/intents/$id" '"status":"accepted"' || return 1; done
}
waybill() { "$program" "$@" --config "$config"; }
prints() { # TEXT ARGUMENTS...: what a command of waybill prints has this text
  waybill "${@:2}" >"$work/printed" 2>&1 || true
  cat "$work/printed"
  grep -qF "$1" "$work/printed"
}

# ---- the database ----

as_owner() {  # FOLDER COMMAND...: of the folder, if we are root, as whom PostgreSQL does not run
  local owner group
  owner=$(stat -c %u "$1") group=$(stat -c %g "$1")
  shift
  if [ "$(id -u)" = 0 ]; then setpriv --reuid "$owner" --regid "$group" --clear-groups "$@"; else "$@"; fi
}
tools_of() { # DATA FOLDER, or nothing for the newest
  local version='' folder
  [ -z "${1:-}" ] || version=$(cat "$1/PG_VERSION")
  folder=$(find /usr/lib/postgresql -maxdepth 2 -path "*/${version:-*}/bin" 2>/dev/null | sort -V | tail -n 1)
  [ -x "$folder/pg_ctl" ] || refuse "this needs PostgreSQL's programs: the package postgresql"
  echo "$folder"
}
socket_of() { sed -n "s/^unix_socket_directories = '\(.*\)'.*/\1/p" "$1/data/postgresql.conf" | tail -n 1; }
start_embedded() { (cd / && as_owner "$1/data" "$(tools_of "$1/data")/pg_ctl" start -w -s -D "$1/data" -l "$1/postgresql.log") >>"$log" 2>&1; }
stop_embedded() { (cd / && as_owner "$1/data" "$(tools_of "$1/data")/pg_ctl" stop -w -s -m "$2" -D "$1/data") >>"$log" 2>&1; }
stop_database() {
  database_is_down=true
  if [ -n "$embedded" ]; then stop_embedded "$embedded" immediate; else bash -c "$stop_command" >>"$log" 2>&1; fi
}
start_database() {
  if [ -n "$embedded" ]; then start_embedded "$embedded"; else bash -c "$start_command" >>"$log" 2>&1; fi
  database_is_down=false
}
setting() { # KEY of database: the environment's, else that of the file
  local variable=WAYBILL_DATABASE_${1^^}
  if [ -n "${!variable:-}" ]; then echo "${!variable}"; else
    python3 - "$config" "$1" <<'END'
import re, sys
text = re.sub(r"(?m)(^|\s)#.*", "", open(sys.argv[1]).read())
block = re.search(r"(?m)^database:(.*(?:\n[ \t]+.*)*)", text)
found = re.search(r"(?m)(?<!\w)%s:\s*(?:\"([^\"]*)\"|'([^']*)'|([^\n}]*?)(?=\s*(?:,\s|\}|$)))" % sys.argv[2], block[1] if block else "")
print(next((g for g in found.groups() if g), "") if found else "")
END
  fi
}
find_database() {  # sets embedded, address, schema
  embedded=$(setting embedded) address=$(setting url) schema=$(setting schema)
  schema=${schema:-waybill}
  [ -z "${WAYBILL_DATABASE_URL:-}" ] || embedded=''
  [ -z "${WAYBILL_DATABASE_EMBEDDED:-}" ] || address=''
  [ -n "$embedded$address" ] || refuse "$config: its database was not found; give WAYBILL_DATABASE_URL or WAYBILL_DATABASE_EMBEDDED"
  [ -z "$embedded" ] || [[ $embedded = /* ]] || embedded=$(dirname "$config")/$embedded
}
address_of() { echo "host=$(socket_of "$1") user=waybill dbname=postgres"; }
query() { "$(tools_of)/psql" -XAtq "${address:-$(address_of "$embedded")}" -c "$1"; }

# ---- the drills ----

drill_host() {
  echo "== host: a host is killed in the middle of its work"
  local ids=() id
  WAYBILL_TIMEOUTS_ATTEMPT=5m WAYBILL_TIMEOUTS_LEASE=10m start_host a  # no attempt ends by itself before it is killed
  mode hold
  for n in {1..20}; do
    id=$run-host-$n
    hand_in a "$id"
    ids+=("$id")
  done
  must "20 intents acknowledged, and on their way" received_at_least "asked $run-host-[0-9]+" 20
  start_host b
  kill_host a
  say "host a killed with SIGKILL; host b is there"
  mode take
  must "host b has brought all 20 to their end: nothing is lost" accepted b "${ids[@]}"
  for id in "${ids[@]}"; do
    says b "/v1/intents/$id/history" '"outcomeStatus":"unknown"' >>"$log" ||
      wrong "the attempt of $id that nobody saw the end of is not on record"
    received_at_least "asked $id" 2 || wrong "the receiver was not asked again under the key $id"
  done
  say "the attempts whose end nobody saw are recorded as unknown; the receiver got the same key again"
  grep -q host.died "$work/b.log" || wrong "host b should have noticed (host.died)"
  stop_host b
}

drill_receiver() {
  echo "== receiver: the receiver is away for a while"
  local id=$run-receiver
  start_host a
  mode away
  hand_in a "$id"
  must "tried, and tried again" received_at_least "asked $id" 2
  must "waybill explain says: its target cools down" prints '"code": "target_rests"' explain "$id" --json
  says a "/v1/intents/$id" '"status":"pending"' >>"$log" || wrong "the intent should be pending"
  mode take
  must "the receiver is back, and has it" accepted a "$id"
  received_is "took $id" 1 || wrong "taken more than once"
  stop_host a
}

drill_database() {
  echo "== database: the database is stopped and started"
  if [ -z "$embedded" ] && [ -z "$stop_command" ]; then
    echo "-- give --stop-database and --start-database"
    exit 77
  fi
  local ids=() id
  start_host a
  mode hold
  for n in {1..5}; do
    id=$run-database-$n
    hand_in a "$id"
    ids+=("$id")
  done
  must "5 intents on their way" received_at_least "asked $run-database-[0-9]+" 5
  stop_database || wrong "the database could not be stopped"
  mode take
  must "the database is stopped: /readyz says 503" answers 503 a /readyz
  answers 503 a /v1/intents "$(intent "$run-database-6")" >>"$log" || wrong "a submission should be answered 503"
  say "a submission is answered 503: nothing was acknowledged that is not stored"
  ! gone "${hosts[a]}" || wrong "the host should live through this"
  start_database || wrong "the database could not be started"
  must "the database is there again: the same host is ready, without a restart" ready a
  must "the 5 have ended: nothing is lost" accepted a "${ids[@]}"
  hand_in a "$run-database-6"
  must "the submission repeated by its client is taken and ends" accepted a "$run-database-6"
  stop_host a
}

drill_registry() {
  echo "== registry: a bad registry is refused, and the old one stays in use"
  start_host a
  mode take
  cp "$work/registry/targets.json" "$work/good.json"
  sed 's/"policy"/"polcy"/' "$work/good.json" >"$work/registry/targets.json"
  ! waybill reload >"$work/printed" 2>&1 || wrong "waybill reload should refuse it"
  grep -qE 'targets.json:[0-9]+' "$work/printed" || wrong "waybill reload should say where the mistake is: $(cat "$work/printed")"
  say "waybill reload refuses: $(grep -m 1 -oE 'targets.json:[0-9]+.*' "$work/printed")"
  answers 422 a /v1/admin/reload '' >>"$log" || wrong "POST /v1/admin/reload should be answered 422"
  say "POST /v1/admin/reload is answered 422"
  hand_in a "$run-registry-1"
  must "the old registry is in use" accepted a "$run-registry-1"
  sed -e '/"targets": \[/r '<(sed -n '/^    {/,/^    }/p' "$work/good.json" | sed 's/drill.hook/drill.other/; $s/$/,/') "$work/good.json" \
    >"$work/registry/targets.json"
  waybill reload >>"$log" 2>&1 || wrong "a good registry should be taken"
  must "the corrected registry with one more target is taken" answers 200 a /v1/intents "$(intent "$run-registry-2" drill.other)"
  must "the new target works" accepted a "$run-registry-2"
  cp "$work/good.json" "$work/registry/targets.json"
  stop_host a
}

submission() { # ID FORM FINALIZE
  echo "{\"submissionId\":\"$1\",\"formId\":\"$2\",\"finalize\":$3,\"fields\":{\"name\":\"Ada\"},\"attachments\":[]}"
}
letter_of() { waybill dead list --reference "$1" --json | grep -oE '"id": "?[0-9]+' | grep -oE '[0-9]+' | head -n 1; }

drill_letter() {
  echo "== letter: a dead letter is found, edited and replayed"
  local id=$run-letter letter
  start_host a
  mode take
  answers 201 a /v1/submissions "$(submission "$id" drill-nobody true)" >>"$log" || wrong "the submission was not taken"
  must "mail to an address that does not exist: the submission has failed" says a "/v1/submissions/$id" '"status":"failed"'
  must "waybill explain points to the dead letter" prints "waybill dead list --reference $id" explain "$id"
  letter=$(letter_of "$id" || true)
  [ -n "$letter" ] || wrong "waybill dead list does not have it"
  must "the alert has come" received_at_least 'took [^ ]+ .*dead_letter.*' 1
  prints nobody@drill.example dead show "$letter" >>"$log" || wrong "waybill dead show should show the address"
  waybill dead edit "$letter" --destination desk@drill.example >>"$log" 2>&1 || wrong "waybill dead edit failed"
  waybill dead replay "$letter" >>"$log" 2>&1 || wrong "waybill dead replay failed"
  say "dead letter $letter: found, shown, edited, replayed"
  must "the mail has arrived, and the submission is routed" says a "/v1/submissions/$id" '"status":"routed"'
  grep -q '^mail .* desk@drill.example$' "$work/received" || wrong "no mail for desk@drill.example came"
  stop_host a
}

drill_restore() {
  echo "== restore: a backup is restored into another installation"
  local done=$run-restore-done pending=$run-restore-pending after=$run-restore-after form=$run-restore-form mail tools
  tools=$(tools_of)
  start_host a
  mode take
  hand_in a "$done"
  must "one intent has ended" accepted a "$done"
  mode away
  hand_in a "$pending"
  must "one is waiting for its receiver" received_at_least "asked $pending" 1
  answers 201 a /v1/submissions "$(submission "$form" drill-desk false)" >>"$log" || wrong "the submission was not taken"
  "$tools/pg_dump" -Fc -n "$schema" -f "$work/backup" "${address:-$(address_of "$embedded")}" >>"$log" 2>&1 || wrong "pg_dump failed"
  # Policies name roles: those are there before the dump comes in.
  query "SELECT format('DO %L;', format('BEGIN CREATE ROLE %I NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END', role))
    FROM \"$schema\".installation, pg_class c,
         unnest(ARRAY[application_role, reader_role, tenant_role, pg_get_userbyid(c.relowner)]) role
    WHERE c.oid = '\"$schema\".installation'::regclass AND role IS NOT NULL" >"$work/roles.sql"
  say "and the submission of a form is not finalized yet: backup (pg_dump)"
  mode take
  must "after the backup: the waiting intent has been accepted" accepted a "$pending"
  hand_in a "$after"
  must "after the backup: a new intent has been accepted" accepted a "$after"
  answers 202 a "/v1/submissions/$form/finalize" '' >>"$log" || wrong "finalize failed"
  must "after the backup: the form has been mailed" says a "/v1/submissions/$form" '"status":"routed"'
  mail=$(grep '^mail ' "$work/received" | tail -n 1 | cut -d ' ' -f 2)
  stop_host a
  say "the installation is gone; the backup is restored into a new one"

  local restored=$work/restored
  mkdir "$restored"
  printf 'database: { embedded: %s, schema: %s }\nregistry: %s\nplugins: %s\n' "$restored/pg" "$schema" "$work/registry" "$plugins" \
    >"$restored/waybill.yaml"
  unset WAYBILL_DATABASE_URL WAYBILL_DATABASE_OWNER_URL WAYBILL_DATABASE_EMBEDDED WAYBILL_DATABASE_SCHEMA
  config=$restored/waybill.yaml embedded=$restored/pg address=''
  "$program" migrate --config "$config" >>"$log" 2>&1 || wrong "a new database could not be made"
  start_embedded "$embedded" || wrong "the new database does not start"
  query "DROP SCHEMA \"$schema\" CASCADE" >>"$log" 2>&1 || wrong "the new database could not be emptied"
  query "$(<"$work/roles.sql")" >>"$log" 2>&1 || wrong "the roles could not be made"
  "$tools/pg_restore" -d "$(address_of "$embedded")" --no-owner --no-privileges --exit-on-error --single-transaction "$work/backup" \
    >>"$log" 2>&1 || wrong "pg_restore failed"
  query "INSERT INTO \"$schema\".target_outages VALUES (1, 'drill.hook', now() + interval '1 hour', 'held after the restore') ON CONFLICT (org_id, target) DO UPDATE SET until = excluded.until, reason = excluded.reason" >>"$log" 2>&1 ||
    wrong "the target could not be held"
  stop_embedded "$embedded" fast || wrong "the new database does not stop"
  start_host r
  must "what had ended before the backup is there" accepted r "$done"
  must "the target was held before the first host started: it cools down, and nothing is sent" prints '"code": "target_rests"' explain "$pending" --json
  received_is "took $pending" 1 || wrong "sent, though its target cools down"
  query "UPDATE \"$schema\".target_outages SET until = now()" >>"$log" 2>&1 || wrong "the target could not be released"
  must "what was pending in the backup was sent again" accepted r "$pending"
  received_is "took $pending" 2 || wrong "the receiver should have it twice, under one key"
  received_is "took $done" 1 || wrong "what had ended should not be sent again"
  say "the receiver knows it by its key; what had ended was not sent again"
  answers 404 r "/v1/intents/$after" >>"$log" || wrong "what came after the backup should be unknown"
  hand_in r "$after"
  must "what came after the backup is lost, and taken when its client repeats it" accepted r "$after"
  received_is "took $after" 2 || wrong "the receiver should have it twice, under one key"
  answers 202 r "/v1/submissions/$form/finalize" '' >>"$log" || wrong "finalize failed"
  must "the form's client repeats its finalize: the mail comes again" says r "/v1/submissions/$form" '"status":"routed"'
  received_is "mail $mail" 2 || wrong "the mail should have come twice with the same Message-ID"
  say "with the same Message-ID: $mail"
  stop_host r
}

# ---- set up, run, tell ----

if [ -z "$config" ]; then
  # shellcheck disable=SC2086 # their names, not their values
  unset ${!WAYBILL_@}
  plugins=${plugins:-$(dirname "$program")/../lib/waybill/plugins}
  config=$work/waybill.yaml
  printf 'database: { embedded: %s }\nplugins: %s\n' "$work/pg" "$plugins" >"$config"
fi
mkdir "$work/registry" "$work/registry/forms"
touch "$work/received" "$log"
mode take
setpriv --pdeathsig TERM python3 "$here/drill_receiver.py" "$work" >>"$log" 2>&1 &
receiver=$!
within 30 test -s "$work/ports" || { cat "$log" >&2; refuse "the drill's receiver does not come up"; }
read -r web_port mail_port <"$work/ports"
cat >"$work/registry/targets.json" <<END
{
  "targets": [
    {
      "submissionTarget": "drill.hook",
      "gatewayType": "webhook",
      "gatewayUrl": "http://127.0.0.1:$web_port/",
      "policy": "max_attempts",
      "maxAttempts": 1000,
      "terminalOutcomes": ["gone"]
    }
  ]
}
END
for name in nobody desk; do
  printf 'form_id: drill-%s\nname: Drill\nactions: [{action_order: 1, action_type: email_raw, destination: %s@drill.example}]\n' \
    $name $name >"$work/registry/forms/$name.yaml"
done
# The environment wins over the file: its own port, registry and receivers are all that the drill changes of an installation.
export WAYBILL_LISTEN=127.0.0.1:0 WAYBILL_AUTH=none WAYBILL_REGISTRY=$work/registry WAYBILL_ALERTS_TARGET=drill.hook
export WAYBILL_RETRY_WEBHOOK='{kind: fixed, delay: 500ms}' WAYBILL_RETRY_EMAIL_RAW='{kind: fixed, delay: 500ms}'
export WAYBILL_SENDERS_EMAIL_RAW="{\"relay\": \"smtp://127.0.0.1:$mail_port\", \"from\": \"drill@drill.example\", \"tls\": \"never\"}"
unset WAYBILL_PORT_FILE
find_database
waybill check >"$work/printed" 2>&1 || { cat "$work/printed" >&2; refuse "waybill check finds the problems above"; }
[ -n "$plugins" ] || plugins=$(waybill plugin list --json | sed -n 's/^  "folder": "\(.*\)",\{0,1\}$/\1/p')
if $confirmed; then
  waybill migrate >>"$log" 2>&1 || { cat "$log" >&2; refuse "the database cannot be used"; }
fi
if $confirmed && [ -z "$embedded" ]; then
  [ "$(query "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'waybill-liveness'")" = 0 ] ||
    refuse "a host of this installation runs: stop it first"
  [ "$(query "SELECT count(*) FROM \"$schema\".ready")" = 0 ] || refuse "this database has deliveries that have not ended; they would be sent"
fi

echo "drill of $program, on the database of $config"
for drill in "${drills[@]}"; do
  (
    trap end_drill EXIT
    trap 'exit 130' INT TERM HUP
    "drill_$drill"
  ) &
  current=$!
  code=0
  wait $current || code=$?
  case $code in
    0) echo "PASSED $drill" ;;
    77) echo "LEFT OUT $drill"; left_out=$((left_out + 1)) ;;
    *) echo "FAILED $drill"; failures=$((failures + 1)) ;;
  esac
  current=''
done
echo "$((${#drills[@]} - failures - left_out)) of ${#drills[@]} drills passed, $left_out left out"
[ $failures = 0 ]
