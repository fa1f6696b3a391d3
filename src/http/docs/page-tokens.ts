/**
 * The palette, the fonts and the sizes of the web console and of the API page: ink on paper, and
 * colour only for state. Each pair is light, then dark. `scripts/console.mjs` reads the style sheet
 * from the text of this file.
 */
export const TOKENS = `
:root {
  color-scheme: light dark;
  --canvas: light-dark(#f7f8fa, #0e1114);
  --panel: light-dark(#ffffff, #15181c);
  --sunken: light-dark(#eef0f3, #1d2126);
  --line: light-dark(#e0e3e7, #2a2e34);
  --edge: light-dark(#80878f, #6f757e);
  --text: light-dark(#1a1e25, #e9ebee);
  --muted: light-dark(#555b65, #a2a8b1);
  --accent: light-dark(#2b5fc6, #84aefa);
  --accent-tint: light-dark(#e9f1fe, #1e2b44);
  --ok: light-dark(#0b7643, #6bd399);
  --ok-tint: light-dark(#e3f8e9, #133020);
  --warning: light-dark(#865901, #eebb5e);
  --warning-tint: light-dark(#fff2d2, #3a270b);
  --danger: light-dark(#ba2b28, #f9837d);
  --danger-tint: light-dark(#ffeded, #451e1d);
  --shadow: 0 8px 28px light-dark(rgb(20 26 38 / 18%), rgb(0 0 0 / 55%));
  --sans: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif;
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', 'JetBrains Mono', 'DejaVu Sans Mono', monospace;
  --row: 36px;
  --control: 32px;
}
:root[data-theme='light'] {
  color-scheme: light;
}
:root[data-theme='dark'] {
  color-scheme: dark;
}
@media (max-width: 719px) {
  :root {
    --control: 44px;
  }
}
@media (prefers-contrast: more) {
  :root {
    --line: var(--edge);
    --muted: var(--text);
  }
}
`;
