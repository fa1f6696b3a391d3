import { Option, type Command } from 'commander';
import {
  ENCRYPTION_STATUS,
  SECRET_VERIFICATION,
  type EncryptionStatus,
} from '../../domain/encryption/encryption-status.ts';
import { connect, withConnectionFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { declareDestructive, type ConfirmationFlags } from '../output/confirmation.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { plainLines, plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { callFor } from '../service/client.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import type { Ask, LoadLocalCommands } from './local-commands.ts';

const REQUESTS = {
  status:
    'print the keys that encrypt secrets, and how many secrets each encrypts; exit with 1 if secrets are in clear text',
  rotate: 'encrypt all secrets with a new data key in the background',
  'rotate-master-key': 'encrypt the data keys with the first key in the master key file',
};

export function addEncryptionCommands(
  program: Command,
  local: LoadLocalCommands,
  terminal: Terminal,
): void {
  const parent = program
    .command('encryption')
    .description('manage the keys that encrypt secrets in the database');
  addExamples(parent, ['tsigil encryption status', 'tsigil encryption rotate']);
  for (const [name, description] of Object.entries(REQUESTS)) {
    const method = name === 'status' ? 'GET' : 'POST';
    const path = name === 'status' ? '/v2/encryption' : `/v2/encryption/${name}`;
    const command = parent.command(name).description(description);
    command.action(async (flags: ConnectionFlags) => {
      const connection = await connect(flags, terminal);
      const status = await callFor(ENCRYPTION_STATUS, connection, method, path);
      terminal.out.write(`${describeStatus(status).map(plainText).join('\n')}\n`);
      if (name === 'status') assertEncrypted(status);
    });
    addExamples(withConnectionFlags(command), [`tsigil encryption ${name}`]);
  }
  const verify = parent
    .command('verify')
    .description(
      'decrypt every secret, and check that the service stored every token; exit with 1 otherwise',
    );
  verify.action(async (flags: ConnectionFlags) => {
    const connection = await connect(flags, terminal);
    const result = await callFor(SECRET_VERIFICATION, connection, 'POST', '/v2/encryption/verify');
    const {
      checked,
      unreadable,
      unreadable_count: count,
      forged,
      forged_count: forgeries,
    } = result;
    const lines = [
      ...unreadable.map(({ collection, id }) => `${collection} ${id}: cannot be decrypted`),
      ...forged.map(({ collection, id }) => `${collection} ${id}: changed by another program`),
      `${checked} secrets checked, ${count} unreadable`,
      `${result.credentials_checked} tokens checked, ${forgeries} refused`,
    ];
    terminal.out.write(`${lines.map(plainText).join('\n')}\n`);
    if (count > 0)
      throw new CommandError(
        EXIT.refused,
        `${count} secrets cannot be decrypted`,
        'Restore a backup, or set new secrets.',
      );
    if (forgeries > 0)
      throw new CommandError(
        EXIT.refused,
        `The service refuses ${forgeries} tokens, because another program stored or changed them in the database`,
        'Delete each token that you do not know. Then run: tsigil encryption accept',
      );
  });
  addExamples(withConnectionFlags(verify), ['tsigil encryption verify']);
  const create = parent
    .command('new-master-key')
    .description('create a master key, and add it to a file as the first line')
    .requiredOption('--file <file>', 'add the key to this file, or create the file')
    .action(async ({ file }: { file: string }) => {
      const id = await (await local()).newMasterKey(file);
      terminal.out.write(`${plainText(`Added master key ${id} to '${file}'.`)}\n`);
    });
  addExamples(create, ['tsigil encryption new-master-key --file /etc/tsigil/master.key']);
  addMaintenance(
    parent,
    'scrub',
    'remove the remains of former secrets from the files of the database',
    'before the command rewrites the table or the database file',
    async (config, ask) => (await local()).scrub(config, ask),
    terminal,
  );
  addMaintenance(
    parent,
    'reset',
    'remove unreadable secrets if the master key is lost; stop the service first',
    'when a secret is unreadable',
    async (config, ask) => (await local()).resetSecrets(config, ask),
    terminal,
  );
  addMaintenance(
    parent,
    'accept',
    'accept the secrets in clear text and the tokens that were stored without this master key, after you have checked them',
    'when there is such a secret or token',
    async (config, ask) => (await local()).accept(config, ask),
    terminal,
  );
}

/** Adds a command that changes the configured database, and asks for confirmation. */
function addMaintenance(
  parent: Command,
  name: string,
  description: string,
  condition: string,
  run: (config: string | undefined, ask: Ask) => Promise<string>,
  terminal: Terminal,
): void {
  const command = parent
    .command(name)
    .description(description)
    .addOption(new Option('--config <file>', 'read this configuration file').env('TSIGIL_CONFIG'));
  const confirm = declareDestructive(command, condition);
  command.action(async (flags: ConfirmationFlags & { readonly config?: string }) => {
    // The list before a question is printed even if nobody can answer it.
    const ask = (text: string) => {
      const question = text.slice(text.lastIndexOf('\n') + 1);
      if (flags.yes !== true)
        terminal.err.write(plainLines(text.slice(0, text.length - question.length)));
      return confirm(plainText(question), flags, terminal);
    };
    terminal.out.write(plainLines(await run(flags.config, ask)));
  });
  addExamples(command, [`tsigil encryption ${name} --config /etc/tsigil/tsigil.yaml`]);
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

function describeStatus(status: EncryptionStatus): string[] {
  const keys = status.data_keys.map(
    ({ number, master_key: masterKey, created_at: created, secrets }) =>
      `Data key ${number}: ${secrets} secrets, created ${created}, master key ${masterKey}`,
  );
  const more = status.lost_count - status.lost.length;
  return [
    `Master keys: ${status.master_keys.length === 0 ? 'none' : status.master_keys.join(', ')}`,
    ...keys,
    `Secrets in clear text: ${status.clear_text}`,
    `Unreadable secrets: ${status.unreadable}`,
    ...status.lost.map((name) => `Lost secret: ${name}`),
    ...(more > 0 ? [`and ${more} more lost secrets`] : []),
  ];
}
