import type { ResourceType } from '../../domain/model/resource.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { zone } from '../../domain/resources/zone.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import type { Connection } from './client.ts';
import { listItems } from './resource-requests.ts';
import { sendRequest } from './send-request.ts';

/** The state of a service. */
export interface ServiceStatus {
  /** The version, the state of the database, and the number of resources of each collection. */
  readonly item: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
}

/**
 * Returns the state of the service. Members that the caller may not read are null. Throws
 * `CommandError` if it cannot be reached.
 */
export async function readStatus(connection: Connection): Promise<ServiceStatus> {
  const ready = await readPath(connection, '/readyz');
  const metrics = await readPath(connection, '/metrics');
  const [, version = null] = /^tsigil_build_info\{[^}]*version="([^"]*)"/m.exec(metrics.text) ?? [];
  const counts = Array.from(
    metrics.text.matchAll(/^tsigil_resources\{[^}]*collection="(\w+)"[^}]*\} (\d+)/gm),
    ([, collection = '', count]) => [collection, Number(count)] as const,
  );
  const isReady = ready.status === 200;
  const item = {
    url: connection.url,
    version,
    database: isReady ? 'available' : 'unavailable',
    ...Object.fromEntries(counts),
  };
  if (!isReady) return { item, warnings: ['the database of the service does not respond'] };
  const all = {
    ...connection,
    headers: { ...connection.headers, 'x-auth-all-projects': 'true' },
  };
  const orphaned = await countOf(connection, tsigkey, 'orphaned');
  const outside = await countOf(all, zone, 'outside_tlds');
  return {
    item,
    warnings: [
      ...(orphaned === undefined || orphaned === '0'
        ? []
        : [
            `keys without an existing pool or zone: ${orphaned}. Run 'tsigil tsigkey list --orphaned'.`,
          ]),
      ...(outside === undefined || outside === '0'
        ? []
        : [`zones outside the TLD entries: ${outside}. Run 'tsigil zone list --outside-tlds'.`]),
    ],
  };
}

async function readPath(connection: Connection, path: string) {
  const { url, token, trust = {} } = connection;
  return sendRequest(
    {
      method: 'GET',
      url: url + path,
      headers: token === undefined ? {} : { 'x-auth-token': token },
    },
    trust,
    {
      name: `'${url}'`,
      hint: 'Check that the service is running, or set another URL with --url or TSIGIL_URL.',
    },
  );
}

/**
 * Returns the number of resources to which a computed filter applies, or undefined if the caller
 * may not list them.
 */
async function countOf(
  connection: Connection,
  type: ResourceType,
  filter: string,
): Promise<string | undefined> {
  try {
    const { length } = await listItems(connection, type, [[filter, 'true']], MAX_LIMIT);
    return length < MAX_LIMIT ? String(length) : `${MAX_LIMIT} or more`;
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === EXIT.denied) return undefined;
    throw error;
  }
}
