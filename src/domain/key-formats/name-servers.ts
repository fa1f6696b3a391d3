import type { Key } from './key.ts';
import { EVERY_ALGORITHM, lines, quoted, type KeyWriter } from './writer.ts';

/**
 * Returns a BIND key clause with one statement on each line, because lego parses no other layout.
 */
export function bindClause({ name, algorithm, secret }: Key): string {
  return lines(
    `key ${quoted(name)} {`,
    `\talgorithm ${algorithm};`,
    `\tsecret ${quoted(secret)};`,
    '};',
  );
}

/** A key clause for `named.conf` of BIND. */
export const bind: KeyWriter = {
  consumer: 'BIND 9',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  write: bindClause,
};

/** A key section for `knot.conf` of Knot DNS. */
export const knot: KeyWriter = {
  consumer: 'Knot DNS',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) =>
    lines(
      'key:',
      `  - id: ${quoted(`${name}.`)}`,
      `    algorithm: ${algorithm}`,
      `    secret: ${quoted(secret)}`,
    ),
};

/** A key section for `nsd.conf` of NSD. */
export const nsd: KeyWriter = {
  consumer: 'NSD',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) =>
    lines(
      'key:',
      `    name: ${quoted(name)}`,
      `    algorithm: ${algorithm}`,
      `    secret: ${quoted(secret)}`,
    ),
};

/** The request body for `/api/v1/servers/localhost/tsigkeys` of the PowerDNS API. */
export const powerdns: KeyWriter = {
  consumer: 'PowerDNS (the body of a request to its API)',
  mediaType: 'application/json',
  extension: 'json',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) =>
    lines(JSON.stringify({ name: `${name}.`, algorithm, key: secret })),
};
