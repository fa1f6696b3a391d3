import type { NameServer } from '../resources.ts';

/** Returns whether the log of a name server is read, as a row of its facts. */
export function logRow({ evidence }: NameServer): [label: string, text: string] {
  const log = evidence === null ? 'It is not read, so who uses a key is not known' : 'It is read';
  return ['Log', evidence?.problem ?? log];
}
