import { TOKENS } from './page-tokens.ts';

/** The only style sheet of the API page. The content security policy contains its hash. */
export const STYLE = `${TOKENS}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-padding-top: 68px; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--canvas); color: var(--text); font: 14px/22px var(--sans); overflow-wrap: break-word; }
h1, h2, h3, p, ul, pre, figure { margin: 0; padding: 0; }
ul { list-style: none; }
a { color: var(--accent); text-decoration: none; text-underline-offset: 2px; }
a:hover, p a, td a { text-decoration: underline; }
code, pre { font: 13px/20px var(--mono); font-variant-ligatures: none; overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
main:focus { outline: none; }
::highlight(match) { background-color: var(--warning-tint); color: var(--text); }
.hidden { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: 8px; top: -60px; z-index: 2; padding: 8px 12px; border-radius: 6px; background: var(--text); color: var(--panel); }
.skip:focus { top: 8px; }
h1 { display: flex; align-items: center; gap: 8px; font-size: 14px; font-weight: 600; white-space: nowrap; }
h1 svg { width: 20px; height: 20px; }
h2 { margin-bottom: 8px; font-size: 20px; line-height: 28px; font-weight: 600; letter-spacing: -.01em; }
h3 { font-size: 16px; line-height: 24px; font-weight: 600; letter-spacing: -.005em; }
main p { max-width: 640px; margin: 8px 0; }
main ul { max-width: 640px; margin: 8px 0; padding-left: 18px; list-style: disc; }
main li a { display: inline-block; padding: 1px 0; }
header { position: sticky; top: 0; z-index: 1; display: flex; align-items: center; gap: 8px 16px; min-height: 52px; padding: 8px 24px 8px 16px;
  border-bottom: 1px solid var(--line); background: var(--canvas); }
#tools { position: relative; flex: 0 1 420px; }
#search { width: 100%; min-height: var(--control); padding: 5px 60px 5px 10px; border: 1px solid var(--edge); border-radius: 6px; background: var(--panel);
  color: var(--text); font: 13px/20px var(--sans); appearance: none; }
#search::placeholder { color: var(--muted); opacity: 1; }
#search:focus-visible { outline-offset: -1px; }
#search::-webkit-search-cancel-button { display: none; }
kbd { position: absolute; right: 8px; top: 50%; translate: 0 -50%; padding: 0 5px; border: 1px solid var(--line); border-radius: 4px;
  background: var(--sunken); color: var(--muted); font: 12px/16px var(--sans); }
button { min-height: var(--control); padding: 0 12px; border: 1px solid transparent; border-radius: 6px; background: none; color: var(--text);
  font: 500 13px/20px var(--sans); cursor: pointer; }
button:hover { background: var(--sunken); }
#theme { margin-left: auto; }
#more { color: var(--accent); }
nav { padding: 12px 16px; border-bottom: 1px solid var(--line); font-size: 13px; line-height: 20px; }
nav > ul { display: flex; flex-wrap: wrap; gap: 4px 16px; }
nav ul ul { display: none; }
nav a { display: block; padding: 6px 8px; border-radius: 6px; color: var(--muted); }
nav > ul > li > a { color: var(--text); font-weight: 500; }
nav a:hover { background: var(--sunken); text-decoration: none; }
nav a[aria-current] { background: var(--sunken); color: var(--text); }
main { min-width: 0; padding: 8px 16px 48px; }
main > section { padding-top: 24px; }
.about, .caption, .note, .kind { color: var(--muted); }
.found:not(:has(:not([hidden]):not(:empty))) { display: none; }
.filtered > .about, .filtered > section > :not(h2, table, .operation, .schema) { display: none; }
.operation, .schema { margin-top: 32px; padding-top: 24px; border-top: 1px solid var(--line); }
.route { display: flex; align-items: baseline; gap: 8px; }
.method { flex: none; padding: 1px 6px; border-radius: 4px; background: var(--sunken); font: 600 12px/18px var(--mono); }
.post, .put, .patch { background: var(--accent-tint); color: var(--accent); }
.delete { background: var(--danger-tint); color: var(--danger); }
.anchor { padding: 0 4px; color: var(--muted); font-weight: 400; }
.anchor:hover { color: var(--accent); }
figure { max-width: 720px; margin: 16px 0; border: 1px solid var(--line); border-radius: 6px; background: var(--panel); overflow: hidden; }
figcaption { display: flex; align-items: center; justify-content: space-between; gap: 8px; min-height: 32px; padding: 4px 4px 4px 12px;
  border-bottom: 1px solid var(--line); background: var(--sunken); color: var(--muted); font-size: 12px; line-height: 16px; }
.copy { flex: none; min-height: 24px; padding: 0 8px; color: var(--text); font-size: 12px; line-height: 16px; }
.copy:hover { background: var(--panel); }
:is(.copy, #search, figcaption :focus-visible):focus-visible { outline-offset: -2px; }
pre { padding: 10px 12px; white-space: pre-wrap; }
table { width: 100%; max-width: 960px; border-collapse: collapse; font-size: 13px; line-height: 20px; }
caption { padding: 20px 0 4px; text-align: left; font-size: 14px; font-weight: 600; }
th, td { padding: 8px 16px 8px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { padding-block: 4px; color: var(--muted); font-size: 12px; line-height: 16px; }
thead .name { width: 27%; } thead .kind { width: 30%; } thead .status { width: 64px; }
td code, th code { font-size: 12px; }
.caption, .note, .required, .optional { font-size: 12px; line-height: 16px; }
.note { display: block; margin-top: 2px; }
.required { color: var(--warning); white-space: nowrap; }
.optional { color: var(--muted); white-space: nowrap; }
footer { padding: 16px; border-top: 1px solid var(--line); color: var(--muted); font-size: 12px; line-height: 16px; }
@media (max-width: 719px) {
  html { scroll-padding-top: 72px; }
  header { position: static; display: contents; }
  h1 { min-height: 52px; padding: 0 16px; }
  #tools { position: sticky; top: 0; z-index: 1; padding: 8px 16px; border-block: 1px solid var(--line); background: var(--canvas); }
  #search { font-size: 16px; padding-right: 10px; }
  kbd { display: none; }
  #theme { position: absolute; right: 8px; top: 4px; }
  nav a { padding-block: 12px; }
  nav > ul { gap: 0 8px; }
  .copy { min-height: 44px; padding: 0 12px; margin: -4px 0; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, caption, tbody, tr, th, td { display: block; width: auto; }
  tr { padding: 8px 0; border-bottom: 1px solid var(--line); }
  tbody tr > * { padding: 2px 0; border: 0; }
  .responses th, .responses .name { display: inline-block; margin-right: 8px; }
}
@media (min-width: 1024px) {
  body { display: grid; grid-template: auto 1fr auto / 248px minmax(0, 1fr); min-height: 100dvh; }
  header, footer { grid-column: 1 / -1; }
  h1 { width: 232px; }
  nav { position: sticky; top: 52px; align-self: start; height: calc(100dvh - 52px); padding: 12px 8px; border: 0; border-right: 1px solid var(--line);
    overflow-y: auto; }
  nav > ul { display: block; }
  nav > ul > li { margin-bottom: 8px; }
  nav ul ul { display: block; }
  nav a { padding-block: 4px; }
  nav ul ul a { padding-left: 16px; }
  main { padding: 8px 32px 64px; }
}
@media (min-width: 1280px) {
  .operation { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 440px); grid-template-rows: auto 1fr; column-gap: 32px; }
  .operation > * { grid-column: 1; }
  .samples { grid-column: 2; grid-row: 1 / 3; }
  .samples > :first-child { margin-top: 0; }
}
@media (hover: hover) {
  .anchor { opacity: 0; }
  :is(h2, h3):hover .anchor, .anchor:focus-visible { opacity: 1; }
}
@media print { header, nav, .anchor, .copy { display: none; } pre, tr { break-inside: avoid; } }
`;
