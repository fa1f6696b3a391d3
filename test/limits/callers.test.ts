import { describe, test } from 'vitest';
import { CALLERS } from './callers.ts';
import { expectBounded } from './verdict.ts';

describe('a caller with a token cannot keep other callers from being served', () => {
  for (const scenario of CALLERS) {
    test(scenario.name, async ({ annotate }) => expectBounded(scenario, annotate));
  }
});
