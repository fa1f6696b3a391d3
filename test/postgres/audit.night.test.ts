import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { openPostgres } from '../../src/sql/postgres/open.ts';
import { describeAuditTrail } from '../audit/contract.ts';
import { expectOneRecordEach, runOperations } from '../audit/operations.ts';
import { describeResourceLists } from '../audit/resource-lists.ts';
import { queryDatabase } from '../harness/audit.ts';
import { createDatabase } from '../harness/postgres.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

const SETTINGS = {
  maxConnections: 5,
  statementTimeoutSeconds: 60,
  scanTimeoutSeconds: 60,
};
const TOKEN = 'audit-token-0123456789-0123456789abcdef';

const newDatabase = () =>
  createDatabase(process.env.TEST_POSTGRES_URL ?? '', `audit-${randomUUID()}`);

const open = async () =>
  openPostgres(
    (await newDatabase()).replace(/^postgres:/, ''),
    { committed: () => undefined },
    SETTINGS,
  );

describeAuditTrail('PostgreSQL', open);
describeResourceLists('PostgreSQL', 'EXPLAIN ', open);

const folder = temporaryFolder();
const processes: ServiceProcess[] = [];
let url: string;
beforeAll(async () => {
  url = await newDatabase();
  const start = () =>
    startServiceProcess(folder, { TSIGIL_DATABASE_URL: url, TSIGIL_ADMIN_TOKEN: TOKEN });
  processes.push(...(await Promise.all([start(), start(), start(), start()])));
});

test('each of 200 random operations by three callers on four processes adds exactly one record', async () => {
  const done = await runOperations(processes, 200);
  await expectOneRecordEach(url, done);
  expect(await Promise.all(processes.map((each) => each.stop('SIGTERM')))).toEqual([0, 0, 0, 0]);
  // The processes sealed all records in one chain when they stopped.
  const unsealed = 'SELECT count(*) AS count FROM audit_records WHERE batch IS NULL';
  expect(await queryDatabase(url, unsealed)).toEqual([{ count: '0' }]);
  const chain = await queryDatabase(
    url,
    `SELECT count(*) AS count FROM audit_batches one JOIN audit_batches next
      ON next.number = one.number + 1 AND next.previous <> one.hash`,
  );
  expect(chain).toEqual([{ count: '0' }]);
});
