"""The types of the C++ client: a struct for each schema, which shows its fields to who reads or writes it. They stand between two lines of
waybill/client.hpp, which is one file so that it can be copied."""
import re
from pathlib import Path
from typing import Dict, List

from openapi_model import Api, Field, Schema, Type

HEADER = "waybill/client.hpp"
FIRST, LAST = "// Written by clients/generate.py; do not edit it by hand, from here\n", "// to here.\n"
PLAIN = {"string": "std::string", "enum": "std::string", "integer": "std::int64_t", "number": "double", "boolean": "bool", "any": "Json"}
DEFAULTS = {"integer": " = 0", "number": " = 0", "boolean": " = false"}
NAMES = {"Error": "ErrorAnswer"}  # Error is what calls throw
KEYWORDS = {"delete", "default", "new", "operator", "register", "template", "this", "union", "do", "class", "export", "namespace", "private"}
WIDTH = 130


def spelled(type_: Type) -> str:
    if type_.kind in PLAIN:
        return PLAIN[type_.kind]
    if type_.kind == "array":
        assert type_.item is not None
        return f"std::vector<{spelled(type_.item)}>"
    if type_.kind == "map":
        assert type_.item is not None
        return "Json" if type_.item.kind == "any" else f"std::map<std::string, {spelled(type_.item)}>"
    if type_.kind == "union":
        return "std::variant<" + ", ".join(spelled(option) for option in type_.options) + ">"
    return NAMES.get(type_.name, type_.name)


def member(name: str) -> str:
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)
    return snake + "_" if snake in KEYWORDS else snake


def about(field: Field) -> str:
    words = [field.description.strip()] if field.description else []
    if field.type.kind == "enum":
        words.insert(0, ", ".join(field.type.values))
    return "; ".join(words)


def commented(indent: str, text: str) -> List[str]:
    lines, line = [], indent + "//"
    for word in text.split():
        if len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = indent + "//"
        line += " " + word
    return lines + [line] if text else []


def struct(schema: Schema) -> List[str]:
    lines = commented("", schema.description) + [f"struct {NAMES.get(schema.name, schema.name)} {{"]
    for field in schema.fields:
        text = spelled(field.type)
        optional = not field.required or (field.type.nullable and text != "Json")
        default = "" if optional else DEFAULTS.get(field.type.kind, "")
        lines += commented("  ", about(field))
        lines.append(f"  {f'std::optional<{text}>' if optional else text} {member(field.name)}{default};")
    lines += ["", "  using IsSchema = void;", "  template <class Self, class Visit>", "  static void each_field(Self& self, Visit visit) {"]
    lines += [f'    visit("{field.name}", self.{member(field.name)});' for field in schema.fields]
    return lines + ["  }", "};"]


def emit(api: Api, folder: Path) -> Dict[str, str]:
    blocks = []
    for schema in api.schemas:
        if schema.alias is None:
            blocks.append("\n".join(struct(schema)))
            continue
        is_enum = schema.alias.kind == "enum"
        comment = commented("", ", ".join(schema.alias.values) if is_enum else schema.description)
        blocks.append("\n".join(comment + [f"using {schema.name} = {spelled(schema.alias)};"]))
    before, _, rest = (folder / HEADER).read_text(encoding="utf-8").partition(FIRST)
    _, _, after = rest.partition(LAST)
    return {HEADER: before + FIRST + "\n" + "\n\n".join(blocks) + "\n\n" + LAST + after}
