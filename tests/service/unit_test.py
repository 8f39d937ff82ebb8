"""The program under waybill.service: what the unit forbids is forbidden, and everything works.  O2"""
import base64
import hashlib
import hmac
import json
import shutil
import signal
import subprocess
import unittest

from service_world import BUILD, PATIENCE, WITH_NODE, WITHOUT_PROCESSES, World, eventually, needs, target

# Run in place of the program: each line that it prints is something that it could do.
FORBIDDEN = '''
import ctypes, errno, mmap, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, act):
    try:
        act()
    except (OSError, PermissionError):
        return
    print("could: " + name)
def call(name, *words):
    if getattr(libc, name)(*words) < 0:
        raise OSError(ctypes.get_errno(), name)
tried("write to /etc", lambda: open("/etc/waybill/new", "w"))
tried("write to its program", lambda: open("/usr/bin/waybill", "r+b"))
tried("write below /var", lambda: open("/var/log/waybill-new", "w"))
for folder in ("/root", "/home"):
    tried("see " + folder, lambda: os.listdir(folder))
tried("see modules", lambda: os.listdir("/usr/lib/modules"))
tried("see a device", lambda: os.stat("/dev/kmsg"))
tried("see settings of the kernel", lambda: os.stat("/proc/sys"))
tried("see processes of others", lambda: os.stat("/proc/%d" % os.getppid()))
tried("write code that it runs", lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC))
tried("use netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
tried("use packets", lambda: socket.socket(17, socket.SOCK_RAW))
tried("make a namespace of mounts", lambda: call("unshare", 0x20000))
tried("make a namespace of processes", lambda: call("unshare", 0x20000000))
tried("be root", lambda: os.setuid(0))
tried("change its root", lambda: os.chroot("/tmp"))
tried("set the clock", lambda: call("clock_settime", 0, (ctypes.c_long * 2)(0, 0)))
tried("change the host's name", lambda: call("sethostname", b"x", 1))
tried("have real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
tried("make a set-user-id file", lambda: (open("tool", "w"), os.chmod("tool", 0o4755)))
tried("change its personality", lambda: call("personality", 0x40000))
tried("trace", lambda: call("ptrace", 0, 0, 0, 0))
with open("/proc/self/status") as status:
    told = dict(line.rstrip("\\n").split(":\\t", 1) for line in status if ":\\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    if int(told[name], 16):
        print("could: use " + name)
if told["NoNewPrivs"] != "1":
    print("could: gain privileges")
open("mine", "w").write("x")  # what it is for
open("/tmp/mine", "w").write("x")
print("mode %o" % (os.stat("mine").st_mode & 0o777), "uid", os.getuid(), "in", os.getcwd())
'''


