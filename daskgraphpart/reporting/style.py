"""Style of the HTML report: light and dark, no font and no picture from elsewhere."""

from __future__ import annotations

_LIGHT = """
--bg:#f4f6f8;--panel:#fff;--ink:#18212b;--soft:#5f6b7a;--line:#e2e7ec;--heat:#2457a6;--own:#dfe5ea;--mean:#c2410c;
--c0:#4269d0;--c1:#efb118;--c2:#ff725c;--c3:#6cc5b0;--c4:#3ca951;--c5:#ff8ab7;--c6:#a463f2;--c7:#97bbf5;--c8:#9c6b4e;
--c9:#a3a9b2;
"""
_DARK = """
--bg:#0f151b;--panel:#182028;--ink:#e6ebf0;--soft:#95a2b1;--line:#2a343f;--heat:#6ea8ff;--own:#313c48;--mean:#ff9a5c;
--c0:#6488ec;--c1:#e0a81c;--c2:#f2735f;--c3:#5fb8a3;--c4:#45b35b;--c5:#ec7fa9;--c6:#ab74f0;--c7:#9dbdf2;--c8:#b08465;
--c9:#7d8792;
"""
_RULES = """
& {background:var(--bg);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,
 sans-serif;padding:28px 20px 40px;color-scheme:light dark;font-variant-numeric:tabular-nums}
& main {max-width:1160px;margin:0 auto}
& h1 {font-size:26px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
& h2 {font-size:16px;margin:0 0 2px}
& p {color:var(--soft);margin:0 0 12px}
& .cards {display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin:18px 0}
& .card,& section {background:var(--panel);border:1px solid var(--line);border-radius:10px}
& .card {padding:12px 14px}
& .card b {display:block;font-size:24px;line-height:1.25;letter-spacing:-.01em}
& .card span {color:var(--soft);display:block;font-size:12px}
& .card .name {text-transform:uppercase;letter-spacing:.03em;font-size:10.5px;white-space:nowrap}
& section {padding:16px 18px;margin:0 0 14px;min-width:0}
& .two {display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%),1fr));gap:0 14px}
& .strips {display:grid;grid-template-columns:repeat(auto-fit,minmax(min(320px,100%),1fr));gap:10px 22px}
& .strip h3 {font-size:13px;margin:0;display:flex;justify-content:space-between;gap:8px;font-weight:600}
& .strip h3 span:first-child {overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
& .strip h3 span+span {color:var(--soft);font-weight:400;white-space:nowrap}
& .strip h3 span+span.far {color:var(--mean);font-weight:600}
& .chart {overflow-x:auto}
& svg {display:block;width:100%;height:auto}
& svg text {font-size:10.5px;fill:var(--soft)}
& svg .middle,& svg .cell {text-anchor:middle}
& svg .end {text-anchor:end}
& svg .cell {fill:var(--ink);pointer-events:none}
& svg .cell.on {fill:var(--panel)}
& svg .grid {stroke:var(--line);stroke-width:1}
& svg .mean {stroke:var(--mean);stroke-width:1.2;stroke-dasharray:4 3}
& svg .heat {fill:var(--heat)}
& svg .own {fill:var(--own)}
& svg rect:hover,& svg circle:hover {opacity:.72}
& svg polyline {fill:none;stroke:var(--soft);stroke-opacity:.45;stroke-width:1.1}
& svg polyline.all {stroke:var(--c0);stroke-opacity:1;stroke-width:2.2}
& svg .dot {fill:var(--c0);stroke:var(--panel);stroke-width:1.5}
& svg .band {fill:var(--c0);fill-opacity:.16}
& .legend {list-style:none;display:flex;flex-wrap:wrap;gap:4px 14px;padding:0;margin:8px 0 0;font-size:12px}
& .legend {color:var(--soft)}
& .legend i {display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
& .table {overflow:auto;max-height:460px}
& table {border-collapse:collapse;width:100%;font-size:13px}
& th,& td {padding:5px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
& th {color:var(--soft);font-weight:600;position:sticky;top:0;background:var(--panel)}
& th:first-child,& td:first-child {text-align:left}
& td .share {display:inline-block;width:90px;height:8px;border-radius:4px;background:var(--own);margin-left:10px}
& td .share {overflow:hidden}
& td .share i {display:block;height:8px;background:var(--c0)}
& footer {color:var(--soft);font-size:12px;margin-top:16px}
"""


def style(scope: str) -> str:
    """Return the rules for everything inside the elements of a class."""
    rules = _RULES.replace("& ", f".{scope} ").replace(f".{scope} {{", f".{scope}{{")
    colors = "".join(
        f".{scope} svg .c{i}{{fill:var(--c{i})}}.{scope} i.c{i}{{background:var(--c{i})}}" for i in range(10)
    )
    light, dark = (palette.replace("\n", "") for palette in (_LIGHT, _DARK))
    return f".{scope}{{{light}}}@media (prefers-color-scheme:dark){{.{scope}{{{dark}}}}}{rules}{colors}"
