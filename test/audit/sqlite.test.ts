import { join } from 'node:path';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { temporaryFolder } from '../harness/service.ts';
import { describeAuditTrail } from './contract.ts';
import { describeResourceLists } from './resource-lists.ts';

const open = () => openSqlite(join(temporaryFolder(), 'tsigil.db'), { committed: () => undefined });

describeAuditTrail('SQLite', open);
describeResourceLists('SQLite', 'EXPLAIN QUERY PLAN ', open);
