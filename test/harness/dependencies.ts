import { randomBytes, randomUUID } from 'node:crypto';
import { CHANGE_HOOKS } from '../../src/change-hooks.ts';
import { createClock } from '../../src/clock.ts';
import type { AllDependencies } from '../../src/actions.ts';
import type { Caller } from '../../src/core/caller.ts';
import type { Store } from '../../src/core/ports.ts';
import type { Settings } from '../../src/core/settings.ts';
import { hideSecret } from '../../src/audit/change-log.ts';
import type { Dependencies } from '../../src/resources/operations/change.ts';
import { DEFAULT_POLICY } from '../../src/resources/policy.ts';
import { NOTHING_KNOWN } from '../../src/rotation/clients.ts';
import { DEFAULT_ROTATIONS } from '../../src/rotation/dependencies.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import type { DatabaseSettings } from '../../src/sql/sql.ts';

/** Settings without restrictions. */
export const SETTINGS: Settings = {
  strictTsigkeys: false,
  requireResource: false,
  tldRule: 'last-label',
  zonesPerProject: 0,
  pendingStatus: false,
  defaultLimit: 1000,
  otherAdministrators: true,
  ownTokens: true,
  keystoneTokenDays: 90,
  sessionIdleSeconds: 1800,
  confirmReveal: 'never',
  maxPageBytes: 1_048_576,
  overlapSeconds: 604_800,
  graceSeconds: 604_800,
  maxAgeDays: 0,
};

const POOL: DatabaseSettings = {
  maxConnections: 1,
  statementTimeoutSeconds: 1,
};

/** Opens the database with this URL, and updates its schema. Its secrets are in clear text. */
export async function openStore(setting: string, pool = POOL): Promise<Store> {
  return (await openDatabase(setting, pool, createClock())).store;
}

/** An administrator. */
export const CALLER: Caller = {
  id: 'test',
  name: 'test',
  roles: ['admin'],
  projectId: null,
  allProjects: false,
};

/** Returns the dependencies of operations on `store`. `others` overrides the defaults. */
export function dependenciesOn(store: Store, others: Partial<Dependencies> = {}): Dependencies {
  return {
    store,
    settings: SETTINGS,
    policy: DEFAULT_POLICY,
    clock: createClock(),
    hooks: CHANGE_HOOKS,
    newId: randomUUID,
    randomBytes,
    onTokenRevoked: () => undefined,
    warn: () => undefined,
    ...others,
  };
}

/**
 * Returns the dependencies of the HTTP server, without the parts that only actions use. Requests
 * that need such a part get 500.
 */
export function serverDependenciesOn(
  store: Store,
  others: Partial<Dependencies> = {},
): AllDependencies {
  const absent = () => Promise.reject(new Error('This part is not running'));
  return {
    ...dependenciesOn(store, others),
    encryption: {
      summary: absent,
      status: absent,
      verify: absent,
      rotate: absent,
      rotateMasterKey: absent,
      confirmCopy: absent,
    },
    audit: {
      backups: absent,
      records: absent,
      batches: absent,
      verify() {
        throw new Error('This part is not running');
      },
    },
    keysThat: absent,
    version: '0.0.0',
    clients: NOTHING_KNOWN,
    rotations: DEFAULT_ROTATIONS,
    agents: { desired: absent, observed: absent, renew: absent },
    delivery: {
      statuses: absent,
      ofKeys: absent,
      removing: absent,
      request: absent,
      resume: absent,
      release: absent,
      removeKey: absent,
      check: absent,
      milliseconds: () => 0,
      changed: absent,
    },
    uses: { uses: absent },
    recording: {
      fingerprint: hideSecret,
      recorded: () => undefined,
      secretsRead: () => undefined,
      refused: () => undefined,
    },
  };
}
