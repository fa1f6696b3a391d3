import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NOT_QUICK, ON_SQLITE_WHEN_SHORT } from './harness/sizes.ts';

test.each([
  ['a short run omits on PostgreSQL', ON_SQLITE_WHEN_SHORT],
  ['npm run test:quick omits', NOT_QUICK],
])('every suite that %s exists', (_run, paths) => {
  expect(paths.filter((path) => !existsSync(join(import.meta.dirname, '..', path)))).toEqual([]);
});
