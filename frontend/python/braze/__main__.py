"""python -m braze run script.py [arguments]: runs an unmodified script with `torch` resolving to Braze."""
import runpy
import sys


def main():
    if len(sys.argv) < 3 or sys.argv[1] != "run":
        print("usage: python -m braze run script.py [arguments]", file=sys.stderr)
        return 2
    import os
    import braze
    braze.as_torch()
    script = sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
