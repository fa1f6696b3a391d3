import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { BRAND_NAMES } from '../../src/brands/brands.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { EXPORT_FORMATS, exportKey, exportKeys } from '../../src/keys/export/export-formats.ts';
import { isSameKey, readAlgorithm, type Key } from '../../src/formats/key.ts';
import { detectFormat } from '../../src/formats/detect.ts';
import { IMPORT_FORMATS } from '../../src/formats/readers.ts';
import { holdsSeveral } from '../../src/formats/writer.ts';
import { INJECTIONS, keysWith } from '../harness/keys.ts';

const KEY: Key = {
  name: 'Transfer.Example.',
  algorithm: 'hmac-sha256',
  secret: '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=',
};
const K = KEY.secret;

/** The text that each consumer's manual prescribes for the example key. */
const WRITTEN: Readonly<Record<string, string>> = {
  bind: `key "transfer.example" {\n\talgorithm hmac-sha256;\n\tsecret "${K}";\n};\n`,
  knot: `key:\n  - id: "transfer.example."\n    algorithm: hmac-sha256\n    secret: "${K}"\n`,
  nsd: `key:\n    name: "transfer.example"\n    algorithm: hmac-sha256\n    secret: "${K}"\n`,
  powerdns: `{\n  "name": "transfer.example.",\n  "algorithm": "hmac-sha256",\n  "key": "${K}",\n`,
  coredns: `key "transfer.example" {\n\talgorithm hmac-sha256;\n\tsecret "${K}";\n};\n`,
  nsupdate: `key "transfer.example" {\n\talgorithm hmac-sha256;\n\tsecret "${K}";\n};\n`,
  knsupdate: `hmac-sha256:transfer.example:${K}\n`,
  dnspython: `import dns.tsigkeyring\n\nkeyring = dns.tsigkeyring.from_text(\n    {"transfer.example.": ("hmac-sha256", "${K}")}\n)\n`,
  'external-dns': `EXTERNAL_DNS_RFC2136_TSIG_KEYNAME=transfer.example\nEXTERNAL_DNS_RFC2136_TSIG_SECRET_ALG=hmac-sha256\nEXTERNAL_DNS_RFC2136_TSIG_SECRET=${K}\n`,
  'cert-manager': `kind: Secret\nmetadata:\n  name: "tsig-transfer-example"\ntype: Opaque\nstringData:\n  tsig-secret-key: "${K}"\n`,
  certbot: `dns_rfc2136_name = transfer.example.\ndns_rfc2136_secret = ${K}\ndns_rfc2136_algorithm = HMAC-SHA256\n`,
  lego: ['DNSUPDATE', 'RFC2136']
    .map(
      (prefix) =>
        `${prefix}_TSIG_KEY=transfer.example.\n${prefix}_TSIG_ALGORITHM=hmac-sha256.\n${prefix}_TSIG_SECRET=${K}\n`,
    )
    .join(''),
  caddy: `dns rfc2136 {\n\tkey_name "transfer.example."\n\tkey_alg "hmac-sha256"\n\tkey "${K}"\n`,
  'acme-sh': `key "transfer.example" {\n\talgorithm hmac-sha256;\n\tsecret "${K}";\n};\n`,
  octodns: `    key_name: "transfer.example."\n    key_secret: "${K}"\n    key_algorithm: "hmac-sha256"\n`,
  terraform: `DNS_UPDATE_KEYNAME=transfer.example.\nDNS_UPDATE_KEYALGORITHM=hmac-sha256\nDNS_UPDATE_KEYSECRET=${K}\n`,
  dnscontrol: `"update-key": "hmac-sha256:transfer.example:${K}"`,
  kea: `[\n  {\n    "name": "transfer.example",\n    "algorithm": "HMAC-SHA256",\n    "secret": "${K}"\n  }\n]\n`,
};

/**
 * For each format, a function that parses an exported text. The function is the service's reader,
 * or a parser of the consumer's language.
 */
