import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hashBatch, NO_PREVIOUS } from '../../src/audit/chain.ts';
import { SELECT_RECORDS, storedRecord } from '../../src/audit/store/read.ts';
import type { Sql, SqlRow, SqlValue } from '../../src/sql/sql.ts';
import { runInside } from '../cli/session.ts';
import { startTestService } from '../harness/service.ts';
import { withDatabase } from '../harness/trail.ts';

/** A database whose service is stopped, with a trail of five batches of one record each. */
export interface Victim {
  readonly url: string;
  readonly folder: string;
  /** The environment variables of its service. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What an attacker has read earlier: the head after three batches. */
interface Earlier {
  readonly head: SqlRow;
}

/** What an attacker without the key does with SQL. */
type Attack = readonly string[] | ((sql: Sql, earlier: Earlier) => Promise<unknown>);

/** SQL that inserts a record with the number `seq`; with the next number if it is undefined. */
function insertion(
  batch: string,
  { seq, action = 'tlds:create' }: { seq?: number; action?: string },
) {
  const number = seq === undefined ? ['', ''] : ['seq, ', `${seq}, `];
  return `INSERT INTO audit_records (${number[0]}at, actor_kind, actor_id, actor_name, roles, action, outcome, detail, batch) VALUES (${number[1]}'2026-11-21T09:30:00.000000', 'service', 'service', 'tsigil', '[]', '${action}', 'success', '{"records":1,"first_batch":2,"last_batch":2}', ${batch})`;
}

const FORGED_BATCH = (number: number, seq: number) =>
  `INSERT INTO audit_batches (number, at, count, first_seq, last_seq, previous, hash, mac, key_number) SELECT ${number}, at, 1, ${seq}, ${seq}, previous, hash, mac, key_number FROM audit_batches WHERE number = 5`;

/** Changes a record and computes all hashes again, with this MAC instead of the right ones. */
const rewrite =
  (mac: string | null, from = 2) =>
  async (sql: Sql) => {
    await sql.run("UPDATE audit_records SET actor_name = 'nobody' WHERE batch = ?", [from]);
    let previous = NO_PREVIOUS;
    for (const { number, at } of await sql.all('SELECT * FROM audit_batches ORDER BY number', [])) {
      const digest = hashBatch({ previous, number: Number(number), at: String(at) });
      const rows = await sql.all(`${SELECT_RECORDS}batch = ? ORDER BY seq`, [Number(number)]);
      for (const row of rows) digest.add(storedRecord(row));
      const hash = digest.end();
      const replaced = Number(number) >= from ? ', mac = ?' : '';
      await sql.run(`UPDATE audit_batches SET previous = ?, hash = ?${replaced} WHERE number = ?`, [
        previous,
        hash,
        ...(replaced === '' ? [] : [mac]),
        Number(number),
      ]);
      await sql.run('UPDATE audit_head SET hash = ?', [hash]);
      previous = hash;
    }
  };

/** Sets the head back to the genuine head after three batches. */
async function rollBack(sql: Sql, { head }: Earlier): Promise<void> {
  const columns = Object.keys(head).filter((name) => name !== 'id');
  await sql.run(
    `UPDATE audit_head SET ${columns.map((name) => `${name} = ?`).join(', ')}`,
    columns.map((name) => head[name] as SqlValue),
  );
}

const DELETE_BATCH_2 = 'DELETE FROM audit_records WHERE batch = 2';

/** Attacks by a program that can write to the database, and has no key. */
const ATTACKS: readonly (readonly [name: string, attack: Attack])[] = [
  ['deletes records', [DELETE_BATCH_2]],
  [
    'deletes records and counts them as purged',
    [DELETE_BATCH_2, 'UPDATE audit_head SET purged = 2'],
  ],
  ['deletes a batch', [DELETE_BATCH_2, 'DELETE FROM audit_batches WHERE number = 2']],
  [
    'deletes the last batches',
    ['DELETE FROM audit_records WHERE batch > 3', 'DELETE FROM audit_batches WHERE number > 3'],
  ],
  [
    'deletes the whole trail',
    ['DELETE FROM audit_records', 'DELETE FROM audit_batches', 'DELETE FROM audit_head'],
  ],
  [
    'deletes the whole trail and makes the head new',
    [
      'DELETE FROM audit_records',
      'DELETE FROM audit_batches',
      `UPDATE audit_head SET number = 0, hash = '${NO_PREVIOUS}', first_mac = NULL, retention_days = NULL, mac = NULL, key_number = NULL`,
    ],
  ],
  [
    'deletes all MACs',
    [
      'UPDATE audit_batches SET mac = NULL, key_number = NULL',
      'UPDATE audit_head SET mac = NULL, key_number = NULL, first_mac = NULL',
    ],
  ],
  [
    'names a lost key',
    ['UPDATE audit_batches SET key_number = 99', 'UPDATE audit_head SET key_number = 99'],
  ],
  [
    'says that MACs began later',
    ['UPDATE audit_head SET first_mac = 6', 'UPDATE audit_batches SET mac = NULL'],
  ],
  ['changes a record and leaves the MACs out', rewrite(null)],
  ['changes a record and keeps the MACs of other texts', rewrite('A'.repeat(43))],
  ['changes a record in the last batch, and its hash', rewrite(null, 5)],
  [
    'changes the time of a batch',
    ["UPDATE audit_batches SET at = '2020-01-01T00:00:00.000000' WHERE number = 2"],
  ],
  [
    'changes the last record of a batch',
    ['UPDATE audit_batches SET last_seq = 900 WHERE number = 2'],
  ],
  ['inserts a record into a batch', [insertion('2', {})]],
  [
    'inserts an unsealed record with a negative number',
    [insertion('NULL', { seq: -1 }).replace('2026', '2126')],
  ],
  ['inserts a record with a number beyond all others', [insertion('NULL', { seq: 2 ** 60 })]],
  ['inserts a batch after the last', [insertion('6', { seq: 900 }), FORGED_BATCH(6, 900)]],
  ['inserts a record of a batch that does not exist', [insertion('77', { seq: 900 })]],
  [
    'puts a sealed record out of its batch',
    ['UPDATE audit_records SET batch = NULL WHERE batch = 2'],
  ],
  ['changes the retention', ['UPDATE audit_head SET retention_days = 1']],
  [
    'forges a restore',
    [
      `UPDATE audit_head SET events = '[{"event":"restored","at":"2026-11-21T09:30:00.000000","batch":1,"replaced":{"number":9,"hash":""}}]'`,
    ],
  ],
  ['damages the head', ["UPDATE audit_head SET events = 'x', purged = -3"]],
  ['sets the head back', rollBack],
  [
    'sets the head back and deletes a later batch',
    async (sql, earlier) => {
      await rollBack(sql, earlier);
      await sql.run('DELETE FROM audit_records WHERE batch = 5', []);
      await sql.run('DELETE FROM audit_batches WHERE number = 5', []);
    },
  ],
];

/** Defines a test for each attack, and for `own` attacks on one database, on victims that `prepare` copies. */
export function describeAttacks(
  prepare: () => Promise<Victim>,
  own: readonly (readonly [name: string, statement: string])[] = [],
): void {
  const start = ({ url, folder, variables }: Victim) =>
    startTestService({ TSIGIL_DATABASE_URL: url, ...variables }, { folder });
  const verify = async (victim: Victim, ...flags: string[]) => {
    const service = await start(victim);
    const ended = await runInside(service, 'audit', 'verify', ...flags);
    await service.close();
    return ended;
  };
  const attack = ({ url }: Victim, how: Attack) =>
    withDatabase(url, (database) =>
      database.write(async (sql) => {
        if (typeof how === 'function') await how(sql, await earlierOf(sql));
        else for (const statement of how) await sql.run(statement, []);
      }),
    );

  test('without an attack, verify exits with 0', async () => {
    const { status, out } = await verify(await prepare());
    expect([status, out]).toEqual([
      0,
      expect.stringMatching(/^\d records in \d batches verified\n$/),
    ]);
  });

  test.each(ATTACKS)('verify exits with 1 if another program %s', async (_, how) => {
    const victim = await prepare();
    await attack(victim, how);
    const before = await verify(victim);
    expect(before.status, before.out + before.err).toBe(1);
    // The next batch signs the head again, and must not hide what was found.
    const service = await start(victim);
    expect((await service.post('/v2/tlds', { name: 'after' })).status).toBe(201);
    await service.close();
    const after = await verify(victim);
    expect(after.status, after.out + after.err).toBe(1);
  });

  if (own.length > 0)
    test.each(own)('verify exits with 1 if another program %s', async (_, statement) => {
      const victim = await prepare();
      await attack(victim, [statement]);
      const ended = await verify(victim);
      expect(ended.status, ended.out + ended.err).toBe(1);
    });

  test('verify exits with 1 only with a checkpoint if another program cuts off the last batches', async () => {
    const victim = await prepare();
    const file = join(victim.folder, 'checkpoints');
    await withDatabase(victim.url, async ({ reads }) => {
      const row = await reads.one('SELECT hash FROM audit_batches WHERE number = 5', []);
      writeFileSync(file, `5 ${String(row?.hash)}\n`);
    });
    await attack(victim, async (sql, earlier) => {
      await rollBack(sql, earlier);
      await sql.run('DELETE FROM audit_records WHERE batch > 3 OR batch IS NULL', []);
      await sql.run('DELETE FROM audit_batches WHERE number > 3', []);
    });
    expect((await verify(victim)).status).toBe(0); // as SECURITY.md says
    const compared = await verify(victim, '--checkpoints', file);
    expect([compared.status, compared.err]).toEqual([1, expect.stringContaining('batch is 5')]);
  });
}

const EARLIER = 'earlier_head';

/** Creates a trail of five batches of one record each, and remembers the head after three. */
export async function createTrail(victim: Victim): Promise<void> {
  const { url, folder, variables } = victim;
  for (const [index, name] of ['com', 'net', 'org', 'info', 'eu'].entries()) {
    const service = await startTestService({ TSIGIL_DATABASE_URL: url, ...variables }, { folder });
    expect((await service.post('/v2/tlds', { name })).status).toBe(201);
    await service.close();
    if (index === 2)
      await withDatabase(url, (database) =>
        database.write((sql) => sql.run(`CREATE TABLE ${EARLIER} AS SELECT * FROM audit_head`, [])),
      );
  }
}

async function earlierOf(sql: Sql): Promise<Earlier> {
  return { head: (await sql.one(`SELECT * FROM ${EARLIER}`, [])) ?? {} };
}
