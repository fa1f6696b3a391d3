import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IS_QUICK } from './sizes.ts';

/**
 * Creates a folder for the output of services in this run. A test searches this output for secrets.
 */
export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-test-'));
  process.env.TEST_RUN_FOLDER = folder;
  if (IS_QUICK) process.env.TMPDIR = folder; // removes temporary files in memory with the folder
  return () => {
    if (process.env.KEEP === undefined) rmSync(folder, { recursive: true, force: true });
  };
}
