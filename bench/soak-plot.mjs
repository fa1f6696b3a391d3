const WIDTH = 720;
const PANEL = 130;
const LEFT = 60;
const TOP = 34;

/** The panels from top to bottom: the member of a slice, the label and the colour. */
const PANELS = [
  ['memoryMb', 'resident memory, MB', '#1f6f8b'],
  ['descriptors', 'open descriptors', '#6b4e9b'],
  ['p99', 'p99, ms', '#b3541e'],
];

/**
 * Returns an SVG plot of the slices of a soak test, with one panel for each measurement. The
 * horizontal axis is the time in minutes.
 */
export function plotSoak({ rate, slices }) {
  const end = Math.max(...slices.map(({ minute }) => minute), 1);
  const x = (minute) => LEFT + (minute / end) * (WIDTH - LEFT - 20);
  const panels = PANELS.map(([member, name, colour], index) =>
    panel(
      slices.map((slice) => [x(slice.minute), slice[member]]),
      name,
      colour,
      TOP + index * PANEL,
    ),
  );
  const height = TOP + PANELS.length * PANEL + 24;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) =>
    text(x(end * part), height - 8, `${Math.round(end * part)} min`, 'middle'),
  );
  const title = `${Math.round(end)} minutes of mixed traffic, ${rate} requests per second`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img">
<title>${title}</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${text(LEFT, 18, title, 'start')}
${[...panels, ...ticks].join('\n')}
</svg>
`;
}

function panel(points, name, colour, top) {
  const highest = niceAbove(Math.max(...points.map(([, value]) => value)));
  const bottom = top + PANEL - 26;
  const y = (value) => bottom - (value / highest) * (bottom - top - 16);
  const line = points.map(([left, value]) => `${left.toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const grid = [0, highest / 2, highest].map(
    (value) =>
      `<line x1="${LEFT}" x2="${WIDTH - 20}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/>${text(LEFT - 6, y(value) + 4, String(value), 'end')}`,
  );
  return `${grid.join('')}\n${text(LEFT, top + 10, name, 'start')}\n<polyline points="${line}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
}

/** Returns the smallest suitable end of an axis that is at least `value`. */
function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 1.5, 2, 3, 4, 6, 8, 10]
    .map((factor) => factor * power)
    .find((candidate) => candidate >= value);
}

function text(x, y, content, anchor) {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#333">${content}</text>`;
}
