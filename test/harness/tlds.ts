import { expect } from 'vitest';
import type { Answer, Client } from './client.ts';

/** The common parts of suites about many TLD entries. */

/** An entry, as a list response shows it. */
export interface Kept {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly created_at: string;
  readonly updated_at: string | null;
}

/** Returns all entries, in order of creation. */
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

/** Returns the names in sorted order. */
export const namesOf = (kept: readonly Kept[]) => kept.map(({ name }) => name).sort();
/** Returns entries with these names. */
export const named = (...names: string[]) => names.map((name) => ({ name }));
/** Returns this many entries with different names. */
export const numbered = (count: number, prefix = 'name') =>
  Array.from({ length: count }, (_, index) => ({ name: `${prefix}-${index}` }));
/** Returns the outcome of each entry, in the order of the list. */
export const outcomesOf = ({ body }: Answer) =>
  (body.results as { outcome: string }[]).map(({ outcome }) => outcome);

/** Returns the response if it has this status, and otherwise fails the test. */
export function expectStatus(answer: Answer, status: number): Answer {
  expect(answer.status, answer.text.slice(0, 2000)).toBe(status);
  return answer;
}
