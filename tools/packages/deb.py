"""The .deb: the files of the wheel, where Debian and Ubuntu have such.

`/usr/lib/trainyard` is what PREFIX is to tools/install, and `/usr/bin/yard` a link into it: names such as `web` are in no folder that
others use too. The libraries go along, since each release has others.
"""

import os
import shutil
import zipfile

from tools.packages import wheel

PREFIX = "usr/lib/trainyard"
MODULE = "usr/lib/python3/dist-packages"
_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# Other places for what is in the wheel's PREFIX.
_PLACES = {"share/bash-completion/": "usr/share/bash-completion/", "share/fish/": "usr/share/fish/",
           "share/zsh/site-functions/": "usr/share/zsh/vendor-completions/", "include/": "usr/include/",
           "share/man/": "usr/share/man/"}
# (The versions are those of Ubuntu 22.04. Debian's package `yard` documents Ruby, by a command of the same name.)
_CONTROL = """Package: trainyard
Version: %s
Architecture: %s
Maintainer: The Trainyard authors <nobody@localhost>
Installed-Size: %d
Depends: libc6 (>= 2.35), libgcc-s1 (>= 12), libstdc++6 (>= 12)
Recommends: python3, openssh-client
Conflicts: yard
Section: science
Priority: optional
Description: runs training programs, keeps what they report, and shows it
 Trainyard starts training programs in any language, keeps them alive, stores
 what they report in files that TensorBoard reads too, and shows it in the
 terminal and in the browser. The command is yard.
"""
# Python's compiled files belong to no package.
_SCRIPTS = {"postinst": "#!/bin/sh\nset -e\nif [ \"$1\" = configure ] && command -v py3compile >/dev/null; then\n"
                        "  py3compile -p trainyard\nfi\n",
            "prerm": "#!/bin/sh\nset -e\nif command -v py3clean >/dev/null; then\n  py3clean -p trainyard\nelse\n"
                     "  find /%s/yard /%s/hydra_plugins -name __pycache__ -prune -exec rm -rf {} + || true\nfi\n"
                     % (MODULE, MODULE)}


def build(wheel_path, directory):
    """Writes the package made of the wheel into the directory and returns its path."""
    root = os.path.join(directory, "root")
    with zipfile.ZipFile(wheel_path) as archive:
        for entry in archive.infolist():
            place = "" if entry.is_dir() else _place(entry.filename)
            if place:
                _write(os.path.join(root, place), archive.read(entry), entry.external_attr >> 16 & 0o111)
    for path in sorted(os.listdir(os.path.join(_ROOT, "tools/systemd"))):
        if path.startswith("trainyard"):
            with open(os.path.join(_ROOT, "tools/systemd", path), encoding="utf-8") as file:
                unit = file.read().replace("@PREFIX@", "/" + PREFIX)
            _write(os.path.join(root, "usr/lib/systemd/user", path), unit.encode())
    os.makedirs(os.path.join(root, "usr/bin"))
    os.symlink("../lib/trainyard/bin/yard", os.path.join(root, "usr/bin/yard"))
    architecture = wheel.run(["dpkg", "--print-architecture"]).strip()
    kilobytes = sum(os.path.getsize(os.path.join(place, name)) // 1024 + 1 for place, _, names in os.walk(root) for name in names
                    if not os.path.islink(os.path.join(place, name)))
    version = wheel.build_wheel.VERSION
    _write(os.path.join(root, "DEBIAN/control"), (_CONTROL % (version, architecture, kilobytes)).encode())
    for name, text in _SCRIPTS.items():
        _write(os.path.join(root, "DEBIAN", name), text.encode(), executable=True)
    for place, _, _ in os.walk(root):  # The umask of the builder changes nothing.
        os.chmod(place, 0o755)
    made = os.path.join(directory, "trainyard_%s_%s.deb" % (version, architecture))
    # (-z1: 12 MB in a fifth of the time that 9 MB take.)
    wheel.run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", root, made],
              environment={**os.environ, "SOURCE_DATE_EPOCH": "315532800"})
    shutil.rmtree(root)
    return made


def _place(name):
    """Where a file of the wheel goes; "" for those that are the wheel's own."""
    if name.startswith(wheel.DATA):
        name = name[len(wheel.DATA):]
        for theirs, ours in _PLACES.items():
            if name.startswith(theirs):
                return ours + name[len(theirs):]
        return os.path.join(PREFIX, name)
    if name.startswith(wheel.LICENSES):
        name = name[len(wheel.LICENSES):]
        return "usr/share/doc/trainyard/" + ("copyright" if name == "LICENSE" else "libraries/" + name)
    return "" if ".dist-info/" in name else os.path.join(MODULE, name)


def _write(path, content, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o755 if executable else 0o644)
