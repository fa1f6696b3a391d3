import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import tlds from 'tlds';
import { beforeAll, describe, expect, test } from 'vitest';
import { toAsciiName } from '../../src/core/text/dns-name.ts';
import { startTestService, type TestService } from '../harness/service.ts';

/** The rows of the table of zone names in docs/importing-tlds.md. Each has a name, a status and a reason. */
const ROWS = [
  ...readFileSync(join(import.meta.dirname, '../../docs/importing-tlds.md'), 'utf8').matchAll(
    /^\| `(\S+\.)` \| (\d{3})(?: `(\w+)`)? \| (.+) \|$/gm,
  ),
].map(([, name = '', status, type, why = '']) => ({ name, status: Number(status), type, why }));

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const entries = [...tlds.map((name) => toAsciiName(name)), 'co.uk'];
  const { status, text } = await service.post('/v2/tlds/bulk', {
    tlds: entries.map((name) => ({ name })),
  });
  expect(status, text).toBe(200);
});

describe('the zone names of docs/importing-tlds.md, with the IANA list and co.uk as entries', () => {
  test.each(ROWS)('$status for $name', async ({ name, status, type, why }) => {
    const response = await service.post('/v2/zones', { name, email: 'hostmaster@example.com' });
    expect({ status: response.status, type: response.body.type }, response.text).toEqual({
      status,
      type: type ?? 'PRIMARY',
    });
    if (status === 201) expect(response.body.name).toBe(name);
    else expect(response.body.message).toContain(why);
  });

  test.each(ROWS)(
    'POST /v2/tlds/check returns the same verdict for $name',
    async ({ name, status }) => {
      const { body } = await service.post('/v2/tlds/check', { names: [name] });
      expect(body.checks[0].allowed).toBe(status === 201);
    },
  );

  test.each(
    ROWS.flatMap(({ name, why }) =>
      [...why.matchAll(/`(\S+)` is an entry/g)].map(([, entry = '']) => ({ name, entry })),
    ),
  )('$entry is a TLD entry, as docs/importing-tlds.md states for $name', async ({ entry }) => {
    const { body } = await service.get(`/v2/tlds?name=${entry}`);
    expect(body.tlds).toHaveLength(1);
  });
});
