import { anyText, isObject } from '../../domain/model/field.ts';
import { responseObject } from '../../domain/model/object.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import { RESOURCE_TYPES } from '../../domain/resources/resources.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { zone } from '../../domain/resources/zone.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { parseJson } from '../../net/http.ts';
import { call, type Connection } from './client.ts';
import { inAllProjects, listItems, withoutSecrets } from './resource-requests.ts';
import { sendRequest } from './send-request.ts';

export interface ServiceStatus {
  /** The version, the state of the database, and the number of resources of each collection. */
  readonly item: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
}

/** The computed filters whose resources an operator should look at, and their meaning. */
const NOTEWORTHY: readonly (readonly [ResourceType, filter: string, meaning: string])[] = [
  [tsigkey, 'orphaned', 'keys without an existing pool or zone'],
  [tsigkey, 'unusable', 'keys that no name server can use'],
  [zone, 'outside_tlds', 'zones outside the TLD entries'],
];

/** The number of resources, `20000 or more`, or why the resources were not counted. */
type Count = number | string;

const MAX_COUNTED = 20 * MAX_LIMIT;

const NOT_PERMITTED = 'not permitted';

/**
 * Returns the state of the service. A count that the caller may not read is `not permitted`. Throws
 * `CommandError` if the service cannot be reached, or does not accept the token.
 */
export async function readStatus(connection: Connection): Promise<ServiceStatus> {
  const { url } = connection;
  const ready = await readPath(connection, '/readyz');
  const known = { url, version: versionIn((await readPath(connection, '/openapi.json')).text) };
  if (ready.status !== 200)
    return {
      item: { ...known, database: ready.status === 503 ? 'unavailable' : 'unknown' },
      warnings: [`the service at '${url}' is not ready: status ${ready.status} for /readyz`],
    };
  const warnings: string[] = [];
  const counts: Record<string, Count> = {};
  for (const type of RESOURCE_TYPES)
    counts[type.collection] = await countAll(connection, type, warnings);
  for (const [type, filter, meaning] of NOTEWORTHY) {
    const scope = type.owner === undefined ? connection : inAllProjects(connection);
    const count = await countOf(scope, type, filter);
    const flag = filter.replace('_', '-');
    if (count !== 0 && count !== NOT_PERMITTED)
      warnings.push(`${meaning}: ${count}. Run 'tsigil ${type.noun} list --${flag}'.`);
  }
  warnings.push(...(await heldServers(connection)));
  return { item: { ...known, database: 'available', ...counts }, warnings };
}

async function heldServers(connection: Connection): Promise<string[]> {
  try {
    const servers = await listItems(connection, nameServer, [['limit', 'max']], MAX_LIMIT);
    return servers.flatMap(({ name, state, error }) =>
      state === 'held' ? [`delivery to '${String(name)}' is held: ${String(error)}`] : [],
    );
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === EXIT.denied) return [];
    throw error;
  }
}

const DOCUMENT = responseObject({ info: responseObject({ version: anyText() }) });

/** Returns the version in an OpenAPI document, or null if another program returned the text. */
function versionIn(text: string): string | null {
  const parsed = DOCUMENT.parse(parseJson(text));
  return 'value' in parsed ? parsed.value.info.version : null;
}

/** Sends a GET request for a public path, without the token. */
async function readPath({ url, trust = {} }: Connection, path: string) {
  return sendRequest({ method: 'GET', url: url + path, headers: {} }, trust, {
    name: `'${url}'`,
    hint: 'Check that the service is running, or set another URL with --url or TSIGIL_URL.',
  });
}

/**
 * Counts the resources of a type in all projects if the caller may see them, otherwise in the
 * caller's project. Adds a reason to `warnings` if the service refuses the request.
 */
async function countAll(
  connection: Connection,
  type: ResourceType,
  warnings: string[],
): Promise<Count> {
  try {
    if (type.owner === undefined) return await countListed(connection, type);
    const all = await permitted(() => countOwned(inAllProjects(connection), type));
    return all === NOT_PERMITTED ? await permitted(() => countOwned(connection, type)) : all;
  } catch (error) {
    if (!(error instanceof CommandError) || error.status === undefined || error.status === 401)
      throw error;
    warnings.push(`${type.collection} were not counted: ${error.message}`);
    return 'unknown';
  }
}

async function countOwned(connection: Connection, type: ResourceType): Promise<Count> {
  const { metadata } = await call(connection, 'GET', `/v2/${type.collection}?limit=1`);
  const total = isObject(metadata) ? metadata.total_count : undefined;
  return typeof total === 'number' ? total : 'unknown';
}

function countListed(connection: Connection, type: ResourceType): Promise<Count> {
  return permitted(async () => {
    const { length } = await listItems(
      withoutSecrets(connection),
      type,
      [['limit', 'max']],
      MAX_COUNTED,
    );
    return length < MAX_COUNTED ? length : `${MAX_COUNTED} or more`;
  });
}

function countOf(connection: Connection, type: ResourceType, filter: string): Promise<Count> {
  return permitted(async () => {
    const { length } = await listItems(
      withoutSecrets(connection),
      type,
      [[filter, 'true']],
      MAX_LIMIT,
    );
    return length < MAX_LIMIT ? length : `${MAX_LIMIT} or more`;
  });
}

/** Returns the result of `work`, or `not permitted` if the token lacks a right. */
async function permitted(work: () => Promise<Count>): Promise<Count> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === EXIT.denied) return NOT_PERMITTED;
    throw error;
  }
}
