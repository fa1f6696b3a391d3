import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exportKey } from '../../../src/keys/export/export-formats.ts';
import { blocksOf, ROOT } from '../../docs/documents.ts';
import { SECRET } from '../../harness/samples.ts';
import { temporaryFolder } from '../../harness/service.ts';
import { hasProgram, TOOL_ENVIRONMENT } from '../../harness/tools.ts';

test.runIf(hasProgram('nsd-checkconf', 'nsd'))(
  'docs/signed-transfers.md: NSD accepts the configuration',
  () => {
    const folder = temporaryFolder();
    const path = 'docs/signed-transfers.md';
    const page = { path, text: readFileSync(join(ROOT, path), 'utf8') };
    const block = blocksOf(page).find(({ language }) => language === 'nsd');
    const key = { name: 'transfer-key', algorithm: 'hmac-sha256', secret: SECRET };
    writeFileSync(join(folder, 'nsd-keys.conf'), exportKey('nsd', key).text);
    const file = join(folder, 'nsd.conf');
    writeFileSync(file, block?.content.replace('nsd-keys', join(folder, 'nsd-keys')) ?? '');
    const { status, stdout, stderr } = spawnSync('nsd-checkconf', [file], {
      env: TOOL_ENVIRONMENT,
      encoding: 'utf8',
    });
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
  },
);
