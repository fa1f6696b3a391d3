import { Option, type Command } from 'commander';
import { addExamples } from '../flags/help.ts';

/** The commands that work on this machine rather than over HTTP; the main program brings them. */
export interface LocalCommands {
  serve(config: string | undefined): Promise<void>;
  checkConfig(config: string | undefined): void;
  backUp(config: string | undefined, target: string): Promise<void>;
  migrate(config: string | undefined): Promise<void>;
  copyDatabase(config: string | undefined, from: string, to: string): Promise<void>;
}

/** Adds the commands that run and look after the service. */
export function addLocalCommands(program: Command, local: LocalCommands): void {
  const config = () => new Option('--config <file>', 'the configuration file').env('TSIGIL_CONFIG');
  const serve = program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .addOption(config())
    .action((flags: { config?: string }) => local.serve(flags.config));
  addExamples(serve, ['tsigil serve', 'tsigil serve --config /etc/tsigil/tsigil.yaml']);
  const checkConfig = program
    .command('check-config')
    .description('check the configuration and print it as it takes effect, with secrets hidden')
    .addOption(config())
    .action((flags: { config?: string }) => {
      local.checkConfig(flags.config);
    });
  addExamples(checkConfig, ['tsigil check-config --config /etc/tsigil/tsigil.yaml']);
  const backup = program
    .command('backup')
    .description('copy the embedded database into a new file while the service runs')
    .requiredOption('--to <file>', 'the file to write; it must not exist')
    .addOption(config())
    .action((flags: { config?: string; to: string }) => local.backUp(flags.config, flags.to));
  addExamples(backup, ['tsigil backup --to /var/backups/tsigil.db']);
  const migrate = program
    .command('migrate')
    .description('bring the schema of the configured database up to date, and say what was done; the service does the same when it starts')
    .addOption(config())
    .action((flags: { config?: string }) => local.migrate(flags.config));
  addExamples(migrate, ['tsigil migrate --config /etc/tsigil/tsigil.yaml']);
  const copy = program
    .command('copy-database')
    .description('copy everything from one database into another, and compare; stop the services on both first')
    .requiredOption('--from <database>', 'where to read, such as sqlite:var/tsigil.db; it is not changed')
    .requiredOption('--to <database>', 'where to write, such as postgres://tsigil@db.example/tsigil; a password comes from PGPASSWORD or ~/.pgpass')
    .addOption(config())
    .action((flags: { config?: string; from: string; to: string }) => local.copyDatabase(flags.config, flags.from, flags.to));
  addExamples(copy, ['tsigil copy-database --from sqlite:var/tsigil.db --to postgres://tsigil@db.example/tsigil']);
}
