"""What the clients need of docs/openapi.yaml, as a small model that knows no language.

An emitter gets an Api: the operations that clients call, in the order of OPERATIONS, and the schemas that these use, found transitively,
each before those that refer to it. Objects without a name of their own get one: that of the operation's table, or the parent's with the
field's (History.notDelivered: HistoryNotDelivered; Submission.deliveries: SubmissionDelivery). Bounds such as maxLength are not kept:
the host checks them, and says more about it.
"""
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import yaml


@dataclass(frozen=True)
class Type:
    """kind is one of: string, integer, number, boolean, any; enum (values); array and map (item; a map's keys are texts);
    ref (name of a Schema); union (options). format is that of a string: "", "date-time", "uuid"."""
    kind: str
    nullable: bool = False
    format: str = ""
    values: Tuple[str, ...] = ()
    item: Optional["Type"] = None
    name: str = ""
    options: Tuple["Type", ...] = ()


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    required: bool
    description: str = ""


@dataclass(frozen=True)
class Schema:
    """An object with fields; or, with alias, another name for a type (an enum, a map, a union)."""
    name: str
    description: str
    fields: Tuple[Field, ...] = ()
    alias: Optional[Type] = None
    closed: bool = False  # the host refuses other fields


@dataclass(frozen=True)
class Operation:
    name: str  # snake_case
    method: str
    path: str  # with {names}
    summary: str
    query: Tuple[Field, ...]
    request: Optional[Type]
    answer: Type  # of every 2xx


@dataclass(frozen=True)
class Api:
    operations: Tuple[Operation, ...]
    schemas: Tuple[Schema, ...]


@dataclass(frozen=True)
class Wanted:
    """An operation that clients call; request and answer name what has no name in the file."""
    name: str
    method: str
    path: str
    request: str = ""
    answer: str = ""


OPERATIONS = (
    Wanted("submit_intent", "post", "/v1/intents"),
    Wanted("submit_intents", "post", "/v1/intents:batch", request="NewIntents", answer="Batch"),
    Wanted("list_intents", "get", "/v1/intents", answer="IntentPage"),
    Wanted("get_intent", "get", "/v1/intents/{id}"),
    Wanted("get_history", "get", "/v1/intents/{id}/history"),
    Wanted("cancel_intent", "post", "/v1/intents/{id}/cancel", request="Cancel"),
    Wanted("reschedule_intent", "patch", "/v1/intents/{id}", request="Reschedule"),
    Wanted("cancel_intents", "post", "/v1/intents:cancel", request="CancelMany", answer="CancelledMany"),
    Wanted("submit_form", "post", "/v1/submissions"),
    Wanted("finalize_form", "post", "/v1/submissions/{id}/finalize"),
    Wanted("list_submissions", "get", "/v1/submissions", answer="SubmissionPage"),
    Wanted("get_submission", "get", "/v1/submissions/{id}", answer="AnySubmission"),
    Wanted("submit_to_pipeline", "post", "/v1/pipelines/{name}/submissions"),
    Wanted("post_form", "post", "/forms", answer="FormPost"),
    Wanted("publish_event", "post", "/orgs/{org}/alert-rules/{rule}/events", request="NewEvent", answer="EventState"),
)
ALWAYS = ("Error",)  # what every operation may answer


class Unreadable(Exception):
    """The file has something that this model does not know; the text names the place."""


def read(openapi: Path, coming: Path) -> Api:
    document = yaml.safe_load(openapi.read_text(encoding="utf-8"))
    if coming.exists():
        merge(document, yaml.safe_load(coming.read_text(encoding="utf-8")), coming.name)
    reader = _Reader(document)
    operations = tuple(reader.operation(wanted) for wanted in OPERATIONS)
    for name in ALWAYS:
        reader.named(name)
    return Api(operations, tuple(reader.schemas.values()))


def merge(document: Dict[str, Any], coming: Dict[str, Any], place: str) -> None:
    """Adds what is coming. What is there already has arrived, and must go from the file of what is coming."""
    for key, value in coming.items():
        here = f"{place}/{key}"
        if key not in document:
            document[key] = value
        elif isinstance(value, dict):
            merge(document[key], value, here)
        elif isinstance(value, list):
            arrived = [item for item in value if item in document[key]]
            if arrived:
                raise Unreadable(f"{here}: docs/openapi.yaml has {arrived[0]!r} now: remove it here")
            document[key] = document[key] + value
        else:
            raise Unreadable(f"{here}: docs/openapi.yaml has this now: remove it here")


def singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


