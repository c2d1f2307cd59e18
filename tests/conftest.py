"""Hypothesis profiles, chosen by HYPOTHESIS_PROFILE; CI takes its own."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# kernels compile at their first call, so no deadline
settings.register_profile("dev", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
