"""With any one plug-in deleted, the tests of the rest pass; those that use the plug-in as a tool are skipped."""

from __future__ import annotations

import pytest
from installed_copy import PLUGINS
from rest_without import run


@pytest.mark.long
@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_tests_of_the_rest_pass_without_a_plugin(plugin: str) -> None:
    assert run(plugin, ["-x", "-rs", "-m", "not long and not memory"]) == 0