class UnderItsUnit(World):
    def setUp(self):
        super().setUp()
        self.targets = [
            target("to.hook", "webhook", self.receiver.url + "/hook", "gone", destination={"secret": "orders"}),
            target("to.sms", "sms", self.receiver.url + "/sms"), target("to.parcel", "parcel", self.receiver.url, "refused")]
        self.payloads = {"to.hook": {"n": 1}, "to.sms": {"to": "+4915112345678", "message": "hello"}, "to.parcel": {"to": "Ann"}}
        shutil.copy(BUILD / "plugins-examples/parcel.so", self.folder / "etc/plugins")
        self.write("credentials/orders", "a key of the service\n")
        self.configure()

    def configure(self, more=""):
        self.write_config("embedded: /var/lib/waybill/postgresql", "secrets: { orders: { credential: orders } }\n" + more)
        self.write_registry(*self.targets)

    def add_executable(self, language):
        kind = "mine_" + language
        subprocess.run([BUILD / "waybill", "plugin", "new", kind, "--language", language, "--dir", self.folder / "etc/plugins"],
                       check=True, stdout=subprocess.DEVNULL)
        self.targets.append(target("to." + language, kind, self.receiver.url + "/" + language))
        self.payloads["to." + language] = {"n": 1}
        return self.folder / "etc/plugins" / (kind + ".plugin")

    def start(self, **more):
        environment = {"CREDENTIALS_DIRECTORY": "/run/credentials/waybill.service"}
        host = self.under_unit(environment=environment, **more)
        self.manager.hears("READY=1", host)
        return host

    def deliver_to_all(self, prefix="a"):
        for name, payload in self.payloads.items():
            self.hand_in(prefix + "-" + name, name, payload)
        for name in self.payloads:
            self.accepted(prefix + "-" + name)

    def reload(self, host, **more):
        done = self.under_unit("ExecReload", main_pid=host.pid,
                               environment={"CREDENTIALS_DIRECTORY": "/run/credentials/waybill.service"}, **more)
        return done.wait(timeout=PATIENCE), done.log()

    def test_what_the_unit_forbids_is_forbidden(self):
        self.write("etc/probe.py", FORBIDDEN)
        drop_in = self.write("probe.conf", "[Service]\nExecStart=\nExecStart=/usr/bin/python3 -B /etc/waybill/probe.py\n")
        for drop_ins in ([drop_in], [drop_in, WITHOUT_PROCESSES]):
            probe = self.under_unit(drop_ins=drop_ins)
            self.assertEqual(probe.wait(timeout=PATIENCE), 0, probe.log())
            self.assertEqual(probe.log(), "mode 600 uid 64201 in /var/lib/waybill\n")

    def test_a_key_that_no_test_applies_is_an_error(self):
        drop_in = self.write("more.conf", "[Service]\nProtectEverything=yes\n")
        refused = self.under_unit(drop_ins=[drop_in])
        self.assertEqual(refused.wait(timeout=PATIENCE), 1)
        self.assertIn("no test applies ProtectEverything= of [Service]", refused.log())

    # All kinds of plugins, a signed webhook by a credential, a reload, and a drain with work in flight.
    def test_everything_works(self):
        self.add_executable("python")
        self.configure()
        host = self.start()
        self.deliver_to_all()
        headers, body = self.receiver.of("/hook")[0]
        signed = "%s.%s.%s" % (headers["webhook-id"], headers["webhook-timestamp"], body.decode())
        mac = base64.b64encode(hmac.digest(b"a key of the service", signed.encode(), hashlib.sha256)).decode()
        self.assertEqual(headers["webhook-signature"], "v1," + mac)
        self.targets.append(target("to.more", "sms", self.receiver.url + "/more"))
        self.write_registry(*self.targets)
        code, told = self.reload(host)
        self.assertEqual(code, 0, told + host.log())
        self.hand_in("more", "to.more", self.payloads["to.sms"])
        self.accepted("more")
        self.write("etc/registry/targets.json", "{")
        code, told = self.reload(host)
        self.assertEqual(code, 1, told)
        self.assertIn("targets.json:1", told)
        self.receiver.may_answer.clear()
        self.hand_in("held", "to.hook", {"n": 2})
        eventually(lambda: self.receiver.count("/hook") == 2, "what is held")
        self.manager.forget()
        host.send_signal(signal.SIGTERM)
        told = self.manager.hears("EXTEND_TIMEOUT_USEC=", host)
        bound = int(next(line for line in told if line.startswith("EXTEND_TIMEOUT_USEC=")).partition("=")[2]) / 1e6
        self.assertEqual(bound, 45)  # timeouts.drain and 25 s
        self.receiver.may_answer.set()
        self.assertEqual(host.wait(timeout=bound), 0, host.log())
        for trouble in ("plugin.not_isolated", "plugin.in_place", "breadcrumbs.off", '"level":"error"'):
            self.assertNotIn(trouble, host.all_log())
        host = self.start_with_good_registry()
        self.assertEqual(self.state_of("held"), "accepted")
        self.assertEqual(host.stop(), 0, host.log())

    def start_with_good_registry(self):
        self.write_registry(*self.targets)
        self.manager.forget()
        return self.start()

    # What limits of its own process cannot hold its host holds, though processes of others are hidden.
    def test_a_process_of_a_plugin_is_limited(self):
        folder = self.add_executable("python")
        (folder / "sender.py").write_text(
            "import threading\n" + (folder / "sender.py").read_text().replace(
                "    headers =", "    for _ in range(30):\n        threading.Thread(target=threading.Event().wait).start()\n    headers =", 1))
        self.configure("senders: { mine_python: { isolation: { mode: process, threads: 20 } } }\n")
        host = self.start()
        self.hand_in("greedy", "to.python", {"n": 1})
        eventually(lambda: "it has more than 20 threads" in host.all_log(), "the end of a greedy process")

    def test_with_all_plugins_in_the_host_it_may_do_less(self):
        self.configure("plugin_isolation: in_process\n")
        host = self.start(drop_ins=[WITHOUT_PROCESSES])
        self.deliver_to_all()
        code, told = self.reload(host, drop_ins=[WITHOUT_PROCESSES])
        self.assertEqual(code, 0, told)
        self.assertEqual(host.stop(), 0, host.log())
        self.assertNotIn('"level":"error"', host.all_log())

    def test_nodejs_needs_a_drop_in(self):
        needs(shutil.which("tsc") and shutil.which("node"), "there is no node with tsc")
        folder = self.add_executable("typescript")
        subprocess.run(["tsc"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        self.configure()
        host = self.start()
        self.assertIn("plugin.refused", host.all_log())
        self.assertEqual(host.stop(), 0, host.log())
        self.manager.forget()
        host = self.start(drop_ins=[WITH_NODE])
        self.deliver_to_all()
        self.assertEqual(host.stop(), 0, host.log())

    def test_a_credential_that_is_not_there_is_an_error_with_its_place(self):
        (self.folder / "credentials/orders").unlink()
        host = self.under_unit(environment={"CREDENTIALS_DIRECTORY": "/run/credentials/waybill.service"})
        self.assertEqual(host.wait(timeout=PATIENCE), 1)
        self.assertIn("secrets.orders: credential orders: file /run/credentials/waybill.service/orders cannot be read", host.log())

    # People who run a command are not the service.
    def test_a_check_outside_of_the_service_warns_of_credentials(self):
        config = self.write("own.yaml", "database: { embedded: %s }\nregistry: %s\nplugins: %s\nsecrets:\n  orders: { credential: orders }\n"
                            % (self.folder / "state/pg", self.folder / "etc/registry", self.folder / "plugins"))
        self.write_registry(self.targets[0])
        checked = subprocess.run([BUILD / "waybill", "check", "--json", "--config", config], capture_output=True, text=True,
                                 env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        said = [w for w in json.loads(checked.stdout)["warnings"] if w["field"] == "secrets.orders"]
        self.assertEqual([w["line"] for w in said], [5])
        self.assertIn("is known to the service only", said[0]["message"])


if __name__ == "__main__":
    unittest.main()
