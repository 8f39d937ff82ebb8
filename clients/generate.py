#!/usr/bin/env python3
"""Writes the types of every client from docs/openapi.yaml; with --check, says which file is not as it would write it.

Each client has an emit_types.py with emit(api, folder) -> {file's name below folder: text}; folder is the client's own.
"""
import argparse
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Dict

sys.dont_write_bytecode = True
import openapi_model  # noqa: E402

CLIENTS = Path(__file__).resolve().parent


def emitter(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"emit_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generated(api: openapi_model.Api, clients: Path) -> Dict[Path, str]:
    files: Dict[Path, str] = {}
    for path in sorted(clients.glob("*/emit_types.py")):
        for name, text in emitter(path).emit(api, path.parent).items():
            files[path.parent / name] = text
    return files


def main() -> int:
    arguments = argparse.ArgumentParser(description="Write the types of the clients from docs/openapi.yaml.")
    arguments.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    arguments.add_argument("--openapi", type=Path, default=CLIENTS.parent / "docs" / "openapi.yaml", help="read this file")
    chosen = arguments.parse_args()
    try:
        files = generated(openapi_model.read(chosen.openapi, CLIENTS / "coming.yaml"), CLIENTS)
    except openapi_model.Unreadable as error:
        print(f"generate.py: {error}", file=sys.stderr)
        return 1
    different = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in different:
        name = path.relative_to(CLIENTS.parent)
        if chosen.check:
            print(f"{name} is not what docs/openapi.yaml says: run clients/generate.py", file=sys.stderr)
        else:
            path.write_text(files[path], encoding="utf-8")
            print(f"wrote {name}")
    return 1 if chosen.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
