"""A real host for the tests of clients: with a private PostgreSQL, tokens, a receiver of its webhooks, and kill -9 at any time.

  live_host.py [--kill] BUILD PROGRAM [ARGUMENT...]

runs a client's program beside a host and ends with its exit code. In its environment it finds WAYBILL_URL, WAYBILL_TOKEN (role admin),
WAYBILL_SECRETS (two, newest first, separated by a space), WAYBILL_RULE (an alert rule with one channel) and WAYBILL_RECEIVED (whose GET answers what
came: [{"headers": {...}, "body": base64}]). Registry: the target `hook`, which is signed with both secrets, the form `contact` and the pipeline
`parcels`, which has the path /forms too. With --kill the program is also given WAYBILL_COUNT: it submits so many
intents to `hook`, with the payloads {"number": 0}, {"number": 1}, ..., and prints a line `acknowledged NUMBER ID` for each, at once. The
host is killed and started again meanwhile. Afterwards each acknowledged intent must have reached the receiver under one webhook-id.  Q8
"""
import argparse
import base64
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 300  # seconds: for what happens soon, on a machine that is ten times slower
SECRETS = ["whsec_" + base64.b64encode(bytes([byte]) * 32).decode() for byte in (7, 11)]
COUNT, KILLS = 300, 3


def eventually(holds, what):
    """Looks until `holds` returns something true, and returns that."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError("not seen in time: " + what)
        select.select([], [], [], 0.02)
    return found


class Receiver:
    """Accepts every webhook, and keeps its headers and body."""

    def __init__(self):
        self.lock, self.webhooks = threading.Lock(), []
        receiver = self

        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with receiver.lock:
                    receiver.webhooks.append((dict(self.headers), body))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def do_GET(self):
                told = [{"headers": headers, "body": base64.b64encode(body).decode()} for headers, body in receiver.all()]
                body = json.dumps(told).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 1024

            def handle_error(self, *words):  # a host that is killed resets its connections
                pass

        self.server = Server(("127.0.0.1", 0), Answer)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def all(self):
        with self.lock:
            return list(self.webhooks)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def free_port():
    """One that no connection is given by chance, while the host is away."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Host:
    """Use it in a `with`."""

    def __init__(self, build):
        self.build, self.process, self.receiver = pathlib.Path(build).resolve(), None, Receiver()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waybill-client-"))
        os.chmod(self.folder, 0o755)
        self.port = free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        for name in ("registry/forms", "registry/templates", "registry/pipelines", "plugins"):
            (self.folder / name).mkdir(parents=True, mode=0o755)
        for name in ("webhook.so", "happyfox_template.so"):
            shutil.copy(self.build / "plugins" / name, self.folder / "plugins")
        (self.folder / "master").write_text(base64.b64encode(bytes(32)).decode())
        self.write("waybill.yaml", f"""
listen: 127.0.0.1:{self.port}
auth: tokens
database: {{ embedded: ./pg }}
registry: ./registry
plugins: ./plugins
breadcrumbs: ./breadcrumbs
egress: {{ allow: ["127.0.0.1/32"] }}
secrets: {{ hook: [{{ env: CLIENTS_NEW }}, {{ env: CLIENTS_OLD }}], master: {{ file: ./master }} }}
notify: {{ key: master, debounce: 100ms }}
retry: {{ default: {{ kind: fixed, delay: 200ms }} }}
""")
        self.write("registry/targets.json", json.dumps({"targets": [
            {"submissionTarget": "hook", "gatewayType": "webhook", "gatewayUrl": self.receiver.url + "/hook", "policy": "deadline",
             "maxAcceptanceSeconds": 3600, "destination": {"secret": "hook"}, "terminalOutcomes": ["gone"]},
            {"submissionTarget": "parcels", "gatewayType": "webhook", "gatewayUrl": self.receiver.url + "/parcels", "policy": "max_attempts",
             "maxAttempts": 9, "destination": {"answer": "json"}, "terminalOutcomes": ["gone"]}]}))
        for name in ("subject", "txt", "html"):
            self.write("registry/templates/contact." + name, "{{fields.name}}")
        # The helpdesk has no account: its action is deferred, and the submission is routed.
        self.write("registry/forms/contact.yaml", """
form_id: contact
name: Contact
actions:
  - { action_order: 1, action_type: happyfox_template, template_id: contact, destination: support, happyfox_category: "1" }
""")
        self.write("registry/pipelines/parcels.json", json.dumps({
            "pipeline": "parcels", "description": "Tells of a parcel", "path": "/forms", "submit": "handed-in", "initial": "TELLING",
            "states": {"TELLING": {"run": [{"target": "parcels"}]}, "DONE": {"terminal": True}},
            "transitions": [{"from": "TELLING", "to": "DONE", "trigger": "told", "actor": "worker"}]}))

    def __enter__(self):
        try:
            self.start()
            self.token = self.command("token", "create", "client", "--role", "admin").strip().split()[-1]
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def environment(self):
        return {"PATH": "/usr/bin:/bin", "CLIENTS_NEW": SECRETS[0], "CLIENTS_OLD": SECRETS[1]}

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-12000:]

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([self.build / "waybill", "serve", "--config", self.folder / "waybill.yaml"], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, cwd=self.folder, env=self.environment())
        eventually(self.is_ready, "the host is ready")

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError("the host ended with %s:\n%s" % (self.process.returncode, self.log()))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def command(self, *words):
        done = subprocess.run([self.build / "waybill", *words, "--config", self.folder / "waybill.yaml"], capture_output=True, text=True,
                              cwd=self.folder, env=self.environment())
        if done.returncode != 0:
            raise AssertionError("waybill %s: %s" % (" ".join(words), done.stderr))
        return done.stdout

    def call(self, method, path, body=None):
        """As an administrator, without a client."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json", "Authorization": "Bearer " + self.token})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status >= 300:
                raise AssertionError("%s %s: %d %s" % (method, path, answer.status, text))
            return json.loads(text) if text else None
        finally:
            connection.close()

    def make_rule(self):
        """An alert rule whose one channel leads to the receiver."""
        channel = self.call("POST", "/orgs/default/channels",
                            {"name": "ops", "type": "webhook", "config": {"url": self.receiver.url + "/channel"}})["id"]
        rule = self.call("POST", "/orgs/default/alert-rules", {"name": "rule"})["id"]
        self.call("PUT", f"/orgs/default/alert-rules/{rule}/channels/{channel}")
        return rule

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=PATIENCE)
        locks = lambda: [lock for lock in (self.folder / "pg").glob("**/postmaster.pid")]
        eventually(lambda: self.process is None or not any(is_running(lock) for lock in locks()), "the database has ended")
        self.receiver.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def is_running(lock):
    try:
        os.kill(int(lock.read_text().split()[0]), 0)
        return True
    except (OSError, ValueError, IndexError):
        return False


def is_genuine(headers, body):
    """Without any client: by both secrets."""
    signed = headers["webhook-id"] + "." + headers["webhook-timestamp"] + "."
    expected = ["v1," + base64.b64encode(hmac.new(base64.b64decode(secret[6:]), signed.encode() + body, hashlib.sha256).digest()).decode()
                for secret in SECRETS]
    return headers["webhook-signature"].split(" ") == expected


def verdict(acknowledged, webhooks, count):
    """What is wrong with what arrived: {number: id} against [(headers, body)]. A second delivery under one id is the host's right."""
    if sorted(acknowledged) != list(range(count)):
        return "%d of %d were acknowledged" % (len(acknowledged), count)
    ids = {}
    for headers, body in webhooks:
        if not is_genuine(headers, body):
            return "a webhook is not signed with both secrets: %s" % headers
        ids.setdefault(json.loads(body)["number"], set()).add(headers["webhook-id"])
    lost = [number for number in acknowledged if number not in ids]
    twice = [number for number in ids if len(ids[number]) > 1]
    return "lost: %s, twice: %s" % (lost, twice) if lost or twice else ""


