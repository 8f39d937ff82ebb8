"""What the tests of the service share: a folder with all that an installation has, a receiver for what it sends, the end of systemd
that hears what a service says, and the service itself, under its unit or plainly."""
import http.client
import http.server
import importlib.util
import json
import os
import pathlib
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD_FOLDER", SOURCE / "build/dev"))
UNITS = SOURCE / "cmake/package"
UNIT = UNITS / "waybill.service"
WITHOUT_PROCESSES, WITH_NODE = UNITS / "no-plugin-processes.conf", UNITS / "javascript-plugins.conf"
PATIENCE = 300  # seconds: for what happens soon, on a machine that is ten times slower
UID = 64201  # of the service's user, which no machine has


def must_run():
    return os.environ.get("WAYBILL_TEST_MUST_RUN") == "1"


def needs(is_there, what):
    """Skips the test, or fails it where all must run."""
    if is_there:
        return
    if must_run():
        raise AssertionError("this machine cannot run the test: " + what)
    raise unittest.SkipTest(what)


def eventually(holds, what, patience=PATIENCE):
    """Looks until `holds` returns something true, and returns that."""
    end = time.monotonic() + patience
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError("not seen in time: " + what)
        select.select([], [], [], 0.02)
    return found


class Receiver:
    """An HTTP server that accepts all, and remembers the heads and bodies of each path. What comes to a path that is held waits."""

    def __init__(self):
        self.lock, self.seen, self.may_answer = threading.Lock(), {}, threading.Event()
        self.may_answer.set()
        receiver = self

        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                reference = receiver.note(self.path, dict(self.headers), body)
                receiver.may_answer.wait()
                answer = json.dumps({"referenceId": reference, "status": "accepted"}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 1024

            def handle_error(self, *words):  # a host that ends resets its connections
                pass

        self.server = Server(("127.0.0.1", 0), Answer)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def note(self, path, headers, body):
        try:
            told = json.loads(body)
        except ValueError:
            told = {}
        with self.lock:
            self.seen.setdefault(path, []).append((headers, body))
        return told.get("referenceId", "")

    def of(self, path):
        with self.lock:
            return list(self.seen.get(path, []))

    def count(self, path):
        return len(self.of(path))

    def close(self):
        self.may_answer.set()
        self.server.shutdown()
        self.server.server_close()


class Manager:
    """The socket of sd_notify(3)."""

    def __init__(self, path):
        self.path, self.heard = path, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        os.chmod(path, 0o777)

    def listen(self, seconds=0.0):
        """Takes what has come, and waits for at most so long for the first of it."""
        while select.select([self.socket], [], [], seconds)[0]:
            self.heard += self.socket.recv(65536).decode().splitlines()
            seconds = 0.0
        return self.heard

    def hears(self, part, process=None):
        """Waits for a line that has this part, and returns all lines up to now."""
        end = time.monotonic() + PATIENCE
        while not any(part in line for line in self.listen(0.05)):
            if process is not None and process.poll() is not None:
                raise AssertionError("the service ended with %s before it said %s:\n%s" % (process.returncode, part, process.log()))
            if time.monotonic() > end:
                raise AssertionError("the manager heard no %s, but %s" % (part, self.heard))
        return self.heard

    def forget(self):
        self.listen()
        self.heard = []


class Journal:
    """The socket of journald: entries by its native protocol, also those that come as files. It reads all the time, since who writes
    waits for it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind(str(path))
        os.chmod(path, 0o777)
        self.lock, self.entries = threading.Lock(), []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            data, files, _, _ = socket.recv_fds(self.socket, 1 << 20, 1)
            if files:
                with os.fdopen(files[0], "rb") as file:
                    file.seek(0)
                    data = file.read()
            with self.lock:
                self.entries.append(self.fields(data))

    def all(self):
        with self.lock:
            return list(self.entries)

    @staticmethod
    def fields(data):
        found, at = {}, 0
        while at < len(data):
            end = data.index(b"\n", at)
            name, is_plain, value = data[at:end].partition(b"=")
            at = end + 1
            if not is_plain:  # a length, the value with any bytes, a newline
                size = int.from_bytes(data[at:at + 8], "little")
                value = data[at + 8:at + 8 + size]
                at += 8 + size + 1
            found[name.decode()] = value.decode()
        return found


class Database:
    """A PostgreSQL server of a test's own, as durable as any, on a unix socket."""

    def __init__(self, world):
        account = pwd.getpwnam("postgres")
        self.folder = world.folder / "database"
        self.folder.mkdir()
        os.chown(self.folder, account.pw_uid, account.pw_gid)
        self.programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.account = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}
        subprocess.run([self.programs / "initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
                        "--no-locale", "--no-sync"], check=True, stdout=subprocess.DEVNULL, **self.account)
        self.url = "postgresql://postgres@/postgres?host=" + str(self.folder)
        self.start()
        world.addCleanup(self.stop)

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.server = subprocess.Popen([self.programs / "postgres", "-D", self.folder / "data", "-k", self.folder, "-c",
                                            "listen_addresses="], stdout=log, stderr=log, **self.account)
        eventually(lambda: subprocess.run([self.programs / "pg_isready", "-q", "-h", self.folder]).returncode == 0, "PostgreSQL")

    def stop(self):
        """As after a crash."""
        if self.server.poll() is None:
            self.server.send_signal(signal.SIGQUIT)
            self.server.wait()


