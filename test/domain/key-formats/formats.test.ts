import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ServiceError } from '../../../src/domain/model/errors.ts';
import { EXPORT_FORMATS, exportKey } from '../../../src/domain/key-formats/formats.ts';
import {
  canonicalKey,
  isSameKey,
  readAlgorithm,
  type Key,
} from '../../../src/domain/key-formats/key.ts';
import { IMPORT_FORMATS } from '../../../src/domain/key-formats/readers.ts';
import { ALGORITHMS } from '../../../src/domain/resources/tsigkey.ts';
import { INJECTIONS, keysWith } from '../../harness/keys.ts';

const KEY: Key = {
  name: 'Transfer.Example.',
  algorithm: 'hmac-sha256',
  secret: '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=',
};
const K = KEY.secret;

/** Examples from the consumers' manuals, for one key. */
const WRITTEN: Readonly<Record<string, string>> = {
  bind: `key "transfer.example" {\n\talgorithm hmac-sha256;\n\tsecret "${K}";\n};\n`,
  knot: `key:\n  - id: "transfer.example."\n    algorithm: hmac-sha256\n    secret: "${K}"\n`,
  nsd: `key:\n    name: "transfer.example"\n    algorithm: hmac-sha256\n    secret: "${K}"\n`,
  powerdns: `{"name":"transfer.example.","algorithm":"hmac-sha256","key":"${K}"}\n`,
  nsupdate: `key "transfer.example" {\n\talgorithm hmac-sha256;\n\tsecret "${K}";\n};\n`,
  knsupdate: `hmac-sha256:transfer.example:${K}\n`,
  dnspython: `import dns.tsigkeyring\n\nkeyring = dns.tsigkeyring.from_text(\n    {"transfer.example.": ("hmac-sha256", "${K}")}\n)\n`,
  'external-dns': `EXTERNAL_DNS_RFC2136_TSIG_KEYNAME=transfer.example\nEXTERNAL_DNS_RFC2136_TSIG_SECRET_ALG=hmac-sha256\nEXTERNAL_DNS_RFC2136_TSIG_SECRET=${K}\n`,
  'cert-manager': `kind: Secret\nmetadata:\n  name: "tsig-transfer-example"\ntype: Opaque\nstringData:\n  tsig-secret-key: "${K}"\n`,
  certbot: `dns_rfc2136_name = transfer.example.\ndns_rfc2136_secret = ${K}\ndns_rfc2136_algorithm = HMAC-SHA256\n`,
  lego: `RFC2136_TSIG_KEY=transfer.example.\nRFC2136_TSIG_ALGORITHM=hmac-sha256.\nRFC2136_TSIG_SECRET=${K}\n`,
  octodns: `    key_name: "transfer.example."\n    key_secret: "${K}"\n    key_algorithm: "hmac-sha256"\n`,
  terraform: `DNS_UPDATE_KEYNAME=transfer.example.\nDNS_UPDATE_KEYALGORITHM=hmac-sha256\nDNS_UPDATE_KEYSECRET=${K}\n`,
  dnscontrol: `"update-key": "hmac-sha256:transfer.example:${K}"`,
};

/** Parses an exported text, by the name of the format: with the service's reader, or with a parser of the consumer's language. */
const READ_BACK: Readonly<Record<string, (text: string) => Partial<Key>>> = {
  bind: readWith('bind'),
  nsupdate: readWith('bind'),
  knot: readWith('knot'),
  nsd: readWith('nsd'),
  knsupdate: readWith('lines'),
  powerdns(text) {
    const { key, ...rest } = JSON.parse(text) as { name: string; algorithm: string; key: string };
    return { ...rest, secret: key };
  },
  dnspython(text) {
    const [name, algorithm, secret] = [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(
      ([literal]) => JSON.parse(literal) as string,
    );
    return spelt(name, algorithm, secret);
  },
  'external-dns': readVariables('KEYNAME', 'SECRET_ALG', 'SECRET'),
  lego: readVariables('KEY', 'ALGORITHM', 'SECRET'),
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
  return (text: string) => {
    const entries = IMPORT_FORMATS[reader]?.read(text) ?? [];
    expect(entries).toHaveLength(1);
    return entries[0] !== undefined && 'key' in entries[0] ? entries[0].key : {};
  };
}

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
});

describe.each(Object.entries(EXPORT_FORMATS))('%s', (format, writer) => {
  test("exports a key in the consumer's syntax", () => {
    const { text, mediaType, fileName } = exportKey(format, KEY);
    expect(text).toContain(WRITTEN[format]);
    expect({ mediaType, fileName }).toEqual({
      mediaType: writer.mediaType,
      fileName: `transfer.example.${writer.extension}`,
    });
  });

  test('exports every supported key so that it parses to the same key', () => {
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
    'refuses a key with the name %j or such a secret, and does not quote the secret',
    (text) => {
      expect(refusalOf(format, { ...KEY, name: text })).toBe('not_exportable');
      expect(refusalOf(format, { ...KEY, secret: text })).toBe('not_exportable');
      expect(() => exportKey(format, { ...KEY, secret: `SECRET-${text}` })).not.toThrow(/SECRET-/);
    },
  );

  test('refuses arbitrary names and secrets, or exports them so that they parse to the same key', () => {
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

  test.each(Object.keys(ALGORITHMS))(
    'exports %s if the consumer supports it, and otherwise names it in the error',
    (algorithm) => {
      const key = { ...KEY, algorithm };
      if (writer.algorithms.includes(algorithm))
        expect(READ_BACK[format]?.(exportKey(format, key).text)).toMatchObject({ algorithm });
      else
        expect(() => exportKey(format, key)).toThrow(`${writer.consumer} cannot use ${algorithm}`);
    },
  );
});

test('four consumers do not support every algorithm', () => {
  const picky = Object.entries(EXPORT_FORMATS).filter(
    ([, { algorithms }]) => algorithms.length < Object.keys(ALGORITHMS).length,
  );
  expect(picky.map(([format]) => format)).toEqual([
    'external-dns',
    'cert-manager',
    'lego',
    'terraform',
  ]);
});

test.each([
  ['an unknown format', 'yaml', KEY, 'bad_request', 'format must be one of bind, knot, nsd'],
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
    'a secret that is not base64',
    'bind',
    { ...KEY, secret: 'SomeSecretKey' },
    'not_exportable',
    'the secret must be base64',
  ],
  [
    'base64 for URLs',
    'bind',
    { ...KEY, secret: 'ab-_' },
    'not_exportable',
    'the secret must be base64',
  ],
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
])('exportKey refuses %s, and says why', (_case, format, key, code, message) => {
  expect(refusalOf(format, key)).toBe(code);
  expect(() => exportKey(format, key)).toThrow(message);
});

test('canonicalKey returns the name in lower case without a final dot', () => {
  expect(canonicalKey(KEY).name).toBe('transfer.example');
});
