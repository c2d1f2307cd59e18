"""The fixture of judge.py, for all files of cases."""

from bad_input.judge import server

__all__ = ["server"]
