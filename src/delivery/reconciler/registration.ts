import { isDeepStrictEqual } from 'node:util';
import { findBrand } from '../../brands/brands.ts';
import type { Dependencies } from '../../resources/operations/change.ts';
import { change } from '../../resources/operations/change.ts';
import { ServiceError, type Problem } from '../../core/errors.ts';
import { isObject, normaliseUuid } from '../../core/field.ts';
import { settingProblem } from '../../core/setting-problem.ts';
import { newMembers } from '../../core/resource.ts';
import type { Caller } from '../../core/caller.ts';
import { nameServer, type NameServer } from '../../resources/name-server.ts';
import { DEFAULT_POOL_ID, pool } from '../../resources/pool.ts';
import { readCreation } from '../../resources/operations/body.ts';
import { DRIVERS } from '../../brands/drivers.ts';
import type { Driver } from '../../brands/driver.ts';
import type { LogReaderOf } from '../log-protocol.ts';
import type { ServedNameServer } from './reconciler.ts';
import { keyed, uniqueFormOfText } from '../../core/query.ts';

/** A name server in the configuration of this process. */
export interface ConfiguredNameServer {
  readonly name: string;
  /** The name or the id of the pool. Absent for the default pool. */
  readonly pool?: string | undefined;
  readonly driver: string;
  readonly address: string;
  readonly rights?: readonly string[] | undefined;
  readonly probeZone?: string | null | undefined;
  /** The options of the driver, which are local to this host. */
  readonly local: unknown;
}

export function localProblems(servers: readonly ConfiguredNameServer[]): string[] {
  const ofEach = servers.flatMap(({ name, driver, local }) => {
    const at = `'nameServers': '${name}'`;
    const definition = DRIVERS[driver];
    if (definition === undefined)
      return [
        `${at}: this version has no driver '${driver}'. Use one of: ${Object.keys(DRIVERS).join(', ')}`,
      ];
    const parsed = definition.options.parse(local);
    if ('value' in parsed) return [];
    const { validator, problems = [{ path: [], message: parsed.problem, validator }] } = parsed;
    return problems.map((problem: Problem) => {
      const { path, message } = settingProblem(definition.options, local, problem);
      return `${at}: local${path.map((part) => `.${part}`).join('')}: ${message}`;
    });
  });
  const files = servers.flatMap(({ local }) => {
    return isObject(local) && typeof local.file === 'string' ? [local.file] : [];
  });
  return [
    ...ofEach,
    ...repeated(
      servers.map(({ name }) => name),
      (name) => uniqueFormOfText(nameServer, name),
    ).map((name) => `'nameServers': the name '${name}' is given twice. ${OWN}`),
    ...repeated(files, (file) => file).map(
      (file) => `'nameServers': the file '${file}' is given twice. ${OWN}`,
    ),
  ];
}

/**
 * Returns the name servers as `check-config` prints them, with the effective options of their
 * drivers. Hides what names a control key or is in the place of the file with one, unless it can only
 * be a path, because a person may have put the key itself there, and the user and the query of a URL.
 */
export function describeNameServers(
  servers: readonly ConfiguredNameServer[],
): readonly Readonly<Record<string, unknown>>[] {
  return servers.map((server) => {
    const parsed = DRIVERS[server.driver]?.options.parse(server.local);
    const options = parsed !== undefined && 'value' in parsed ? parsed.value : {};
    const local = Object.entries(isObject(options) ? options : {});
    return { ...server, local: Object.fromEntries(local.map(withoutKey)) };
  });
}

