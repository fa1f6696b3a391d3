import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { knot } from '../harness/brands/knot.ts';
import { describeDriver, newKey } from './driver-contract.ts';
import { describeIncludeFile } from './include-file-contract.ts';

describeDriver(knot, (session) => {
  describeIncludeFile(session, knot);

  test('a refusal names the file and the line of the fault, but not the value there', async () => {
    const { server, apply } = session();
    const file = join(server.folder, 'knot.conf');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/secret: .*/, 'secret: "not!base64!at!all"'));
    const line = text.split('\n').findIndex((each) => each.includes('secret:')) + 1;
    await expect(apply(newKey({ rights: ['transfer'] }))).rejects.toThrow(
      `Knot DNS refused the new configuration: file '${file}', line ${line}, item 'secret' (invalid base64`,
    );
    writeFileSync(file, text);
    await apply();
  });
});
