"""The protocol reference: what the schemas of the bus say, in Markdown.

Reads the part of FlatBuffers' language that the schemas use. A construct that the schemas have and this module does not
know is an error: nothing is left out silently.
"""

import collections
import re

Field = collections.namedtuple("Field", "name type default meaning")
Method = collections.namedtuple("Method", "name request reply attributes meaning")
# `kind`: struct, table, enum, union or rpc_service. Members are Fields; of a service Methods.
Definition = collections.namedtuple("Definition", "kind name meaning members")
# `meaning` is the comment at the top.
Schema = collections.namedtuple("Schema", "name meaning definitions")

DEFAULT_DEADLINE_MS = 5000

_OPENING = re.compile(r"(struct|table|enum|union|rpc_service)\s+(\w+)\s*(?::\s*\w+\s*)?\{(.*)$")
_FIELD = re.compile(r"(\w+)\s*:\s*(\[?\w+\]?)\s*(?:=\s*([^;\s]+))?\s*;$")
_METHOD = re.compile(r"(\w+)\s*\(\s*(\w+)\s*\)\s*:\s*(\w+)\s*\(([^)]*)\)\s*;$")
_ELSEWHERE = re.compile(r"(include|namespace|attribute|root_type|file_identifier)\b.*;$")


class SchemaError(Exception):
    """A line that this does not know."""


def parse(name, text):
    """The Schema in `text`."""
    top, comment, definitions, current = [], [], [], None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("///"):
            comment.append(line[3:].strip())
            continue
        if line.startswith("//"):
            if not definitions and current is None:
                top.append(line[2:].strip())
            continue
        line = line.split("//")[0].strip()
        if not line:
            continue
        meaning, comment = " ".join(comment), []
        if current is None:
            if _ELSEWHERE.match(line):
                continue
            opening = _OPENING.match(line)
            if not opening:
                raise SchemaError("%s:%d: cannot read %r" % (name, number, line))
            current = Definition(opening[1], opening[2], meaning, [])
            line = opening[3].strip()
            meaning = ""
        ends = line.endswith("}")
        _read_members(current, line.rstrip("}").strip(), meaning, "%s:%d" % (name, number))
        if ends:
            definitions.append(current)
            current = None
    if current is not None:
        raise SchemaError("%s: %s has no end" % (name, current.name))
    return Schema(name, " ".join(top), definitions)


def _read_members(definition, line, meaning, place):
    if not line:
        return
    if definition.kind in ("enum", "union"):
        for word in filter(None, (part.strip() for part in line.split(","))):
            definition.members.append(Field(word, "", "", meaning))
        return
    pattern = _METHOD if definition.kind == "rpc_service" else _FIELD
    found = pattern.match(line)
    if not found:
        raise SchemaError("%s: cannot read %r" % (place, line))
    if definition.kind == "rpc_service":
        definition.members.append(Method(found[1], found[2], found[3], _attributes(found[4]), meaning))
    else:
        definition.members.append(Field(found[1], found[2], found[3] or "", meaning))


def _attributes(text):
    pairs = (part.partition(":") for part in text.split(","))
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def render(schemas):
    """The page; services come in the order of `schemas`, each message where it is declared."""
    known = {d.name for schema in schemas for d in schema.definitions if d.kind != "rpc_service"}
    lines = []
    for schema in schemas:
        lines += ["", "## %s.fbs" % schema.name, "", _escape(schema.meaning)]
        for definition in sorted(schema.definitions, key=lambda d: d.kind != "rpc_service"):
            lines += _definition(definition, known)
    return "\n".join(lines).rstrip() + "\n"


def _definition(definition, known):
    if definition.kind == "rpc_service":
        return _service(definition, known)
    about = "`%s`. %s" % (definition.kind, _escape(definition.meaning))
    lines = ["", "### %s" % definition.name, "", about.strip()]
    if definition.kind in ("enum", "union"):
        names = [_link(m.name, known) if definition.kind == "union" else "`%s`" % m.name
                 for m in definition.members]
        return lines + ["", ", ".join(names)]
    if not definition.members:
        return lines + ["", "Empty."]
    lines += ["", "| field | type | meaning |", "| --- | --- | --- |"]
    for field in definition.members:
        default = " (default %s)" % field.default if field.default else ""
        lines.append("| `%s` | %s%s | %s |" % (field.name, _type(field.type, known), default,
                                              _escape(field.meaning)))
    return lines


def _service(definition, known):
    lines = ["", "### Methods of %s" % definition.name, ""]
    if definition.meaning:
        lines += [_escape(definition.meaning), ""]
    lines += ["| method | what it does | request, answer | role | a retry | deadline |",
              "| --- | --- | --- | --- | --- | --- |"]
    for method in definition.members:
        lines.append("| `%s` | %s | %s, %s%s | %s | %s | %s |" % (
            method.name, _escape(method.meaning), _link(method.request, known),
            _link(method.reply, known),
            " in parts as they come" if "streaming" in method.attributes else "",
            method.attributes["role"], method.attributes["idempotency"],
            _deadline(int(method.attributes.get("deadline_ms", DEFAULT_DEADLINE_MS)))))
    return lines


def _deadline(milliseconds):
    return "%g s" % (milliseconds / 1000) if milliseconds else "none"


def _type(text, known):
    name = text.strip("[]")
    return "list of %s" % _link(name, known) if text.startswith("[") else _link(name, known)


def _link(name, known):
    return "[%s](#%s)" % (name, name.lower()) if name in known else "`%s`" % name


def _escape(text):
    return text.replace("|", "\\|")
