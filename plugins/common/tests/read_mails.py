"""Reads the mails in a folder with Python's own parser and tells what it found, as JSON: the tests' second opinion."""
import email
import email.header
import email.policy
import email.utils
import json
import pathlib
import sys


def shape(part):
    if not part.is_multipart():
        return part.get_content_type()
    return part.get_content_type() + "(" + ",".join(shape(one) for one in part.iter_parts()) + ")"


def mailboxes(raw, name):
    """The newer parser keeps the blanks between the encoded words of a display name, which RFC 2047 says to drop."""
    header = email.message_from_bytes(raw)[name]
    pairs = email.utils.getaddresses([header])
    return [[str(email.header.make_header(email.header.decode_header(shown))), address] for shown, address in pairs]


def read(path):
    raw = path.read_bytes()
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    leaves = [part for part in mail.walk() if not part.is_multipart()]
    return {
        "headers": mail.keys(),
        "from": mailboxes(raw, "From"),
        "to": mailboxes(raw, "To"),
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
