"""How the page of an audit looks: the console's colours, one column, numbers that align."""

STYLE = """
:root { --ground: #f6f7f7; --card: #fff; --ink: #1a2126; --dim: #55616b; --line: #dde2e5; --accent: #0b5f73;
  --wash: #e4f0f3; --bar: #4f9aab; --good: #1c6b3c; --bad: #9c2b2b; --bad-wash: #fbeceb; --warm: #8a5310;
  --warm-wash: #fbf0e1; --good-wash: #e6f3ea; }
@media (prefers-color-scheme: dark) { :root { --ground: #12171a; --card: #1a2125; --ink: #e6ebee; --dim: #a3b0b8;
  --line: #2d373d; --accent: #7cc6d6; --wash: #17343c; --bar: #3c91a3; --good: #7dcf9b; --bad: #f0a09a;
  --bad-wash: #3a2021; --warm: #ecb877; --warm-wash: #362a18; --good-wash: #16301f; } }
* { box-sizing: border-box; }
html { font: 16px/1.5 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
  sans-serif; color: var(--ink); background: var(--ground); -webkit-text-size-adjust: 100%; }
body { margin: 0; }
main { max-width: 52rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
header p { margin: 0; overflow-wrap: anywhere; }
h1 { font-size: 1.45rem; line-height: 1.25; font-weight: 650; letter-spacing: -0.012em; margin: 0 0 0.25rem; }
h2 { font-size: 1rem; font-weight: 650; margin: 0 0 0.6rem; }
p { margin: 0 0 0.75rem; }
code { font: 0.875em ui-monospace, "DejaVu Sans Mono", Menlo, monospace; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem;
  margin-top: 1rem; }
section > :last-child { margin-bottom: 0; }
.dim { color: var(--dim); }
.verdict { margin: 1.25rem 0 0; padding: 0.75rem 1.1rem; border-radius: 10px; font-weight: 600; }
.verdict.passed { background: var(--good-wash); color: var(--good); }
.verdict.failed { background: var(--bad-wash); color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.4rem 1.25rem; margin: 0; }
dt { color: var(--dim); }
dd { margin: 0; min-width: 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.95rem; }
table.narrow { width: auto; min-width: 16rem; }
th { text-align: left; font-weight: 500; color: var(--dim); padding: 0 0.9rem 0.35rem 0; }
td { padding: 0.4rem 0.9rem 0.4rem 0; border-top: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.mark { font-weight: 700; width: 1.6rem; flex: none; }
.said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.passed .mark { color: var(--good); }
.warning .mark { color: var(--warm); }
.failed .mark { color: var(--bad); }
ul { margin: 0; padding-left: 1.2rem; }
ul.findings { list-style: none; padding: 0; display: grid; gap: 0.6rem; }
.findings li { display: flex; padding: 0.6rem 0.8rem; border-radius: 8px; overflow-wrap: anywhere; }
.findings li.failed { background: var(--bad-wash); }
.findings li.warning { background: var(--warm-wash); }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 11px; fill: var(--dim); }
svg .end { text-anchor: end; }
.line { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; }
.area { fill: var(--wash); }
.grid { stroke: var(--line); }
.limit { stroke: var(--bad); stroke-dasharray: 5 4; }
.dot { fill: var(--card); stroke: var(--accent); stroke-width: 2; }
.strips { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1.1rem 1.5rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 550; font-size: 0.9rem; margin-bottom: 0.25rem; }
figure svg { height: 2.75rem; }
.ground { fill: var(--line); opacity: 0.45; }
.bar { fill: var(--bar); }
.bar.over { fill: var(--bad); }
.ends { display: flex; justify-content: space-between; gap: 1rem; font-size: 0.78rem; color: var(--dim); }
@media (max-width: 36rem) { dl { grid-template-columns: 1fr; gap: 0.1rem; } dd { margin-bottom: 0.5rem; } }
@media print { html { background: #fff; font-size: 12px; } main { padding: 0; max-width: none; }
  section { break-inside: avoid; border-color: #bbb; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
