"""Becomes the program of a unit's ExecStart= or ExecReload=, as systemd would start it: under the unit's namespaces, user, limits,
capabilities and filters. It must be root, and takes one argument: a file of JSON, see Terms. Without a running systemd it leaves
out what LEFT_OUT names. A key that it does not know is an error, so that nobody adds one untested."""
import ctypes
import json
import os
import resource
import shlex
import sys

from unit_file import Unit

# Of the manager's own work, and of control groups.
LEFT_OUT = {
    ("Unit", "Description"), ("Unit", "Documentation"), ("Unit", "Wants"), ("Unit", "After"), ("Unit", "StartLimitIntervalSec"),
    ("Service", "Restart"), ("Service", "RestartSec"), ("Service", "TimeoutStartSec"), ("Service", "TimeoutStopSec"),
    ("Service", "KillMode"),      # tests/service/*_test.py end the main process, as `mixed` does
    ("Service", "DevicePolicy"),  # a control group's
    ("Service", "RemoveIPC"),     # of the user's objects, once the service has stopped
    ("Install", "WantedBy"),
}
APPLIED = {("Service", key) for key in (
    "Type", "User", "Group", "Environment", "ExecStart", "ExecReload", "WatchdogSec", "StateDirectory", "StateDirectoryMode",
    "WorkingDirectory", "LimitNOFILE", "UMask", "AmbientCapabilities", "CapabilityBoundingSet", "KeyringMode", "LockPersonality",
    "MemoryDenyWriteExecute", "NoNewPrivileges", "PrivateDevices", "PrivateMounts", "PrivateTmp", "PrivateUsers", "ProcSubset",
    "ProtectClock", "ProtectControlGroups", "ProtectHome", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules",
    "ProtectKernelTunables", "ProtectProc", "ProtectSystem", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime",
    "RestrictSUIDSGID", "SystemCallArchitectures", "SystemCallErrorNumber", "SystemCallFilter")}
# What is applied for one value only; another one needs code here.
ONLY = {"Type": "notify", "ProtectSystem": "strict", "ProtectHome": "yes", "ProtectProc": "invisible", "ProcSubset": "pid",
        "KeyringMode": "private", "CapabilityBoundingSet": "", "AmbientCapabilities": "", "NoNewPrivileges": "yes",
        "PrivateMounts": "yes", "PrivateUsers": "yes"}

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWUSER = 0x20000, 0x4000000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG = 24, 38, 1
SYS_MOUNT_SETATTR = 442  # the same on every machine
SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}


def check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what + ": " + os.strerror(ctypes.get_errno()))
    return result


def mount(source, target, kind=None, flags=0, options=None):
    word = lambda text: None if text is None else str(text).encode()
    check(libc.mount(word(source), word(target), word(kind), ctypes.c_ulong(flags), word(options)), "mount %s" % target)


def set_read_only(path, is_read_only, recursive):
    attributes = (ctypes.c_uint64 * 4)(is_read_only, not is_read_only, 0, 0)  # MOUNT_ATTR_RDONLY: to set, to clear
    at_recursive, at_fdcwd = 0x8000, -100
    check(libc.syscall(SYS_MOUNT_SETATTR, at_fdcwd, path.encode(), at_recursive if recursive else 0, attributes, 32),
          "mount_setattr " + path)


