"""Reads the mails in a folder with Python's own parser and tells what it found, as JSON: the tests' second opinion."""
import base64
import email
import email.header
import email.policy
import email.utils
import json
import pathlib
import re
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


def decodes_alone(word):
    try:
        return base64.b64decode(word, validate=True).decode() is not None
    except ValueError:
        return False


def faults(raw, mail):
    """What a patient parser forgives, and others do not."""
    parts = list(mail.walk())
    out = [repr(one) for part in parts for one in part.defects]
    out += [repr(one) for part in parts for value in part.values() for one in getattr(value, "defects", [])]
    head = raw.split(b"\r\n\r\n", 1)[0]
    out += ["a character is split: %r" % word for word in re.findall(rb"=\?UTF-8\?B\?(.*?)\?=", head) if not decodes_alone(word)]
    out += ["a boundary could stand in a text: " + one for one in (part.get_boundary() for part in parts) if one and "=_" not in one]
    if re.search(rb"[ \t]\r\n", raw):
        out.append("a line ends in a blank")
    if not raw.isascii() or b"\0" in raw:
        out.append("there is more than text of 7 bits")
    if re.search(rb"\r(?!\n)|(?<!\r)\n", raw):
        out.append("a line end is not CRLF")
    return out


def read(path):
    raw = path.read_bytes()
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    leaves = [part for part in mail.walk() if not part.is_multipart()]
    return {
        "headers": mail.keys(),
        "from": mailboxes(raw, "From"),
        "to": mailboxes(raw, "To"),
        "cc": mailboxes(raw, "Cc") if "Cc" in mail else [],
        "reply_to": mailboxes(raw, "Reply-To") if "Reply-To" in mail else [],
        "subject": mail["Subject"],
        "date": mail["Date"].datetime.isoformat(),
        "message_id": mail["Message-ID"],
        "submission": mail["X-Submission"],
        "automatic": mail["Auto-Submitted"],
        "shape": shape(mail),
        "texts": {part.get_content_type(): part.get_content() for part in leaves if not part.is_attachment()},
        "attachments": [
            [part.get_filename(), part.get_content_type(), base64.b64encode(part.get_payload(decode=True)).decode()]
            for part in leaves
            if part.is_attachment()
        ],
        "faults": faults(raw, mail),
        "longest_line": max(len(line) for line in raw.split(b"\r\n")),
    }


if __name__ == "__main__":
    paths = sorted(pathlib.Path(sys.argv[1]).iterdir())
    json.dump([read(path) for path in paths], sys.stdout)
