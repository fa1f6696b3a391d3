import { expect, test } from 'vitest';
import { readDocuments } from '../docs/documents.ts';
import { ANONYMOUS } from './anonymous.ts';
import { CALLERS } from './callers.ts';
import { DELIVERY } from './delivery.ts';
import { POSTGRES } from './postgres.ts';
import type { Scenario } from './scenario.ts';

const ON_POSTGRES = ', on PostgreSQL';

/** Returns an attack as a row of the table, without its name. */
function effectOf({ bound, settings, cost }: Scenario): string {
  const keys = settings.map((key) => `\`${key}\``).join(', ');
  return `| ${bound} | ${keys} | ${cost} |`.replaceAll('|  |', '| |');
}

/** Returns the table of attacks as Markdown. Attacks with the same effect are one row. */
function attackTable(scenarios: readonly Scenario[]): string[] {
  const named = new Map(scenarios.map((scenario) => [scenario.name, effectOf(scenario)]));
  const rows = new Map<string, string[]>();
  for (const [name, effect] of named) {
    const sqlite = name.endsWith(ON_POSTGRES) ? name.slice(0, -ON_POSTGRES.length) : undefined;
    if (sqlite !== undefined && named.get(sqlite) === effect) continue;
    const isOnBoth = named.get(`${name}${ON_POSTGRES}`) === effect;
    const title = `${name}${isOnBoth ? ', on SQLite and PostgreSQL' : ''}`;
    rows.set(effect, [...(rows.get(effect) ?? []), title]);
  }
  return [
    '| Attack | What limits the attack | Settings | Maximum cost for other callers |',
    '| --- | --- | --- | --- |',
    ...[...rows].map(([effect, titles]) => `| ${titles.join('; ')} ${effect}`),
  ];
}

test('SECURITY.md lists exactly the attacks in these suites', () => {
  const page = readDocuments().find(({ path }) => path === 'SECURITY.md')?.text ?? '';
  const section =
    page.split(/^## /m).find((text) => text.startsWith('What one caller can cost others')) ?? '';
  const table = section.split('\n').filter((line) => line.startsWith('|'));
  expect(table).toEqual(attackTable([...ANONYMOUS, ...CALLERS, ...DELIVERY, ...POSTGRES]));
});
