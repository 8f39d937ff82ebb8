#!/usr/bin/env python3
"""Builds the packages on another release of Debian, in a folder of its own. O1

  built_elsewhere.py SOURCES RELEASE BASE CACHE PACKAGES

SOURCES: the checkout, whose last commit is built. RELEASE: such as trixie. BASE: a fresh Debian of that release as a tar file, made if it is not there.
CACHE: a folder where ccache keeps what was compiled, so that the next run takes less. PACKAGES: the folder that gets them. Needs root and the Debian
archive.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

from debian import Debian, Failed


def main():
    sources, release, base, cache, packages = sys.argv[1:]
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="waybill-build-") as folder:
        debian = Debian(f"{folder}/debian", release, base)
        try:
            subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", sources, debian.folder + "/sources"], check=True)
            debian.mount(cache, "/root/.cache/ccache")
            debian.run("apt-get", "-q", "update")
            debian.run("apt-get", "install", "-q", "-y", "--no-install-recommends", "git")
            print(debian.run("sh", "-c", "cd /sources && git config --global --add safe.directory /sources && ./dev package"))
            os.makedirs(packages, exist_ok=True)
            for path in glob.glob(debian.folder + "/sources/build/release/packages/*.*deb"):
                shutil.copy(path, packages)
        except Failed as failed:
            print(f"FAILED: {failed}", file=sys.stderr)
            return 1
        finally:
            debian.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