const READ_BACK: Readonly<Record<string, (text: string) => Partial<Key>>> = {
  bind: readWith('bind'),
  nsupdate: readWith('bind'),
  knot: readWith('knot'),
  nsd: readWith('nsd'),
  knsupdate: readWith('lines'),
  'acme-sh': readWith('bind'),
  coredns: (text) => only(readCoredns(text)),
  caddy: readCaddyfile,
  kea: (text) => only(readKea(text)),
  powerdns(text) {
    const { key, ...rest } = JSON.parse(text) as { name: string; algorithm: string; key: string };
    return { ...rest, secret: key };
  },
  dnspython: (text) => only(readKeyring(text)),
  'external-dns': readVariables('KEYNAME', 'SECRET_ALG', 'SECRET'),
  lego(text) {
    const lines = text.split('\n');
    const read = (prefix: string) =>
      readVariables(
        'KEY',
        'ALGORITHM',
        'SECRET',
      )(lines.filter((line) => line.startsWith(`${prefix}_`)).join('\n'));
    expect(read('DNSUPDATE')).toEqual(read('RFC2136'));
    return read('DNSUPDATE');
  },
  terraform: readVariables('KEYNAME', 'KEYALGORITHM', 'KEYSECRET'),
  'cert-manager'(text) {
    const [document] = parseAllDocuments(text).map(
      (each) => each.toJS() as { stringData: Record<string, string>; metadata: { name: string } },
    );
    const [, name = '', algorithm = ''] =
      /tsigKeyName: (".*")\n.*tsigAlgorithm: HMAC(\w+)\n/.exec(text) ?? [];
    expect(document?.metadata.name).toMatch(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/);
    return spelt(
      JSON.parse(name) as string,
      `hmac-${algorithm}`,
      document?.stringData['tsig-secret-key'],
    );
  },
  certbot: (text) =>
    spelt(
      ...(['name', 'algorithm', 'secret'].map(
        (part) => new RegExp(`^dns_rfc2136_${part} = (.*)$`, 'm').exec(text)?.[1],
      ) as []),
    ),
  octodns(text) {
    const [document] = parseAllDocuments(text).map(
      (each) => each.toJS() as { providers: { tsig: Record<string, unknown> } },
    );
    const {
      key_name: name,
      key_algorithm: algorithm,
      key_secret: secret,
    } = document?.providers.tsig ?? {};
    for (const value of [name, algorithm, secret]) expect(value).toBeTypeOf('string');
    return spelt(name as string, algorithm as string, secret as string);
  },
  dnscontrol(text) {
    const { axfrddns } = JSON.parse(text) as { axfrddns: Record<string, string> };
    expect(axfrddns['transfer-key']).toBe(axfrddns['update-key']);
    const [algorithm, name, secret] = axfrddns['update-key']?.split(':') ?? [];
    return spelt(name, algorithm, secret);
  },
};

function spelt(name = '', algorithm = '', secret = ''): Partial<Key> {
  return { name, algorithm: readAlgorithm(algorithm) ?? algorithm, secret };
}

function readVariables(...endings: [string, string, string]) {
  return (text: string) => {
    const variables = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(variables).toHaveLength(3);
    const values = endings.map((ending) =>
      variables.map((line) => new RegExp(`^\\w+_${ending}=(.*)$`).exec(line)?.[1]).find(Boolean),
    );
    return spelt(...(values as []));
  };
}

function readWith(reader: string) {
  return (text: string) => only(readAllWith(reader)(text));
}

function readAllWith(reader: string) {
  return (text: string) => {
    expect(detectFormat(text)).toBe(reader);
    return (IMPORT_FORMATS[reader]?.read(text) ?? []).map((entry) =>
      'key' in entry ? entry.key : {},
    );
  };
}

function only(keys: readonly Partial<Key>[]): Partial<Key> {
  expect(keys).toHaveLength(1);
  return keys[0] ?? {};
}

