import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CONFIGURED_ADMIN, ownTokens } from '../../src/auth/tokens.ts';
import type { Dependencies } from '../../src/domain/operations/change.ts';
import { createResource, deleteResource } from '../../src/domain/operations/collection.ts';
import { ServiceError } from '../../src/domain/model/errors.ts';
import type { Store } from '../../src/domain/model/ports.ts';
import { token as tokenType } from '../../src/domain/resources/token.ts';
import { dependenciesOn, openStore, SETTINGS } from '../harness/dependencies.ts';
import { temporaryFolder } from '../harness/service.ts';

const CONTEXT = { caller: CONFIGURED_ADMIN };
const NOW = '2026-01-01T00:00:00.000000';
const FULL = new ServiceError('unavailable', 'The database cannot be used: its disk is full', {
  retryAfterSeconds: 5,
});

let folder: string;
let opened: Store;
let refused: Set<string>;

beforeEach(async () => {
  folder = temporaryFolder();
  opened = await openStore(`sqlite:${join(folder, 'tsigil.db')}`);
  refused = new Set();
});
afterEach(() => opened.close());

function dependencies(store: Store, otherAdministrators = true): Dependencies {
  return dependenciesOn(store, {
    settings: { ...SETTINGS, otherAdministrators },
    clock: () => NOW,
    onTokenRevoked: (id) => void refused.add(id),
  });
}

async function createToken(): Promise<{ id: string; token: string }> {
  const created = await createResource(dependencies(opened), tokenType, CONTEXT, {
    name: randomUUID(),
    roles: ['admin'],
  });
  return { id: created.id, token: created.token as string };
}

/** Returns a store that rejects writes because the disk is full. */
const full = (): Store => ({ ...opened, write: () => Promise.reject(FULL) });

const holderOf = (token: string) =>
  ownTokens(
    opened,
    () => NOW,
    () => 0,
    refused,
  ).authenticate(token);

test('503 for a revocation that cannot be stored, with a warning if other processes still accept the token', async () => {
  const { id, token } = await createToken();
  await expect(
    deleteResource(dependencies({ ...full(), exclusive: false }), tokenType, CONTEXT, id),
  ).rejects.toMatchObject({
    code: 'unavailable',
    message:
      'This process refuses the token until it restarts. Other processes of the service still accept the token. ' +
      'The revocation is not stored: The database cannot be used: its disk is full. Delete the token again when the database can be written',
    details: { retryAfterSeconds: 5 },
  });
  expect(await holderOf(token)).toBeUndefined();
});

test('503 if the database can be neither written nor read, and the process refuses the revoked token', async () => {
  const { id } = await createToken();
  const store = { ...full(), get: () => Promise.reject(FULL) };
  await expect(deleteResource(dependencies(store), tokenType, CONTEXT, id)).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect([...refused]).toEqual([id]);
});