const PATH = /^(?:\.{0,2}\/)[\w.-]+(?:\/[\w.-]+)+$/;
const URL_START = /^\w+:\/\//;
const USER = /(?<=\/\/)[^/]*@/;
const QUERY = /([?#]).*/;

function withoutKey([name, value]: [string, unknown]): [string, unknown] {
  if (/key/i.test(name)) return [name, PATH.test(String(value)) ? value : '(hidden)'];
  if (typeof value !== 'string' || !URL_START.test(value)) return [name, value];
  return [name, value.replace(USER, '(hidden)@').replace(QUERY, '$1(hidden)')];
}

const OWN = 'Use each name and each file only once';

/** Returns the values whose key equals the key of an earlier value. */
function repeated(values: readonly string[], keyOf: (value: string) => string): string[] {
  const keys = values.map(keyOf);
  return values.filter((value, index) => keys.indexOf(keyOf(value)) < index);
}

/** The caller in whose name the service applies the configuration. */
const CONFIGURATION: Caller = {
  id: 'configuration',
  name: 'configuration',
  roles: ['admin'],
  projectId: null,
  allProjects: true,
};

const CONFIGURED = { caller: CONFIGURATION, force: true };

/** Returns the shortest time between two passes that change a name server, in milliseconds. */
export function minimumIntervalOf(driver: string): number {
  return findBrand(driver)?.minimumIntervalMs ?? 0;
}

/**
 * Creates the name servers of the configuration that do not exist, and updates members that differ.
 * Returns their drivers. Throws `ServiceError` if a pool does not exist or a member is invalid.
 */
export async function registerNameServers(
  dependencies: Dependencies,
  servers: readonly ConfiguredNameServer[],
  logReaderOf?: LogReaderOf,
): Promise<ServedNameServer[]> {
  const served: ServedNameServer[] = [];
  for (const server of servers) {
    const id = await register(dependencies, server);
    const driver = createDriver(server, id);
    const minimumIntervalMs = minimumIntervalOf(server.driver);
    const logReader = logReaderOf?.(server);
    if (driver !== undefined) served.push({ id, driver, minimumIntervalMs, logReader });
  }
  return served;
}

function createDriver({ driver, local }: ConfiguredNameServer, id: string): Driver | undefined {
  const definition = DRIVERS[driver];
  const parsed = definition?.options.parse(local);
  return definition === undefined || parsed === undefined || 'problem' in parsed
    ? undefined
    : definition.create(parsed.value, id);
}

async function register(dependencies: Dependencies, server: ConfiguredNameServer): Promise<string> {
  const { settings, newId } = dependencies;
  const body = {
    name: server.name,
    driver: server.driver,
    address: server.address,
    pool_id: await poolId(dependencies, server),
    ...(server.rights === undefined ? {} : { rights: server.rights }),
    ...(server.probeZone === undefined ? {} : { probe_zone: server.probeZone }),
  };
  const draft = readCreation(nameServer, body, settings);
  const create = () =>
    // By force, because the service must start with the pools that its configuration states.
    change(dependencies, CONFIGURED, async (changes): Promise<string> => {
      const [current] = await changes.find(nameServer, 'name', [
        uniqueFormOfText(nameServer, server.name),
      ]);
      if (current !== undefined)
        return adopt(changes, current, { ...body, rights: draft.rights }, server);
      const members = newMembers(nameServer, newId(), changes.now());
      const created = keyed(nameServer, { ...draft, ...members });
      return (await changes.create(nameServer, created)).resource.id;
    });
  try {
    return await create();
  } catch (error) {
    // Another process has created the name server meanwhile.
    if (error instanceof ServiceError && error.code === 'duplicate') return create();
    throw error;
  }
}

async function adopt(
  changes: Parameters<Parameters<typeof change>[2]>[0],
  current: NameServer,
  body: Readonly<Record<string, unknown>>,
  server: ConfiguredNameServer,
): Promise<string> {
  if (current.driver !== server.driver)
    throw new ServiceError(
      'bad_request',
      `'nameServers': the name server '${server.name}' exists with the driver '${current.driver}'. Delete the name server, or set this driver in the configuration`,
    );
  const stored: Readonly<Record<string, unknown>> = current;
  const given = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !isDeepStrictEqual(value, stored[name])),
  );
  if (Object.keys(given).length > 0) await changes.update(nameServer, current, given);
  return current.id;
}

/** Returns the id of a name server's pool. Throws `ServiceError` if the pool does not exist. */
async function poolId({ store }: Dependencies, server: ConfiguredNameServer): Promise<string> {
  const { name, pool: text } = server;
  if (text === undefined) return DEFAULT_POOL_ID;
  const [named] = await store.find(pool, 'name', [text]);
  const id = normaliseUuid(text);
  const [found = named] = id === undefined ? [] : await store.find(pool, 'id', [id]);
  if (found !== undefined) return found.id;
  throw new ServiceError(
    'bad_request',
    `'nameServers': the pool '${text}' of the name server '${name}' does not exist. Remove the name server from the configuration, create the pool, and add the name server again`,
  );
}
