import { test } from 'vitest';
import { IS_LONG } from './sizes.ts';

/** A test that only the long size of its suite has: `npm run test:night` runs it. */
export const nightly = test.runIf(IS_LONG);
