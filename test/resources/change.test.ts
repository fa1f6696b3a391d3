import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Dependencies, Warning } from '../../src/resources/operations/change.ts';
import {
  createResource,
  deleteResource,
  updateResource,
} from '../../src/resources/operations/collection.ts';
import { ServiceError } from '../../src/core/errors.ts';
import type { Store } from '../../src/core/ports.ts';
import type { Change, ResourceType } from '../../src/core/resource.ts';
import { RULES } from '../../src/resources/rules.ts';
import { createSlicer } from '../../src/core/scheduling/slicer.ts';
import { tld } from '../../src/resources/tld.ts';
import { BULK_BODY } from '../../src/tlds/bulk-request.ts';
import { changeTlds } from '../../src/tlds/actions.ts';
import { readActionBody } from '../../src/resources/operations/action.ts';
import { tsigkey } from '../../src/resources/tsigkey.ts';
import { CALLER, dependenciesOn, openStore } from '../harness/dependencies.ts';
import { temporaryFolder } from '../harness/service.ts';

const CONTEXT = { caller: CALLER, requestId: 'req-1' };

let folder: string;
let store: Store;
let dependencies: Dependencies;
let warnings: Warning[];
beforeEach(async () => {
  folder = temporaryFolder();
  store = await openStore(`sqlite:${join(folder, 'tsigil.db')}`);
  warnings = [];
  dependencies = dependenciesOn(store, { warn: (warning) => warnings.push(warning) });
});
afterEach(() => store.close());

const slicer = () => createSlicer(Date.now);

/**
 * Adds a rule to a resource type until the end of the test. The rule refuses every change for which
 * `refuses` returns true.
 */
function addRule(type: ResourceType, refuses: (change: Change) => boolean): void {
  const before = RULES.get(type);
  RULES.set(type, {
    locks: (change, context) => before?.locks(change, context) ?? [],
    async admit(change, transaction, admission) {
      if (refuses(change)) throw new ServiceError('forbidden');
      return (
        (await before?.admit?.(change, transaction, admission)) ?? { resource: change.resource }
      );
    },
  });
  onTestFinished(() => {
    if (before === undefined) RULES.delete(type);
    else RULES.set(type, before);
  });
}

describe('a rule for the changes of a resource type', () => {
  const WAYS: Record<string, (id: string) => Promise<unknown>> = {
    create: () => createResource(dependencies, tld, CONTEXT, { name: 'org' }),
    update: (id) => updateResource(dependencies, tld, CONTEXT, id, { description: 'changed' }),
    delete: (id) => deleteResource(dependencies, tld, CONTEXT, id),
    'bulk, of a new entry': () =>
      changeTlds(
        dependencies,
        CONTEXT,
        readActionBody(BULK_BODY, { tlds: [{ name: 'org' }] }),
        slicer(),
      ),
    'bulk, of a changed entry': () =>
      changeTlds(
        dependencies,
        CONTEXT,
        readActionBody(BULK_BODY, { tlds: [{ name: 'com', description: 'changed' }] }),
        slicer(),
      ),
    'bulk, of a removed entry': () =>
      changeTlds(
        dependencies,
        CONTEXT,
        readActionBody(BULK_BODY, {
          tlds: [{ name: 'net' }],
          replace: true,
        }),
        slicer(),
      ),
  };

  test.each(Object.keys(WAYS))('can refuse %s, and nothing changes', async (way) => {
    const com = await createResource(dependencies, tld, CONTEXT, { name: 'com' });
    await createResource(dependencies, tld, CONTEXT, { name: 'net' });
    const before = await list();
    const other = /delete|removed/.test(way) ? 'delete' : 'create';
    const refused = /update|changed/.test(way) ? 'update' : other;
    addRule(tld, ({ operation }) => operation === refused);
    await expect(WAYS[way]?.(com.id)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await list()).toEqual(before);
  });

  test('can change the resource before it is stored, even in a bulk request', async () => {
    const before = RULES.get(tld);
    RULES.set(tld, {
      locks: () => [],
      admit: async ({ resource }) => ({ resource: { ...resource, description: 'by the rule' } }),
    });
    onTestFinished(() => {
      if (before !== undefined) RULES.set(tld, before);
    });
    await changeTlds(
      dependencies,
      CONTEXT,
      readActionBody(BULK_BODY, { tlds: [{ name: 'com' }, { name: 'org' }] }),
      slicer(),
    );
    expect((await list()).map(({ description }) => description)).toEqual([
      'by the rule',
      'by the rule',
    ]);
  });
});

describe('warnings', () => {
  const WEAK = {
    name: 'old',
    algorithm: 'hmac-md5',
    secret: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
    scope: 'POOL',
    resource_id: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
  };

  test('are logged once for a key whose transaction is repeated', async () => {
    // Rolls back the first run of the transaction, as PostgreSQL does after a conflict.
    const write: Store['write'] = async (work) => {
      const rollback = new Error('rolled back');
      const first = store.write(async (writer) => {
        await work(writer);
        throw rollback;
      });
      await expect(first).rejects.toBe(rollback);
      return store.write(work);
    };
    const repeated = { ...dependencies, store: { ...store, write } };
    const { id } = await createResource(repeated, tsigkey, CONTEXT, WEAK);
    expect(warnings.map((warning) => warning.id)).toEqual([id]);
  });

  test('are not logged for a refused change', async () => {
    await createResource(dependencies, tsigkey, CONTEXT, { ...WEAK, algorithm: 'hmac-sha256' });
    await expect(createResource(dependencies, tsigkey, CONTEXT, WEAK)).rejects.toMatchObject({
      code: 'duplicate',
    });
    expect(warnings).toEqual([]);
  });
});

async function list() {
  return store.list(tld, { limit: 100, sortField: 'name', descending: false, conditions: [] });
}
