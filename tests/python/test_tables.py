"""The tables of tests/python/tables, recorded from PyTorch, cell by cell: a test for each row."""
import os
import sys

import braze as T

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables")
sys.path.insert(0, FOLDER)
import recorded  # noqa: E402
import tables  # noqa: E402


def row_test(table, row):
    def test():
        different = recorded.mismatches(row, lambda column: table.outcome(row.code, column), table.exactly)
        assert not different, f"{row.code}\n  " + "\n  ".join(different)
    return test


def rows_up_to_date(table, rows):
    def test():
        assert [(row.name, row.code) for row in rows] == list(table.rows()), "record again: tests/python/tables/record.py"
    return test


for _name, _make in tables.TABLES.items():
    _table = _make(T)
    _, _rows = recorded.read(os.path.join(FOLDER, _name + ".txt"))
    globals()[f"test_{_name}_is_recorded"] = rows_up_to_date(_table, _rows)
    for _row in _rows:
        globals()[f"test_{_name}.{_row.name}"] = row_test(_table, _row)
