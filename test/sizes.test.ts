import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ON_SQLITE_WHEN_SHORT } from './harness/sizes.ts';

test('every suite that a short run omits on PostgreSQL exists', () => {
  expect(
    ON_SQLITE_WHEN_SHORT.filter((path) => !existsSync(join(import.meta.dirname, '..', path))),
  ).toEqual([]);
});
