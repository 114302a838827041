"""Writes page_files.cc: the files of the page as bytes of the program.

usage: embed.py OUTPUT.cc FILE...
"""

import os
import sys

import bundle

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_BYTES_A_LINE = 40


def array(name, content):
    """A C++ array of the bytes; as numbers, because a literal may have 64 KiB at most."""
    lines = [",".join(str(byte) for byte in content[i:i + _BYTES_A_LINE])
             for i in range(0, len(content), _BYTES_A_LINE)]
    return f"constexpr unsigned char {name}[] = {{\n" + ",\n".join(lines or ["0"]) + "};\n"


def source(paths):
    arrays, rows = [], []
    for number, (name, content) in enumerate(bundle.served(paths).items()):
        arrays.append(array(f"kFile{number}", content))
        kind = _TYPES[os.path.splitext(name)[1]]
        rows.append(f'    {{"{name}", "{kind}", kFile{number}, {len(content)}}},\n')
    return f"""#include "web/page/page_files.h"

#include <cstddef>

namespace web {{
namespace {{

{"".join(arrays)}
struct Row {{
  std::string_view name, type;
  const unsigned char* body;
  std::size_t size;
}};
constexpr Row kRows[] = {{
{"".join(rows)}}};

}}  // namespace

std::optional<PageFile> FindPageFile(std::string_view name) {{
  for (const Row& row : kRows) {{
    if (row.name != name) continue;
    return PageFile{{row.type, {{reinterpret_cast<const char*>(row.body), row.size}}}};
  }}
  return std::nullopt;
}}

}}  // namespace web
"""


def main(output, *paths):
    with open(output, "w", encoding="utf-8") as file:
        file.write(source(paths))


if __name__ == "__main__":
    main(*sys.argv[1:])
