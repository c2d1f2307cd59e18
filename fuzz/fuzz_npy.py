"""Fuzz the reader of npy files; see engine.py."""

from engine import run

if __name__ == "__main__":
    run("npy", "check_npy", "npy_files")
