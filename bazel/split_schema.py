#!/usr/bin/python3
"""Splits the header that flatc writes into declarations and a source file.

usage: split_schema.py GENERATED.h NAME.h NAME.cc PATH-OF-NAME.h

flatc defines everything inline, so each file that sees a message compiles how all of them are packed,
unpacked and verified: 3 s of every compilation, and far more under a sanitizer. The header
keeps only what the rest of the tree uses: the tables' accessors and the native types.

The source also verifies what flatc 2.0 leaves out: its verifier checks the alignment of a vector's
length, and not that of the elements, so a damaged message could have doubles at an odd address.
"""

import re
import sys

_TABLE = re.compile(r"struct (\w+) FLATBUFFERS_FINAL_CLASS : private flatbuffers::Table \{")
_NAMESPACE = re.compile(r"namespace (\w+) \{")
_VERIFY = "  bool Verify(flatbuffers::Verifier &verifier) const {"
# Whole, to the source.
_BUILDER = re.compile(r"struct \w+Builder \{|inline flatbuffers::Offset<\w+> Create\w+\($")
# Nothing in this tree uses these.
_DROPPED = re.compile(r"struct \w+::Traits \{|inline flatbuffers::Offset<\w+> Create\w+Direct\($")
# Definitions of what the header declares.
_DEFINITION = re.compile(
    r"inline (.*\w+::~?\w+(=|\().*"
    r"|flatbuffers::Offset<\w+> Create\w+\(flatbuffers::FlatBufferBuilder &_fbb, const .*"
    r"|bool Verify\w+\(flatbuffers::Verifier &verifier, .*)\{$|inline \w+::\w+\(const \w+ &o\)$")


_VERIFY_VECTOR = "verifier.VerifyVector("
_VERIFY_ALIGNED = """namespace {

template <typename T>
bool VerifyAlignedVector(const flatbuffers::Verifier &verifier, const flatbuffers::Vector<T> *vector) {
  using Element = std::remove_const_t<std::remove_pointer_t<T>>;  // A pointer stands for a struct.
  if (vector == nullptr) return true;
  // A struct of no bytes where the elements begin: its alignment is all that there is to verify.
  return verifier.VerifyVector(vector) &&
         verifier.VerifyFieldStruct(reinterpret_cast<const uint8_t *>(vector),
                                    sizeof(flatbuffers::uoffset_t), 0, alignof(Element));
}

}  // namespace
"""


class Error(Exception):
    """The text is not what flatc writes."""


def split(text, include):
    """(header, source) of a generated header; the source includes `include`."""
    # The comments of the schema are read there; in the header they would compile everything anew when one changes.
    lines = iter([line for line in text.split("\n") if not line.lstrip().startswith("///")])
    header, source, table, namespace = [], [], None, None

    def through(first, last):
        block = [first]
        while block[-1] != last:
            line = next(lines, None)
            if line is None:
                raise Error("no %r after %r" % (last, first))
            block.append(line)
        return block

    for line in lines:
        if match := _TABLE.match(line):
            table = match[1]
        if match := _NAMESPACE.match(line):
            namespace = match[1]
        if line == _VERIFY:
            header.append(line[:-2] + ";")
            body = through(line, "  }")[1:-1]
            body = [line.replace(_VERIFY_VECTOR, "VerifyAlignedVector(verifier, ") for line in body]
            source += ["bool %s::%s" % (table, line[len("  bool "):])] + body + ["}", ""]
        elif _DROPPED.match(line):
            through(line, "};" if line.startswith("struct") else "}")
        elif _BUILDER.match(line):
            source += through(line, "};" if line.startswith("struct") else "}") + [""]
        elif _DEFINITION.match(line):
            source += through(line[len("inline "):], "}") + [""]
        else:
            header.append(line)
    if namespace is None:
        raise Error("no namespace")
    around = ['#include "%s"' % include, "", "namespace %s {" % namespace, _VERIFY_ALIGNED]
    return "\n".join(header), "\n".join(around + source + ["}  // namespace " + namespace, ""])


def main(generated, header_path, source_path, include):
    with open(generated, encoding="utf-8") as file:
        header, source = split(file.read(), include)
    with open(header_path, "w", encoding="utf-8") as file:
        file.write(header)
    with open(source_path, "w", encoding="utf-8") as file:
        file.write(source)


if __name__ == "__main__":
    main(*sys.argv[1:])
