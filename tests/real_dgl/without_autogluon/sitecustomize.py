"""Stand in for autogluon: GraphStorm imports it for one transformation of features, and it needs a hundred packages.

With this directory in PYTHONPATH, every process of GraphStorm's commands begins with it.
"""

import sys
from unittest.mock import MagicMock

for name in ("", ".tabular", *(f".tabular.models.mitra._internal.{end}" for end in (
    "data.dataset_finetune", "config.enums", "core.trainer_finetune"
))):  # fmt: skip
    sys.modules[f"autogluon{name}"] = MagicMock()
