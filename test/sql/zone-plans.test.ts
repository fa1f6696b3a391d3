import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClock } from '../../src/clock.ts';
import type { Dependencies } from '../../src/resources/operations/change.ts';
import { createResource, deleteResource } from '../../src/resources/operations/collection.ts';
import { TLD_RULES, type TldRule } from '../../src/core/settings.ts';
import { tld } from '../../src/resources/tld.ts';
import { zone } from '../../src/resources/zone.ts';
import { migrate } from '../../src/sql/migrate.ts';
import type { Sql, SqlValue } from '../../src/sql/sql.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { createStore } from '../../src/database/store.ts';
import { CALLER, dependenciesOn, SETTINGS } from '../harness/dependencies.ts';
import { temporaryFolder } from '../harness/service.ts';
import { primary } from '../harness/zones.ts';
import { type Resource } from '../../src/core/resource.ts';
import { keyed } from '../../src/core/query.ts';
import { tldNamed } from './samples.ts';

interface Statement {
  readonly text: string;
  readonly parameters: readonly SqlValue[];
}

const MEMBER = { ...CALLER, roles: ['member'], projectId: 'project' };
const CONTEXT = { caller: MEMBER };
/** Settings with a limit on zones per project, so that a creation counts the zones. */
const LIMITED = { ...SETTINGS, zonesPerProject: 1_000_000 };

const folder = temporaryFolder();
const path = join(folder, 'tsigil.db');
let statements: Statement[] = [];
let planner: DatabaseSyncInstance;
let dependencies: Dependencies;
let close: () => Promise<void>;

function recording(sql: Sql): Sql {
  const note = (text: string, parameters: readonly SqlValue[]) =>
    statements.push({ text, parameters });
  return {
    all: (text, parameters) => (note(text, parameters), sql.all(text, parameters)),
    one: (text, parameters) => (note(text, parameters), sql.one(text, parameters)),
    run: (text, parameters) => (note(text, parameters), sql.run(text, parameters)),
  };
}

beforeAll(async () => {
  const database = await openSqlite(path, { committed: () => undefined });
  const clock = createClock();
  await migrate(database, clock());
  const store = createStore({
    ...database,
    reads: recording(database.reads),
    write: (work) => database.write((sql) => work(recording(sql))),
  });
  dependencies = dependenciesOn(store, { clock, settings: LIMITED });
  planner = new DatabaseSync(path, { readOnly: true });
  close = () => store.close();
});
afterAll(async () => {
  planner.close();
  await close();
});

/** Returns the statements that `work` runs. */
async function recorded(work: () => Promise<unknown>): Promise<Statement[]> {
  statements = [];
  await work();
  return [...statements];
}

/**
 * Returns the steps of query plans that scan whole tables or indexes, or that sort. Reading the
 * first row of a table is not a scan.
 */
function scans(list: readonly Statement[]): string[] {
  return list.flatMap(({ text, parameters }) => {
    const steps = planner.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...parameters) as {
      detail: string;
    }[];
    const firstRow = /^SELECT 1 AS found FROM \w+ LIMIT 1$/.test(text);
    return firstRow
      ? []
      : steps
          .filter(({ detail }) => /^SCAN|TEMP B-TREE/.test(detail))
          .map(({ detail }) => `${detail}: ${text}`);
  });
}

function createZone(name: string, tldRule: TldRule): Promise<unknown> {
  return createResource(
    { ...dependencies, settings: { ...LIMITED, tldRule } },
    zone,
    CONTEXT,
    primary(name),
  );
}

/** Adds TLD entries and zones of another project in one transaction. */
async function fill(count: number): Promise<void> {
  const stamp = { created_at: dependencies.clock(), updated_at: null };
  const filler = primary('');
  await dependencies.store.write(async (writer) => {
    for (let index = 0; index < count; index += 1) {
      await writer.insert(tld, keyed(tld, tldNamed(`filler-${index}`, stamp)));
      const name = `zone-${index}.filler-${index}.`;
      const fields = Object.entries(zone.fields).map(([field, { onCreate }]) => [
        field,
        onCreate === 'required' ? '' : onCreate.default,
      ]);
      const pool = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
      const row = {
        ...Object.fromEntries(fields),
        ...filler,
        id: randomUUID(),
        name,
        pool_id: pool,
        project_id: 'other',
        ...stamp,
      };
      await writer.insert(zone, keyed<Resource>(zone, row));
    }
  });
}

describe.each(TLD_RULES)('rule %s', (rule) => {
  test('a creation and a deletion of a zone need no scan, and a creation runs the same statements with 3,000 entries as with 1', async () => {
    await createResource(dependencies, tld, CONTEXT, { name: `top-${rule}` });
    // Only the first change reads whether name servers exist.
    await createZone(`warm-up.sub.top-${rule}.`, rule);
    const few = await recorded(() => createZone(`first.sub.top-${rule}.`, rule));
    expect(few.map(({ text }) => text).filter((text) => text.includes('FROM tlds'))).toHaveLength(
      1,
    );
    expect(scans(few)).toEqual([]);

    if (rule === 'last-label') await fill(3000);
    const many = await recorded(() => createZone(`other.sub.top-${rule}.`, rule));
    expect(many.map(({ text }) => text)).toEqual(few.map(({ text }) => text));
    expect(scans(many)).toEqual([]);

    const id = many.find(({ text }) => text.startsWith('INSERT INTO zones'))
      ?.parameters[0] as string;
    const removal = await recorded(() => deleteResource(dependencies, zone, CONTEXT, id));
    expect(
      removal.map(({ text }) => text).some((text) => text.startsWith('DELETE FROM zones')),
    ).toBe(true);
    // Few name servers have one pool, so sorting them by name costs nothing.
    const isOfServers = (plan: string) =>
      /^USE TEMP B-TREE.* FROM nameservers WHERE pool_id = \?/.test(plan);
    expect(scans(removal).filter((plan) => !isOfServers(plan))).toEqual([]);
  });
});
