import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import { temporaryFolder } from '../harness/service.ts';
import { describeAuditTrail } from './contract.ts';
import { describeResourceLists } from './resource-lists.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const open = () => {
  const folder = temporaryFolder();
  folders.push(folder);
  return openSqlite(join(folder, 'tsigil.db'), { committed: () => undefined });
};

describeAuditTrail('SQLite', open);
describeResourceLists('SQLite', 'EXPLAIN QUERY PLAN ', open);
