import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { comparisonForm } from '../../src/core/text/dns-name.ts';
import { exportKey, exportKeys } from '../../src/keys/export/export-formats.ts';
import { canonicalKey, type Key } from '../../src/formats/key.ts';
import { detectFormat } from '../../src/formats/detect.ts';
import { IMPORT_FORMATS } from '../../src/formats/readers.ts';
import { ALGORITHMS } from '../../src/dns/algorithms.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import { keysWith } from '../harness/keys.ts';
import { NAME_SERVERS, ZONE, ZONE_RECORDS, type NameServer } from '../harness/name-servers.ts';
import { SECRET } from '../harness/samples.ts';
import { temporaryFolder } from '../harness/service.ts';
import { hasProgram, isMet, run, TOOL_ENVIRONMENT } from '../harness/tools.ts';

const folder = temporaryFolder();

/** Writes a file in the temporary folder of these tests and returns its path. */
function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function readBack(text: string): (Key | string)[] {
  const format = detectFormat(text) ?? '';
  return (
    IMPORT_FORMATS[format]?.read(text).map((entry) => {
      if ('key' in entry) return canonicalKey(entry.key);
      return 'problem' in entry ? entry.problem : entry.leftOut;
    }) ?? []
  );
}

const keyLists = fc.uniqueArray(keysWith(Object.keys(ALGORITHMS)), {
  minLength: 1,
  maxLength: 60,
  selector: ({ name }) => comparisonForm(name),
});

