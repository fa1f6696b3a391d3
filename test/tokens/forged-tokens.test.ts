import { DatabaseSync } from '@photostructure/sqlite';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { hashToken } from '../../src/core/token-hash.ts';
import { token } from '../../src/resources/token.ts';
import { CREDENTIAL_TYPES } from '../../src/secrets/store/check-credentials.ts';
import { queryDatabase } from '../harness/audit.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';

const OWN = 'tsigil_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
const ADMIN = { roles: ['admin'] };
/** The tables whose rows let someone sign in. A new table of credentials belongs in this list. */
const TABLES = ['tokens', 'sessions'];
/** Tables with hashes that prove nothing about a caller. */
const HASHES = ['audit_batches', 'audit_head'];

let folder: string;
let url: string;
let service: TestService;
beforeEach(async () => {
  folder = temporaryFolder();
  url = await testDatabase(folder);
  await start();
});

async function start(): Promise<void> {
  service = await startTestService({ TSIGIL_DATABASE_URL: url }, { folder, auditIntervalMs: 20 });
}

/** Runs statements as another program would. No service may use an embedded database meanwhile. */
async function tamper(...statements: string[]): Promise<void> {
  await service.close();
  for (const statement of statements) {
    if (url.startsWith('postgres')) await queryDatabase(url, statement);
    else {
      const database = new DatabaseSync(url.slice('sqlite:'.length));
      database.exec(statement);
      database.close();
    }
  }
  await start();
}

async function issue(members: object = {}): Promise<{ id: string; token: string; name: string }> {
  const body = { name: randomUUID(), ...ADMIN, ...members };
  return (await service.post('/v2/tokens', body)).body;
}

async function statusOf(bearer: string): Promise<number> {
  return (await service.with(bearer).get('/v2/tokens')).status;
}

async function forged(): Promise<unknown> {
  return (await service.post('/v2/encryption/verify', undefined)).body.forged;
}

/** Returns statements that insert a copy of a row with other values. */
async function copyOf(id: string, values: Record<string, string>): Promise<string> {
  const [row] = await queryDatabase(url, `SELECT * FROM tokens WHERE id = '${id}'`);
  const copied = Object.entries({ ...(row as Record<string, string | null>), ...values }).filter(
    ([name]) => name !== 'updated_order', // the database computes this column
  );
  const quoted = copied.map(([, value]) => (value === null ? 'NULL' : `'${value}'`));
  return `INSERT INTO tokens (${copied.map(([name]) => name).join(', ')}) VALUES (${quoted.join(', ')})`;
}

