import { nameServer } from '../../domain/resources/name-server.ts';
import { DEFAULT_POOL_ID, pool } from '../../domain/resources/pool.ts';
import { shownMembers, type ResourceType } from '../../domain/model/resource.ts';
import { tld } from '../../domain/resources/tld.ts';
import { token } from '../../domain/resources/token.ts';
import { ALGORITHM_NAMES, type AlgorithmName } from '../../domain/dns/algorithms.ts';
import { generateSecret, tsigkey } from '../../domain/resources/tsigkey.ts';
import { zone } from '../../domain/resources/zone.ts';
import { shellCommand } from '../../domain/text/shell-word.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import type { Format } from '../output/output.ts';
import type { Item } from '../service/resource-requests.ts';
import type { Example } from './help.ts';
import { STATE_COLUMNS } from '../service/key-states.ts';
import { absoluteAsciiName, asciiName } from './names.ts';
import { TOKEN_FLAGS, type FieldFlag } from './token-flags.ts';
import { isUnusableName } from './key-name.ts';

export const VERBS = ['create', 'list', 'show', 'set', 'delete'] as const;
export type Verb = (typeof VERBS)[number];

export interface ResourceCommand {
  readonly type: ResourceType;
  /** The columns of a list in a format for programs, such as `csv`. */
  readonly columns: readonly string[];
  /** The columns in the format `table`. The columns fit into 80 characters, and contain no ids. */
  readonly tableColumns: readonly string[];
  /** True if the name can only be an argument of `create`, not a flag. */
  readonly nameIsArgument?: boolean;
  /** Descriptions of the default values of `create` for the help, by field. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** Returns the members of a new resource, including defaults. Throws `CommandError`. */
  complete?(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /**
   * The verbs whose flags can name another resource, with the beginning of the flags' descriptions.
   */
  readonly referenceVerbs?: Readonly<Partial<Record<Verb, string>>>;
  newSecret?(members: Item): string;
  /** Returns the commands to run after the secret of a resource was set. */
  nextSteps?(item: Item): readonly string[];
  /** Converts a name to the form that the service uses. */
  toName?(name: string): string;
  /** The flags whose names differ from those of their fields, by field. */
  readonly flags?: Readonly<Record<string, FieldFlag>>;
  /** A flag of `create` that sets fields. */
  readonly shortcut?: {
    readonly flag: string;
    readonly description: string;
    readonly fields: Readonly<Record<string, string>>;
  };
  /**
   * True if the service delivers resources to name servers. `create` and `set` then have the flag
   * `--wait`.
   */
  readonly isDelivered?: boolean;
  /** Further columns of lists, which need further requests. */
  readonly stateColumns?: readonly string[];
  readonly plural: string;
  /** The sort key of lists without `--sort`, if it differs from the service's default. */
  readonly sort?: string;
  /** The examples of each verb. A verb without examples has no command. */
  readonly examples: Readonly<Partial<Record<Verb, readonly (string | Example)[]>>>;
}

/**
 * Returns the columns of a resource: all members that the service returns. Omits `updated_at` if
 * the resource cannot be changed.
 */
export function columnsOf(type: ResourceType): string[] {
  return shownMembers(type).filter(
    (name) => name !== 'updated_at' || type.operations.includes('update'),
  );
}

export interface ListColumnFlags {
  readonly allProjects?: boolean;
  readonly format?: Format | undefined;
  readonly long?: boolean;
  readonly reveal?: boolean;
}

/**
 * Returns the columns of a list without `--column`. A table has names and no ids, and `--long` adds
 * all other columns. The secret is a column only with `--reveal`.
 */
export function listColumns(
  { type, columns, tableColumns, stateColumns = [] }: ResourceCommand,
  { allProjects, format = 'table', long, reveal }: ListColumnFlags,
): string[] {
  const first = format === 'table' ? tableColumns : columns;
  const owner = type.owner !== undefined && allProjects === true ? [type.owner] : [];
  const others = long === true ? [...columnsOf(type), ...stateColumns] : [];
  return [...new Set([...first, ...owner, ...others])].filter(
    (name) => reveal === true || type.fields[name]?.secret !== true,
  );
}

/** The algorithm of a new key if the flags contain none. */
const DEFAULT_ALGORITHM: AlgorithmName = 'hmac-sha256';

/**
 * Returns the members of a new key with defaults. Without a pool or a zone, the key applies to the
 * default pool. Throws `CommandError` if the scope is ZONE and the zone is missing.
 */
function completeKey(
  members: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { scope = 'POOL', resource_id: id } = members;
  if (scope === 'ZONE' && id === undefined)
    throw new CommandError(
      EXIT.usage,
      'The zone is missing: a key with scope ZONE applies to one zone',
      'Add --zone with the name of the zone, or --resource-id.',
    );
  return { algorithm: DEFAULT_ALGORITHM, ...members, scope, resource_id: id ?? DEFAULT_POOL_ID };
}

export const RESOURCE_COMMANDS: readonly ResourceCommand[] = [
  {
    type: tld,
    plural: 'top-level domains',
    columns: ['id', 'name', 'description'],
    tableColumns: ['name', 'description'],
    toName: asciiName,
    examples: {
      create: [
        "tsigil tld create --name com --description 'Commercial'",
        { command: 'tsigil tld create --name рф', purpose: 'create xn--p1ai' },
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
    stateColumns: STATE_COLUMNS,
    defaults: {
      algorithm: DEFAULT_ALGORITHM,
      scope: 'POOL',
      resource_id: 'the default pool',
    },
    complete: completeKey,
    isDelivered: true,
    referenceVerbs: {
      create: 'apply the key to',
      set: 'apply the key to',
      list: 'list only the keys that apply to',
    },
    newSecret({ algorithm }) {
      const known = ALGORITHM_NAMES.find((name) => name === algorithm);
      if (known === undefined) throw new Error(`Unknown algorithm '${String(algorithm)}'`);
      return generateSecret(known, process.getBuiltinModule('node:crypto').randomBytes);
    },
    nextSteps: ({ name }) =>
      isUnusableName(name)
        ? [shellCommand('tsigil tsigkey set', String(name), '--name NAME')]
        : [
            shellCommand('tsigil tsigkey export', String(name), '--format bind'),
            shellCommand('tsigil tsigkey verify', String(name), '--server HOST --zone ZONE'),
          ],
    examples: {
      create: [
        {
          command: 'tsigil tsigkey create transfer',
          purpose: 'create a key with a new random secret',
        },
        {
          command: 'openssl rand -base64 32 | tsigil tsigkey create update --secret -',
          purpose: 'create a key with your own secret, hidden from other users of this machine',
        },
        'tsigil tsigkey create acme --pool default --algorithm hmac-sha512',
        'tsigil tsigkey create backup --wait',
        {
          command:
            'tsigil tsigkey create partner --zone example.org --zone example.net --right transfer',
          purpose: 'create a key that may only transfer these two zones',
        },
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
        {
          command:
            'tsigil tsigkey set transfer --owner netops --consumer ns3.partner.example=192.0.2.7 --expires 365d',
          purpose: 'say who answers for the key, who uses it, and when to replace it',
        },
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
    toName: absoluteAsciiName,
    referenceVerbs: { create: 'serve the zone with' },
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
    shortcut: {
      flag: '--agent',
      description:
        'let an agent on the host of the nameserver deliver the keys; same as --delivery agent',
      fields: { delivery: 'agent' },
    },
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
    stateColumns: ['limits'],
    sort: 'name',
    plural: 'tokens',
    flags: TOKEN_FLAGS,
    examples: {
      create: [
        'tsigil token create --name terraform --role reader --expires 90d',
        {
          command: 'TOKEN=$(tsigil token create --name ci --role admin -f value)',
          purpose: 'print only the token',
        },
        'tsigil token create --name deploy --role keymanager --pool anycast --from 192.0.2.0/24',
      ],
      list: [
        'tsigil token list -c name -c roles -c limits',
        {
          command: 'tsigil token list --unused 90d -c name -c last_used_at',
          purpose: 'list tokens that were not used in the last 90 days',
        },
      ],
      show: ['tsigil token show terraform -f json'],
    },
  },
];