for (const { driver: format, include } of BRANDS) {
  if (include === undefined) continue;
  const { program, debian, parameters } = include.checker;
  describe.runIf(hasProgram(program, debian))(format, () => {
    const check = (file: string) => {
      const { status, stdout, stderr } = spawnSync(program, parameters(file), {
        encoding: 'utf8',
        env: TOOL_ENVIRONMENT,
      });
      return { status, printed: stdout + stderr };
    };

    test(`${program} accepts exported keys, and an import reads the same keys`, () => {
      fc.assert(
        fc.property(keyLists, (keys) => {
          const text = exportKeys(format, keys);
          expect(check(fileOf(`${format}.conf`, text))).toMatchObject({ status: 0 });
          expect(readBack(text)).toEqual(keys.map(canonicalKey));
        }),
        { numRuns: 25 },
      );
    });

    test(`${program} accepts the text for a secondary server, with and without a zone`, () => {
      const primaries = fc.record({
        host: fc.constantFrom('192.0.2.53', '2001:db8::53'),
        port: fc.constantFrom(53, 5300),
        zone: fc.constantFrom('example.org', '0/25.2.0.192.in-addr.arpa', undefined),
      });
      fc.assert(
        fc.property(keysWith(Object.keys(ALGORITHMS)), primaries, (key, primary) => {
          const { text } = exportKey(format, key, primary);
          expect(readBack(text)).toEqual([canonicalKey(key)]);
          const examples = text.replaceAll(/^# (?!In each)/gm, '');
          for (const each of [text, examples])
            expect(check(fileOf(`${format}-secondary.conf`, each))).toMatchObject({
              status: 0,
            });
          expect(examples).toContain(primary.zone ?? 'example.org');
        }),
        { numRuns: 10 },
      );
    });
  });
}

describe.runIf(hasProgram('kea-dhcp-ddns', 'kea-dhcp-ddns-server'))('kea', () => {
  /** Checks a configuration that includes a list of keys and uses the key with the given name. */
  const check = (keys: string, name: string) => {
    const configuration = fileOf(
      'kea.conf',
      `{ "DhcpDdns": {
  "tsig-keys": <?include "${fileOf('kea-keys.json', keys)}"?>,
  "forward-ddns": { "ddns-domains": [
    { "name": "a.test.", "key-name": ${JSON.stringify(name)}, "dns-servers": [{ "ip-address": "192.0.2.1" }] }
  ] },
  "reverse-ddns": {}
} }\n`,
    );
    const { status, stdout, stderr } = spawnSync('kea-dhcp-ddns', ['-t', configuration], {
      encoding: 'utf8',
      env: { ...TOOL_ENVIRONMENT, KEA_LOCKFILE_DIR: 'none' },
    });
    return { status, printed: stdout + stderr };
  };

  test('kea-dhcp-ddns -t accepts exported keys', () => {
    fc.assert(
      fc.property(keyLists, (keys) => {
        const [first] = keys.map(canonicalKey);
        expect(check(exportKeys('kea', keys), first?.name ?? '')).toMatchObject({ status: 0 });
      }),
      { numRuns: 10 },
    );
  });
});

describe.runIf(hasProgram('tsig-keygen', 'bind9') && hasProgram('keymgr', 'knot'))(
  "keys from servers' tools",
  () => {
    test.each(Object.keys(ALGORITHMS))(
      'an import reads %s keys from tsig-keygen and keymgr',
      (algorithm) => {
        for (const printed of [
          run(folder, 'tsig-keygen', '-a', algorithm, 'Made.here.'),
          run(folder, 'keymgr', '-t', 'Made.here.', algorithm),
        ]) {
          const [key, ...others] = readBack(printed);
          expect(key).toMatchObject({ name: 'made.here', algorithm });
          expect(others).toEqual([]);
          expect(printed).toContain((key as Key).secret);
        }
      },
    );
  },
);

/** The system's Python. Another Python may not have the required packages. */
const PYTHON = '/usr/bin/python3';

/** One key for each algorithm. The server accepts all these keys. */
const KEYS = Object.keys(ALGORITHMS).map((algorithm): Key => ({
  name: `${algorithm}.Keys.`,
  algorithm,
  secret: SECRET,
}));

const [bind, knot, , powerdns] = NAME_SERVERS;

/** Returns what nsupdate reads to add a record. */
const updateOn = (server: NameServer | undefined) =>
  `server 127.0.0.1 ${server?.port}\nzone ${ZONE}\nupdate add new.${ZONE} 60 TXT "new"\nsend\n`;

describe.runIf(
  bind?.isInstalled() &&
    hasProgram('dig', 'bind9-dnsutils') &&
    hasProgram('nsupdate', 'bind9-dnsutils'),
)('exported key files', () => {
  const dnspython = isMet(() => spawnSync(PYTHON, ['-c', 'import dns.tsigkeyring']).status === 0, {
    name: 'dnspython',
    absence: 'dnspython is not installed',
    debianPackage: 'python3-dnspython',
  });

  describe.each(KEYS)('$algorithm', (key) => {
    let server: NameServer | undefined;
    beforeAll(async () => {
      server = await bind?.start({ allowed: canonicalKey(key), others: [] });
    });
    afterAll(() => server?.stop());
    const at = () => ['@127.0.0.1', '-p', String(server?.port)];

    test('dig -k FILE transfers the zone, and dig without the file does not', () => {
      const file = fileOf('dig.key', exportKey('nsupdate', key).text);
      expect(run(folder, 'dig', ...at(), '-k', file, ZONE, 'AXFR')).toMatch(
        /XFR size: 15\d\d records/,
      );
      expect(run(folder, 'dig', ...at(), ZONE, 'AXFR')).toContain('Transfer failed.');
    });

    test('nsupdate -k FILE changes the zone', () => {
      const file = fileOf('nsupdate.key', exportKey('nsupdate', key).text);
      const script = fileOf('nsupdate.txt', updateOn(server));
      run(folder, 'nsupdate', '-k', file, script);
      expect(run(folder, 'dig', ...at(), '+short', `new.${ZONE}`, 'TXT')).toBe('"new"\n');
    });

    test.runIf(hasProgram('kdig', 'knot-dnsutils'))('kdig -k FILE transfers the zone', () => {
      const file = fileOf('kdig.key', exportKey('knsupdate', key).text);
      expect(run(folder, 'kdig', ...at(), '-k', file, ZONE, 'AXFR')).toMatch(
        /;; Received \d+ B \(\d+ messages, 15\d\d records\)/,
      );
    });

    test.runIf(dnspython)('the keyring of dnspython transfers the zone', () => {
      const script = `${exportKey('dnspython', key).text}
import dns.query, dns.zone
xfr = dns.query.xfr("127.0.0.1", "${ZONE}", port=${server?.port}, keyring=keyring, keyalgorithm=keyring[next(iter(keyring))].algorithm)
print(len(list(dns.zone.from_xfr(xfr).iterate_rdatas())))
`;
      expect(Number(run(folder, PYTHON, fileOf('transfer.py', script)))).toBeGreaterThanOrEqual(
        ZONE_RECORDS,
      );
    });
  });
});

describe.runIf(knot?.isInstalled() && hasProgram('knsupdate', 'knot-dnsutils'))('knsupdate', () => {
  test('-k FILE changes the zone', async () => {
    const key = { name: 'allowed', algorithm: 'hmac-sha256', secret: SECRET };
    const server = await knot?.start({ allowed: key, others: [] });
    try {
      const script = fileOf('knsupdate.txt', updateOn(server));
      const file = fileOf('knsupdate.key', exportKey('knsupdate', key).text);
      run(folder, 'knsupdate', '-k', file, script);
      const asked = ['@127.0.0.1', '-p', String(server?.port), '+short', `new.${ZONE}`, 'TXT'];
      expect(run(folder, 'kdig', ...asked)).toBe('"new"\n');
    } finally {
      await server?.stop();
    }
  });
});

describe.runIf(powerdns?.isInstalled())('pdnsutil', () => {
  test('list-tsig-keys prints the keys created with the API, and an import reads the same keys', async () => {
    const [allowed = KEYS[0], ...others] = KEYS;
    if (allowed === undefined) throw new Error('There are algorithms');
    const server = await powerdns?.start({ allowed: canonicalKey(allowed), others });
    try {
      const printed = run(folder, 'pdnsutil', `--config-dir=${server?.folder}`, 'list-tsig-keys');
      const byName = (one: Key | string, other: Key | string) =>
        (one as Key).name < (other as Key).name ? -1 : 1;
      expect(readBack(printed).toSorted(byName)).toEqual(KEYS.map(canonicalKey).toSorted(byName));
    } finally {
      await server?.stop();
    }
  });
});

describe.runIf(powerdns?.isInstalled() && hasProgram('nsupdate', 'bind9-dnsutils'))(
  'PowerDNS',
  () => {
    test('the commands in an exported key permit transfers and updates', async () => {
      const [allowed, key] = KEYS.slice(2).map(canonicalKey);
      if (allowed === undefined || key === undefined) throw new Error('There are algorithms');
      const server = await powerdns?.start({ allowed, others: [key] });
      try {
        const { comment } = JSON.parse(exportKey('powerdns', key).text) as { comment: string[] };
        const commands = comment.filter((line) => line.startsWith('pdnsutil '));
        expect(commands).toHaveLength(3);
        for (const command of commands) {
          const words = command.replace('example.org', 'a.test').split(' ').slice(1);
          run(folder, 'pdnsutil', `--config-dir=${server?.folder}`, ...words);
        }
        const at = ['@127.0.0.1', '-p', String(server?.port)];
        const file = fileOf('powerdns.key', exportKey('nsupdate', key).text);
        const script = updateOn(server);
        run(folder, 'nsupdate', '-k', file, fileOf('powerdns.txt', script));
        const transfer = run(folder, 'dig', ...at, '-k', file, ZONE, 'AXFR');
        expect(transfer).toMatch(/^new\.a\.test\.\s.*"new"$/m);
        expect(() => run(folder, 'nsupdate', fileOf('unsigned.txt', script))).toThrow('REFUSED');
      } finally {
        await server?.stop();
      }
    });
  },
);
