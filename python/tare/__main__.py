"""`python -m tare` is the program."""
import os
import pathlib
import shutil
import sys


def main() -> None:
    """Becomes the program, with the words of the command line."""
    beside = pathlib.Path(__file__).parent / "lib" / "tare"
    program = os.environ.get("TARE_PROGRAM") or (str(beside) if beside.exists() else shutil.which("tare"))
    if program is None:
        sys.exit("tare: error: the program is not installed\n  hint: TARE_PROGRAM=FILE names it")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
