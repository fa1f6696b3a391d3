import {
  anyText,
  array,
  boolean,
  enumeration,
  integer,
  nullable,
  timestamp,
  uuid,
  type Field,
  type ValueOf,
} from '../core/field.ts';
import { described, list, responseObject } from '../core/object.ts';
import { MAX_LIMIT } from '../core/settings.ts';
import { WAITING_REASONS } from '../resources/lineage.ts';
import { nameServer } from '../resources/name-server.ts';

const SECTIONS = ['nameservers', 'tsigkeys', 'tokens', 'encryption', 'zones'] as const;

/** What is read only up to a limit, so that a poll costs the same with any number of rows. */
const counted = (what: string) =>
  described(integer(0, MAX_LIMIT), `${what} 1,000 stands for 1,000 or more.`);
const total = counted('The number that the caller can see.');
const section = <T extends Parameters<typeof responseObject>[0]>(members: T, what: string) =>
  described(nullable(responseObject(members)), `${what} Null if the caller may not see this.`);
const shown = <T>(field: Field<T>) => described(field, field.description);

const SERVERS = nameServer.fields;
const SERVER = responseObject({
  id: described(uuid(), 'The id of the name server.'),
  name: shown(SERVERS.name),
  state: shown(SERVERS.state),
  keys_wanted: shown(SERVERS.keys_wanted),
  keys_live: shown(SERVERS.keys_live),
  verified_at: shown(SERVERS.verified_at),
  held: shown(SERVERS.held),
  error: shown(SERVERS.error),
  needs_person: described(
    boolean(),
    'Whether it is not `live`, `pending` or `paused`, has an error, or a change that is pending for more than 60 s.',
  ),
});

const WAITING = responseObject({
  id: described(uuid(), 'The id of the key that is being replaced.'),
  name: anyText(),
  reason: enumeration(WAITING_REASONS),
  who: described(array(anyText(), 0, 1000), 'Whom the rotation waits for.'),
});

const KEYS = {
  total,
  failing: counted(
    'How many a name server refused or cannot have, or are held on one. The keys of a name server that fails as a whole are not counted, because it is one problem in `nameservers`, even if the caller may not see that.',
  ),
  weak: counted('How many have a weak algorithm, or a short or published secret.'),
  published: counted('How many have a secret that is in a manual or an example.'),
  expiring: counted('How many should be replaced within 14 days.'),
  old: counted('How many have a secret that is older than a year.'),
  waiting: described(list(WAITING), 'The first 100 rotations that wait.'),
  unusable: counted('How many no name server can use.'),
  orphaned: counted('How many have no existing pool or zone.'),
};

const ENCRYPTION = {
  clear_text: described(integer(0), 'The number of secrets that are not encrypted, or 1,000.'),
  unreadable: described(integer(0), 'The number of secrets that could not be decrypted.'),
  lost: described(integer(0), 'The number of keys whose secret was lost with the master key.'),
  master_key_copied: described(
    boolean(),
    'Whether somebody has confirmed that the master key is copied to another place, or the service has none.',
  ),
};

const BACKUP = {
  last_at: described(
    nullable(timestamp()),
    'When `tsigil backup` last wrote a backup. Null if it never did; the service does not know other backups.',
  ),
  restored: described(
    nullable(
      responseObject({
        from: described(anyText(), 'The backup, as the command named it.'),
        backup_at: described(
          nullable(timestamp()),
          'When `tsigil backup` wrote the backup. Null if another program did.',
        ),
        at: described(timestamp(), 'When it was restored.'),
      }),
    ),
    'The backup from which `tsigil restore` last restored the database. Null if it was never restored.',
  ),
};

const CHANGE = responseObject({
  at: timestamp(),
  actor_name: anyText(),
  action: anyText(),
  resource_name: nullable(anyText()),
});

const STATUS = responseObject({
  version: described(anyText(), 'The version of the service.'),
  nameservers: section(
    {
      total: described(integer(0), 'The number that the caller can see.'),
      live: described(integer(0), 'How many are `live`.'),
      servers: described(list(SERVER), 'The first 100 by name, and those that need a person.'),
    },
    'The name servers.',
  ),
  tsigkeys: section(KEYS, 'The keys.'),
  tokens: section(
    {
      total,
      administrators: described(
        integer(0, 2),
        'How many are valid administrators. 2 stands for 2 or more.',
      ),
      expiring: described(
        list(responseObject({ name: anyText(), expires_at: timestamp() })),
        'The first 100 that expire within 14 days and were created for 30 days or more.',
      ),
    },
    'The tokens.',
  ),
  encryption: section(ENCRYPTION, 'The secrets.'),
  backup: section(BACKUP, 'The last backup.'),
  zones: section(
    {
      total,
      outside_tlds: described(
        nullable(integer(0, MAX_LIMIT)),
        'How many zones of all projects the TLD entries would reject; 1,000 stands for 1,000 or more. Null if the caller may not see this.',
      ),
    },
    'The zones.',
  ),
  tlds: section({ total }, 'The TLD entries.'),
  changes: described(
    nullable(list(CHANGE)),
    'The last three changes by people and programs, the newest first. Null if the caller may not see this.',
  ),
  problems: described(
    list(
      responseObject({
        section: described(enumeration(SECTIONS), 'The member of the response.'),
        message: described(anyText(), 'The problem, in a sentence.'),
        run: described(anyText(), 'The command to run next.'),
      }),
    ),
    'What needs a person.',
  ),
});

export type Status = ValueOf<typeof STATUS>;

export const STATUS_RESPONSE = described(STATUS, 'The state of the service.');

export const STATUS_EXAMPLE: Status = {
  version: '0.1.0',
  nameservers: {
    total: 2,
    live: 1,
    servers: [
      {
        id: '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
        name: 'ns2',
        state: 'failed',
        keys_wanted: 31,
        keys_live: 0,
        verified_at: null,
        held: null,
        error: 'connection refused',
        needs_person: true,
      },
    ],
  },
  tsigkeys: {
    total: 31,
    failing: 0,
    weak: 0,
    published: 0,
    expiring: 0,
    old: 0,
    waiting: [],
    unusable: 0,
    orphaned: 0,
  },
  tokens: null,
  encryption: null,
  backup: null,
  zones: { total: 12, outside_tlds: null },
  tlds: null,
  changes: null,
  problems: [
    {
      section: 'nameservers',
      message: 'ns2 is failed: connection refused',
      run: 'tsigil nameserver check ns2',
    },
  ],
};
