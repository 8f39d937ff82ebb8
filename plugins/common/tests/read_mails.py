"""Reads the mails in a folder with Python's own parser and tells what it found, as JSON: the tests' second opinion."""
import email
import email.policy
import json
import pathlib
import sys


def shape(part):
    if not part.is_multipart():
        return part.get_content_type()
    return part.get_content_type() + "(" + ",".join(shape(one) for one in part.iter_parts()) + ")"


def mailboxes(header):
    return [[one.display_name, one.addr_spec] for one in header.addresses]


def read(path):
    raw = path.read_bytes()
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    leaves = [part for part in mail.walk() if not part.is_multipart()]
    return {
        "headers": mail.keys(),
        "from": mailboxes(mail["From"]),
        "to": mailboxes(mail["To"]),
        "subject": mail["Subject"],
        "date": mail["Date"].datetime.isoformat(),
        "message_id": mail["Message-ID"],
        "submission": mail["X-Submission"],
        "automatic": mail["Auto-Submitted"],
        "shape": shape(mail),
        "texts": {part.get_content_type(): part.get_content() for part in leaves},
        "defects": [repr(one) for part in mail.walk() for one in part.defects]
        + [repr(one) for part in mail.walk() for value in part.values() for one in getattr(value, "defects", [])],
        "ascii": raw.isascii(),
        "longest_line": max(len(line) for line in raw.split(b"\r\n")),
        "lone_line_ends": raw.replace(b"\r\n", b"").count(b"\r") + raw.replace(b"\r\n", b"").count(b"\n"),
    }


if __name__ == "__main__":
    paths = sorted(pathlib.Path(sys.argv[1]).iterdir())
    json.dump([read(path) for path in paths], sys.stdout)
