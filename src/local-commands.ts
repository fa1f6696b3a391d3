import { defineCommand } from './cli/flags/command.ts';
import { configFile, required, text, toggle } from './cli/flags/flag.ts';

const config = configFile();

export const loadOperator = () => import('./operator-commands.ts'); // loads the configuration

export const LOCAL_COMMANDS = [
  defineCommand({
    name: 'serve',
    description: 'run the service until SIGTERM or SIGINT',
    flags: {
      config,
      again: toggle('serve a database again that copy-database has copied to another database'),
    },
    isLocal: true,
    examples: ['tsigil serve', 'tsigil serve --config /etc/tsigil/tsigil.yaml'],
    run: async ({ flags }) => (await loadOperator()).serve(flags.config, flags.again === true),
  }),
  defineCommand({
    name: 'agent',
    description:
      'deliver the keys of a service to the name server on this machine until SIGTERM or SIGINT',
    summary: 'deliver keys to the name server on this machine',
    flags: {
      config: required(
        text('<file>', "read this configuration file; 'tsigil nameserver onboard' prints it"),
      ),
      check: toggle(
        'check the requirements of the agent without delivering keys; exit with 1 if a requirement is not met',
      ),
    },
    isLocal: true,
    examples: [
      'tsigil agent --config /etc/tsigil-agent/agent.yaml',
      'tsigil agent --config /etc/tsigil-agent/agent.yaml --check',
    ],
    run: async ({ flags }) => (await loadOperator()).agent(flags.config, flags.check === true),
  }),
  defineCommand({
    name: 'check-config',
    description: 'check the configuration and print the effective settings, with secrets hidden',
    summary: 'check the configuration and print the effective settings',
    flags: {
      config,
      connect: toggle('also connect to the database and Keystone, and report problems'),
    },
    isLocal: true,
    examples: [
      'tsigil check-config --config /etc/tsigil/tsigil.yaml',
      'tsigil check-config --connect',
    ],
    run: async ({ flags }) =>
      (await loadOperator()).checkConfig(flags.config, flags.connect === true),
  }),
  defineCommand({
    name: 'backup',
    description: 'copy the embedded database to a new file while the service runs',
    flags: { to: required(text('<file>', 'write to this file; it must not exist')), config },
    isLocal: true,
    examples: ['tsigil backup --to /var/backups/tsigil.db'],
    run: async ({ flags }) => (await loadOperator()).backUp(flags.config, flags.to),
  }),
  defineCommand({
    name: 'restore',
    description:
      'replace the database with a backup, and withdraw the tokens and keys that were deleted since the backup; stop the service first',
    summary: 'replace the database with a backup',
    argument: [
      '<backup>',
      'file to restore; for PostgreSQL, the URL of a database into which pg_restore has restored a dump',
    ],
    flags: {
      revive: toggle('also restore tokens and keys that were deleted since the backup'),
      config,
    },
    asks: 'before the command replaces a database',
    isLocal: true,
    examples: [
      'tsigil restore /var/backups/tsigil.db',
      'tsigil restore postgres://tsigil@db.example/tsigil_restored  # withdraw what was deleted since a dump of PostgreSQL',
    ],
    async run({ argument: backup, flags, confirm, terminal }) {
      const { restore } = await loadOperator();
      terminal.out.write(await restore(flags.config, backup, flags.revive === true, confirm));
    },
  }),
  defineCommand({
    name: 'migrate',
    description:
      'update the schema of the configured database and print the applied steps; the service also updates the schema at startup',
    summary: 'update the schema of the database',
    flags: { config },
    isLocal: true,
    examples: ['tsigil migrate --config /etc/tsigil/tsigil.yaml'],
    run: async ({ flags }) => (await loadOperator()).migrate(flags.config),
  }),
  defineCommand({
    name: 'copy-database',
    description:
      'copy all data from one database to another, and compare both databases; stop their services first, and serve only the target afterwards',
    summary: 'copy all data from one database to another',
    flags: {
      from: required(
        text(
          '<database>',
          'read this database, such as sqlite:var/tsigil.db, and mark it as copied',
        ),
      ),
      to: required(
        text(
          '<database>',
          'write to this database, such as postgres://tsigil@db.example/tsigil; set the password in PGPASSWORD or ~/.pgpass',
        ),
      ),
      fromMasterKeyFile: text(
        '<file>',
        'use the master key in this file for the source (default: the file beside the source, or the configured file)',
      ),
      again: toggle('copy a database that was copied already, and overwrite what differs'),
      config,
    },
    isLocal: true,
    examples: [
      'tsigil copy-database --from sqlite:var/tsigil.db --to postgres://tsigil@db.example/tsigil',
    ],
    async run({ flags }) {
      const { from, to, fromMasterKeyFile, again = false } = flags;
      const { copyDatabase } = await loadOperator();
      await copyDatabase(flags.config, { from, to, fromMasterKeyFile, again });
    },
  }),
];
