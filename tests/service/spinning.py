"""Makes one thread of another process spin for ever, as a bug would: it goes on where the program began, at an instruction that
jumps to itself. It takes signals as any thread does, so its stack can be told. x86-64 only, and only for a process that ends soon."""
import ctypes
import os
import pathlib
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long
POKETEXT, GETREGS, SETREGS, CONT, DETACH, SEIZE, INTERRUPT = 4, 12, 13, 7, 17, 0x4206, 0x4207
REGISTERS, RIP, ORIG_RAX = 27, 16, 15  # of struct user_regs_struct
WALL = 0x40000000
AT_ENTRY = 9
JUMP_TO_ITSELF = 0xFEEB


def _ptrace(request, thread, address=None, data=None):
    if _libc.ptrace(request, thread, address, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace %#x: %s" % (request, os.strerror(ctypes.get_errno())))


def _entry_of(process):
    auxiliary = pathlib.Path("/proc/%d/auxv" % process).read_bytes()
    return next(value for key, value in struct.iter_unpack("QQ", auxiliary) if key == AT_ENTRY)


def threads_named(process, beginning):
    """{name: number} of those whose name begins so."""
    tasks = {(task / "comm").read_text().strip(): int(task.name) for task in pathlib.Path("/proc/%d/task" % process).iterdir()}
    return {name: number for name, number in tasks.items() if name.startswith(beginning)}


def make_spin(process, thread, calls=None):
    """`calls`: only if the thread waits in one of these system calls; False if it does not."""
    _ptrace(SEIZE, thread)
    _ptrace(INTERRUPT, thread)
    os.waitpid(thread, WALL)
    registers = (ctypes.c_ulonglong * REGISTERS)()
    _ptrace(GETREGS, thread, None, ctypes.byref(registers))
    fits = calls is None or registers[ORIG_RAX] in calls
    if fits:
        entry = _entry_of(process)
        _ptrace(POKETEXT, thread, entry, JUMP_TO_ITSELF)
        registers[RIP], registers[ORIG_RAX] = entry, 0xFFFFFFFFFFFFFFFF  # no system call is begun again
        _ptrace(SETREGS, thread, None, ctypes.byref(registers))
    _ptrace(DETACH, thread, None, None)
    return fits