describe('a row of the database that stands for a credential', () => {
  test('the table of each type of credentials is listed here, and no other table has hashes', async () => {
    expect(CREDENTIAL_TYPES.map(({ collection }) => collection)).toEqual(TABLES);
    const tables = await queryDatabase(
      url,
      url.startsWith('sqlite')
        ? "SELECT m.name AS name FROM sqlite_schema m JOIN pragma_table_info(m.name) c ON c.name = 'hash'"
        : "SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'hash'",
    );
    expect(tables.map(({ name }) => name).sort()).toEqual([...TABLES, ...HASHES].sort());
  });

  test('401 for an inserted row, with and without the MAC of another row, and a log line and a count', async () => {
    const known = await issue();
    const hash = hashToken(OWN);
    for (const values of [
      { id: randomUUID(), name: 'x', name_key: 'x', hash, mac: 'A'.repeat(43) },
      { id: randomUUID(), name: 'y', name_key: 'y', hash, mac: 'é'.repeat(43) },
      { id: randomUUID(), name: 'z', name_key: 'z', hash },
    ]) {
      const statement = await copyOf(known.id, values);
      await tamper(`DELETE FROM tokens WHERE hash = '${hash}'`, statement);
      expect(await statusOf(OWN)).toBe(401);
      expect(await statusOf(known.token)).toBe(200);
      expect(await forged()).toEqual([{ collection: 'tokens', id: values.id }]);
      expect(service.log.find((line) => line.includes(values.id))).toContain('"level":"error"');
      expect((await service.get('/metrics')).text).toMatch(/^tsigil_forged_credentials_total 1$/m);
    }
    await tamper(`UPDATE tokens SET mac = NULL WHERE id = '${known.id}'`);
    expect(await statusOf(known.token)).toBe(401);
    expect(service.log.join('')).toContain('tsigil encryption accept');
  });

  test('401 after a change of any field except the time of the last use', async () => {
    const later = '2099-01-01T00:00:00.000000';
    const changes: Record<string, string> = {
      name: "'changed'",
      roles: `'["admin"]'`,
      project_id: "'other'",
      pools: 'NULL',
      zones: `'["x"]'`,
      keys: `'["x"]'`,
      nameservers: `'["x"]'`,
      addresses: 'NULL',
      expires_at: `'${later}'`,
      created_by: "'keystone:ada'",
      hash: `'${hashToken(OWN)}'`,
      id: `'${randomUUID()}'`,
    };
    const fields = Object.keys(token.fields).filter((name) => name !== 'last_used_at');
    expect(Object.keys(changes).sort()).toEqual(['id', ...fields].sort());
    const members = {
      roles: ['reader'],
      addresses: ['127.0.0.0/8'],
      expires_at: '2090-01-01T00:00:00',
    };
    const pools = ['794ccc2c-d751-44fe-b57f-8894c9f5c842'];
    const issued = new Map<string, Awaited<ReturnType<typeof issue>>>();
    for (const column of [...Object.keys(changes), 'last_used_at'])
      issued.set(column, await issue({ ...members, ...(column === 'pools' ? { pools } : {}) }));
    const statements = Object.entries({ ...changes, last_used_at: `'${later}'` }).map(
      ([column, value]) =>
        `UPDATE tokens SET ${column} = ${value} WHERE id = '${issued.get(column)?.id}'`,
    );
    await tamper(...statements);
    const accepted: string[] = [];
    for (const [column, { token: bearer }] of issued) {
      const { status } = await service.with(column === 'hash' ? OWN : bearer).get('/v2/whoami');
      if (status === 200) accepted.push(column);
    }
    expect(accepted).toEqual(['last_used_at']);
    expect(await forged()).toHaveLength(Object.keys(changes).length);
  });

  test('401 for a row with damaged lists, and the row is listed', async () => {
    const known = await issue();
    const values = { id: randomUUID(), name: 'x', name_key: 'x', hash: hashToken(OWN) };
    for (const damaged of [{ roles: '{bad' }, { roles: '5' }, { pools: 'nope' }]) {
      const statement = await copyOf(known.id, { ...values, ...damaged });
      await tamper(`DELETE FROM tokens WHERE hash = '${values.hash}'`, statement);
      expect(await statusOf(OWN)).toBe(401);
      expect((await service.get('/v2/tokens')).body.tokens).toHaveLength(2);
      expect(await forged()).toEqual([{ collection: 'tokens', id: values.id }]);
    }
  });

  test('401 for an empty MAC after the MAC key was deleted under a running service', async () => {
    if (!url.startsWith('postgres')) return; // only one process uses an embedded database
    const known = await issue();
    await queryDatabase(url, "DELETE FROM data_keys WHERE purpose = 'mac'");
    const values = { id: randomUUID(), name: 'x', name_key: 'x', hash: hashToken(OWN), mac: '' };
    await queryDatabase(url, await copyOf(known.id, values));
    await service.post('/v2/encryption/rotate', undefined); // loads the data keys again
    expect(await statusOf(OWN)).toBe(401);
  });

  test('a forged administrator token does not count as the last administrator', async () => {
    const known = await issue();
    const other = await issue();
    await tamper(`UPDATE tokens SET mac = NULL WHERE id = '${other.id}'`);
    await service.close();
    service = await startTestService(
      { TSIGIL_DATABASE_URL: url, TSIGIL_ADMIN_TOKEN: '' },
      { folder },
    );
    const own = service.with(known.token);
    expect((await own.delete(`/v2/tokens/${known.id}`)).status).toBe(409);
    expect((await own.delete(`/v2/tokens/${other.id}`)).status).toBe(204);
  });
});
