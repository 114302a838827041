#!/usr/bin/python3
"""Writes C++ from the methods that the rpc_service blocks of schemas declare.

usage: methods.py SCHEMA.fbs OUTPUT.h
       methods.py --vectors OUTPUT.h SCHEMA.fbs...
       methods.py --all OUTPUT.h SCHEMA.fbs...

The schema is the only place where a method is declared. Each becomes rpc::SERVICE::METHOD (see
bus/schema/method.h); one without a role and an idempotency is an error here, so it does not compile.

The second form writes rpc::VisitReplyVectors, which knows the lists in the answers of all methods
of all the schemas (see bus/thread/reply_parts.h). The third writes rpc::AllMethods, the table of all
methods.
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
TABLE = re.compile(r"\btable\s+(\w+)\s*\{([^}]*)\}")
VECTOR = re.compile(r"\b(\w+)\s*:\s*\[")


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


def services(schema_path, text):
    """Yields (service, its methods as tuples of METHOD) of a schema."""
    for service, body in SERVICE.findall(without_comments(text)):
        methods = METHOD.findall(body)
        if len(methods) != body.count(";"):
            raise SchemaError("%s: cannot read every method of %s" % (schema_path, service))
        yield service, methods


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def render(schema_path, text):
    """The header of one schema's methods."""
    blocks = []
    for service, methods in services(schema_path, text):
        structs = [render_method(service, *m[:3], attributes(m[3])) for m in methods]
        blocks.append("struct %s {\n%s};\n" % (service, "\n".join(structs)))
    if not blocks:
        raise SchemaError("%s: no rpc_service in it" % schema_path)
    guard = re.sub(r"\W", "_", schema_path[: -len(".fbs")]).upper() + "_METHODS_H_"
    return """// Generated from {path}.
#ifndef {guard}
#define {guard}

#include "absl/time/time.h"
#include "bus/schema/method.h"
#include "bus/schema/envelope_generated.h"

namespace rpc {{

{blocks}
}}  // namespace rpc

#endif  // {guard}
""".format(path=schema_path, guard=guard, blocks="\n".join(blocks))


def reply_vectors(schemas):
    """{reply table: names of its vectors} of the methods that answer once; {path: text} -> dict."""
    tables = {}
    for text in schemas.values():
        tables.update(TABLE.findall(without_comments(text)))
    vectors = {}
    for path, text in schemas.items():
        for service, methods in services(path, text):
            for name, _, reply, attrs in methods:
                if "streaming" in attributes(attrs):
                    continue
                if reply not in tables:
                    raise SchemaError("%s.%s: no table %s in any schema" % (service, name, reply))
                vectors[reply] = VECTOR.findall(tables[reply])
    return vectors


def render_vectors(schemas):
    """The header with VisitReplyVectors."""
    cases = []
    for reply, fields in sorted(reply_vectors(schemas).items()):
        if not fields:
            continue
        visits = ["      visit(&msg::%sT::%s);\n" % (reply, field) for field in fields]
        cases.append("    case msg::Body::%s:\n%s      return;\n" % (reply, "".join(visits)))
    return """// Generated from {paths}.
#ifndef BUS_SCHEMA_REPLY_VECTORS_H_
#define BUS_SCHEMA_REPLY_VECTORS_H_

#include "bus/schema/envelope_generated.h"

namespace rpc {{

// Calls `visit` with a pointer to each member of an answer of `type` that is a vector. Answers of
// streaming methods, and what is no answer, have none here.
template <typename Visit>
void VisitReplyVectors(msg::Body type, Visit&& visit) {{
  switch (type) {{
{cases}    default:
      return;
  }}
}}

}}  // namespace rpc

#endif  // BUS_SCHEMA_REPLY_VECTORS_H_
""".format(paths=", ".join(sorted(schemas)), cases="".join(cases))


def render_all(schemas):
    """The header with AllMethods."""
    headers, rows = [], []
    for path, text in schemas.items():
        headers.append('#include "%s_methods.h"\n' % path[: -len(".fbs")])
        for service, methods in services(path, text):
            rows += ["      &%s::%s::kInfo,\n" % (service, method[0]) for method in methods]
    return """// Generated from {paths}.
#ifndef BUS_SCHEMA_ALL_METHODS_H_
#define BUS_SCHEMA_ALL_METHODS_H_

#include <span>

{headers}
namespace rpc {{

// Every method of every schema, with its role.
inline std::span<const bus::MethodInfo* const> AllMethods() {{
  static const bus::MethodInfo* const kMethods[] = {{
{rows}  }};
  return kMethods;
}}

}}  // namespace rpc

#endif  // BUS_SCHEMA_ALL_METHODS_H_
""".format(paths=", ".join(schemas), headers="".join(sorted(headers)), rows="".join(rows))


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def main(argv):
    try:
        if argv[1] in ("--vectors", "--all"):
            output = argv[2]
            render_them = render_vectors if argv[1] == "--vectors" else render_all
            header = render_them({path: read(path) for path in argv[3:]})
        else:
            schema, output = argv[1:]
            header = render(schema, read(schema))
    except SchemaError as error:
        sys.exit("methods.py: %s" % error)
    with open(output, "w", encoding="utf-8") as target:
        target.write(header)


if __name__ == "__main__":
    main(sys.argv)
