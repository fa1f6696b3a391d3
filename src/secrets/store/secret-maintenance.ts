import { ServiceError } from '../../core/errors.ts';
import type { AuditEntry } from '../../core/audit-record.ts';
import { LIMIT_KINDS } from '../../core/caller.ts';
import type { Clock } from '../../core/ports.ts';
import type { Resource } from '../../core/resource.ts';
import { token } from '../../resources/token.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { withoutTokens } from '../../core/text/token-form.ts';
import { withoutPassword } from '../../core/text/database-url.ts';
import {
  openKeyring,
  prepareSecrets,
  type DatabaseAccess,
  type OpenedKeyring,
} from './open-keyring.ts';
import { assertExists, parseDatabase } from '../../sql/databases.ts';
import { assertSchema, migrate, NEWEST_SCHEMA } from '../../sql/migrate.ts';
import { localEntry, recordLocally } from '../../audit/store/record-command.ts';
import { checkCredentials, signCredentials } from './check-credentials.ts';
import { countUnder, namesInClearText, reEncrypt, SECRET_PLACES } from './re-encrypt.ts';
import { findReset, resetSecrets, type Reset } from './reset.ts';
import { endSessions } from '../../tokens/job/sessions.ts';
import { assertUnused } from '../../sql/other-users.ts';
import { insertRecord } from '../../audit/store/records.ts';
import { assertMasterKey } from './start.ts';
import type { Database } from '../../sql/sql.ts';

/** Asks the operator for confirmation. Throws if the reply is not yes. */
type Ask = (question: string) => Promise<void>;

const STATEMENT_TIMEOUT_SECONDS = 3600;

const NO_MASTER_KEY =
  'No master key is configured. Create one with: tsigil encryption new-master-key --file FILE. Then set encryption.masterKeyFile';

const MAX_NAMES = 100;

/**
 * Removes the remains of former secrets from the files of the database, after `ask` confirms.
 * Returns the text to print. Throws `unavailable` if a service uses an embedded database. Throws
 * `bad_request` if secrets are stored in clear text, or the schema is not the newest.
 */
export function scrubDatabase(access: DatabaseAccess, clock: Clock, ask: Ask): Promise<string> {
  return withDatabase(access, async (database, secrets) => {
    const schema = await assertSchema(database);
    await assertMasterKey(database, secrets.keyring, secrets);
    if (schema !== NEWEST_SCHEMA)
      throw new ServiceError(
        'bad_request',
        `The database has schema ${schema}, and this version needs ${NEWEST_SCHEMA}. Run: tsigil migrate`,
      );
    const clear = await countUnder(database.reads, null);
    if (clear > 0)
      throw new ServiceError(
        'bad_request',
        `${clear} secrets are stored in clear text. Configure a master key, and check and accept the secrets: tsigil encryption accept`,
      );
    const tables = SECRET_PLACES.map(({ table }) => table);
    await ask(
      database.exclusive
        ? 'This command rewrites the whole database file. Continue?'
        : `This command locks and rewrites the table ${tables.join(', ')}. Requests that use this table wait. Continue?`,
    );
    await database.scrub(tables);
    await recordLocally(database, { action: 'encryption:scrub', at: clock() });
    return `Removed the remains of former secrets from '${withoutPassword(access.database)}'.\n`;
  });
}

/**
 * Removes each unreadable secret and all sessions of the console, after `ask` confirms. Returns the
 * text to print. Throws `unavailable` if a service uses the database, and `bad_request` without a
 * master key.
 */
export function resetDatabase(access: DatabaseAccess, clock: Clock, ask: Ask): Promise<string> {
  return withDatabase(access, async (database, secrets) => {
    const { keyring, createMasterKey, problem, file } = secrets;
    if (problem !== undefined) throw new ServiceError('bad_request', problem);
    if (keyring.masterKeys.length === 0 && createMasterKey === undefined)
      throw new ServiceError('bad_request', NO_MASTER_KEY);
    await migrate(database, clock());
    await assertUnused(database);
    const { secrets: unreadable, dataKeys } = await findReset(database.reads, keyring);
    if (unreadable.length === 0 && dataKeys.length === 0)
      return 'Every secret is readable. Nothing was changed.\n';
    const lostIds = [...new Set(dataKeys.map(({ wrappedBy }) => wrappedBy))].join(', ');
    await ask(
      `${unreadable.length} secrets are unreadable${lostIds === '' ? '' : `, because master key ${lostIds} is not available`}. This command permanently removes the unreadable secrets. Continue?`,
    );
    const hadKey = keyring.masterKeys.length > 0;
    const done = await resetSecrets({
      database,
      keyring,
      createMasterKey,
      now: clock(),
      record: async (sql, reset) => {
        await endSessions(sql);
        await insertRecord(sql, resetEntry(reset, clock()));
      },
    });
    const [wrapping] = keyring.masterKeys;
    return [
      ...(hadKey ? [] : [`Created master key ${wrapping?.id} in '${file}'`]),
      ...done.secrets.map(({ name, id }) => `Secret removed: ${name} (${id})`),
      `${done.secrets.length} secrets removed. Set them again with: tsigil tsigkey import FILE --update --pool POOL`,
      ...(dataKeys.some(({ purpose }) => purpose === 'mac')
        ? [
            'The service refuses every token that was stored before. Accept the tokens that you know with: tsigil encryption accept',
          ]
        : []),
      '',
    ].join('\n');
  });
}

