import { nameServer } from './resources/name-server.ts';
import { DEFAULT_POOL_ID, pool } from './resources/pool.ts';
import { tld } from './resources/tld.ts';
import { token } from './resources/token.ts';
import { tsigkey } from './resources/tsigkey.ts';
import { zone } from './resources/zone.ts';
import { verbAdder } from './cli/commands/resource-commands.ts';
import { columnsOf, type ResourceCommand } from './cli/flags/resource-command.ts';
import { TOKEN_FLAGS } from './tokens/commands/token-flags.ts';
import { withLimits } from './tokens/commands/token-limits.ts';
import { SERVER_DELETION, ZONE_DELETION } from './keys/commands/deletion-reasons.ts';
import { KEY_DELIVERY, reportRemoving } from './delivery/commands/deliveries.ts';
import { reportOpeningKeys } from './keys/commands/grants.ts';
import { DEFAULT_ALGORITHM, KEY_VERBS } from './keys/commands/verbs.ts';
import { DESCRIBED_KEYS } from './rotation/commands/key-states.ts';
import { KEY_DELETION, UNUSED_KEYS } from './uses/commands.ts';

export const RESOURCE_COMMANDS: readonly ResourceCommand[] = [
  {
    type: tld,
    plural: 'top-level domains',
    columns: ['id', 'name', 'description'],
    tableColumns: ['name', 'description'],
    examples: {
      create: [
        "tsigil tld create --name com --description 'Commercial'",
        'tsigil tld create --name рф  # create xn--p1ai',
      ],
      list: [
        "tsigil tld list --name 'c*' --sort name",
        'tsigil tld list --limit 10 -f csv -c name -c description',
      ],
      show: ['tsigil tld show com', 'tsigil tld show com -f value -c id'],
      set: [
        "tsigil tld set com --description 'For companies'",
        'tsigil tld set com --no-description',
      ],
      delete: ['tsigil tld delete com рф'],
    },
  },
  {
    type: tsigkey,
    plural: 'keys',
    columns: ['id', 'name', 'algorithm', 'secret', 'scope', 'resource_id'],
    tableColumns: ['name', 'algorithm', 'scope', 'state', 'age', 'weakness', 'secret'],
    defaults: {
      algorithm: DEFAULT_ALGORITHM,
      scope: 'POOL',
      resource_id: 'the default pool',
    },
    delivery: KEY_DELIVERY,
    ...KEY_VERBS,
    selections: [UNUSED_KEYS, DESCRIBED_KEYS],
    deletion: KEY_DELETION,
    referenceVerbs: {
      create: 'apply the key to',
      set: 'apply the key to',
      list: 'list only the keys that apply to',
    },
    examples: {
      create: [
        'tsigil tsigkey create transfer  # create a key with a new random secret',
        'openssl rand -base64 32 | tsigil tsigkey create update --secret -  # create a key with your own secret, hidden from other users of this machine',
        'tsigil tsigkey create acme --pool default --algorithm hmac-sha512',
        'tsigil tsigkey create backup --wait',
        'tsigil tsigkey create partner --zone example.org --zone example.net --right transfer  # create a key that may only transfer these two zones',
      ],
      list: [
        "tsigil tsigkey list --name 'trans*' --algorithm hmac-sha256",
        'tsigil tsigkey list --weak',
        'tsigil tsigkey list --unused 90d',
        'tsigil tsigkey list --due 30d --owner netops',
        'tsigil tsigkey list --pool default',
        'tsigil tsigkey list --orphaned --sort name:desc --long',
      ],
      show: [
        'tsigil tsigkey show transfer',
        'tsigil tsigkey show transfer --reveal -f value -c secret',
      ],
      set: [
        'tsigil tsigkey set transfer --generate',
        'tsigil tsigkey set transfer --generate --wait',
        'openssl rand -base64 32 | tsigil tsigkey set transfer --secret -',
        'tsigil tsigkey set update --name dynamic-update',
        'tsigil tsigkey set transfer --owner netops --consumer ns3.partner.example=192.0.2.7 --expires 365d  # say who answers for the key, who uses it, and when to replace it',
      ],
      delete: [
        'tsigil tsigkey delete transfer dynamic-update',
        'tsigil tsigkey delete acme --wait',
      ],
    },
  },
  {
    type: zone,
    plural: 'zones',
    columns: ['id', 'name', 'type', 'description'],
    tableColumns: ['name', 'type', 'description'],
    nameIsArgument: true,
    referenceVerbs: { create: 'serve the zone with' },
    reports: [{ isForTables: true, write: reportOpeningKeys(zone, false) }],
    deletion: ZONE_DELETION,
    examples: {
      create: [
        'tsigil zone create example.com. --email hostmaster@example.com --ttl 300',
        'tsigil zone create example.org. --type SECONDARY --masters 192.0.2.1 192.0.2.2:5300',
      ],
      list: [
        "tsigil zone list --name '*.com.' --sort ttl:desc",
        'tsigil zone list --all-projects -f json',
      ],
      show: ['tsigil zone show example.com.'],
      set: ['tsigil zone set example.com. --email dns@example.com --no-description'],
      delete: ['tsigil zone delete example.com. example.org.'],
    },
  },
  {
    type: pool,
    plural: 'pools',
    columns: ['id', 'name', 'description'],
    tableColumns: ['name', 'description'],
    examples: {
      create: [
        'tsigil pool create --name anycast --ns-records 1:ns1.example.org. 2:ns2.example.org. --attributes tier:gold',
      ],
      list: ['tsigil pool list', 'tsigil pool list -c name -c ns_records'],
      show: ['tsigil pool show default'],
      set: ["tsigil pool set anycast --description 'On three continents' --no-attributes"],
      delete: ['tsigil pool delete anycast'],
    },
  },
  {
    type: nameServer,
    plural: 'name servers',
    columns: ['id', 'name', 'driver', 'address', 'state', 'keys_wanted', 'keys_live', 'error'],
    tableColumns: ['name', 'state', 'keys_wanted', 'keys_live', 'verified_at', 'error'],
    sort: 'name',
    defaults: { pool_id: 'the default pool' },
    complete: (given) => ({ pool_id: DEFAULT_POOL_ID, ...given }),
    reports: [
      { isForTables: false, write: reportRemoving },
      { isForTables: true, write: reportOpeningKeys(nameServer, true) },
    ],
    deletion: SERVER_DELETION,
    referenceVerbs: { create: 'deliver the keys of', set: 'deliver the keys of' },
    examples: {
      create: [
        'tsigil nameserver create ns1 --driver bind --address 192.0.2.53',
        'tsigil nameserver create ns2 --pool anycast --driver powerdns --address 192.0.2.54:5300 --rights transfer update',
      ],
      list: ['tsigil nameserver list', 'tsigil nameserver list -c name -c state -c pending_since'],
      show: ['tsigil nameserver show ns1'],
      set: [
        'tsigil nameserver set ns1 --paused true',
        'tsigil nameserver set ns1 --probe-zone example.org.',
      ],
      delete: ['tsigil nameserver delete ns1'],
    },
  },
  {
    type: token,
    columns: columnsOf(token),
    tableColumns: ['name', 'roles', 'limits', 'project_id', 'expires_at'],
    states: { columns: ['limits'], read: withLimits },
    sort: 'name',
    plural: 'tokens',
    flags: TOKEN_FLAGS,
    examples: {
      create: [
        'tsigil token create --name terraform --role reader --expires 90d',
        'TOKEN=$(tsigil token create --name ci --role admin -f value)  # print only the token',
        'tsigil token create --name deploy --role keymanager --pool anycast --from 192.0.2.0/24',
      ],
      list: [
        'tsigil token list -c name -c roles -c limits',
        'tsigil token list --unused 90d -c name -c last_used_at  # list tokens that were not used in the last 90 days',
      ],
      show: ['tsigil token show terraform -f json'],
    },
  },
];

export const addResourceVerb = verbAdder(RESOURCE_COMMANDS);
