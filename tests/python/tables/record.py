#!/usr/bin/env python3
"""Records the tables from PyTorch, or shows how a module differs from them. By hand:

    PYTHON_WITH_TORCH tests/python/tables/record.py [TABLE...]        writes TABLE.txt
    ./dev python tests/python/tables/record.py --check [TABLE...]     the cells in which braze differs
"""
import argparse
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import recorded  # noqa: E402
import tables  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=[])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("-k", default="", help="only rows whose name holds this")
    arguments = parser.parse_args()
    chosen = arguments.tables or list(tables.TABLES)
    T = importlib.import_module("braze" if arguments.check else "torch")
    different = 0
    for name in chosen:
        table = tables.TABLES[name](T)
        path = os.path.join(HERE, name + ".txt")
        if not arguments.check:
            T.set_num_threads(1)
            recorded.write(path, table.head, table.columns, [(n, code, {c: table.outcome(code, c) for c in table.columns})
                                                             for n, code in table.rows()], table.exactly)
            continue
        _, rows = recorded.read(path)
        for row in rows:
            if arguments.k in row.name:
                for text in recorded.mismatches(row, lambda column: table.outcome(row.code, column), table.exactly):
                    different += 1
                    print(f"{name}/{row.name} {text}    [{row.code}]", flush=True)
    if arguments.check:
        print(f"{different} cells differ")


if __name__ == "__main__":
    main()
