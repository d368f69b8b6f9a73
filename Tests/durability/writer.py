#!/usr/bin/env python3
"""A small program that writes to SQLite as it should be written to, or not.

    writer.py FOLDER LEVEL COMMITS

It shows that recorder and images find a loss where there is one: with synchronous = FULL nothing
may be lost, with NORMAL acknowledged commits are, with OFF the file is damaged. Prints the number
of each commit that SQLite has acknowledged, and the time.
"""

import os
import pathlib
import sqlite3
import sys
import time

ROWS = 3


def content(number, row):
    return (f"{number}.{row} " * 2000)[:(number * 7919 + row * 104729) % 6000]


def main():
    folder, level, commits = pathlib.Path(sys.argv[1]) / "data", sys.argv[2], int(sys.argv[3])
    folder.mkdir()
    # SQLite syncs the folder with its files, but not that of the folder.
    parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(parent)
    os.close(parent)
    database = sqlite3.connect(folder / "writer.db", isolation_level=None)
    database.execute("pragma journal_mode = wal")
    database.execute(f"pragma synchronous = {level}")
    database.execute("pragma wal_autocheckpoint = 0")
    database.execute("create table rows(number integer, row integer, text text, "
                     "primary key(number, row))")
    for number in range(1, commits + 1):
        database.execute("begin immediate")
        for row in range(ROWS):
            database.execute("insert into rows values(?, ?, ?)", (number, row,
                                                                  content(number, row)))
        database.execute("update rows set text = text || 'x' where number = ?", (number // 2,))
        database.execute("commit")
        print(number, time.monotonic_ns(), flush=True)
        if number % 25 == 0:
            database.execute("pragma wal_checkpoint(passive)")
    database.close()


def check(folder, acknowledged):
    """What is wrong with an image, or None. `acknowledged` is the last commit that has to be."""
    path = folder / "data" / "writer.db"
    if not path.exists():
        return None if acknowledged == 0 else "lost: no file"
    try:
        database = sqlite3.connect(path)
        if database.execute("pragma integrity_check").fetchall() != [("ok",)]:
            return "damaged: integrity_check"
        if not database.execute("select 1 from sqlite_master where name = 'rows'").fetchall():
            return None if acknowledged == 0 else "lost: no table"
        rows = database.execute("select number, row, text from rows order by 1, 2").fetchall()
        database.close()
    except sqlite3.DatabaseError as error:
        return f"damaged: {error}"
    last = len(rows) // ROWS
    expected = [(number, row, content(number, row) + "x" * sum(
        2 * number <= later <= 2 * number + 1 for later in range(2, last + 1)))
        for number in range(1, last + 1) for row in range(ROWS)]
    if rows != expected:
        return "damaged: not the rows of a moment"
    return None if last >= acknowledged else f"lost: {acknowledged - last} commits"


if __name__ == "__main__":
    main()
