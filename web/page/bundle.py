"""One script of the modules of the page: a browser asks for one file instead of one for each module.

Each module is a function, whose exports are an object; what it imports are names from the objects of other modules. `APART`
are files of their own, which a worker or a page of another kind loads, too.
"""

import os
import re

APART = ("preact-htm.js", "stream.js", "worker.js")

_IMPORT = re.compile(r"^import (?:\{([^}]*)\}|\* as (\w+)) from '\./([\w-]+\.js)';\n", re.M)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const|let)) (\w+)", re.M)


def short(text):
    """Without comments and indentation."""
    lines = [line.strip() for line in text.split("\n")]
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def _object(name):
    return "$" + re.sub(r"\W", "_", name[:-len(".js")])


def _module(name, text):
    exports = {what: kind for kind, what in _EXPORT.findall(text)}

    def imported(match):
        names, whole, source = match.groups()
        if source in APART:
            return ""
        if whole:
            return "const %s = %s;\n" % (whole, _object(source))
        return "const {%s} = %s;\n" % (names.replace(" as ", ": "), _object(source))

    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(imported, text))
    if re.search(r"^(import|export)\b", body, re.M):
        raise ValueError("%s imports or exports in a way that is not known here" % name)
    # (A name that changes is read when it is used.)
    given = ["get %s() { return %s; }" % (what, what) if kind == "let" else what for what, kind in exports.items()]
    return "const %s = (() => {\n%sreturn { %s };\n})();\n" % (_object(name), body, ", ".join(given))


def bundle(first, sources):
    """`sources`: {file name: text}; `first` is the module that all others are found from."""
    order, apart, open_ = [], {}, []

    def visit(name):
        if name in order:
            return
        if name in open_:
            raise ValueError("modules import each other: %s" % " -> ".join(open_ + [name]))
        open_.append(name)
        for names, whole, source in _IMPORT.findall(sources[name]):
            if source not in APART:
                visit(source)
            elif whole:
                raise ValueError("%s imports all of %s" % (name, source))
            else:
                apart.setdefault(source, set()).update(one.strip() for one in names.split(","))
        order.append(open_.pop())

    visit(first)
    head = "".join("import { %s } from './%s';\n" % (", ".join(sorted(names)), source) for source, names in sorted(apart.items()))
    return head + "".join(_module(name, short(sources[name])) for name in order)


def served(paths):
    """{file name: bytes} of all files that a browser can ask for."""
    contents = {}
    for path in paths:
        with open(path, "rb") as file:
            contents[path] = file.read()
    modules = {os.path.basename(path): content.decode() for path, content in contents.items() if path.endswith(".js")}
    files = {}
    for path, content in contents.items():
        name = os.path.basename(path)
        if "third_party/" in path or name.endswith(".html"):
            files[name] = content  # As its authors published it.
        elif name == "main.js":
            files[name] = bundle(name, modules).encode()
        elif name in APART or name.endswith(".css"):
            files[name] = short(content.decode()).encode()
    return files
