"""Pearson's test of counts: `scipy.stats` has it too, and takes a second to import in each process of tests."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc


def chance(counts: np.ndarray, wanted: np.ndarray | None = None) -> float:
    """Probability of counts that are as far or farther from those wanted; default: equal ones."""
    wanted = np.full(counts.size, counts.mean()) if wanted is None else wanted
    assert np.isclose(counts.sum(), wanted.sum(), rtol=1e-8)
    return float(chdtrc(counts.size - 1, ((counts - wanted) ** 2 / wanted).sum()))