/**
 * Takes over what a database holds without the proof of its keys, after `ask` shows it: encrypts
 * secrets in clear text, signs tokens whose MAC is missing or does not match, and ends all sessions
 * of the console. A database has them if it was used without a master key, or if its keys were
 * lost. Returns the text to print. Throws `bad_request` without a master key.
 */
export function acceptContent(access: DatabaseAccess, clock: Clock, ask: Ask): Promise<string> {
  return withDatabase(access, async (database, secrets) => {
    const { keyring } = secrets;
    if (keyring.masterKeys.length === 0 && secrets.createMasterKey === undefined)
      throw new ServiceError('bad_request', NO_MASTER_KEY);
    await prepareSecrets(database, secrets, () => migrate(database, clock()), clock, true);
    const found = await checkCredentials(database, keyring);
    const forged = found.forged.filter(({ type }) => type.collection === token.collection);
    const clear = await namesInClearText(database.reads);
    if (found.forged.length === 0 && clear.length === 0)
      return 'The service accepts every secret and every token. Nothing was changed.\n';
    const lines = [
      ...clear.map((name) => `TSIG key ${name}: secret in clear text`),
      ...forged.map(({ resource }) => `Token ${describeToken(resource)}`),
    ].map((line) => `${line}\n`);
    await ask(
      `${lines.join('')}The service refuses these ${clear.length} secrets, ${forged.length} tokens and ${found.forged.length - forged.length} sessions of the console, because it cannot tell who stored them. Name servers get the secrets, whoever has one of the tokens gets its roles, and all sessions end. Accept all of them?`,
    );
    const encrypted = await reEncrypt(database, keyring, null);
    const names = [...clear, ...forged.map(({ resource }) => String(resource.name))]
      .slice(0, MAX_NAMES)
      .map(withoutTokens);
    const detail = { counts: { update: encrypted + forged.length }, names };
    await database.migrate(async (sql) => {
      await endSessions(sql);
      await signCredentials(sql, keyring, forged);
      const entry = { at: clock(), action: 'encryption:accept', type: token, detail };
      await insertRecord(sql, localEntry(entry));
    });
    return `${lines.join('')}${encrypted} secrets encrypted, ${forged.length} tokens signed\n`;
  });
}

function describeToken(stored: Resource): string {
  const text = (name: string, absent: string) => {
    const value = stored[name];
    return typeof value === 'string' ? value : absent;
  };
  const roles = [stored.roles].flat().join(' ');
  const limits = [...LIMIT_KINDS, 'addresses'].flatMap((kind) =>
    Array.isArray(stored[kind]) ? [`, ${kind} ${stored[kind].join(' ') || 'none'}`] : [],
  );
  return `${withoutTokens(text('name', ''))} (${stored.id}): roles ${roles}, project ${text('project_id', 'none')}, expires ${text('expires_at', 'never')}${limits.join('') || ', no limits'}, created ${stored.created_at} by ${text('created_by', 'an unknown caller')}`;
}

function resetEntry({ secrets }: Reset, at: string): AuditEntry {
  const names = secrets.slice(0, MAX_NAMES).map(({ name }) => withoutTokens(name));
  const detail = { counts: { update: secrets.length }, names };
  return localEntry({ at, action: 'encryption:reset', type: tsigkey, detail });
}

async function withDatabase<T>(
  { database: setting, databasePool, encryption }: DatabaseAccess,
  work: (database: Database, secrets: OpenedKeyring) => Promise<T>,
): Promise<T> {
  const { kind, location } = parseDatabase(setting);
  assertExists(setting);
  const secrets = openKeyring(setting, encryption);
  const database = await kind.open(
    location,
    { committed: () => undefined },
    {
      ...databasePool,
      statementTimeoutSeconds: STATEMENT_TIMEOUT_SECONDS,
      scanTimeoutSeconds: STATEMENT_TIMEOUT_SECONDS,
      keyring: secrets.keyring,
    },
  );
  try {
    return await work(database, secrets);
  } finally {
    await database.close();
  }
}
