"""The places of files in a package, with a wheel made by hand."""

import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

from bazel.python import xml_runner
from tools.packages import deb, wheel

LIBRARY = wheel.LIBRARIES + "/libzmq-1.so.5"


class PackagesTest(unittest.TestCase):
    def setUp(self):
        self.work = self.enterContext(tempfile.TemporaryDirectory())

    def made_wheel(self):
        files = {wheel.DATA + "bin/yard": 0o755, wheel.DATA + "libexec/web": 0o755, wheel.DATA + LIBRARY: 0o644,
                 wheel.DATA + "include/yard.h": 0o644, wheel.DATA + "share/zsh/site-functions/_yard": 0o644,
                 "yard/__init__.py": 0o644, wheel.LICENSES + "LICENSE": 0o644, wheel.LICENSES + "libzmq5": 0o644,
                 wheel.FOLDER + ".dist-info/RECORD": 0o644}
        path = os.path.join(self.work, "made.whl")
        with zipfile.ZipFile(path, "w") as archive:
            archive.mkdir(wheel.DATA)
            for name, mode in files.items():
                entry = zipfile.ZipInfo(name)
                entry.external_attr = (0o100000 | mode) << 16
                archive.writestr(entry, name)
        return path

    def listed(self, path):
        said = subprocess.run(["dpkg-deb", "--contents", path], check=True, capture_output=True, text=True).stdout
        rows = [line.split(None, 5) for line in said.splitlines()]
        return {row[5].removeprefix("./"): row[0] for row in rows if not row[0].startswith("d")}

    def test_a_deb_has_its_own_folder_and_a_link_to_the_command(self):
        found = self.listed(deb.build(self.made_wheel(), self.work))
        units = {name: mode for name, mode in found.items() if name.startswith("usr/lib/systemd/user/trainyard")}
        self.assertEqual(len(units), 7)
        program, text = "-rwxr-xr-x", "-rw-r--r--"
        self.assertEqual({name: mode for name, mode in found.items() if name not in units}, {
            "usr/bin/yard -> ../lib/trainyard/bin/yard": "lrwxrwxrwx",
            "usr/lib/trainyard/bin/yard": program, "usr/lib/trainyard/libexec/web": program, "usr/lib/trainyard/" + LIBRARY: text,
            "usr/include/yard.h": text, "usr/share/zsh/vendor-completions/_yard": text,
            "usr/lib/python3/dist-packages/yard/__init__.py": text,
            "usr/share/doc/trainyard/copyright": text, "usr/share/doc/trainyard/libraries/libzmq5": text})

    def test_the_units_of_a_deb_start_its_programs(self):
        made = deb.build(self.made_wheel(), self.work)
        subprocess.run(["dpkg-deb", "--extract", made, self.work + "/there"], check=True)
        unit = pathlib.Path(self.work, "there/usr/lib/systemd/user/trainyard-web.service").read_text()
        self.assertIn('exec "$$0/libexec/web" --supervisor=external', unit)
        self.assertIn("' /usr/lib/trainyard\n", unit)

    def test_the_umask_of_the_builder_changes_nothing(self):
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        made = pathlib.Path(deb.build(self.made_wheel(), self.work)).read_bytes()
        os.umask(0o022)
        self.assertEqual(made, pathlib.Path(deb.build(self.made_wheel(), self.work)).read_bytes())

    def test_the_terms_of_libraries_that_go_along_are_found(self):
        program = os.path.join(self.work, "program")
        subprocess.run(["c++", "-x", "c++", "-", "-o", program, "-Wl,--no-as-needed", "-lyaml-cpp"], input="int main() {}",
                       text=True, check=True)
        self.assertEqual(wheel.copyrights([program]), {"libyaml-cpp0.7": "/usr/share/doc/libyaml-cpp0.7/copyright"})

    def test_a_library_without_a_package_is_refused(self):
        library, program = (os.path.join(self.work, name) for name in ("libown.so", "program"))
        subprocess.run(["c++", "-x", "c++", "-", "-shared", "-o", library], input="void f() {}", text=True, check=True)
        subprocess.run(["c++", "-x", "c++", "-", "-o", program, "-Wl,--no-as-needed", "-L" + self.work, "-lown", "-Wl,-rpath," + self.work],
                       input="int main() {}", text=True, check=True)
        with self.assertRaisesRegex(wheel.PackageError, "no Debian package has .*libown.so, so nobody knows its terms"):
            wheel.copyrights([program])

    def test_a_part_that_is_not_installed_is_named(self):
        with self.assertRaisesRegex(wheel.PackageError, "has no bin/yard; tools/install makes it"):
            wheel.build(self.work, self.work)


if __name__ == "__main__":
    xml_runner.main()
