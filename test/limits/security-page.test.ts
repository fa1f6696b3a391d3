import { expect, test } from 'vitest';
import { readDocuments } from '../docs/documents.ts';
import { ANONYMOUS } from './anonymous.ts';
import { CALLERS } from './callers.ts';
import { DELIVERY } from './delivery.ts';
import { POSTGRES } from './postgres.ts';
import type { Scenario } from './scenario.ts';

/** Returns the table of attacks as Markdown. */
function attackTable(scenarios: readonly Scenario[]): string[] {
  const rows = scenarios.map(({ name, bound, settings, cost }) => {
    const keys = settings.map((key) => `\`${key}\``).join(', ');
    return `| ${name} | ${bound} | ${keys} | ${cost} |`.replaceAll('|  |', '| |');
  });
  return [
    '| Attack | What limits the attack | Settings | Maximum cost for other callers |',
    '| --- | --- | --- | --- |',
    ...rows,
  ];
}

test('SECURITY.md lists exactly the attacks in these suites', () => {
  const page = readDocuments().find(({ path }) => path === 'SECURITY.md')?.text ?? '';
  const section =
    page.split(/^## /m).find((text) => text.startsWith('What one caller can cost others')) ?? '';
  const table = section.split('\n').filter((line) => line.startsWith('|'));
  expect(table).toEqual(attackTable([...ANONYMOUS, ...CALLERS, ...DELIVERY, ...POSTGRES]));
});
