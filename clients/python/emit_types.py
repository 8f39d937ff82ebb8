"""The types of the Python client: a TypedDict for each schema, Literal for enums. Holds to Python 3.9: no NotRequired, no `|`."""
import keyword
from pathlib import Path
from typing import Dict, List

from openapi_model import Api, Field, Schema, Type

HEAD = '''"""What the host is sent and answers, by docs/openapi.yaml. Written by clients/generate.py: do not edit."""
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

__all__ = [
%s
]
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "any": "Any"}


def spelled(type_: Type) -> str:
    if type_.kind in PLAIN:
        text = PLAIN[type_.kind]
    elif type_.kind == "enum":
        text = "Literal[" + ", ".join(f'"{value}"' for value in type_.values) + "]"
    elif type_.kind == "array":
        assert type_.item is not None
        text = f"List[{spelled(type_.item)}]"
    elif type_.kind == "map":
        assert type_.item is not None
        text = f"Dict[str, {spelled(type_.item)}]"
    elif type_.kind == "union":
        text = "Union[" + ", ".join(spelled(option) for option in type_.options) + "]"
    else:
        text = type_.name
    return f"Optional[{text}]" if type_.nullable and text != "Any" else text


def field_lines(field: Field) -> List[str]:
    assert field.name.isidentifier() and not keyword.iskeyword(field.name), field.name
    lines = [f"    {field.name}: {spelled(field.type)}"]
    if field.description:
        lines.append(f'    """{field.description.strip()}"""')
    return lines


def typed_dict(schema: Schema) -> List[str]:
    """Required fields stand in a base of their own where there are others too."""
    required = [field for field in schema.fields if field.required]
    optional = [field for field in schema.fields if not field.required]
    base, lines = "TypedDict", []
    if required and optional:
        base = f"_{schema.name}Required"
        lines += [f"class {base}(TypedDict):"] + [line for field in required for line in field_lines(field)] + ["", ""]
    total = ", total=False" if optional else ""
    lines.append(f"class {schema.name}({base}{total}):")
    if schema.description:
        lines.append(f'    """{schema.description}"""')
        lines.append("")
    lines += [line for field in (optional or required) for line in field_lines(field)]
    return lines


def emit(api: Api, folder: Path) -> Dict[str, str]:
    names = sorted(schema.name for schema in api.schemas)
    blocks = [HEAD % "\n".join(f'    "{name}",' for name in names)]
    for schema in api.schemas:
        if schema.alias is not None:
            about = [f'"""{schema.description}"""'] if schema.description else []
            blocks.append("\n" + "\n".join([f"{schema.name} = {spelled(schema.alias)}"] + about) + "\n")
        else:
            blocks.append("\n" + "\n".join(typed_dict(schema)) + "\n")
    return {"waybill/types.py": "\n".join(blocks)}