def run_and_kill(host, program, environment):
    """Kills the host where a quarter, a half and three quarters are acknowledged. The program's exit code, {number: id}, and how many kills met
    a program that was not done."""
    met, acknowledged, moments = 0, {}, [COUNT * (kill + 1) // (KILLS + 1) for kill in range(KILLS)]
    client = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        for line in client.stdout:
            word, number, id_ = line.split()
            if word == "acknowledged":
                if int(number) in acknowledged:
                    raise AssertionError("acknowledged twice: " + line)
                acknowledged[int(number)] = id_
            if moments and len(acknowledged) >= moments[0]:
                moments.pop(0)
                host.kill()
                met += client.poll() is None
                host.start()
        return client.wait(timeout=PATIENCE), acknowledged, met
    finally:
        client.kill()
        client.wait()


def main():
    arguments = argparse.ArgumentParser(description="Run a client's program beside a host.")
    arguments.add_argument("--kill", action="store_true")
    arguments.add_argument("build")
    arguments.add_argument("program", nargs=argparse.REMAINDER)
    chosen = arguments.parse_args()
    with Host(chosen.build) as host:
        environment = {**os.environ, "WAYBILL_URL": host.url, "WAYBILL_TOKEN": host.token, "WAYBILL_SECRETS": " ".join(SECRETS),
                       "WAYBILL_RULE": host.make_rule(), "WAYBILL_RECEIVED": host.receiver.url + "/"}
        if not chosen.kill:
            code = subprocess.run(chosen.program, env=environment).returncode
            if code != 0:
                print(host.log(), file=sys.stderr)
            return code
        code, acknowledged, met = run_and_kill(host, chosen.program, {**environment, "WAYBILL_COUNT": str(COUNT)})
        if code != 0:
            print("the client ended with %d" % code, file=sys.stderr)
            return 1
        if met == 0:
            print("the client was done before the first kill", file=sys.stderr)
            return 1
        ended = lambda: all(host.call("GET", "/v1/intents/" + id_)["status"] != "pending" for id_ in acknowledged.values())
        eventually(ended, "every acknowledged intent has ended")
        wrong = verdict(acknowledged, host.receiver.all(), COUNT)
        if wrong:
            print(wrong, host.log(), sep="\n", file=sys.stderr)
            return 1
        print("%d acknowledged over %d kills: none lost, none twice; %d deliveries" % (COUNT, met, len(host.receiver.all())))
        return 0


if __name__ == "__main__":
    sys.exit(main())
