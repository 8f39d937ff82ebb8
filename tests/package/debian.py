"""A fresh Debian in a folder, for programs that need one."""
import os
import shutil
import subprocess
import time

PATIENCE = 300  # seconds that one thing may take before it counts as never


class Failed(Exception):
    """Something is not as it should be."""


def expect(condition, what):
    if not condition:
        raise Failed(what)
    print(f"ok: {what}", flush=True)


def until(what, condition):
    """Waits until `condition` gives something, and returns that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            print(f"ok: {what}", flush=True)
            return found
        time.sleep(0.05)
    raise Failed(f"never: {what}")


class Debian:
    """A fresh Debian in a folder."""

    def __init__(self, folder, release, base):
        self.folder = folder
        if not os.path.exists(base):
            fresh = folder + ".fresh"
            subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", release, fresh], check=True,
                           stdout=subprocess.DEVNULL)
            os.makedirs(os.path.dirname(base), exist_ok=True)
            subprocess.run(["tar", "-C", fresh, "-cf", base + ".new", "."], check=True)
            os.rename(base + ".new", base)
            shutil.rmtree(fresh)
        os.makedirs(folder)
        subprocess.run(["tar", "-C", folder, "-xf", base], check=True)
        self.mounted = []
        for name in ("/proc", "/dev"):
            self.mount(name, name)
        settings = subprocess.run(["apt-config", "dump"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        self.write("/etc/apt/apt.conf.d/90machine",  # how this machine reaches the archive
                   "".join(line + "\n" for line in settings if line.startswith(("Acquire::http", "Acquire::Check-"))))
        shutil.copy("/etc/resolv.conf", f"{folder}/etc/resolv.conf")
        self.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)  # PostgreSQL's own server is not wanted

    def close(self):
        for path in self.mounted:
            subprocess.run(["umount", "--recursive", "--lazy", path], check=False)

    def mount(self, source, path):
        """Shows a folder of this machine inside, at `path`."""
        os.makedirs(self.folder + path, exist_ok=True)
        subprocess.run(["mount", "--rbind", source, self.folder + path], check=True)
        self.mounted.append(self.folder + path)
        subprocess.run(["mount", "--make-rslave", self.folder + path], check=True)

    def write(self, path, text, mode=0o644):
        with open(self.folder + path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.folder + path, mode)

    def read(self, path):
        with open(self.folder + path, encoding="utf-8") as file:
            return file.read()

    def has(self, path):
        return os.path.lexists(self.folder + path)

    def run(self, *words, user=None, ok=(0,)):
        """What it prints, of both streams."""
        told = subprocess.run(self.words(words, user), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})
        if told.returncode not in ok:
            raise Failed(f"{' '.join(words)} ended with {told.returncode}:\n{told.stdout}")
        return told.stdout

    def words(self, words, user):
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        return ["chroot", self.folder, *as_user, *words]
