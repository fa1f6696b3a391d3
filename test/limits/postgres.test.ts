import { describe, test } from 'vitest';
import { POSTGRES } from './postgres.ts';
import { expectBounded } from './verdict.ts';

describe('a caller with a token cannot keep other callers from being served by a service with PostgreSQL', () => {
  for (const scenario of POSTGRES) {
    test(scenario.name, async ({ annotate }) => expectBounded(scenario, annotate));
  }
});
