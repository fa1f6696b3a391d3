import { describe, test } from 'vitest';
import { POSTGRES } from './postgres.ts';
import { expectBounded } from './verdict.ts';

describe('an attack on a service with PostgreSQL does not slow other callers beyond the bounds', () => {
  for (const scenario of POSTGRES) {
    test(scenario.name, async ({ annotate }) => expectBounded(scenario, annotate));
  }
});
