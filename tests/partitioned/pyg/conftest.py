"""PyG is imported once, whose import warns of what torch has deprecated."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric.loader
    import torch_geometric.sampler

__all__ = ["torch_geometric"]
