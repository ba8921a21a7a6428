"""What every check of this folder is run by."""
import pathlib
import sys


def run(faults):
    """Prints the faults of the project in the folder that the program was given; fails where there are any."""
    found = list(faults(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found) or "no fault")
    sys.exit(bool(found))
