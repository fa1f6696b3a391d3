import { expect } from 'vitest';
import type { Answer, Client } from './client.ts';

/** What suites about many TLD entries share. */

/** An entry as a list shows it. */
export interface Kept {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly created_at: string;
  readonly updated_at: string | null;
}

/** Every entry there is, in the order of creation. */
export async function everything(client: Client): Promise<Kept[]> {
  const all: Kept[] = [];
  let path: string | undefined = '/v2/tlds';
  while (path !== undefined) {
    const { body } = await client.get(path);
    all.push(...(body.tlds as Kept[]));
    path = (body.links.next as string | undefined)?.slice(client.url.length);
  }
  return all;
}

/** Names in their own order. */
export const namesOf = (kept: readonly Kept[]) => kept.map(({ name }) => name).sort();
/** Entries with these names. */
export const named = (...names: string[]) => names.map((name) => ({ name }));
/** Entries with so many different names. */
export const numbered = (count: number, prefix = 'name') => Array.from({ length: count }, (_, index) => ({ name: `${prefix}-${index}` }));
/** What became of each entry, in the order of the list. */
export const outcomesOf = ({ body }: Answer) => (body.results as { outcome: string }[]).map(({ outcome }) => outcome);

/** The answer, if it has this status; fails the test otherwise. */
export function expectStatus(answer: Answer, status: number): Answer {
  expect(answer.status, answer.text.slice(0, 2000)).toBe(status);
  return answer;
}
