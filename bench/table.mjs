/** The columns of the table: the heading, and a function that returns the cell of a row. */
const COLUMNS = [
  ['scenario', (row) => row.name],
  ['per s', ({ rate }) => formatNumber(rate)],
  ['p50 ms', ({ p50 }) => formatNumber(p50)],
  ['p99 ms', ({ p99 }) => formatNumber(p99)],
  ['CPU µs', ({ cpu }) => formatNumber(cpu)],
  ['peak MB', ({ peakMb }) => formatNumber(peakMb)],
  [
    'floor',
    ({ floor, floorMetric }) =>
      floor === undefined ? '' : `${formatNumber(floor)} ${floorMetric === 'cpu' ? 'µs' : '/s'}`,
  ],
  ['ratio', ({ ratio }) => formatNumber(ratio)],
  ['target', ({ target }) => targetText(target)],
  [
    'met',
    ({ met, value, target }) =>
      met === undefined
        ? ''
        : `${met ? 'yes' : 'NO'}${target.unit === undefined ? '' : ` (${formatNumber(value)} ${target.unit})`}`,
  ],
  [
    '',
    ({ noisy, spread }) =>
      noisy ? `too noisy: rounds differ by ${Math.round(spread * 100)}%` : '',
  ],
];

/** Returns the rows as plain text, in aligned columns. */
export function formatTable(rows) {
  const lines = [
    COLUMNS.map(([head]) => head),
    ...rows.map((row) => COLUMNS.map(([, fill]) => fill(row))),
  ];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Returns the rows as the Markdown table of docs/performance.md, with missed targets in bold. */
export function formatMarkdown(rows) {
  const line = (cells) =>
    `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |').replaceAll('|  |', '| |');
  return [
    line(['Scenario', 'Per s', 'p99 ms', 'CPU µs', 'Result', 'Target']),
    line(['---', ...Array.from({ length: 5 }, () => '---:')]),
    ...rows.map(({ name, noisy, rate, p99, cpu, ratio, value, target, met }) =>
      line([
        `${name}${noisy ? ' (noisy)' : ''}`,
        ...[rate, p99, cpu].map(formatNumber),
        target?.unit === undefined ? formatNumber(ratio) : `${formatNumber(value)} ${target.unit}`,
        met === false ? `**${targetText(target)}**` : targetText(target),
      ]),
    ),
  ].join('\n');
}

function targetText(target) {
  if (target === undefined) return '';
  const [sign, bound] = target.atMost === undefined ? ['≥', target.atLeast] : ['≤', target.atMost];
  return `${sign} ${formatNumber(bound)}${target.unit === undefined ? '×' : ` ${target.unit}`}`;
}

function formatNumber(value) {
  if (value === undefined || Number.isNaN(value)) return '';
  if (value >= 1000) return Math.round(value).toLocaleString('en-GB');
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
