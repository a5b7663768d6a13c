"""Check that a wheel holds every file of the three rooms, but for the tests.

python .ci/wheel_contents.py WHEEL      in the root of a clean clone
"""

import subprocess
import sys
import zipfile

ROOMS = ("spec/", "impl/", "conformance/")
NOT_SHIPPED = ("conformance/tests/",)


def main(wheel: str) -> int:
    """Print what is missing and what is too much; 1 if there is any."""
    tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True)
    wanted = {
        f"markstep/{name}"
        for name in tracked.stdout.split("\0")
        if name.startswith(ROOMS) and not name.startswith(NOT_SHIPPED)
    }
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    for name in sorted(wanted - found):
        print(f"not in the wheel: {name}")
    for name in sorted(found - wanted):
        print(f"in the wheel, but not in the repository: {name}")
    if wanted == found:
        print(f"{len(found)} files in the wheel")
    return int(wanted != found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
