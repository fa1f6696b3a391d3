import { boolean, enumeration, integer, isObject } from '../core/field.ts';
import { SECRET_READS } from '../core/audit-record.ts';
import { CONFIRMATIONS, TLD_RULES } from '../core/settings.ts';
import { API_SECTIONS } from './api-options.ts';
import { ADMIN_TOKEN, AUTH_SECTIONS } from './auth-options.ts';
import { address, databaseUrl, masterKeys, password, path, url } from './kinds.ts';
import { NAME_SERVERS } from './name-server-options.ts';
import { COMPATIBILITIES, listOptions, option, type ValuesOf } from './option.ts';

/**
 * Every setting by its key, in the order of the documentation. The type of the configuration
 * follows from this table.
 */
export const TABLE = {
  compatibility: option(enumeration(COMPATIBILITIES), {
    default: 'none',
    meaning:
      'With `designate`, other settings have the defaults of OpenStack Designate, which the column Default shows, unless the configuration sets them.',
  }),
  listen: option(address(), {
    default: '127.0.0.1:9001',
    meaning:
      'The address to listen on. Port 0 selects a free port. Write IPv6 addresses in brackets: `[::1]:9001`.',
  }),
  publicUrl: option(url(), {
    meaning:
      'The URL by which callers reach the service, with which links in responses begin. If unset, they use the `Host` header of each request.',
  }),
  database: option(databaseUrl(), {
    default: 'sqlite:var/tsigil.db',
    variable: 'TSIGIL_DATABASE_URL',
    meaning:
      'The database: `sqlite:` and the path of a file for one process, or the URL of a PostgreSQL database for any number of processes.',
  }),
  databasePool: {
    maxConnections: option(integer(1, 1000), {
      default: 10,
      meaning: 'How many connections one process opens to a PostgreSQL database.',
    }),
    password: option(password(), {
      variable: 'PGPASSWORD',
      secret: true,
      meaning: 'The password for a PostgreSQL database whose URL contains no password.',
    }),
  },
  adminToken: ADMIN_TOKEN,
  tls: {
    cert: option(path(), {
      reload: 'while set',
      meaning:
        'A PEM file with the certificate chain. With `tls.key`, the service accepts HTTPS only.',
    }),
    key: option(path(), {
      reload: 'while set',
      meaning: 'A PEM file with the private key of the certificate.',
    }),
    hstsMaxAgeSeconds: option(integer(0, 63_072_000), {
      default: 0,
      meaning:
        'The `max-age` of the header `Strict-Transport-Security` in responses over TLS, in seconds. 0 omits the header.',
    }),
  },
  encryption: {
    masterKey: option(masterKeys(), {
      secret: true,
      hasFileSetting: true,
      meaning:
        'The master key that encrypts secrets in the database. Prefer `encryption.masterKeyFile`.',
    }),
    masterKeyFile: option(path(), {
      credential: 'tsigil-master-key',
      meaning:
        'The master key file. If unset, the service uses the systemd credential `tsigil-master-key`, or with an embedded database `master.key` beside it, which the first start creates.',
    }),
    required: option(boolean(), {
      default: true,
      meaning:
        'Refuse to start without a master key, and refuse to read secrets that are not encrypted. With `false` and no master key, a service on PostgreSQL stores secrets in clear text and accepts tokens that anyone inserts into the database. An embedded database is always encrypted.',
    }),
  },
  audit: {
    secretReads: option(enumeration(SECRET_READS), {
      reload: 'yes',
      default: 'counted',
      meaning:
        'How the audit trail records reads of secrets. `counted` writes a record of the first read by each caller, key and minute, and one with the number of its further reads. `each` writes one record per request before the response, which is 503 if that fails. `off` writes no records.',
    }),
    retentionDays: option(integer(0, 36_500), {
      reload: 'yes',
      default: 400,
      meaning: 'How long the audit trail stores records, in days. 0 sets no limit.',
    }),
    toLog: option(boolean(), {
      reload: 'yes',
      default: false,
      meaning:
        'Also write each record of the audit trail to the log, after the record is committed.',
    }),
  },
  ...AUTH_SECTIONS,
  ...API_SECTIONS,
  console: {
    enabled: option(boolean(), {
      default: true,
      meaning:
        'Serve the web console at `/console/`, and accept its sessions. With `false`, its paths return 404.',
    }),
    idleSeconds: option(integer(300, 86_400), {
      default: 1800,
      meaning:
        'How long a session of the web console lasts without a request of a person, in seconds. With several processes, it can end up to a minute earlier.',
    }),
    lifetimeSeconds: option(integer(300, 2_592_000), {
      default: 43_200,
      meaning: 'How long a session of the web console lasts at most, in seconds.',
    }),
    confirmReveal: option(enumeration(CONFIRMATIONS), {
      reload: 'yes',
      default: 'never',
      meaning:
        'When the web console asks a person to sign in again before it shows a secret or creates a token: `never`, or `recent`, if the last sign-in is more than 15 minutes ago.',
    }),
  },
  tsigkeys: {
    strict: option(boolean(), {
      default: false,
      meaning:
        'Reject keys that no name server can use, because the name is not a domain name or the secret is not base64. Otherwise, they are accepted with a warning, and not delivered.',
    }),
    requireResource: option(boolean(), {
      default: false,
      meaning:
        'Reject keys whose `resource_id` is not the id of a pool (scope POOL) or a zone (scope ZONE), as Designate does from release 23.0.0 (2026.2).',
    }),
    overlapSeconds: option(integer(0, 31_536_000), {
      reload: 'yes',
      default: 604_800,
      meaning:
        'How long a key that was rotated works beside its successor after all consumers have moved to it, in seconds. A rotation can state another time.',
    }),
    graceSeconds: option(integer(0, 31_536_000), {
      reload: 'yes',
      default: 604_800,
      meaning:
        'How long a retired key can be restored, in seconds. Then its secret is destroyed. 0 destroys it at once.',
    }),
    maxAgeDays: option(integer(0, 36_500), {
      reload: 'yes',
      default: 0,
      meaning:
        'The age in days at which a secret should be replaced. The service warns 30, 14, 7 and 1 days before, and then each day, and keeps delivering the key. 0 is no limit.',
    }),
  },
  zones: {
    tldRule: option(enumeration(TLD_RULES), {
      default: 'last-label',
      designate: 'any-suffix',
      meaning:
        "Which part of a new zone's name must be a TLD entry: the last label (`last-label`) or any suffix (`any-suffix`). Without TLD entries, the setting has no effect.",
    }),
    perProject: option(integer(0, 10_000_000), {
      reload: 'yes',
      default: 0,
      designate: 10,
      meaning: 'How many zones one project may have. 0 sets no limit.',
    }),
    pendingStatus: option(boolean(), {
      default: false,
      designate: true,
      meaning:
        'Respond to the creation and the update of a zone with 202, `PENDING` and `CREATE` or `UPDATE`, as Designate does. The change is already complete, and the next `GET` shows `ACTIVE` and `NONE`.',
    }),
  },
  nameServers: NAME_SERVERS,
  log: {
    level: option(enumeration(['info', 'warn', 'error']), {
      reload: 'yes',
      default: 'info',
      meaning: 'The lowest level to log. The service logs requests at `info`.',
    }),
  },
  stopGraceSeconds: option(integer(0, 3600), {
    reload: 'yes',
    default: 10,
    meaning:
      'How long requests and deliveries in progress may take to finish when the service stops, in seconds.',
  }),
};

/** `check-config` prints the values, and `docs/configuration.md` explains the settings. */
export type Config = ValuesOf<typeof TABLE>;

/** All settings, in the order of the documentation. */
export const OPTIONS = listOptions(TABLE);

export function valueAt(config: Config, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>((node, name) => (isObject(node) ? node[name] : undefined), config);
}
