import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bind } from '../harness/brands/bind.ts';
import { describeDriver, newKey } from './driver-contract.ts';
import { describeIncludeFile } from './include-file-contract.ts';

describeDriver(bind, (session) => {
  test('a refusal has the reason that named-checkconf prints, without text of the file', async () => {
    const { server, apply } = session();
    const main = join(server.folder, 'named.conf');
    const text = readFileSync(main, 'utf8');
    const messageWith = async (more: string) => {
      writeFileSync(main, `${text}\n${more}\n`);
      const refused = await apply(newKey({ rights: ['transfer'] })).catch(
        (error: unknown) => error,
      );
      writeFileSync(main, text);
      return refused instanceof Error ? refused.message : '';
    };
    const unknownList =
      'zone "x.test" { type primary; file "x"; allow-transfer { no-such-list; }; };';
    expect(await messageWith(unknownList)).toMatch(
      /^BIND refused the new configuration: .*named\.conf:\d+: undefined ACL 'no-such-list'\.$/,
    );
    expect(await messageWith('key x { algorithm hmac-sha256; secret "a" QUOTED; };')).toMatch(
      /named\.conf:\d+: [^Q]*\.$/,
    );
    await apply(newKey({ rights: ['transfer'] }));
  });

  describeIncludeFile(session, bind);
});
