"""All tests that need a Docker engine, with one engine and one base image:

    python3 -m tests.containers.main DIRECTORY

DIRECTORY has the packages that tools/package makes. The rest is as in composition_test.py.
"""

import os
import sys
import unittest

from tests.containers import composition_test, docker_engine, packages_test

if __name__ == "__main__":
    packages_test.PackagesTest.directory = os.path.abspath(sys.argv.pop(1))
    composition_test.stop_on_interruption()
    with docker_engine.DockerEngine() as engine:
        os.environ["DOCKER_HOST"] = engine.environment["DOCKER_HOST"]
        suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromModule(module)
                                   for module in (packages_test, composition_test))
        succeeded = unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()
    sys.exit(0 if succeeded else 1)
