import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FAULTS } from '../../src/domain/delivery/faults.ts';

test('docs/delivery.md explains every error code that a delivery can have', () => {
  const sources = ['src/nameservers', 'src/domain/delivery']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => readFileSync(join(folder, file), 'utf8')),
    )
    .join('\n');
  const [, ofDrivers = ''] = /type DriverErrorCode =([^;]*);/.exec(sources) ?? [];
  const found = [...ofDrivers.matchAll(/\| '(\w+)'/g), ...sources.matchAll(/\bcode: '(\w+)'/g)];
  const codes = new Set(found.map(([, code]) => code));
  expect(Object.keys(FAULTS).toSorted()).toEqual([...codes].toSorted());
  const page = readFileSync('docs/delivery.md', 'utf8');
  const table = page.slice(page.indexOf('| Code | Reason |'), page.indexOf('\n## A server that'));
  const plain = table.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
  const rows = Object.entries(FAULTS).map(
    ([code, { reason, remedy }]) => `| ${code} | ${reason} | ${remedy} |`,
  );
  expect(plain.split('\n').filter((line) => line !== '')).toEqual([
    '| Code | Reason | What to do |',
    '| --- | --- | --- |',
    ...rows,
  ]);
});
