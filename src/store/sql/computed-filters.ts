import type { PageQuery } from '../../domain/model/query.ts';
import type { IndexReader, Resource, ResourceType } from '../../domain/model/resource.ts';

/**
 * Returns those of `resources` that pass the computed filters of a list; `reader` reads what the
 * filters need.
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
