"""The check of the packages, with packages that are made as told."""

import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

from bazel.python import xml_runner
from tools.checks import packaged

OLD = "int main() { return 0; }\n"
# glibc has pidfd_open since 2.36.
NEW = 'extern "C" int pidfd_open(int, unsigned);\nint main() { return pidfd_open(1, 0); }\n'


class PackagedTest(unittest.TestCase):
    def setUp(self):
        self.work = self.enterContext(tempfile.TemporaryDirectory())
        self.made, self.sources = 0, []

    def program(self, source, *flags):
        path = os.path.join(self.work, "program")
        subprocess.run(["c++", "-x", "c++", "-", "-o", path, *flags], input=source, text=True, check=True)
        return pathlib.Path(path).read_bytes()

    def check(self, program, same=True, names=("trainyard.whl", "trainyard.deb"), more=b"", code=0, checkout="/the/checkout",
              rebuild=False):
        def package(source, directory):
            os.makedirs(directory)
            self.sources.append(source)
            self.settings = pathlib.Path(source, "user.bazelrc").read_text() if source != checkout else ""
            self.made += 1
            for name in names:
                place = os.path.join(self.work, name + str(self.made))
                os.makedirs(place + "/DEBIAN")
                pathlib.Path(place, "DEBIAN/control").write_text(
                    "Package: trainyard\nVersion: 1\nArchitecture: all\nMaintainer: a <b@c>\nDescription: d\n")
                pathlib.Path(place, "program").write_bytes(program)
                pathlib.Path(place, "more").write_bytes(more)
                if not same:
                    pathlib.Path(place, "number").write_text(str(self.made))
                path = os.path.join(directory, name)
                if name.endswith(".deb"):
                    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", place, path], check=True, capture_output=True,
                                   env={**os.environ, "SOURCE_DATE_EPOCH": "315532800"})
                else:
                    with zipfile.ZipFile(path, "w") as archive:
                        for member in sorted(pathlib.Path(place).glob("*")):
                            if member.is_file():
                                archive.writestr(zipfile.ZipInfo(member.name), member.read_bytes())
            return subprocess.CompletedProcess([], code, "why\n", "")
        return packaged.check(checkout, package, rebuild=rebuild)

    def test_packages_that_run_anywhere_are_well(self):
        self.assertEqual(self.check(self.program(OLD)), [])

    def test_a_symbol_that_the_oldest_system_lacks_is_named(self):
        said = self.check(self.program(NEW))
        self.assertEqual([text.split(":")[0] for text in said], ["wheel", "deb"])
        self.assertIn("program asks for GLIBC_2.36 (pidfd_open), which Ubuntu 22.04 does not have", said[0])

    def test_a_library_that_is_not_in_the_package_is_named(self):
        said = self.check(self.program(OLD, "-Wl,--no-as-needed", "-lzmq"))
        self.assertEqual(said, [f"{kind}: program needs libzmq.so.5, which is in no package" for kind in ("wheel", "deb")])

    def test_debug_symbols_are_found(self):
        self.assertEqual(self.check(self.program(OLD, "-g")), ["wheel: program has its debug symbols", "deb: program has its debug symbols"])

    def test_other_bytes_are_found(self):
        said = self.check(self.program(OLD), same=False)
        self.assertEqual(said, [f"the {kind} has other bytes when it is made again" for kind in ("wheel", "deb")])

    def test_a_package_that_is_too_large_or_missing_is_named(self):
        said = self.check(self.program(OLD), names=("trainyard.whl",), more=os.urandom(25_000_000))
        self.assertRegex(said[0], r"trainyard.whl has 25\d+ bytes, and 25000000 are allowed")
        self.assertEqual(said[1:], ["tools/package makes no deb"])

    def test_a_rebuild_is_that_of_a_copy_without_a_cache(self):
        checkout = os.path.join(self.work, "checkout")
        pathlib.Path(checkout, "folder").mkdir(parents=True)
        pathlib.Path(checkout, "folder/file").write_text("tracked")
        for words in (["init", "-q"], ["add", "folder/file"]):
            subprocess.run(["git", "-C", checkout, *words], check=True)
        self.assertEqual(self.check(self.program(OLD), checkout=checkout, rebuild=True), [])
        self.assertEqual(self.sources[0], checkout)
        self.assertNotEqual(self.sources[1], checkout)
        self.assertEqual(self.settings, "build --disk_cache=\n")

    def test_nothing_without_a_program(self):
        self.assertEqual(self.check(b""), ["trainyard.whl has no program in it", "trainyard.deb has no program in it"])

    def test_a_failure_is_told(self):
        self.assertEqual(self.check(b"", code=1), ["tools/package failed: why"])


if __name__ == "__main__":
    xml_runner.main()
