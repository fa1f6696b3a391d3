import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['test/harness/run.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    projects: [
      { extends: true, test: { name: 'suites', include: ['test/**/*.test.ts'], exclude: ['test/leaks.test.ts'], sequence: { groupOrder: 0 } } },
      // Reads what all the others made the service print, so it comes last.
      { extends: true, test: { name: 'leaks', include: ['test/leaks.test.ts'], sequence: { groupOrder: 1 } } },
    ],
  },
});
