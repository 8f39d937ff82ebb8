#!/usr/bin/env python3
"""Installs the packages on a fresh Debian in a folder of its own, and uses them as a newcomer would. O1

  installed.py PACKAGES RELEASE BASE

PACKAGES: the folder with waybill_*.deb and its companions. RELEASE: bookworm or trixie, whose packages they are. BASE: a fresh Debian of that
release as a tar file, made if it is not there. Needs root and the Debian archive.
"""
import glob
import http.server
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request

from debian import PATIENCE, Debian, Failed, expect, until

MACHINE_SECONDS = 60  # of processors, from apt-get to the delivery


class Receiver:
    """Where the webhook goes."""

    def __init__(self):
        self.bodies = []
        bodies = self.bodies

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_ready(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def machine_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def first_minute(debian, package):
    """From the package to a delivery, with one line edited."""
    receiver, port = Receiver(), free_port()
    used = machine_seconds()
    debian.run("apt-get", "install", "-q", "-y", f"/packages/{package}")
    for user in ("root", "waybill"):
        told = debian.run("waybill", "check", user=None if user == "root" else user)
        expect("nothing is wrong" in told or "problem" not in told, f"`waybill check` finds nothing as {user}")
    debian.run("sh", "-c", "chmod 700 /root && cd /root && exec setpriv --reuid=waybill --regid=waybill --init-groups waybill check")
    targets = "/etc/waybill/registry/targets.json"
    debian.write(targets, debian.read(targets).replace("http://localhost:9000/", receiver.url))  # the one line
    service = subprocess.Popen(debian.words(["env", "-i", "PATH=/usr/bin:/bin", "WAYBILL_CONFIG=/etc/waybill/waybill.yaml",
                                             f"WAYBILL_LISTEN=127.0.0.1:{port}", "waybill", "serve"], "waybill"),
                               stdout=subprocess.DEVNULL, stderr=open(debian.folder + "/log", "w", encoding="utf-8"))
    try:
        until("the service is ready", lambda: service.poll() is not None or is_ready(port))
        expect(service.poll() is None, "it runs on")
        token = debian.run("waybill", "token", "create", "newcomer", "--json", user="waybill")
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/intents", method="POST",
            data=json.dumps({"intentId": "first", "submissionTarget": "example", "payload": {"hello": "world"}}).encode(),
            headers={"Content-Type": "application/json", "Authorization": "Bearer " + json.loads(token)["token"]})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            expect(answer.status in (200, 201, 202), "the first intent is taken")
        until("it is delivered", lambda: receiver.bodies)
        expect(json.loads(receiver.bodies[0]) == {"hello": "world"}, "as it was handed in")
    except Failed:
        print(debian.read("/log"), file=sys.stderr)
        raise
    finally:
        service.terminate()
        code = service.wait(PATIENCE)
    expect(code == 0, "it stops in order")
    used = machine_seconds() - used
    expect(used < MACHINE_SECONDS, f"from apt-get to the delivery in {used:.0f} s of processors")


def upgrade(debian, package, folder):
    """To a newer version, whose configuration has changed, as the operator's has."""
    newer, changed = f"{folder}/newer", "/etc/waybill/waybill.yaml"
    subprocess.run(["dpkg-deb", "--raw-extract", f"{debian.folder}/packages/{package}", newer], check=True)
    with open(f"{newer}/DEBIAN/control", encoding="utf-8") as file:
        control = file.read()
    version = next(line.split(": ")[1] for line in control.splitlines() if line.startswith("Version: "))
    with open(f"{newer}/DEBIAN/control", "w", encoding="utf-8") as file:
        file.write(control.replace(f"Version: {version}", f"Version: {version}+newer"))
    with open(newer + changed, "a", encoding="utf-8") as file:
        file.write("# what the newer version says\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", newer, f"{debian.folder}/packages/newer.deb"], check=True,
                   stdout=subprocess.DEVNULL)
    debian.write(changed, debian.read(changed) + "# mine\n", 0o640)
    debian.run("apt-get", "install", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "/packages/newer.deb")
    expect(debian.read(changed).endswith("# mine\n"), "an upgrade keeps what the operator wrote")
    expect(debian.has(changed + ".dpkg-dist"), "and puts the new text beside it")
    expect("newer" in debian.run("dpkg-query", "-W", "-f", "${Version}", "waybill"), "the newer version is there")
    state = os.stat(debian.folder + changed)
    expect(state.st_mode & 0o7 == 0, "others cannot read the configuration")


def remove(debian):
    debian.run("apt-get", "remove", "-q", "-y", "waybill")
    expect(not debian.has("/usr/bin/waybill") and not debian.has("/usr/lib/waybill/plugins/webhook.so"), "remove takes the program away")
    expect(debian.has("/etc/waybill/waybill.yaml") and debian.has("/var/lib/waybill/postgresql"), "and leaves configuration and data")
    told = debian.run("apt-get", "purge", "-q", "-y", "waybill")
    expect("/var/lib/waybill is left" in told, "purge names what it leaves")
    expect(not debian.has("/etc/waybill/waybill.yaml"), "and takes the configuration away")
    expect(debian.has("/var/lib/waybill/postgresql"), "data stay")
    left = debian.run("find", "/", "-xdev", "-name", "*waybill*", "-not", "-path", "/var/lib/waybill*", "-not", "-path", "/packages*", "-not", "-path",
                      "/proc/*", "-not", "-path", "/dev/*", "-not", "-path", "/tmp/*")
    expect(not left, f"nothing else of it is left {left}".rstrip())


def kit(debian, package):
    debian.run("apt-get", "install", "-q", "-y", f"/packages/{package}")
    for path in ("/usr/include/waybill/plugin.h", "/usr/lib/cmake/waybill-plugin/waybill-plugin-config.cmake",
                 "/usr/share/waybill/python/waybill_plugin.py", "/usr/include/waybill/client.hpp", "/usr/share/waybill/clients/python/pyproject.toml",
                 "/usr/share/waybill/clients/typescript/package.json"):
        expect(debian.has(path), f"waybill-dev has {path}")
    debian.run("sh", "-c", "cd /tmp && waybill plugin new fax --language python")
    expect(debian.has("/tmp/fax.plugin/plugin.json"), "`waybill plugin new` writes a plugin")


def main():
    packages, release, base = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="waybill-debian-") as folder:
        debian = Debian(f"{folder}/debian", release, base)
        try:
            os.makedirs(debian.folder + "/packages")
            names = {}
            for path in glob.glob(f"{packages}/*.deb"):
                shutil.copy(path, debian.folder + "/packages/")
                names[os.path.basename(path).split("_")[0]] = os.path.basename(path)
            os.chmod(debian.folder + "/packages", 0o755)
            debian.run("apt-get", "-q", "update")
            first_minute(debian, names["waybill"])
            kit(debian, names["waybill-dev"])
            debian.run("apt-get", "remove", "-q", "-y", "waybill-dev")
            upgrade(debian, names["waybill"], folder)
            remove(debian)
        except Failed as failed:
            print(f"FAILED: {failed}", file=sys.stderr)
            return 1
        finally:
            debian.close()
    print("installed, used, upgraded, removed and purged")
    return 0


if __name__ == "__main__":
    sys.exit(main())
