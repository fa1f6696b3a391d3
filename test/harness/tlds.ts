import { expect } from 'vitest';
import type { ApiResponse, Client } from './client.ts';

/** Functions for suites that use many TLD entries. */

/** A TLD entry, as the API returns it. */
export interface Entry {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly created_at: string;
  readonly updated_at: string | null;
}

/** Reads all pages and returns all entries in order of creation. */
export async function allEntries(client: Client): Promise<Entry[]> {
  const all: Entry[] = [];
  let path: string | undefined = '/v2/tlds';
  while (path !== undefined) {
    const { body } = await client.get(path);
    all.push(...(body.tlds as Entry[]));
    path = (body.links.next as string | undefined)?.slice(client.url.length);
  }
  return all;
}

/** Returns the names of entries, sorted. */
export const namesOf = (entries: readonly Entry[]) => entries.map(({ name }) => name).sort();
/** Returns request bodies for entries with these names. */
export const named = (...names: string[]) => names.map((name) => ({ name }));
/** Returns request bodies for `count` entries with different names. */
export const numbered = (count: number, prefix = 'name') =>
  Array.from({ length: count }, (_, index) => ({ name: `${prefix}-${index}` }));
/** Returns the outcome of each entry in a bulk response, in order. */
export const outcomesOf = ({ body }: ApiResponse) =>
  (body.results as { outcome: string }[]).map(({ outcome }) => outcome);

/** Returns the response if it has this status. Otherwise fails the test. */
export function expectStatus(response: ApiResponse, status: number): ApiResponse {
  expect(response.status, response.text.slice(0, 2000)).toBe(status);
  return response;
}
