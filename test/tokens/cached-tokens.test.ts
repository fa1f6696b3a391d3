import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ownTokens } from '../../src/tokens/own-tokens.ts';
import type { Store } from '../../src/core/ports.ts';
import { hashToken } from '../../src/core/token-hash.ts';
import { token as tokenType } from '../../src/resources/token.ts';
import { openStore } from '../harness/dependencies.ts';
import { temporaryFolder } from '../harness/service.ts';
import { keyed } from '../../src/core/query.ts';

const TOKEN = 'tsigil_cached';
const ID = '00000000-0000-4000-8000-000000000001';
const NOW = '2026-01-01T00:00:00.000000';

let folder: string;
let store: Store;
let queries: number;

beforeEach(async () => {
  folder = temporaryFolder();
  const opened = await openStore(`sqlite:${join(folder, 'tsigil.db')}`);
  queries = 0;
  store = {
    ...opened,
    find(...query) {
      queries += 1;
      return opened.find(...query);
    },
  };
  await insert(ID, TOKEN);
});

afterEach(() => store.close());

function insert(id: string, token: string): Promise<void> {
  const row = {
    id,
    name: token,
    roles: ['reader'],
    project_id: null,
    expires_at: '2026-01-01T00:00:01.000000',
    created_by: null,
    pools: null,
    zones: null,
    keys: null,
    nameservers: null,
    addresses: null,
    last_used_at: null,
    hash: hashToken(token),
  };
  return store.write((writer) =>
    writer.insert(tokenType, keyed(tokenType, { ...row, created_at: NOW, updated_at: null })),
  );
}

/**
 * Returns a store whose queries read their rows at once, but return the rows only after `resume`.
 */
function slowStore(): { slow: Store; resume: () => void } {
  let resume: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (resume = resolve));
  const slow: Store = {
    ...store,
    async find(...query) {
      const rows = await store.find(...query);
      await held;
      return rows;
    },
  };
  return { slow, resume };
}

/**
 * Returns the function that authenticates callers by the tokens in a store. The time is `NOW`
 * unless `times` has a clock.
 */
function authenticationOf(
  tokens: Store,
  times: { clock?: () => string; seconds?: () => number } = {},
) {
  const { clock = () => NOW, seconds = () => 0 } = times;
  return ownTokens({ store: tokens, clock, seconds }).authenticate;
}

const remove = () => store.write((writer) => writer.remove(tokenType, ID));

test('queries a token once, and again after any token changed', async () => {
  const authenticate = authenticationOf(store);
  for (let count = 0; count < 3; count += 1) expect((await authenticate(TOKEN))?.id).toBe(ID);
  expect(queries).toBe(1);
  await insert('00000000-0000-4000-8000-000000000002', 'tsigil_other');
  expect((await authenticate(TOKEN))?.id).toBe(ID);
  expect(queries).toBe(2);
});

test('does not cache a token that was read before its removal', async () => {
  const { slow, resume } = slowStore();
  const authenticate = authenticationOf(slow);
  const early = authenticate(TOKEN);
  await remove();
  resume();
  expect((await early)?.id).toBe(ID); // this request began before the removal
  expect(await authenticate(TOKEN)).toBeUndefined();
});

test('shares a query in progress, but not a query that began before a removal', async () => {
  const { slow, resume } = slowStore();
  const authenticate = authenticationOf(slow);
  const early = [authenticate(TOKEN), authenticate(TOKEN)];
  expect(queries).toBe(1);
  await remove();
  const late = [authenticate(TOKEN), authenticate(TOKEN)];
  expect(queries).toBe(2);
  resume();
  expect((await Promise.all(early)).map((caller) => caller?.id)).toEqual([ID, ID]);
  expect(await Promise.all(late)).toEqual([undefined, undefined]);
});

test('queries a token again after 0.5 s if another process may have removed it', async () => {
  let seconds = 100;
  const shared = { ...store, exclusive: false, changes: () => 0 };
  const authenticate = authenticationOf(shared, { seconds: () => seconds });
  expect((await authenticate(TOKEN))?.id).toBe(ID);
  await remove();
  seconds = 100.49;
  expect((await authenticate(TOKEN))?.id).toBe(ID);
  expect(queries).toBe(1);
  seconds = 100.5;
  expect(await authenticate(TOKEN)).toBeUndefined();
  expect(queries).toBe(2);
});

test('caches a token for 0.5 s from the start of the query, not from its end', async () => {
  let seconds = 100;
  const slow: Store = {
    ...store,
    exclusive: false,
    async find(...query) {
      const rows = await store.find(...query);
      seconds += 0.5;
      return rows;
    },
  };
  const authenticate = authenticationOf(slow, { seconds: () => seconds });
  for (let count = 0; count < 3; count += 1) expect((await authenticate(TOKEN))?.id).toBe(ID);
  expect(queries).toBe(3);
});

test('a failed change clears the cache; a read does not', async () => {
  const before = store.changes(tokenType);
  await store.get(tokenType, ID);
  expect(store.changes(tokenType)).toBe(before);
  await expect(insert(ID, TOKEN)).rejects.toThrow('Duplicate Token');
  expect(store.changes(tokenType)).not.toBe(before);
});
