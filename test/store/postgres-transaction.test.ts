import pg from 'pg';
import { expect, test } from 'vitest';
import { transaction } from '../../src/store/postgres/transaction.ts';
import { tld } from '../../src/domain/resources/tld.ts';

const canceled = () =>
  Object.assign(new pg.DatabaseError('canceling statement due to user request', 0, 'error'), {
    code: '57014',
  });

/** Returns a pool of one connection, which refuses statements that begin with `refused`. */
function poolRefusing(refused: string) {
  const sent: string[] = [];
  const released: boolean[] = [];
  const client = {
    on: () => undefined,
    removeListener: () => undefined,
    release: (destroy: boolean) => released.push(destroy),
    async query(query: string | { text: string }) {
      const text = typeof query === 'string' ? query : query.text;
      sent.push(text.split(' ')[0] ?? '');
      await new Promise(setImmediate);
      if (text.startsWith(refused)) throw canceled();
      return { rows: [], rowCount: 1 };
    },
  };
  const pool = { connect: () => Promise.resolve(client) } as unknown as pg.Pool;
  return { pool, sent, released };
}

const observer = { committed: () => undefined };

const INSERT = 'INSERT INTO t VALUES (?)';

test('sends no change before the response to BEGIN', async () => {
  const { pool, sent, released } = poolRefusing('BEGIN');
  const attempt = transaction(
    pool,
    async (sql) => {
      sql.lock?.([{ type: tld, exclusive: false }]);
      await sql.one('SELECT 1', []);
      await sql.runLater?.(INSERT, ['x']);
    },
    observer,
  );
  await expect(attempt).rejects.toMatchObject({ code: 'unavailable' });
  expect(sent).toEqual(['BEGIN', 'SELECT', 'ROLLBACK']);
  expect(released).toEqual([true]);
});

test.each([['runLater'], ['run']] as const)(
  'sends no change by %s, and no COMMIT, if BEGIN failed',
  async (way) => {
    const { pool, sent } = poolRefusing('BEGIN');
    const attempt = transaction(
      pool,
      async (sql) => {
        sql.lock?.([{ type: tld, exclusive: false }]);
        await sql[way]?.(INSERT, ['x']);
        await sql.runLater?.(INSERT, ['y']);
      },
      observer,
    );
    await expect(attempt).rejects.toMatchObject({ code: 'unavailable' });
    expect(sent).toEqual(['BEGIN', 'ROLLBACK']);
  },
);

test('waits for COMMIT after a failed change, and then reports the error of the change', async () => {
  const { pool, sent } = poolRefusing('INSERT');
  const attempt = transaction(
    pool,
    async (sql) => {
      await sql.runLater?.(INSERT, ['x'], () => Promise.reject(new Error('refused')));
      await sql.runLater?.(INSERT, ['y']);
    },
    observer,
  );
  await expect(attempt).rejects.toThrow('refused');
  expect(sent).toEqual(['BEGIN', 'INSERT', 'INSERT', 'COMMIT']);
});

test('rolls back if COMMIT fails, and does not use the connection again', async () => {
  const { pool, sent, released } = poolRefusing('COMMIT');
  const attempt = transaction(pool, async (sql) => sql.runLater?.(INSERT, ['x']), observer);
  await expect(attempt).rejects.toMatchObject({ code: 'unavailable' });
  expect(sent).toEqual(['BEGIN', 'INSERT', 'COMMIT', 'ROLLBACK']);
  expect(released).toEqual([true]);
});
