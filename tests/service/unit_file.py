"""Reads a unit of systemd with its drop-ins, as systemd.syntax(7) has it, as far as ours use it."""
import pathlib
import re

_SPANS = {"": 1, "s": 1, "sec": 1, "ms": 1e-3, "min": 60, "h": 3600}


class Unit:
    """The values of each key of a section, in the order in which they stand."""

    def __init__(self, *files):
        self.sections = {}
        for file in files:
            self._read(pathlib.Path(file).read_text())

    def _read(self, text):
        section = None
        for line in text.replace("\\\n", " ").splitlines():
            line = line.strip()
            if not line or line[0] in "#;":
                continue
            if line.startswith("["):
                section = self.sections.setdefault(line.strip("[]"), {})
                continue
            key, value = (part.strip() for part in line.split("=", 1))
            values = section.setdefault(key, [])
            if value:
                values.append(value)
            else:
                values.clear()

    def keys(self):
        """All of them, as (section, key)."""
        return [(section, key) for section, keys in self.sections.items() for key in keys]

    def all(self, key, section="Service"):
        return self.sections.get(section, {}).get(key, [])

    def one(self, key, section="Service"):
        """The last one counts; "" if it is not there or empty."""
        return (self.all(key, section) or [""])[-1]

    def words(self, key, section="Service"):
        return " ".join(self.all(key, section)).split()

    def is_on(self, key, section="Service"):
        return self.one(key, section) in ("yes", "true", "on", "1")

    def seconds(self, key, section="Service"):
        """A time span; None if it is without end."""
        text = self.one(key, section)
        if text == "infinity":
            return None
        return sum(float(number) * _SPANS[word] for number, word in re.findall(r"([\d.]+)\s*([a-z]*)", text))
