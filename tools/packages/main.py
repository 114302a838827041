"""Makes the packages from what tools/install has installed in PREFIX:

    python3 -m tools.packages.main PREFIX DIRECTORY

Auditwheel is first on PATH (tools/package sees to it).
"""

import os
import shutil
import sys
import tempfile

from tools.packages import deb, wheel


def main(prefix, directory):
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="trainyard-package-") as work:
        made = [wheel.build(prefix, work)]
        made.append(deb.build(made[0], work))
        for path in made:
            target = os.path.join(directory, os.path.basename(path))
            shutil.copyfile(path, target + ".new")
            os.replace(target + ".new", target)
            print("package: %s, %.1f MB" % (target, os.path.getsize(target) / 1e6))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (wheel.PackageError, OSError) as error:
        sys.exit("package: %s" % error)
