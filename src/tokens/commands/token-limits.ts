import { LIMIT_KINDS } from '../../core/caller.ts';
import { typeOfLimit } from '../../resources/limits.ts';
import { mapConcurrently } from '../../core/scheduling/concurrency.ts';
import type { Connection } from '../../cli/service/client.ts';
import { listIn, nameOrId, type Item } from '../../cli/service/resource-requests.ts';

const CONCURRENCY = 8;

/** The maximum number of ids whose names are read. Other ids appear as they are. */
const MAX_NAMES = 200;

/** Returns tokens with a column `limits`, such as `pool edge, zone a.test., from 192.0.2.0/24`. */
export async function withLimits(connection: Connection, tokens: readonly Item[]): Promise<Item[]> {
  const ids = LIMIT_KINDS.flatMap((kind) =>
    [...new Set(tokens.flatMap((token) => listIn(token[kind])))].map((id) => ({ kind, id })),
  );
  const read = await mapConcurrently(
    ids.slice(0, MAX_NAMES),
    CONCURRENCY,
    async ({ kind, id }) => [id, await nameOrId(connection, typeOfLimit(kind), id)] as const,
  );
  const names = new Map(read);
  return tokens.map((token) => {
    const limits = LIMIT_KINDS.flatMap((kind) =>
      listIn(token[kind]).map((id) => `${typeOfLimit(kind).noun} ${names.get(id) ?? id}`),
    );
    const networks = listIn(token.addresses).map((network) => `from ${network}`);
    return { ...token, limits: [...limits, ...networks].join(', ') };
  });
}
