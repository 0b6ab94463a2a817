"""The style of the page: light and dark, at 1 280 pixels and on a phone, on paper as well."""

from typing import Final

from sedano.model.states import FAILURE, REJECTED, REVOKED, ROWS

#: The ends of tasks that were left out, and of those that failed: each new state is one of them by its row.
LEFT_OUT: Final = tuple(state for state, row in ROWS.items() if row.dependents == REVOKED)
FAILED: Final = tuple(state for state, row in ROWS.items() if row.dependents == FAILURE)


def _ribbons(*states: str) -> str:
    return ",".join(f".ribbon.{state}" for state in states)


STYLE: Final = """
:root{--bg:#f6f7f4;--card:#fff;--ink:#1d2a24;--soft:#5d6b64;--rule:#e3e7e2;--leaf:#2f7d4f;--leaf2:#8cc3a0;--sky:#2c6fad;--amber:#d9952b;
--red:#c8463c;--violet:#7a5ba8;--shadow:0 1px 2px #0f1f1712,0 4px 16px #0f1f170d}
@media(prefers-color-scheme:dark){:root{--bg:#121714;--card:#1a211d;--ink:#e6ece8;--soft:#98a69e;--rule:#2c3630;--leaf:#5fbf86;
--leaf2:#2f6b48;
--sky:#6cacdf;--amber:#e5ad55;--red:#e8756b;--violet:#a98bd6;--shadow:none}}
*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1240px;margin:0 auto;padding:32px 24px 64px}
header h1{font-size:28px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}header p{margin:0;color:var(--soft)}
header p.verdict{margin:0 0 10px;font-weight:620;color:var(--leaf)}header p.verdict.bad{color:var(--red)}
header p.aside{margin-top:8px;color:var(--ink);border-left:3px solid var(--amber);padding-left:10px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:24px 0}
.tile,section{background:var(--card);border-radius:14px;box-shadow:var(--shadow);border:1px solid var(--rule)}
.tile{padding:14px 16px}.tile b{display:block;font-size:26px;line-height:1.2;font-weight:650;letter-spacing:-.02em}
.tile span{color:var(--soft);font-size:13px}.tile.bad b{color:var(--red)}.tile.good b{color:var(--leaf)}
.cards{display:grid;grid-template-columns:repeat(12,minmax(0,1fr));gap:16px}
section{grid-column:span 6;padding:18px 20px 20px;min-width:0}section.wide{grid-column:1/-1}
h2{font-size:17px;margin:0;letter-spacing:-.005em}h2+p{margin:2px 0 14px;color:var(--soft);font-size:13.5px}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--soft);margin:0 0 10px}
.legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.frame{display:grid;grid-template-columns:auto minmax(0,1fr);column-gap:10px}
.axis{display:flex;flex-direction:column;justify-content:space-between;text-align:right;font-size:12px;color:var(--soft);margin:-8px 0;
white-space:nowrap}
.axis.cells{margin:0}.axis.cells span{flex:1;display:flex;align-items:center;justify-content:flex-end}
.times{grid-column:2;display:flex;justify-content:space-between;font-size:12px;color:var(--soft);margin-top:6px}
svg.chart{display:block;width:100%;overflow:visible}svg.curves{height:220px}svg.heat{height:236px}svg.flow{height:300px}
svg.lane{height:20px}
svg path{vector-effect:non-scaling-stroke}.rule{stroke:var(--rule);stroke-width:1;fill:none}
.line{stroke:var(--sky);stroke-width:1.6;fill:none;stroke-linejoin:round}
.curves .succeeded{fill:var(--leaf2)}.curves .retried{fill:var(--amber)}.curves .failed{fill:var(--red)}
.heat rect{fill:var(--leaf)}.session{fill:var(--soft);opacity:.5}.busy{fill:var(--leaf)}svg .failed{fill:var(--red)}
.ribbon{fill:var(--leaf);opacity:.34}FAILED{fill:var(--red)}.ribbon.RETRY{fill:var(--amber)}
LEFT_OUT{fill:var(--violet)}.ribbon.PENDING,.ribbon.RECEIVED,.ribbon.STARTED{fill:var(--sky)}.ribbon.other{fill:var(--soft)}
.flowbox{position:relative;padding:0 118px 0 0}
.flowbox .node{position:absolute;font-size:13px;line-height:1.2;transform:translateY(-50%);white-space:nowrap}
.flowbox .node b{display:block;font-weight:620}.flowbox .node span{color:var(--soft);font-size:12px}
.flowbox .head{transform:none;background:color-mix(in srgb,var(--card) 78%,transparent);border-radius:6px;padding:2px 6px;margin:6px}
.bar{display:grid;grid-template-columns:minmax(90px,30%) minmax(0,1fr) minmax(76px,auto);gap:10px;align-items:center;padding:4px 0;
font-size:13.5px}
.bar .name,.lanes .name,.path .name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.bar .figure{text-align:right;white-space:nowrap}
.track{height:12px;background:var(--rule);border-radius:6px;overflow:hidden}
.track i{display:block;height:100%;background:var(--leaf);border-radius:6px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{padding:6px 8px;text-align:right;white-space:nowrap}
th{font-weight:500;color:var(--soft);border-bottom:1px solid var(--rule)}td{border-bottom:1px solid var(--rule)}tr:last-child td{border:0}
th:first-child,td:first-child{text-align:left;padding-left:0}td:first-child{max-width:260px;overflow:hidden;text-overflow:ellipsis}
.lanes .row,.path .row{display:grid;grid-template-columns:minmax(84px,18%) minmax(0,1fr) 92px;gap:10px;align-items:center;padding:3px 0;
font-size:13.5px}
.lanes .figure,.path .figure{text-align:right;color:var(--soft);font-size:12.5px;white-space:nowrap}
.path .track{position:relative;height:16px;border-radius:4px;background:none;border-bottom:1px solid var(--rule);overflow:visible}
.path .track i{position:absolute;top:1px;height:12px;border-radius:3px}.path .track i.wait{background:var(--amber);opacity:.5}
.pill{display:inline-block;border-radius:999px;padding:0 8px;font-size:12px;line-height:18px;background:var(--rule);color:var(--soft)}
.pill.bad{background:var(--red);color:#fff}.pill.lost{background:var(--amber);color:#1d1400}
details{border-top:1px solid var(--rule);padding:9px 0}details:first-of-type{border:0}
summary{cursor:pointer;list-style:none;display:flex;gap:10px;align-items:baseline}
summary::-webkit-details-marker{display:none}summary b{font-weight:600;flex:1;min-width:0;overflow:hidden;text-overflow:ellipsis}
summary .figure{color:var(--soft);font-size:13px;white-space:nowrap}
pre{margin:8px 0 0;padding:10px 12px;background:var(--bg);border-radius:8px;overflow-x:auto;font-size:12px;line-height:1.45}
ul.plain{list-style:none;margin:0;padding:0}
ul.plain li{padding:7px 0;border-bottom:1px solid var(--rule);font-size:13.5px;overflow-wrap:anywhere}
ul.plain li:last-child{border:0}ul.plain span{color:var(--soft)}footer{margin-top:24px;color:var(--soft);font-size:13px}
.none{color:var(--soft);margin:8px 0 0}
@media(max-width:860px){section{grid-column:1/-1}main{padding:20px 14px 48px}}
@media(max-width:520px){header h1{font-size:23px}.tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}.tile b{font-size:22px}
section{padding:14px}
.times span:nth-child(even):nth-last-child(even){display:none}
.lanes .row,.path .row{grid-template-columns:minmax(0,1fr) auto}.row .times{grid-column:1/-1}

.lanes .row .draw,.path .row .track{grid-column:1/-1;grid-row:2}
.bar{grid-template-columns:minmax(0,1fr) auto}.bar .track{grid-column:1/-1;grid-row:2}.flowbox{padding-right:96px}svg.flow{height:260px}}
@media print{body{background:#fff}section,.tile{break-inside:avoid;box-shadow:none}}
""".replace("FAILED", _ribbons(*FAILED, REJECTED)).replace("LEFT_OUT", _ribbons(*LEFT_OUT))