def inaccessible(path):
    if os.path.isdir(path):
        mount("tmpfs", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=000,size=4k")
    elif os.path.exists(path):
        mount("/dev/null", path, None, MS_BIND)


class Terms:
    """units: the unit and its drop-ins; command: ExecStart or ExecReload; uid: that User= has here; state: the folder that becomes
    StateDirectory=; files: what stands where, {path: source}; environment: what the manager adds; listen: names of the sockets
    that are passed as descriptors from 3 on; watchdog_usec: in place of WatchdogSec=; main_pid: of the service, for ExecReload;
    boot_id: what %b stands for."""

    def __init__(self, given):
        self.units, self.command, self.uid, self.state = given["units"], given["command"], given["uid"], given["state"]
        self.files, self.environment = given.get("files", {}), given.get("environment", {})
        self.listen, self.watchdog_usec = given.get("listen", []), given.get("watchdog_usec")
        self.main_pid, self.boot_id = given.get("main_pid", 0), given.get("boot_id", "")
        self.unit = Unit(*self.units)
        self.name = self.unit.one("User")

    def refuse_unknown(self):
        for section, key in self.unit.keys():
            if (section, key) not in LEFT_OUT | APPLIED:
                raise SystemExit("%s: no test applies %s= of [%s]: add it to tests/service/under_unit.py" %
                                 (self.units[0], key, section))
            if key in ONLY and self.unit.one(key, section) != ONLY[key]:
                raise SystemExit("%s: no test applies %s=%s" % (self.units[0], key, self.unit.one(key, section)))


def make_places(terms):
    """Where the unit's paths are not installed on this machine, they are put in place, in a view of the file system that is only
    this process's: nothing of the machine changes. Returns the unit's state directory."""
    unit = terms.unit
    home = "/var/lib/" + unit.one("StateDirectory")
    os.chmod(terms.state, int(unit.one("StateDirectoryMode"), 8))
    os.chown(terms.state, terms.uid, terms.uid)
    check(libc.unshare(CLONE_NEWNS), "unshare")
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    sources = {place: os.open(source, os.O_PATH) for place, source in {home: terms.state, **terms.files}.items()}
    mount("tmpfs", "/tmp", "tmpfs", 0, "mode=755")
    os.mkdir("/tmp/dev")
    for folder in ("usr", "etc", "var/lib"):
        for part in ("upper", "work"):
            os.makedirs("/tmp/%s/%s" % (folder, part))
        mount("overlay", "/" + folder, "overlay", 0,
              "lowerdir=/{0},upperdir=/tmp/{0}/upper,workdir=/tmp/{0}/work".format(folder))
    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    with open("/etc/passwd", "a") as passwd, open("/etc/group", "a") as group:
        passwd.write("{0}:x:{1}:{1}:{0}:{2}:/usr/sbin/nologin\n".format(terms.name, terms.uid, home))
        group.write("{0}:x:{1}:\n".format(terms.name, terms.uid))
    for place, source in sources.items():
        at = "/proc/self/fd/%d" % source
        if os.path.isdir(at):
            os.makedirs(place, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            open(place, "a").close()
        mount(at, place, None, MS_BIND | MS_REC)
    return home


def make_devices():
    """PrivateDevices="""
    mount("/dev", "/tmp/dev", None, MS_BIND | MS_REC)
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=1m")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        open("/dev/" + name, "w").close()
        mount("/tmp/dev/" + name, "/dev/" + name, None, MS_BIND)
    for name in ("pts", "shm", "mqueue"):
        os.mkdir("/dev/" + name)
        if os.path.isdir("/tmp/dev/" + name):
            mount("/tmp/dev/" + name, "/dev/" + name, None, MS_BIND)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"),
                         ("ptmx", "pts/ptmx"), ("log", "/run/systemd/journal/dev-log")):
        os.symlink(target, "/dev/" + name)
    set_read_only("/dev", True, recursive=False)


def restrict_files(unit, home):
    set_read_only("/", True, recursive=True)  # ProtectSystem=strict: all of it but /dev, /proc and /sys
    set_read_only(home, False, recursive=False)
    if unit.is_on("PrivateDevices"):
        make_devices()
    for path in ("/home", "/root", "/run/user"):
        inaccessible(path)
    if unit.is_on("ProtectKernelModules"):
        inaccessible("/usr/lib/modules")
    if not unit.is_on("ProtectControlGroups") or not unit.is_on("ProtectKernelTunables"):
        raise SystemExit("no test lets a service write to /sys")
    # A proc of its own: with ProcSubset=pid there is nothing in it that ProtectKernelTunables= or ProtectKernelLogs= would hide.
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible,subset=pid")
    if unit.is_on("PrivateTmp"):
        for path in ("/tmp", "/var/tmp"):
            mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")


def limit_files(most):
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except ValueError:  # a container whose root may not raise limits: as many as there are
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def enter_user_namespace(uid):
    """PrivateUsers=: root, the service's user, and nobody else. Only a process outside may say so."""
    entered, mapped = os.pipe(), os.pipe()
    service = os.getpid()
    if (helper := os.fork()) == 0:
        os.read(entered[0], 1)
        for kind in ("uid", "gid"):
            with open("/proc/%d/%s_map" % (service, kind), "w") as file:
                file.write("0 0 1\n{0} {0} 1\n".format(uid))
        os.write(mapped[1], b"!")
        os._exit(0)
    os.close(mapped[1])
    check(libc.unshare(CLONE_NEWUSER), "unshare user")
    os.write(entered[1], b"!")
    if os.read(mapped[0], 1) != b"!":
        raise SystemExit("the users of the service's namespace could not be mapped")
    os.waitpid(helper, 0)
    for descriptor in (*entered, mapped[0]):
        os.close(descriptor)


def give_up_rights(terms, filters):
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([terms.uid])
    os.setresgid(terms.uid, terms.uid, terms.uid)
    os.setresuid(terms.uid, terms.uid, terms.uid)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    check(libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0), "death signal")  # of the test's own
    for put_in_force in filters:
        put_in_force()


def environment_of(terms, home):
    """Nothing of this process's own."""
    unit = terms.unit
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "LANG": "C.UTF-8", "HOME": home,
                   "USER": terms.name, "LOGNAME": terms.name, "SHELL": "/usr/sbin/nologin", "STATE_DIRECTORY": home,
                   "INVOCATION_ID": "0123456789abcdef0123456789abcdef", "SYSTEMD_EXEC_PID": str(os.getpid())}
    for line in unit.all("Environment"):
        for word in shlex.split(line):
            name, value = word.split("=", 1)
            environment[name] = value.replace("%b", terms.boot_id)
    if terms.command == "ExecStart":
        environment["WATCHDOG_PID"] = str(os.getpid())
        environment["WATCHDOG_USEC"] = str(terms.watchdog_usec or int(unit.seconds("WatchdogSec") * 1e6))
        if terms.listen:
            environment.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(terms.listen)), LISTEN_FDNAMES=":".join(terms.listen))
    else:
        environment["MAINPID"] = str(terms.main_pid)
    environment.update(terms.environment)
    return environment


def become_service(terms):
    from seccomp_terms import filters_of  # reads what systemd-analyze says, while it can be run
    terms.refuse_unknown()
    unit = terms.unit
    filters = filters_of(unit)
    home = make_places(terms)
    restrict_files(unit, home)
    if unit.is_on("ProtectHostname"):
        check(libc.unshare(CLONE_NEWUTS), "unshare hostname")
    limit_files(int(unit.one("LimitNOFILE")))
    os.umask(int(unit.one("UMask"), 8))
    check(libc.syscall(SYS_KEYCTL[os.uname().machine], 1, None, 0, 0, 0), "session keyring")
    command = shlex.split(unit.one(terms.command))
    environment = environment_of(terms, home)
    enter_user_namespace(terms.uid)
    give_up_rights(terms, filters)
    os.chdir(unit.one("WorkingDirectory"))
    os.execve(command[0], command, environment)


if __name__ == "__main__":
    with open(sys.argv[1]) as given:
        become_service(Terms(json.load(given)))
