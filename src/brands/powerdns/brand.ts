import { isIPv6 } from 'node:net';
import type { Key } from '../../formats/key.ts';
import { OWN_KEYS } from '../../formats/own-keys.ts';
import { EVERY_ALGORITHM, lines } from '../../formats/writer.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import type { Brand } from '../brand.ts';
import { ADDRESS, type KeyLog } from '../key-log.ts';

const CONFIGURATION_FILE = '/etc/powerdns/pdns.d/tsigil.conf';

const keyFileOf = (user: string) => `/etc/${user}/powerdns-api-key`;

const OUT = String.raw`[AI]XFR-out zone '[^']*', client '${ADDRESS}(?::(?<port>\d+))?', `;

const log: KeyLog = {
  lines: [
    {
      pattern: new RegExp(`${OUT}allowed: TSIG signed request with authorized key '(?<key>[^']+)'`),
      operation: 'transfer',
      outcome: 'accepted',
    },
    {
      pattern: new RegExp(`${OUT}denied: key with name '(?<key>[^']+)'`),
      operation: 'transfer',
      outcome: 'denied',
    },
    {
      pattern: new RegExp(
        String.raw`Received secure NOTIFY for \S+ from ${ADDRESS}(?::(?<port>\d+))?, with TSIG key '(?<key>[^']+)'`,
      ),
      operation: 'notify',
      outcome: 'accepted',
    },
    {
      pattern:
        /Packet for (?:domain )?'[^']*' denied: (?:can't find TSIG key with name|Signature with TSIG key) '(?<key>[^']+)'/,
      operation: 'request',
      outcome: 'refused',
    },
  ],
  complete: {
    transfer:
      'PowerDNS never logs the queries by which secondaries check a zone that does not change',
    update: 'PowerDNS never logs the key of an update',
  },
  setup: "To see the transfers, set 'loglevel=5'.",
};

export const powerdns = {
  title: 'PowerDNS',
  supports: { transfer: true, update: true, unknownKeys: true },
  writesZones: true,
  minimumIntervalMs: 0,
  ownKeys: OWN_KEYS.powerdns, // the secret of this key is the stamp of the last delivery
  // JSON has no comments, so the commands are in a member that PowerDNS ignores.
  exports: {
    consumer: 'PowerDNS (the body of a request to its API)',
    extension: 'json',
    algorithms: EVERY_ALGORITHM,
    write: (key) =>
      requestBody(key, [
        'To permit transfers, create the key and run:',
        `pdnsutil activate-tsig-key example.org ${shellWord(key.name)} primary`,
        'To permit updates, run these commands in this order. The second command alone permits unsigned updates.',
        `pdnsutil add-meta example.org TSIG-ALLOW-DNSUPDATE ${shellWord(key.name)}`,
        'pdnsutil set-meta example.org ALLOW-DNSUPDATE-FROM 0.0.0.0/0 ::/0',
      ]),
    writeSecondary(key, { host, port, zone = 'example.org' }) {
      const address = isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
      return requestBody(key, [
        'To transfer a zone, create the key and run these commands in this order. The key must be the first of the zone, or PowerDNS refuses the signed NOTIFY.',
        `pdnsutil create-secondary-zone ${shellWord(zone)} ${shellWord(address)}`,
        `pdnsutil activate-tsig-key ${shellWord(zone)} ${shellWord(key.name)} secondary`,
      ]);
    },
  },
  log,
  recipe: {
    group: 'pdns',
    files: (_, user) => `install -m 0600 -o ${user} /dev/null ${keyFileOf(user)}
openssl rand -hex 32 > ${keyFileOf(user)}
# The next step writes the key to this file too:
install -m 0640 -g pdns /dev/null ${CONFIGURATION_FILE}`,
    configuration: CONFIGURATION_FILE,
    lines: (_, user) => `api=yes
# Replace API-KEY with the content of ${keyFileOf(user)}:
api-key=API-KEY
webserver=yes
webserver-address=127.0.0.1
webserver-port=8081
allow-axfr-ips=
dnsupdate=yes
allow-dnsupdate-from=`,
    local: (user) => ({ apiKeyFile: keyFileOf(user) }),
    restart: 'pdns',
    addZone: (
      create,
    ) => `# To add a zone later, create it in PowerDNS, which serves it after up to 300 s, the default of
# zone-cache-refresh-interval, or after a restart. Then create it in Tsigil:
runuser -u pdns -- pdnsutil create-zone example.net ns1.example.net
systemctl restart pdns
${create}`,
  },
} satisfies Brand;

/** Returns the body of a request that creates a key. PowerDNS ignores the member `comment`. */
function requestBody({ name, algorithm, secret }: Key, comment: readonly string[]): string {
  return lines(JSON.stringify({ name: `${name}.`, algorithm, key: secret, comment }, null, 2));
}
