"""Tell from the first bytes of a file that it is no CSV, before its lines are counted."""

from __future__ import annotations

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import open_for_reading

_SIGNATURES = (
    (b"\x1f\x8b", "gzip data", "decompress it first"),
    (b"BZh", "bzip2 data", "decompress it first"),
    (b"\xfd7zXZ", "xz data", "decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstandard data", "decompress it first"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"PAR1", "a parquet file", "is the format in metadata.json right?"),
    (b"\x93NUMPY", "an npy file", "is the format in metadata.json right?"),
    (b"\xff\xfe", "UTF-16 text", "save it as ASCII or UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as ASCII or UTF-8"),
    (b"\xef\xbb\xbf", "a byte-order mark", "save it as ASCII, or as UTF-8 without one"),
)


def refuse_binary(path: str) -> None:
    """Refuse a file whose first bytes are not those of lines of integers."""
    with attach_path_to_error(path), open_for_reading(path) as file:
        head = file.read(8)
    found = [(what, hint) for signature, what, hint in _SIGNATURES if head.startswith(signature)]
    if b"\0" in head[:2]:
        found.append(("binary data, or UTF-16 text", "is it text?"))
    if found:
        raise InputFileError(
            "not a CSV file",
            file=path,
            place="byte 0",
            expected="lines of integers",
            found=found[0][0],
            hint=found[0][1],
        )
