#!/usr/bin/python3
"""Writes the C++ descriptors of the methods that a schema's rpc_service blocks declare.

usage: methods.py SCHEMA.fbs OUTPUT.h

The schema is the only place where a method is declared. Each becomes rpc::SERVICE::METHOD (see
bus/method.h); one without a role and an idempotency is an error here, so it does not compile.
"""

import re
import sys

ROLES = {"read": "kRead", "publish": "kPublish", "control": "kControl", "admin": "kAdmin"}
IDEMPOTENCY = {
    "safe": "kSafe",
    "idempotent": "kIdempotent",
    "stored": "kStored",
    "remembered": "kRemembered",
}
DEFAULT_DEADLINE_MS = 5000
METHOD = re.compile(r"(\w+)\s*\(\s*(\w+)\s*\)\s*:\s*(\w+)\s*(?:\(([^)]*)\))?\s*;")
SERVICE = re.compile(r"rpc_service\s+(\w+)\s*\{([^}]*)\}")


class SchemaError(Exception):
    """A method is not declared as it must be."""


def attributes(text):
    """'role: "read", streaming' -> {"role": "read", "streaming": None}."""
    result = {}
    for part in filter(None, (p.strip() for p in (text or "").split(","))):
        name, _, value = part.partition(":")
        result[name.strip()] = value.strip().strip('"') or None
    return result


def one_of(table, attrs, kind, method):
    """The C++ enumerator for attribute `kind` of `method`."""
    if attrs.get(kind) not in table:
        raise SchemaError(
            "method %s needs %s: one of %s, found %r" % (method, kind, sorted(table), attrs.get(kind)))
    return table[attrs[kind]]


def render_method(service, name, request, reply, attrs):
    """The descriptor struct of one method."""
    where = "%s.%s" % (service, name)
    role = one_of(ROLES, attrs, "role", where)
    idempotency = one_of(IDEMPOTENCY, attrs, "idempotency", where)
    deadline = int(attrs.get("deadline_ms") or DEFAULT_DEADLINE_MS)
    timeout = "absl::Milliseconds(%d)" % deadline if deadline else "absl::InfiniteDuration()"
    own = '""' if service == "Common" else '"%s"' % service.lower()
    flags = ["true" if flag in attrs else "false" for flag in ("streaming", "inline")]
    return """  struct {name} {{
    using Request = msg::{request};
    using RequestT = msg::{request}T;
    using Reply = msg::{reply};
    using ReplyT = msg::{reply}T;
    static constexpr msg::Body kRequestType = msg::Body::{request};
    static inline const bus::MethodInfo kInfo{{
        {own},       "{name}",
        bus::Role::{role},        bus::Idempotency::{idempotency},
        {timeout}, {streaming}, {runs_inline}}};
    static const RequestT* RequestOf(const msg::BodyUnion& body) {{ return body.As{request}(); }}
    static ReplyT* ReplyOf(msg::BodyUnion& body) {{ return body.As{reply}(); }}
  }};
""".format(name=name, request=request, reply=reply, own=own, role=role, idempotency=idempotency,
           timeout=timeout, streaming=flags[0], runs_inline=flags[1])


def render(schema_path, text):
    """The whole header."""
    text = re.sub(r"//[^\n]*", "", text)
    blocks = []
    for service, body in SERVICE.findall(text):
        methods = METHOD.findall(body)
        if len(methods) != body.count(";"):
            raise SchemaError("%s: cannot read every method of %s" % (schema_path, service))
        structs = [render_method(service, *m[:3], attributes(m[3])) for m in methods]
        blocks.append("struct %s {\n%s};\n" % (service, "\n".join(structs)))
    if not blocks:
        raise SchemaError("%s: no rpc_service in it" % schema_path)
    guard = re.sub(r"\W", "_", schema_path[: -len(".fbs")]).upper() + "_METHODS_H_"
    return """// Generated from {path}.
#ifndef {guard}
#define {guard}

#include "absl/time/time.h"
#include "bus/method.h"
#include "bus/schema/envelope_generated.h"

namespace rpc {{

{blocks}
}}  // namespace rpc

#endif  // {guard}
""".format(path=schema_path, guard=guard, blocks="\n".join(blocks))


def main(argv):
    schema, output = argv[1:]
    try:
        with open(schema, encoding="utf-8") as source:
            header = render(schema, source.read())
    except SchemaError as error:
        sys.exit("methods.py: %s" % error)
    with open(output, "w", encoding="utf-8") as target:
        target.write(header)


if __name__ == "__main__":
    main(sys.argv)