class _Reader:
    def __init__(self, document: Dict[str, Any]) -> None:
        self.document = document
        self.schemas: Dict[str, Schema] = {}
        self.open: List[str] = []

    def resolve(self, node: Any, place: str) -> Any:
        while isinstance(node, dict) and "$ref" in node:
            target = self.document
            for step in node["$ref"].lstrip("#/").split("/"):
                if step not in target:
                    raise Unreadable(f"{place}: there is no {node['$ref']}")
                target = target[step]
            node = target
        return node

    def operation(self, wanted: Wanted) -> Operation:
        place = f"{wanted.method.upper()} {wanted.path}"
        path = self.document["paths"].get(wanted.path, {})
        if wanted.method not in path:
            raise Unreadable(f"{place}: there is no such operation")
        node = path[wanted.method]
        query = tuple(
            Field(parameter["name"], self.type(parameter["schema"], wanted.name, parameter["name"], place), parameter.get("required", False),
                  parameter.get("description", ""))
            for parameter in (self.resolve(p, place) for p in path.get("parameters", []) + node.get("parameters", []))
            if parameter["in"] == "query")
        request = None
        if "requestBody" in node:
            request = self.body(node["requestBody"], wanted.request, f"{place} requestBody")
        answers = [self.resolve(answer, place) for status, answer in node["responses"].items() if status.startswith("2")]
        if not answers:
            raise Unreadable(f"{place}: no answer of success")
        types = [self.body(answer, wanted.answer, f"{place} responses") for answer in answers]
        if any(other != types[0] for other in types):
            raise Unreadable(f"{place}: the answers of success differ")
        return Operation(wanted.name, wanted.method.upper(), wanted.path, node.get("summary", ""), query, request, types[0])

    def body(self, node: Any, name: str, place: str) -> Type:
        content = self.resolve(node, place)["content"]
        schema = content["application/json"]["schema"]
        if "$ref" in schema and not name:
            return self.type(schema, "", "", place)
        if not name:
            raise Unreadable(f"{place}: it has no name; give it one in OPERATIONS")
        if name not in self.schemas:
            self.define(name, schema, place)
        return Type("ref", name=name)

    def named(self, name: str) -> None:
        if name in self.schemas:
            return
        if name in self.open:
            raise Unreadable(f"{name}: it contains itself")
        if name not in self.document["components"]["schemas"]:
            raise Unreadable(f"{name}: there is no such schema")
        self.open.append(name)
        self.define(name, self.document["components"]["schemas"][name], name)
        self.open.remove(name)

    def define(self, name: str, node: Dict[str, Any], place: str) -> None:
        description = node.get("description", "")
        if "properties" in node:
            required = node.get("required", [])
            for key in required:
                if key not in node["properties"]:
                    raise Unreadable(f"{place}: {key} is required, but no property")
            fields = tuple(
                Field(key, self.type(value, name, key, f"{place}.{key}"), key in required, value.get("description", ""))
                for key, value in node["properties"].items())
            schema = Schema(name, description, fields, closed=node.get("additionalProperties") is False)
        else:
            schema = Schema(name, description, alias=self.type(node, name, "item", place))
        if name in self.schemas:
            raise Unreadable(f"{place}: two schemas would be named {name}")
        self.schemas[name] = schema

    def type(self, node: Dict[str, Any], parent: str, field: str, place: str) -> Type:
        """The type of a node; an object with fields becomes a schema of its own, named after parent and field."""
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[-1]
            self.named(name)
            return Type("ref", name=name)
        unknown = set(node) & {"allOf", "anyOf", "not", "patternProperties"}
        if unknown:
            raise Unreadable(f"{place}: {', '.join(sorted(unknown))} is not known here")
        plain = self._plain(node, parent, field, place)
        return dataclasses.replace(plain, nullable=True) if node.get("nullable") else plain

    def _plain(self, node: Dict[str, Any], parent: str, field: str, place: str) -> Type:
        if "oneOf" in node:
            return Type("union", options=tuple(self.type(option, parent, field, place) for option in node["oneOf"]))
        if "enum" in node:
            return Type("enum", values=tuple(node["enum"]))
        kind = node.get("type", "any")
        if kind == "array":
            return Type("array", item=self.type(node["items"], parent, singular(field), place))
        if kind == "object":
            return self._object(node, parent, field, place)
        if kind in ("string", "integer", "number", "boolean", "any"):
            return Type(kind, format=node.get("format", "") if kind == "string" else "")
        raise Unreadable(f"{place}: the type {kind} is not known here")

    def _object(self, node: Dict[str, Any], parent: str, field: str, place: str) -> Type:
        if "properties" in node:
            name = parent + field[:1].upper() + field[1:]
            self.define(name, node, place)
            return Type("ref", name=name)
        values = node.get("additionalProperties")
        return Type("map", item=self.type(values, parent, singular(field), place) if isinstance(values, dict) else Type("any"))
