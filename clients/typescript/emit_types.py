"""The types of the TypeScript client: an interface for each schema. What the host answers may have words that are not known yet."""
from pathlib import Path
from typing import Dict, List, Set

from openapi_model import Api, Field, Operation, Schema, Type

HEAD = """/** What the host is sent and answers, by docs/openapi.yaml. Written by clients/generate.py: do not edit. */
"""
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "any": "unknown"}
NAMES = {"Error": "ErrorAnswer", "ErrorError": "Problem"}  # JavaScript has an Error


def names_in(type_: Type) -> Set[str]:
    inner = type_.options + ((type_.item,) if type_.item else ())
    return ({type_.name} if type_.kind == "ref" else set()).union(*(names_in(each) for each in inner))


def sent(api: Api) -> Set[str]:
    """The names of the schemas that requests are made of."""
    schemas = {schema.name: schema for schema in api.schemas}
    found: Set[str] = set()
    new = set().union(*(names_in(operation.request) for operation in api.operations if operation.request))
    while new:
        found |= new
        types = [field.type for name in new for field in schemas[name].fields] + [schemas[name].alias for name in new]
        new = set().union(*(names_in(type_) for type_ in types if type_)) - found
    return found


def spelled(type_: Type, is_sent: bool) -> str:
    text = _plain(type_, is_sent)
    return f"{text} | null" if type_.nullable and text != "unknown" else text


def _plain(type_: Type, is_sent: bool) -> str:
    if type_.kind in PLAIN:
        return "string | Date" if is_sent and type_.format == "date-time" else PLAIN[type_.kind]
    if type_.kind == "enum":
        return " | ".join([f'"{value}"' for value in type_.values] + ([] if is_sent else ["(string & {})"]))
    if type_.kind == "array":
        assert type_.item is not None
        return f"Array<{spelled(type_.item, is_sent)}>"
    if type_.kind == "map":
        assert type_.item is not None
        return f"Record<string, {spelled(type_.item, is_sent)}>"
    if type_.kind == "union":
        return " | ".join(spelled(option, is_sent) for option in type_.options)
    return NAMES.get(type_.name, type_.name)


def comment(text: str, indent: str = "") -> List[str]:
    return [f"{indent}/** {text.strip().replace('*/', '* /')} */"] if text else []


def field_lines(field: Field, is_sent: bool) -> List[str]:
    optional = "" if field.required else "?"
    or_undefined = " | undefined" if is_sent and optional else ""
    return comment(field.description, "  ") + [f"  {field.name}{optional}: {spelled(field.type, is_sent)}{or_undefined};"]


def interface(name: str, fields: List[Field], is_sent: bool) -> List[str]:
    return [f"export interface {name} {{"] + [line for field in fields for line in field_lines(field, is_sent)] + ["}"]


def block(schema: Schema, is_sent: bool) -> str:
    name = NAMES.get(schema.name, schema.name)
    if schema.alias is not None:
        lines = [f"export type {name} = {spelled(schema.alias, is_sent)};"]
    else:
        lines = interface(name, list(schema.fields), is_sent)
    return "\n".join(comment(schema.description) + lines) + "\n"


def query_block(operation: Operation) -> str:
    name = "".join(word.capitalize() for word in operation.name.split("_")) + "Query"
    about = comment(f"Which of {operation.path}: {operation.summary}")
    return "\n".join(about + interface(name, list(operation.query), True)) + "\n"


def emit(api: Api, folder: Path) -> Dict[str, str]:
    names = sent(api)
    blocks = [block(schema, schema.name in names) for schema in api.schemas]
    blocks += [query_block(operation) for operation in api.operations if operation.name.startswith("list_")]
    return {"schemas.d.mts": HEAD + "\n" + "\n".join(blocks)}
