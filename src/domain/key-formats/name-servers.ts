import type { Key } from './key.ts';
import { EVERY_ALGORITHM, lines, quoted, type KeyWriter } from './writer.ts';

/** A key clause of BIND, a statement on each line: lego's reader knows no other layout. */
export function bindClause({ name, algorithm, secret }: Key): string {
  return lines(`key ${quoted(name)} {`, `\talgorithm ${algorithm};`, `\tsecret ${quoted(secret)};`, '};');
}

/** For the configuration of BIND's `named`. */
export const bind: KeyWriter = {
  consumer: 'BIND 9',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  write: bindClause,
};

/** For the configuration of Knot DNS. */
export const knot: KeyWriter = {
  consumer: 'Knot DNS',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) =>
    lines('key:', `  - id: ${quoted(`${name}.`)}`, `    algorithm: ${algorithm}`, `    secret: ${quoted(secret)}`),
};

/** For the configuration of NSD. */
export const nsd: KeyWriter = {
  consumer: 'NSD',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) => lines('key:', `    name: ${quoted(name)}`, `    algorithm: ${algorithm}`, `    secret: ${quoted(secret)}`),
};

/** The body that PowerDNS' API takes at `/api/v1/servers/localhost/tsigkeys`. */
export const powerdns: KeyWriter = {
  consumer: 'PowerDNS (the body of a request to its API)',
  mediaType: 'application/json',
  extension: 'json',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) => lines(JSON.stringify({ name: `${name}.`, algorithm, key: secret })),
};
