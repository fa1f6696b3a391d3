import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import fc from 'fast-check';
import { readPowerdns } from '../../../src/keys/commands/powerdns.ts';
import { KEYS, oneOf, some, type Search } from '../random-access.ts';
import { powerdns } from './powerdns.ts';

const POWERDNS_ADDRESSES = [
  '127.0.0.1',
  '127.0.0.2/31',
  '127.0.0.0/30',
  '127.0.0.0/8',
  '0.0.0.0/0',
  '0.0.0.0/0',
  '10.0.0.0/8',
  '::1',
  '::/0',
];
const POWERDNS_EXCLUDED = ['!127.0.0.3', '!127.0.0.2/31', '!127.0.0.0/8'];

const powerdnsZone = fc.record({
  'TSIG-ALLOW-AXFR': some(['k1', 'k1.', 'K2.Example.', 'k3.example'], 2),
  'ALLOW-AXFR-FROM': fc.oneof(fc.constant([]), some(POWERDNS_ADDRESSES, 2)),
  'TSIG-ALLOW-DNSUPDATE': some(['k1.', 'K2.Example', 'k3.example.'], 2),
  'ALLOW-DNSUPDATE-FROM': some([...POWERDNS_ADDRESSES, ...POWERDNS_EXCLUDED], 3),
});
const powerdnsConfiguration = (zones: number) =>
  fc.record({
    'allow-axfr-ips': some([...POWERDNS_ADDRESSES, ...POWERDNS_EXCLUDED], 2),
    'allow-dnsupdate-from': some([...POWERDNS_ADDRESSES, ...POWERDNS_EXCLUDED], 2),
    dnsupdate: oneOf(['yes'], ['yes'], ['yes'], ['no']),
    zones: fc.array(powerdnsZone, { minLength: zones, maxLength: zones }),
  });

export const powerdnsSearch: Search = {
  brand: powerdns,
  keys: KEYS,
  configure(seed, zones, folder, port, controlPort) {
    const [random] = fc.sample(powerdnsConfiguration(zones.length), { seed, numRuns: 1 });
    if (random === undefined) throw new Error('no sample');
    const { zones: randomZones, ...settings } = random;
    powerdns.configure(folder, port, controlPort, zones);
    const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
    for (const { name, algorithm, secret } of KEYS)
      database
        .prepare('INSERT INTO tsigkeys (name, algorithm, secret) VALUES (?, ?, ?)')
        .run(name, algorithm, secret);
    for (const [index, metadata] of randomZones.entries())
      for (const [kind, values] of Object.entries(metadata))
        for (const value of values)
          database
            .prepare(
              'INSERT INTO domainmetadata (domain_id, kind, content) SELECT id, ?, ? FROM domains WHERE name = ?',
            )
            .run(kind, value, zones[index] ?? '');
    database.close();
    const lines = Object.entries(settings).map(
      ([name, values]) => `${name}=${values.join(', ')}\n`,
    );
    return readFileSync(join(folder, 'pdns.conf'), 'utf8') + lines.join('');
  },
  async read(_, { folder, controlPort }) {
    const url = `http://127.0.0.1:${controlPort}`;
    const apiKey = readFileSync(join(folder, 'api-key'), 'utf8');
    return (await readPowerdns(url, apiKey)).configuration;
  },
};