class Service(subprocess.Popen):
    """The host. Ended with the test that began it."""

    def __init__(self, world, arguments, log, **more):
        self.log_file = log
        with open(log, "ab") as out:
            super().__init__(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **more)
        world.addCleanup(self.end_hard)

    def all_log(self):
        return pathlib.Path(self.log_file).read_text(errors="replace")

    def log(self):
        """The end of it."""
        return self.all_log()[-12000:]

    def end_hard(self):
        if self.poll() is None:
            self.kill()
            self.wait()

    def stop(self):
        """SIGTERM; returns the exit code."""
        self.send_signal(signal.SIGTERM)
        return self.wait(timeout=PATIENCE)


def target(name, kind, url, refusal="invalid_request", **more):
    return {"submissionTarget": name, "gatewayType": kind, "gatewayUrl": url, "policy": "max_attempts", "maxAttempts": 3,
            "terminalOutcomes": [refusal], **more}


class World(unittest.TestCase):
    """A folder for what one service has on its machine."""

    def setUp(self):
        needs(os.geteuid() == 0, "it must be root, as service managers are")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waybill-service-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        for name in ("state", "etc/registry", "etc/plugins", "plugins", "run/journal", "credentials"):
            (self.folder / name).mkdir(parents=True)
        for plugin in ("sms", "webhook", "email_raw"):
            shutil.copy(BUILD / "plugins" / (plugin + ".so"), self.folder / "plugins")
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        self.manager = Manager(self.folder / "run/notify")
        self.addCleanup(lambda: self.manager.socket.close())
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)  # held as systemd holds it
        self.addCleanup(self.listener.close)
        self.port = self.listener.getsockname()[1]
        self.uid, self.started = UID, 0

    # ---- the installation ----
    def write(self, path, text, mode=0o644):
        file = self.folder / path
        file.write_text(text)
        os.chmod(file, mode)
        return file

    def write_registry(self, *targets):
        self.write("etc/registry/targets.json", json.dumps({"targets": list(targets)}))

    def write_config(self, database, more=""):
        """As the service under its unit sees it."""
        self.write("etc/waybill.yaml", "listen: 127.0.0.1:1\nauth: none\ndatabase: { %s }\n"
                   "registry: /etc/waybill/registry\nplugins: [/usr/lib/waybill/plugins, /etc/waybill/plugins]\n"
                   "breadcrumbs: /var/lib/waybill/breadcrumbs\nretry: { default: { kind: fixed, delay: 100ms } }\n%s" % (database, more))

    def write_plain_config(self, database, more=""):
        """As a process without the unit sees it."""
        self.write("etc/waybill.yaml", 'listen: 127.0.0.1:1\nauth: none\ndatabase: { url: "%s" }\nregistry: ./registry\n'
                   "plugins: %s\nbreadcrumbs: %s\n%s" % (database.url, self.folder / "plugins", self.folder / "state", more))

    # ---- the service, under its unit ----
    def under_unit(self, command="ExecStart", drop_ins=(), environment=None, listen=("http",), **more):
        needs(shutil.which("systemd-analyze") and importlib.util.find_spec("seccomp"), "there is no systemd-analyze, or no python3-seccomp")
        self.started += 1
        terms = {"units": [str(UNIT), *map(str, drop_ins)], "command": command, "uid": self.uid, "state": str(self.folder / "state"),
                 "files": {"/usr/bin/waybill": str(BUILD / "waybill"), "/etc/waybill": str(self.folder / "etc"),
                           "/usr/bin/waybill-plugin-host": str(BUILD / "waybill-plugin-host"),
                           "/usr/lib/waybill/plugins": str(self.folder / "plugins"), "/run/systemd": str(self.folder / "run"),
                           "/run/credentials/waybill.service": str(self.folder / "credentials")},
                 "environment": {"NOTIFY_SOCKET": "/run/systemd/notify", **(environment or {})}, "listen": list(listen), **more}
        file = self.write("terms-%d.json" % self.started, json.dumps(terms))
        arguments = [sys.executable, "-B", str(HERE / "under_unit.py"), str(file)]
        log = self.folder / ("log-%d" % self.started)
        if command != "ExecStart" or not listen:
            return Service(self, arguments, log)
        place = lambda: os.dup2(self.listener.fileno(), 3)
        return Service(self, arguments, log, preexec_fn=place, pass_fds=(3,))

    # ---- the service, plainly ----
    def plainly(self, environment=None, listen=True, program=BUILD / "waybill"):
        self.started += 1
        log = self.folder / ("log-%d" % self.started)
        environment = {"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": str(self.manager.path), **(environment or {})}
        program = [str(program), "serve", "--config", str(self.folder / "etc/waybill.yaml")]
        if not listen:
            return Service(self, program, log, env=environment)
        environment.update(LISTEN_FDS="1", LISTEN_FDNAMES="http")
        place = lambda: os.dup2(self.listener.fileno(), 3)
        return Service(self, ["/bin/sh", "-c", 'LISTEN_PID=$$; export LISTEN_PID; exec "$@"', "sh", *program], log, env=environment,
                       preexec_fn=place, pass_fds=(3,))

    # ---- its clients ----
    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else text.decode()
        finally:
            connection.close()

    def hand_in(self, key, name, payload):
        status, answer = self.request("POST", "/v1/intents", {"intentId": key, "submissionTarget": name, "payload": payload})
        self.assertIn(status, (200, 201, 202), answer)

    def state_of(self, key):
        return self.request("GET", "/v1/intents/" + key)[1].get("status")

    def accepted(self, key):
        eventually(lambda: self.state_of(key) not in ("pending", None), key + " ends")
        self.assertEqual(self.state_of(key), "accepted", key)
