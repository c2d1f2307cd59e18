"""Plug-ins that come with the package, a folder each: found through the registry, imported by nothing in the core."""
