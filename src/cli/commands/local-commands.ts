import { Option, type Command } from 'commander';
import { addExamples } from '../flags/help.ts';
import { declareDestructive, type ConfirmationFlags } from '../output/confirmation.ts';
import type { Terminal } from '../output/terminal.ts';
import type { LocalServers } from '../service/running-server.ts';

/** Asks the operator for confirmation. Throws if the reply is not yes. */
export type Ask = (question: string) => Promise<void>;

/**
 * The commands that run on this machine instead of sending HTTP requests. The main program
 * implements them.
 */
export interface LocalCommands extends LocalServers {
  /** If `again`, also serves a database that was copied to another. */
  serve(config: string | undefined, again: boolean): Promise<void>;
  checkConfig(config: string | undefined, connect: boolean): Promise<void>;
  /** Runs the agent of a name server. If `isCheck`, only checks the requirements of the agent. */
  agent(config: string, isCheck: boolean): Promise<void>;
  backUp(config: string | undefined, target: string): Promise<void>;
  /**
   * Replaces the database with a backup, after `ask` confirms. With `revive`, tokens and keys that
   * were deleted since become valid again. Returns the text to print.
   */
  restore(config: string | undefined, source: string, revive: boolean, ask: Ask): Promise<string>;
  migrate(config: string | undefined): Promise<void>;
  newMasterKey(file: string): Promise<string>;
  /**
   * Removes the remains of former secrets from the database, after `ask` confirms. Returns the text
   * to print.
   */
  scrub(config: string | undefined, ask: Ask): Promise<string>;
  /**
   * Removes unreadable secrets, after `ask` confirms. Returns the text to print.
   */
  resetSecrets(config: string | undefined, ask: Ask): Promise<string>;
  /**
   * Signs the tokens whose MAC is missing or does not match, after `ask` shows them. Returns the
   * text to print.
   */
  accept(config: string | undefined, ask: Ask): Promise<string>;
  copyDatabase(
    config: string | undefined,
    copy: {
      readonly from: string;
      readonly to: string;
      readonly fromMasterKeyFile: string | undefined;
      readonly again: boolean;
    },
  ): Promise<void>;
}

/** Loads the commands, because the client needs none of them. */
export type LoadLocalCommands = () => Promise<LocalCommands>;

export function addLocalCommands(
  program: Command,
  local: LoadLocalCommands,
  terminal: Terminal,
): void {
  const config = () =>
    new Option('--config <file>', 'read this configuration file').env('TSIGIL_CONFIG');
  const serve = program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .addOption(config())
    .option('--again', 'serve a database again that copy-database has copied to another database')
    .action(async (flags: { config?: string; again?: true }) =>
      (await local()).serve(flags.config, flags.again === true),
    );
  addExamples(serve, ['tsigil serve', 'tsigil serve --config /etc/tsigil/tsigil.yaml']);
  const agent = program
    .command('agent')
    .description(
      'deliver the keys of a service to the name server on this machine until SIGTERM or SIGINT',
    )
    .summary('deliver keys to the name server on this machine')
    .requiredOption(
      '--config <file>',
      "read this configuration file; 'tsigil nameserver onboard' prints it",
    )
    .option(
      '--check',
      'check the requirements of the agent without delivering keys; exit with 1 if a requirement is not met',
    )
    .action(async (flags: { config: string; check?: true }) =>
      (await local()).agent(flags.config, flags.check === true),
    );
  addExamples(agent, [
    'tsigil agent --config /etc/tsigil-agent/agent.yaml',
    'tsigil agent --config /etc/tsigil-agent/agent.yaml --check',
  ]);
  const checkConfig = program
    .command('check-config')
    .description('check the configuration and print the effective settings, with secrets hidden')
    .summary('check the configuration and print the effective settings')
    .addOption(config())
    .option('--connect', 'also connect to the database and Keystone, and report problems')
    .action(async (flags: { config?: string; connect?: true }) =>
      (await local()).checkConfig(flags.config, flags.connect === true),
    );
  addExamples(checkConfig, [
    'tsigil check-config --config /etc/tsigil/tsigil.yaml',
    'tsigil check-config --connect',
  ]);
  const backup = program
    .command('backup')
    .description('copy the embedded database to a new file while the service runs')
    .summary('copy the embedded database while the service runs')
    .requiredOption('--to <file>', 'write to this file; it must not exist')
    .addOption(config())
    .action(async (flags: { config?: string; to: string }) =>
      (await local()).backUp(flags.config, flags.to),
    );
  addExamples(backup, ['tsigil backup --to /var/backups/tsigil.db']);
  const restore = program
    .command('restore')
    .description(
      'replace the database with a backup, and withdraw the tokens and keys that were deleted since the backup; stop the service first',
    )
    .summary('replace the database with a backup')
    .argument(
      '<backup>',
      'file to restore; for PostgreSQL, the URL of a database into which pg_restore has restored a dump',
    )
    .option('--revive', 'also restore tokens and keys that were deleted since the backup')
    .addOption(config());
  const confirm = declareDestructive(restore, 'before the command replaces a database');
  restore.action(
    async (source: string, flags: ConfirmationFlags & { config?: string; revive?: true }) => {
      const ask: Ask = (question) => confirm(question, flags, terminal);
      const { restore } = await local();
      terminal.out.write(await restore(flags.config, source, flags.revive === true, ask));
    },
  );
  addExamples(restore, [
    'tsigil restore /var/backups/tsigil.db',
    {
      command: 'tsigil restore postgres://tsigil@db.example/tsigil_restored',
      purpose: 'withdraw what was deleted since a dump of PostgreSQL',
    },
  ]);
  const migrate = program
    .command('migrate')
    .description(
      'update the schema of the configured database and print the applied steps; the service also updates the schema at startup',
    )
    .summary('update the schema of the database')
    .addOption(config())
    .action(async (flags: { config?: string }) => (await local()).migrate(flags.config));
  addExamples(migrate, ['tsigil migrate --config /etc/tsigil/tsigil.yaml']);
  const copy = program
    .command('copy-database')
    .description(
      'copy all data from one database to another, and compare both databases; stop their services first, and serve only the target afterwards',
    )
    .summary('copy all data from one database to another')
    .requiredOption(
      '--from <database>',
      'read this database, such as sqlite:var/tsigil.db, and mark it as copied',
    )
    .requiredOption(
      '--to <database>',
      'write to this database, such as postgres://tsigil@db.example/tsigil; set the password in PGPASSWORD or ~/.pgpass',
    )
    .option(
      '--from-master-key-file <file>',
      'use the master key in this file for the source (default: the file beside the source, or the configured file)',
    )
    .option('--again', 'copy a database that was copied already, and overwrite what differs')
    .addOption(config())
    .action(
      async (flags: {
        config?: string;
        from: string;
        to: string;
        fromMasterKeyFile?: string;
        again?: true;
      }) => {
        const { from, to, fromMasterKeyFile, again } = flags;
        return (await local()).copyDatabase(flags.config, {
          from,
          to,
          fromMasterKeyFile,
          again: again === true,
        });
      },
    );
  addExamples(copy, [
    'tsigil copy-database --from sqlite:var/tsigil.db --to postgres://tsigil@db.example/tsigil',
  ]);
}
