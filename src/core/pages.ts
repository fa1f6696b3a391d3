import type { Reader } from './ports.ts';
import type { Condition } from './query.ts';
import type { Fields, ResourceOf, ResourceType } from './resource.ts';
import { MAX_LIMIT } from './settings.ts';

interface Listing {
  readonly conditions?: readonly Condition[];
  readonly sortField?: 'id' | 'name';
  readonly limit?: number;
}

export async function* allPages<F extends Fields>(
  reader: Pick<Reader, 'list'>,
  type: ResourceType<F>,
  { conditions = [], sortField = 'id', limit = MAX_LIMIT }: Listing = {},
): AsyncGenerator<readonly ResourceOf<F>[]> {
  let last: ResourceOf<F> | undefined;
  do {
    const page = await reader.list(type, {
      limit,
      sortField,
      descending: false,
      conditions,
      after: last && { sortValue: last[sortField], id: last.id },
    });
    if (page.length > 0) yield page;
    last = page.length < limit ? undefined : page.at(-1);
  } while (last !== undefined);
}
