import { describe, test } from 'vitest';
import { POSTGRES } from './postgres.ts';
import { expectBounded } from './verdict.ts';

describe('an attack on a service with PostgreSQL leaves other callers their answers, and stays within the bounds', () => {
  for (const scenario of POSTGRES) {
    test(scenario.name, async ({ annotate }) => expectBounded(scenario, annotate));
  }
});
