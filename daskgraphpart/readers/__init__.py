"""Open what users bring: tables, objects, construction configs, public data sets."""
