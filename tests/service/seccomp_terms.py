"""The filters of system calls that systemd makes of a unit's keys (exec_child and seccomp-util.c of systemd 252 to 257)."""
import ctypes
import errno
import subprocess

from seccomp import ALLOW, EQ, ERRNO, GT, LT, MASKED_EQ, Arg, SyscallFilter

_NAMESPACES = {"mnt": 0x00020000, "cgroup": 0x02000000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000,
               "pid": 0x20000000, "net": 0x40000000}
_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_PACKET": 17, "AF_VSOCK": 40}
_PROT_WRITE, _PROT_EXEC, _SHM_EXEC = 2, 4, 0o100000
_O_CREAT = 0o100
_SUID_BITS = 0o4000, 0o2000
_SCHEDULES = 0, 3, 5  # SCHED_OTHER, SCHED_BATCH, SCHED_IDLE: what a service without real time may have


def _set_of(name):
    """The calls of a set, those of sets within it included."""
    told = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True).stdout
    calls = set()
    for word in (line.strip() for line in told.splitlines()[1:]):
        if word.startswith("@"):
            calls |= _set_of(word)
        elif word and word[0] != "#":
            calls.add(word)
    return calls


def calls_of(words):
    calls = set()
    for word in words:
        calls |= _set_of(word) if word.startswith("@") else {word}
    return calls


def allowed_calls(lines):
    """What SystemCallFilter= lines leave; the first one is a list of what is allowed."""
    allowed = _set_of("@default")
    if not lines or lines[0].startswith("~"):
        raise ValueError("SystemCallFilter= must begin with what is allowed")
    for line in lines:
        if line.startswith("~"):
            allowed -= calls_of(line[1:].split())
        else:
            allowed |= calls_of(line.split())
    return allowed


def _all_but(calls, error=errno.EPERM):
    """Everything is allowed but these."""
    found = SyscallFilter(ALLOW)
    _add(found, ERRNO(error), calls)
    return found


def _add(to, action, calls):
    for call in sorted(calls):
        try:
            to.add_rule(action, call)
        except RuntimeError:  # this machine, or this libseccomp, has no such call
            pass


def _allow_list(lines, error):
    found = SyscallFilter(ERRNO(error))
    _add(found, ALLOW, allowed_calls(lines))
    return found


def _families(words):
    found = SyscallFilter(ALLOW)
    kept = sorted(_FAMILIES[word] for word in words)
    refuse = ERRNO(errno.EAFNOSUPPORT)
    found.add_rule(refuse, "socket", Arg(0, LT, kept[0]))
    found.add_rule(refuse, "socket", Arg(0, GT, kept[-1]))
    for family in set(range(kept[0], kept[-1])) - set(kept):
        found.add_rule(refuse, "socket", Arg(0, EQ, family))
    return found


def _namespaces(words):
    kept = set() if words == ["yes"] else set(words)
    refuse = ERRNO(errno.EPERM)
    found = SyscallFilter(ALLOW)
    found.add_rule(ERRNO(errno.ENOSYS), "clone3")  # its flags are in memory, where no filter looks
    for name, flag in _NAMESPACES.items():
        if name in kept:
            continue
        found.add_rule(refuse, "unshare", Arg(0, MASKED_EQ, flag, flag))
        found.add_rule(refuse, "clone", Arg(0, MASKED_EQ, flag, flag))
        if kept:
            found.add_rule(refuse, "setns", Arg(1, MASKED_EQ, flag, flag))
    if kept:
        found.add_rule(refuse, "setns", Arg(1, EQ, 0))
    else:
        found.add_rule(refuse, "setns")
    return found


def _no_new_code():
    found = SyscallFilter(ALLOW)
    refuse = ERRNO(errno.EPERM)
    both = _PROT_WRITE | _PROT_EXEC
    found.add_rule(refuse, "mmap", Arg(2, MASKED_EQ, both, both))
    for call in ("mprotect", "pkey_mprotect"):
        found.add_rule(refuse, call, Arg(2, MASKED_EQ, _PROT_EXEC, _PROT_EXEC))
    found.add_rule(refuse, "shmat", Arg(2, MASKED_EQ, _SHM_EXEC, _SHM_EXEC))
    return found


def _no_new_code_by_prctl():
    """Later versions ask the kernel (6.3) as well; an older one does not know."""
    set_mdwe, refuse_exec_gain = 65, 1
    ctypes.CDLL(None).prctl(set_mdwe, refuse_exec_gain, 0, 0, 0)


def _no_real_time():
    found = SyscallFilter(ALLOW)
    refuse = ERRNO(errno.EPERM)
    for policy in range(max(_SCHEDULES)):
        if policy not in _SCHEDULES:
            found.add_rule(refuse, "sched_setscheduler", Arg(1, EQ, policy))
    found.add_rule(refuse, "sched_setscheduler", Arg(1, GT, max(_SCHEDULES)))
    return found


def _no_suid():
    found = SyscallFilter(ALLOW)
    refuse = ERRNO(errno.EPERM)
    modes = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2, "creat": 1}
    for bit in _SUID_BITS:
        for call, place in modes.items():
            try:
                found.add_rule(refuse, call, Arg(place, MASKED_EQ, bit, bit))
            except RuntimeError:
                pass
        for call, flags in (("open", 1), ("openat", 2)):
            found.add_rule(refuse, call, Arg(flags, MASKED_EQ, _O_CREAT, _O_CREAT), Arg(flags + 1, MASKED_EQ, bit, bit))
    found.add_rule(ERRNO(errno.ENOSYS), "openat2")
    return found


def _one_personality():
    now = ctypes.CDLL(None).personality(0xFFFFFFFF)
    found = SyscallFilter(ALLOW)
    found.add_rule(ERRNO(errno.EPERM), "personality", Arg(0, LT, now))
    found.add_rule(ERRNO(errno.EPERM), "personality", Arg(0, GT, now))
    return found


def filters_of(unit):
    """All filters of the unit, in the order in which systemd puts them in force. Each is a function that does so."""
    made = []
    add = lambda found: made.append(found.load)
    if unit.words("RestrictAddressFamilies"):
        add(_families(unit.words("RestrictAddressFamilies")))
    if unit.is_on("MemoryDenyWriteExecute"):
        add(_no_new_code())
        made.append(_no_new_code_by_prctl)
    if unit.is_on("RestrictRealtime"):
        add(_no_real_time())
    if unit.is_on("RestrictSUIDSGID"):
        add(_no_suid())
    restricted = unit.words("RestrictNamespaces")
    if restricted and restricted != ["no"]:
        add(_namespaces(restricted))
    for key, calls in (("ProtectHostname", ["sethostname", "setdomainname"]), ("ProtectKernelModules", ["@module"]),
                       ("ProtectKernelLogs", ["syslog"]), ("ProtectClock", ["@clock"]), ("PrivateDevices", ["@raw-io"])):
        if unit.is_on(key):
            add(_all_but(calls_of(calls)))
    if unit.words("SystemCallArchitectures") == ["native"]:
        add(SyscallFilter(ALLOW))  # calls of other machines end the process
    if unit.is_on("LockPersonality"):
        add(_one_personality())
    lines = unit.all("SystemCallFilter")
    if lines:
        add(_allow_list(lines, getattr(errno, unit.one("SystemCallErrorNumber") or "EPERM")))
    return made
