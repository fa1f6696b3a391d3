import {
  ENCRYPTION_STATUS,
  SECRET_VERIFICATION,
  type EncryptionStatus,
  type SecretVerification,
} from './encryption-status.ts';
import { defineCommand, type CommandDefinition, type CommandGroup } from '../cli/flags/command.ts';
import { configFile, required, text } from '../cli/flags/flag.ts';
import { CommandError, EXIT } from '../cli/output/command-error.ts';
import { plainLines, plainText } from '../cli/output/plain-text.ts';
import type { Terminal } from '../cli/output/terminal.ts';
import { writeLine } from '../cli/output/write-line.ts';
import { actionCommand } from '../cli/commands/action-command.ts';
import { counted } from '../core/text/counted.ts';

const MAX_NAMED = 10;

export type SecretWork = 'scrub' | 'reset' | 'accept';

/** What changes master keys and the configured database on this machine. */
interface SecretWorker {
  /** Returns the id of the key. */
  newMasterKey(file: string): Promise<string>;
  /**
   * Removes the remains of former secrets (`scrub`) or unreadable secrets (`reset`), or takes over
   * what no key of the database protects (`accept`), after `ask` confirms. Returns the text to print.
   */
  maintainSecrets(
    work: SecretWork,
    config: string | undefined,
    ask: (question: string) => Promise<void>,
  ): Promise<string>;
}

type LoadWorker = () => Promise<SecretWorker>;

export const encryption = (load: LoadWorker): CommandGroup => ({
  name: 'encryption',
  description: 'manage the keys that encrypt secrets in the database',
  examples: ['tsigil encryption status', 'tsigil encryption rotate'],
  commands: [
    actionCommand({
      name: 'status',
      description:
        'print the keys that encrypt secrets, and how many secrets each encrypts; exit with 1 if secrets are in clear text',
      request: 'GET /v2/encryption',
      response: ENCRYPTION_STATUS,
      examples: ['tsigil encryption status'],
      print(status, { terminal }) {
        printStatus(status, terminal);
        assertEncrypted(status);
      },
    }),
    rotation('rotate', 'encrypt all secrets with a new data key in the background'),
    rotation(
      'rotate-master-key',
      'encrypt the data keys with the first key in the master key file',
    ),
    actionCommand({
      name: 'verify',
      description:
        'decrypt every secret, and check that the service stored every token; exit with 1 otherwise',
      request: 'POST /v2/encryption/verify',
      response: SECRET_VERIFICATION,
      examples: ['tsigil encryption verify'],
      print: (result, { terminal }) => printVerification(result, terminal),
    }),
    defineCommand({
      name: 'new-master-key',
      description: 'create a master key, and add it to a file as the first line',
      flags: { file: required(text('<file>', 'add the key to this file, or create the file')) },
      isLocal: true,
      examples: ['tsigil encryption new-master-key --file /etc/tsigil/master.key'],
      async run({ flags: { file }, terminal }) {
        const id = await (await load()).newMasterKey(file);
        writeLine(terminal.out, `Added master key ${id} to '${file}'.`);
      },
    }),
    maintenance(
      load,
      'scrub',
      'remove the remains of former secrets from the files of the database',
      'before the command rewrites the table or the database file',
    ),
    maintenance(
      load,
      'reset',
      'remove unreadable secrets if the master key is lost; stop the service first',
      'when a secret is unreadable',
    ),
    maintenance(
      load,
      'accept',
      'accept the secrets in clear text and the tokens that were stored without this master key, after you have checked them',
      'when there is such a secret or token',
    ),
  ],
});

function rotation(name: string, description: string): CommandDefinition {
  return actionCommand({
    name,
    description,
    request: `POST /v2/encryption/${name}`,
    response: ENCRYPTION_STATUS,
    examples: [`tsigil encryption ${name}`],
    print: (status, { terminal }) => printStatus(status, terminal),
  });
}

/** Returns a command that changes the configured database, and asks for confirmation. */
function maintenance(
  load: LoadWorker,
  name: SecretWork,
  description: string,
  asks: string,
): CommandDefinition {
  return defineCommand({
    name,
    description,
    flags: { config: configFile() },
    asks,
    isLocal: true,
    examples: [`tsigil encryption ${name} --config /etc/tsigil/tsigil.yaml`],
    async run({ confirm, flags, terminal }) {
      // The list before a question is printed even if nobody can answer it.
      const ask = (asked: string) => {
        const question = asked.slice(asked.lastIndexOf('\n') + 1);
        if (flags.yes !== true)
          terminal.err.write(plainLines(asked.slice(0, asked.length - question.length)));
        return confirm(plainText(question));
      };
      const { maintainSecrets } = await load();
      terminal.out.write(plainLines(await maintainSecrets(name, flags.config, ask)));
    },
  });
}

/** Throws `CommandError` if a secret cannot be decrypted, or a token is refused. */
function printVerification(result: SecretVerification, { out }: Terminal): void {
  const { unreadable_count: unreadable, forged_count: forged } = result;
  const lines = [
    ...result.unreadable.map(({ collection, id }) => `${collection} ${id}: cannot be decrypted`),
    ...result.forged.map(({ collection, id }) => `${collection} ${id}: changed by another program`),
    `${counted(result.checked, 'secret')} checked, ${unreadable} unreadable`,
    `${counted(result.credentials_checked, 'token')} checked; ${forged} tokens and sessions refused`,
  ];
  for (const line of lines) writeLine(out, line);
  if (unreadable > 0)
    throw new CommandError(
      EXIT.refused,
      `${counted(unreadable, 'secret')} cannot be decrypted`,
      'Restore a backup, or set new secrets.',
    );
  if (forged > 0)
    throw new CommandError(
      EXIT.refused,
      `The service refuses ${forged} tokens and sessions, because another program stored or changed them in the database`,
      'Delete each token that you do not know. Then run: tsigil encryption accept',
    );
}

/** Throws `CommandError` if secrets are, or will be, stored in clear text. */
function assertEncrypted({ master_keys: keys, clear_text: count }: EncryptionStatus): void {
  if (keys.length === 0)
    throw new CommandError(
      EXIT.refused,
      'Secrets are stored in clear text, because no master key is configured',
      'Create a key with: tsigil encryption new-master-key --file FILE. Then set encryption.masterKeyFile, and restart the service.',
    );
  if (count > 0)
    throw new CommandError(
      EXIT.refused,
      `${count} secrets are stored in clear text`,
      'Give every process the same master key, stop the service, and check and accept the secrets: tsigil encryption accept',
    );
}

function printStatus(status: EncryptionStatus, { out }: Terminal): void {
  const keys = status.data_keys.map(
    ({ number, master_key: masterKey, created_at: created, secrets }) =>
      `Data key ${number}: ${secrets} secrets, created ${created}, master key ${masterKey}`,
  );
  const named = status.lost.slice(0, MAX_NAMED);
  const more = status.lost_count - named.length;
  const lines = [
    `Master keys: ${status.master_keys.length === 0 ? 'none' : status.master_keys.join(', ')}`,
    ...keys,
    `Secrets in clear text: ${status.clear_text}`,
    `Unreadable secrets: ${status.unreadable}`,
    ...named.map((name) => `Lost secret: ${name}`),
    ...(more > 0 ? [`and ${more} more lost secrets`] : []),
  ];
  for (const line of lines) writeLine(out, line);
}
