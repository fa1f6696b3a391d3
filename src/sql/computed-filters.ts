import type { PageQuery } from '../core/query.ts';
import type { IndexReader, Resource, ResourceType } from '../core/resource.ts';

export async function resourcesPassing(
  type: ResourceType,
  { computed }: PageQuery,
  resources: readonly Resource[],
  reader: IndexReader,
): Promise<readonly Resource[]> {
  if (computed === undefined) return resources;
  let passed = resources;
  for (const { name, wanted } of computed.conditions) {
    const results =
      (await type.computedFilters?.[name]?.evaluate(passed, reader, computed.settings)) ?? [];
    passed = passed.filter((_, index) => results[index] === wanted);
  }
  return passed;
}
