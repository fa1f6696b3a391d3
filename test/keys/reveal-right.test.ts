import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { runInside } from '../cli/session.ts';
import { clientFor } from '../harness/zones.ts';

let service: TestService;
let clerk: Client;
beforeAll(async () => {
  const policy = JSON.stringify({
    'tsigkeys:create': ['admin', 'clerk'],
    'tsigkeys:update': ['admin', 'clerk'],
    'tsigkeys:get': ['admin', 'clerk'],
    'tsigkeys:list': ['admin', 'clerk'],
  });
  service = await startTestService({ TSIGIL_POLICY: policy });
  clerk = await clientFor(service, ['clerk']);
});

const run = (...argv: string[]) => runInside(clerk, 'tsigkey', ...argv);

describe('--reveal without the right to see secrets', () => {
  test('create fails before it creates the key', async () => {
    expect(await run('create', 'transfer', '--reveal')).toEqual({
      status: 4,
      out: '',
      err: "tsigil: The token may not see the secrets of tsigkeys. Nothing was changed.\nOmit --reveal, or use a token with the right 'tsigkeys:reveal', such as one with the role keymanager.\n",
    });
    expect((await service.get('/v2/tsigkeys')).body.tsigkeys).toEqual([]);
  });

  test('set fails before it changes the key', async () => {
    expect((await run('create', 'other')).status).toBe(0);
    const before = (await service.get('/v2/tsigkeys?name=other')).body.tsigkeys as unknown;
    expect((await run('set', 'other', '--generate', '--reveal')).status).toBe(4);
    expect((await service.get('/v2/tsigkeys?name=other')).body.tsigkeys).toEqual(before);
  });
});
