import { beforeAll, expect, test } from 'vitest';
import { LIMIT_KINDS, type LimitKind } from '../../src/core/caller.ts';
import type { Client } from '../harness/client.ts';
import { createEstate, limitedTokens } from '../harness/limited-tokens.ts';
import { startTestService } from '../harness/service.ts';

/** How many keys and zones are within the limits. */
const COUNTS: Readonly<Record<LimitKind, readonly [keys: number, zones: number]>> = {
  pools: [2, 1],
  zones: [1, 1],
  keys: [1, 0],
  nameservers: [0, 0],
};

let limited: Record<LimitKind, Client>;
beforeAll(async () => {
  const service = await startTestService();
  limited = await limitedTokens(service, await createEstate(service));
});

test.each(LIMIT_KINDS)(
  '200 for GET /v2/status with only what is within the limits of a token limited to %s',
  async (kind) => {
    const { body } = await limited[kind].get('/v2/status');
    const keys = body.tsigkeys as { total: number } | null;
    const zones = body.zones as { total: number } | null;
    expect([keys?.total ?? 0, zones?.total ?? 0]).toEqual(COUNTS[kind]);
    for (const section of ['tokens', 'encryption', 'backup', 'tlds'])
      expect(body[section]).toBeNull();
  },
);
