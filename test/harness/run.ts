import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IS_QUICK } from './sizes.ts';

/** Creates a folder for the output of services in this run, which a test searches for secrets. */
export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-test-'));
  process.env.TEST_RUN_FOLDER = folder;
  if (IS_QUICK) process.env.TMPDIR = folder; // in memory, so that tests leave nothing there
  return () => {
    if (process.env.KEEP === undefined) rmSync(folder, { recursive: true, force: true });
  };
}
