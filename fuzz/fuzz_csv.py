"""Fuzz the reader of csv files; see engine.py."""

from engine import run

if __name__ == "__main__":
    run("csv", "check_csv", "csv_files", longest=400)
