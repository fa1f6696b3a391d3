import type { PageQuery } from '../../domain/model/query.ts';
import type { IndexReader, Resource, ResourceType } from '../../domain/model/resource.ts';

/**
 * Returns the `resources` that pass the computed filters of a list. The filters read other
 * resources with `reader`.
 */
export async function resourcesPassing(
  type: ResourceType,
  { computed }: PageQuery,
  resources: readonly Resource[],
  reader: IndexReader,
): Promise<readonly Resource[]> {
  if (computed === undefined) return resources;
  let passed = resources;
  for (const { name, wanted } of computed.wanted) {
    const results =
      (await type.computedFilters?.[name]?.evaluate(passed, reader, computed.settings)) ?? [];
    passed = passed.filter((_, index) => results[index] === wanted);
  }
  return passed;
}
