import type { PageQuery } from '../../domain/model/query.ts';
import type { IndexReader, Resource, ResourceType } from '../../domain/model/resource.ts';

/** Returns those of `resources` that pass the computed filters of a list; `reader` reads what the filters need. */
export async function resourcesPassing(
  type: ResourceType,
  { questions }: PageQuery,
  resources: readonly Resource[],
  reader: IndexReader,
): Promise<readonly Resource[]> {
  if (questions === undefined) return resources;
  let passed = resources;
  for (const { name, wanted } of questions.wanted) {
    const answers = (await type.questions?.[name]?.ask(passed, reader, questions.settings)) ?? [];
    passed = passed.filter((_, index) => answers[index] === wanted);
  }
  return passed;
}
