import { describe, test } from 'vitest';
import { CALLERS } from './callers.ts';
import { DELIVERY } from './delivery.ts';
import { expectBounded } from './verdict.ts';

describe('an attack by a caller with a token leaves other callers their answers, and stays within the bounds', () => {
  for (const scenario of [...CALLERS, ...DELIVERY]) {
    test(scenario.name, async ({ annotate }) => expectBounded(scenario, annotate));
  }
});
