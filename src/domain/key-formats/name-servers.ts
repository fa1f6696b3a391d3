import type { Key } from './key.ts';
import {
  comments,
  EVERY_ALGORITHM,
  lines,
  quoted,
  WITHOUT_MD5,
  type KeyListWriter,
  type KeyWriter,
} from './writer.ts';

/**
 * Returns a BIND key clause with one statement on each line, because lego and CoreDNS can parse
 * only this layout.
 */
export function bindClause({ name, algorithm, secret }: Key): string {
  return lines(
    `key ${quoted(name)} {`,
    `\talgorithm ${algorithm};`,
    `\tsecret ${quoted(secret)};`,
    '};',
  );
}

/** Returns the texts for all keys on one line. */
function forEachKey(keys: readonly Key[], text: (quotedName: string) => string): string {
  return keys.map(({ name }) => text(quoted(name))).join(' ');
}

/**
 * Key clauses for `named.conf` of BIND. Comments show the statements of a zone that permit the
 * keys.
 */
export const bind: KeyListWriter = {
  consumer: 'BIND 9',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  writeAll: (keys) =>
    keys.map(bindClause).join('') +
    comments(
      'To permit transfers and updates, add these statements to a zone:',
      `  allow-transfer { ${forEachKey(keys, (name) => `key ${name};`)} };`,
      `  allow-update { ${forEachKey(keys, (name) => `key ${name};`)} };`,
      'update-policy replaces allow-update. It can limit the records that a key may change:',
      `  update-policy { ${forEachKey(keys, (name) => `grant ${name} zonesub ANY;`)} };`,
    ),
};

/** A key section for `knot.conf` of Knot DNS. Comments show the sections that permit the keys. */
export const knot: KeyListWriter = {
  consumer: 'Knot DNS',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  writeAll(keys) {
    const ids = keys.map(({ name }) => quoted(`${name}.`));
    return (
      lines(
        'key:',
        ...keys.flatMap(({ name, algorithm, secret }) => [
          `  - id: ${quoted(`${name}.`)}`,
          `    algorithm: ${algorithm}`,
          `    secret: ${quoted(secret)}`,
        ]),
      ) +
      comments(
        'To permit transfers and updates, add an access rule, and add the id of the rule to a zone:',
        'acl:',
        '  - id: "tsig"',
        `    key: [${ids.join(', ')}]`,
        '    action: [transfer, update]',
        'zone:',
        '  - domain: "example.org"',
        '    acl: "tsig"',
      )
    );
  },
};

/**
 * Key sections for `nsd.conf` of NSD. Comments show the attributes of a zone that permit the keys.
 */
export const nsd: KeyListWriter = {
  consumer: 'NSD',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: EVERY_ALGORITHM,
  writeAll: (keys) =>
    keys
      .map(({ name, algorithm, secret }) =>
        lines(
          'key:',
          `    name: ${quoted(name)}`,
          `    algorithm: ${algorithm}`,
          `    secret: ${quoted(secret)}`,
        ),
      )
      .join('') +
    comments(
      'To permit transfers, add these attributes to a zone or pattern. NSD does not support updates.',
      ...keys.flatMap(({ name }) => [
        `    provide-xfr: 0.0.0.0/0 ${quoted(name)}`,
        `    provide-xfr: ::/0 ${quoted(name)}`,
      ]),
    ),
};

/**
 * The request body for `/api/v1/servers/localhost/tsigkeys` of the PowerDNS API. JSON has no
 * comments, so the commands that permit the key are in a member that PowerDNS ignores.
 */
export const powerdns: KeyWriter = {
  consumer: 'PowerDNS (the body of a request to its API)',
  mediaType: 'application/json',
  extension: 'json',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) =>
    lines(
      JSON.stringify(
        {
          name: `${name}.`,
          algorithm,
          key: secret,
          comment: [
            'To permit transfers, create the key and run:',
            `pdnsutil activate-tsig-key example.org ${name} primary`,
            'To permit updates, run these commands in this order. The second command alone permits unsigned updates.',
            `pdnsutil add-meta example.org TSIG-ALLOW-DNSUPDATE ${name}`,
            'pdnsutil set-meta example.org ALLOW-DNSUPDATE-FROM 0.0.0.0/0 ::/0',
          ],
        },
        null,
        2,
      ),
    ),
};

/**
 * The key file for the property `secrets` of CoreDNS's `tsig` plugin. The file has no comments,
 * because the plugin rejects them.
 */
export const coredns: KeyListWriter = {
  consumer: 'CoreDNS (`secrets` of its plugin `tsig`)',
  mediaType: 'text/plain',
  extension: 'conf',
  algorithms: WITHOUT_MD5,
  writeAll: (keys) => keys.map(bindClause).join(''),
};
