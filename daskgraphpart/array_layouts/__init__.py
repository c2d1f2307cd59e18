"""Layouts without DGL's files, written as other packages write theirs: by what `extension` has, and no more."""
