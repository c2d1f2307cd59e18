"""Fuzz the reader of dgl files; see engine.py."""

from engine import run

if __name__ == "__main__":
    run("dgl", "check_dgl", "dgl_files")
