import type { PageQuery, Reader, ResourceType, Row } from '../../domain/model/resource.ts';

/** Those of `rows` that pass the computed filters of a list; `reader` reads what those look up. */
export async function rowsPassing(type: ResourceType, { questions }: PageQuery, rows: readonly Row[], reader: Reader): Promise<readonly Row[]> {
  if (questions === undefined) return rows;
  let passed = rows;
  for (const { name, wanted } of questions.wanted) {
    const answers = (await type.questions?.[name]?.ask(passed, reader, questions.settings)) ?? [];
    passed = passed.filter((_, index) => answers[index] === wanted);
  }
  return passed;
}
