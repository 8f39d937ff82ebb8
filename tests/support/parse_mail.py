"""Parses the mails in a folder, named 0, 1, ..., with Python's own parser and tells what it found, as JSON: see parsed_mail.h."""
import email
import email.policy
import json
import pathlib
import sys


def text(part):
    return part.get_content().replace("\r\n", "\n") if part.get_content_maintype() == "text" else ""


def parsed(raw):
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    parts = list(mail.walk())
    addresses = {name: [one.addr_spec for one in mail[name].addresses] if mail[name] else [] for name in ("From", "To")}
    defects = [one for part in parts for one in part.defects]
    defects += [one for part in parts for value in part.values() for one in getattr(value, "defects", [])]
    return {
        "headers": [[name, str(value)] for name, value in mail.items()],
        "defects": [repr(one) for one in defects],
        "subject": str(mail["Subject"] or ""),
        "from": (addresses["From"] or [""])[0],
        "to": addresses["To"],
        "message_id": str(mail["Message-ID"] or "").strip(),
        "date": mail["Date"].datetime.isoformat() if mail["Date"] and mail["Date"].datetime else "",
        "parts": [{"content_type": part.get_content_type(), "text": text(part)} for part in parts if not part.is_multipart()],
    }


files = sorted(pathlib.Path(sys.argv[1]).iterdir(), key=lambda file: int(file.name))
json.dump([parsed(file.read_bytes()) for file in files], sys.stdout)
