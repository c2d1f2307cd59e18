"""Hypothesis profiles: `make test` tries the same examples on every run, `make test-long` searches for new ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# kernels compile at their first call, so no deadline
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", max_examples=20, derandomize=True, database=None, **COMMON)
settings.register_profile("search", max_examples=int(os.environ.get("EXAMPLES", "100")), **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