/** Reads a key file like plugin/tsig/setup.go of CoreDNS: by lines and words, without comments. */
function readCoredns(text: string): Partial<Key>[] {
  const keys: Record<string, string>[] = [];
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [word = '', value = '', ...rest] = line.trim().split(/\s+/);
    if (word === 'key' && rest.join('') === '{') keys.push({ name: value.replaceAll('"', '') });
    else if (word === 'algorithm' || word === 'secret')
      Object.assign(keys.at(-1) ?? {}, { [word]: value.replaceAll(/[";]/g, '') });
    else expect(word).toBe('};');
  }
  return keys;
}

/**
 * Reads a provider block like UnmarshalCaddyfile of caddy-dns/rfc2136: one value for each property.
 */
function readCaddyfile(text: string): Partial<Key> {
  const lines = text.split('\n').filter((line) => line !== '' && !/^\s*#/.test(line));
  expect([lines.shift(), lines.pop()]).toEqual(['dns rfc2136 {', '}']);
  const properties = lines.map((line): [string, unknown] => {
    const [, property = '', value = ''] = /^\t(key(?:_name|_alg)?) ("[^"{}]*")$/.exec(line) ?? [];
    return [property, JSON.parse(value)];
  });
  const { key_name: name, key_alg: algorithm, key } = Object.fromEntries(properties);
  return spelt(String(name), String(algorithm), String(key));
}

function readKea(text: string): Partial<Key>[] {
  return (JSON.parse(text) as Key[]).map(({ name, algorithm, secret, ...rest }) => {
    expect(rest).toEqual({});
    return spelt(name, algorithm, secret);
  });
}

function readKeyring(text: string): Partial<Key>[] {
  const literals = [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(
    ([literal]) => JSON.parse(literal) as string,
  );
  return Array.from({ length: literals.length / 3 }, (_, index) =>
    spelt(...(literals.slice(index * 3, index * 3 + 3) as [])),
  );
}

/** For each format that can contain more than one key, a function that parses the keys. */
const READ_ALL_BACK: Readonly<Record<string, (text: string) => Partial<Key>[]>> = {
  bind: readAllWith('bind'),
  knot: readAllWith('knot'),
  nsd: readAllWith('nsd'),
  coredns: readCoredns,
  dnspython: readKeyring,
  kea: readKea,
};

const refusalOf = (format: string, key: Key): unknown => {
  try {
    return exportKey(format, key);
  } catch (error) {
    return error instanceof ServiceError ? error.code : error;
  }
};

test('every export format has expectations in this file', () => {
  expect(Object.keys(WRITTEN)).toEqual(Object.keys(EXPORT_FORMATS));
  expect(Object.keys(READ_BACK).sort()).toEqual(Object.keys(EXPORT_FORMATS).sort());
  const lists = Object.entries(EXPORT_FORMATS).filter(([, format]) => holdsSeveral(format));
  expect(Object.keys(READ_ALL_BACK).sort()).toEqual(lists.map(([name]) => name).sort());
});

describe.each(Object.entries(EXPORT_FORMATS))('%s', (format, writer) => {
  test("exports a key in the consumer's syntax", () => {
    const { text, fileName } = exportKey(format, KEY);
    expect(text).toContain(WRITTEN[format]);
    expect(fileName).toBe(`transfer.example.${writer.extension}`);
  });

  test('exports every supported key as text that parses to the same key', () => {
    fc.assert(
      fc.property(keysWith(writer.algorithms), (key) => {
        const { text, fileName } = exportKey(format, key);
        const read = READ_BACK[format]?.(text) as Key;
        expect(isSameKey({ ...key, ...read }, key), text).toBe(true);
        expect(fileName).toMatch(/^[a-z0-9_][a-z0-9_.-]{0,206}$/);
      }),
    );
  });

  test.each(INJECTIONS)(
    'refuses %j as the name or the secret of a key, and does not quote the secret',
    (text) => {
      expect(refusalOf(format, { ...KEY, name: text })).toBe('not_exportable');
      expect(refusalOf(format, { ...KEY, secret: text })).toBe('not_exportable');
      expect(() => exportKey(format, { ...KEY, secret: `SECRET-${text}` })).not.toThrow(/SECRET-/);
    },
  );

  test('refuses arbitrary names and secrets, or exports text that parses to the same key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, secret) => {
        for (const key of [
          { ...KEY, name },
          { ...KEY, secret },
        ]) {
          const outcome = refusalOf(format, key);
          if (typeof outcome === 'object')
            expect(
              isSameKey(
                { ...key, ...READ_BACK[format]?.((outcome as { text: string }).text) },
                key,
              ),
            ).toBe(true);
          else expect(outcome).toBe('not_exportable');
        }
      }),
    );
  });
});

describe.each(Object.entries(READ_ALL_BACK))('several keys for %s', (format, read) => {
  const algorithms = EXPORT_FORMATS[format]?.algorithms ?? [];

  test('are exported as one text that parses to the same keys in the same order', () => {
    fc.assert(
      fc.property(fc.array(keysWith(algorithms), { minLength: 2, maxLength: 20 }), (keys) => {
        const back = read(exportKeys(format, keys)) as Key[];
        expect(back).toHaveLength(keys.length);
        for (const [index, key] of keys.entries())
          expect(isSameKey(key, back[index] ?? key)).toBe(true);
      }),
    );
  });
});

test.each(Object.keys(EXPORT_FORMATS).filter((format) => !Object.hasOwn(READ_ALL_BACK, format)))(
  'several keys for %s are refused, because a file can hold only one key',
  (format) => {
    expect(() => exportKeys(format, [KEY, { ...KEY, name: 'other' }])).toThrow(
      `a file in the format ${format} can hold only one key`,
    );
  },
);

test.each([
  [
    'an unknown format',
    'yaml',
    KEY,
    'bad_request',
    `format must be one of ${BRAND_NAMES.join(', ')}`,
  ],
  ['the name of an Object method', 'toString', KEY, 'bad_request', 'format must be one of'],
  [
    'an invalid name',
    'bind',
    { ...KEY, name: 'transfer key' },
    'not_exportable',
    'the name must be a domain name',
  ],
  ['an empty secret', 'bind', { ...KEY, secret: '' }, 'not_exportable', 'the secret is empty'],
  [
    'base64 without padding',
    'bind',
    { ...KEY, secret: 'YWJjZA' },
    'not_exportable',
    'the secret must be base64',
  ],
  [
    'an unknown algorithm',
    'bind',
    { ...KEY, algorithm: 'md5' },
    'not_exportable',
    'the algorithm must be one of hmac-md5',
  ],
])('exportKey refuses %s and states the reason', (_case, format, key, code, message) => {
  expect(refusalOf(format, key)).toBe(code);
  expect(() => exportKey(format, key)).toThrow(message);
});
