/** The only style sheet of the API page. The content security policy contains its hash. */
export const STYLE = `
:root { color-scheme: light dark;
  --paper: #fff; --ink: #1c2126; --quiet: #5a646e; --line: #d9dee3; --tint: #f4f6f8; --accent: #0a5f70;
  --get: #1a5fa8; --post: #1e6f3e; --patch: #8a5300; --delete: #a82a2a; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #12161a; --ink: #e4e8ec; --quiet: #9ba6b0; --line: #303840; --tint: #1a2026; --accent: #74c9da;
  --get: #86b9ee; --post: #7fcf9d; --patch: #e3b068; --delete: #f09a9a; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
a { color: var(--accent); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em; overflow-wrap: anywhere; }
p { margin: .6rem 0; max-width: 46rem; }
h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance; }
h1 { margin: 0; font-size: 1.9rem; }
h2 { margin: 0 0 .6rem; font-size: 1.5rem; }
h3 { margin: 0; font-size: 1.2rem; }
h4 { margin: 1.4rem 0 .4rem; font-size: .95rem; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--paper); z-index: 1; }
body > header, body > footer { padding: 1.5rem 1rem; }
body > header { border-bottom: 1px solid var(--line); }
body > header p { margin: .3rem 0 0; color: var(--quiet); }
body > footer { border-top: 1px solid var(--line); color: var(--quiet); }
nav { padding: 1rem; border-bottom: 1px solid var(--line); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav > ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
nav ul ul { display: none; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
main { padding: 0 1rem 3rem; min-width: 0; }
main > section { padding-top: 2.2rem; }
.operation, .schema { margin-top: 1.6rem; padding-top: 1.4rem; border-top: 1px solid var(--line); }
.route { margin: .5rem 0; }
.route code { font-size: 1rem; }
.method { display: inline-block; min-width: 4.6em; padding: .1em .5em; border: 1px solid; border-radius: .25rem; text-align: center;
  font: 700 .8rem/1.5 ui-monospace, Menlo, Consolas, monospace; letter-spacing: .04em; }
.get { color: var(--get); } .post { color: var(--post); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.anchor { margin-left: .4rem; color: var(--quiet); text-decoration: none; font-weight: 400; font-size: .9em; }
.anchor:hover { color: var(--accent); }
pre { margin: .4rem 0; padding: .8rem 1rem; max-width: 60rem; background: var(--tint); border: 1px solid var(--line); border-radius: .4rem;
  white-space: pre-wrap; line-height: 1.5; }
pre.reply { border-left: .25rem solid var(--line); }
.caption { margin: 1rem 0 0; color: var(--quiet); font-size: .9rem; }
table { width: 100%; max-width: 60rem; border-collapse: collapse; font-size: .925rem; }
caption { padding: 1.2rem 0 .4rem; text-align: left; font-weight: 700; font-size: .95rem; }
th, td { padding: .5rem .8rem .5rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { padding-block: .3rem; color: var(--quiet); font-size: .85rem; }
td p, td + td p { margin: 0 0 .2rem; }
thead .name { width: 27%; } thead .kind { width: 30%; } thead .status { width: 5rem; }
.kind, .note { color: var(--quiet); }
.note { display: block; font-size: .85em; }
.required, .optional { color: var(--delete); font-size: .85em; white-space: nowrap; }
.optional { color: var(--quiet); }
@media (max-width: 40rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, caption, tbody, tr, th, td { display: block; width: auto; }
  tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  tbody tr > * { padding: .1rem 0; border: 0; }
  tbody th { font-weight: 700; }
  .responses th, .responses .name { display: inline-block; margin-right: .6rem; }
}
@media (min-width: 64rem) {
  body { display: grid; grid-template: auto 1fr auto / 17rem minmax(0, 1fr); min-height: 100vh; }
  body > header, body > footer { grid-column: 1 / -1; padding-inline: 2rem; }
  nav { border: 0; border-right: 1px solid var(--line); padding: 1.6rem 1rem 2rem 2rem; position: sticky; top: 0; align-self: start;
    max-height: 100vh; overflow-y: auto; font-size: .925rem; }
  nav > ul { display: block; }
  nav > ul > li { margin-bottom: .5rem; font-weight: 600; }
  nav ul ul { display: block; margin: .15rem 0 .8rem; font-weight: 400; }
  nav ul ul li { padding: .12rem 0 .12rem .8rem; border-left: 2px solid var(--line); }
  main { padding: 0 2.5rem 4rem; }
}
@media print { nav, .anchor { display: none; } pre, tr { break-inside: avoid; } }
`;
