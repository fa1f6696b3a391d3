import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  ALWAYS_EXECUTED,
  LONG_ONLY,
  NOT_QUICK,
  ON_POSTGRES_WHEN_SHORT,
  ON_SQLITE_ONLY,
} from './harness/sizes.ts';

test.each([
  ['a short run repeats on PostgreSQL', ON_POSTGRES_WHEN_SHORT],
  ['npm run test:quick omits', NOT_QUICK],
  ['only a long run includes', LONG_ONLY],
  ['no run repeats on PostgreSQL', ON_SQLITE_ONLY],
  ['has examples that every run executes', ALWAYS_EXECUTED],
])('every file that %s exists', (_run, paths) => {
  expect(paths.filter((path) => !existsSync(join(import.meta.dirname, '..', path)))).toEqual([]);
});
