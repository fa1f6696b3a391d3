import { InvalidArgumentError, Option, type Command } from 'commander';
import { normaliseUuid } from '../../domain/model/field.ts';
import { KeyFileError, type Entry } from '../../domain/key-formats/reader.ts';
import { detectFormat, IMPORT_FORMATS } from '../../domain/key-formats/readers.ts';
import { tsigkey as tsigkeyType } from '../../domain/resources/tsigkey.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { connect, withConnectionFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { createReport } from '../output/import-report.ts';
import { readText } from '../service/input.ts';
import { importKeys, type FoundKey } from '../imports/key-import.ts';
import { readPowerdnsKeys } from '../imports/powerdns.ts';
import { conclude, copyFromSource, hasSource, withSourceFlags, type SourceFlags } from '../imports/source.ts';
import { catchInterrupt, type Terminal } from '../output/terminal.ts';

interface ImportFlags extends ConnectionFlags, SourceFlags {
  readonly format?: string;
  readonly fromPowerdns?: string;
  readonly scope?: string;
  readonly resourceId?: string;
  readonly update?: boolean;
  readonly dryRun?: boolean;
}

/** Adds the command that brings keys in from where they are. */
export function addImport(tsigkey: Command, terminal: Terminal): void {
  const { schema } = tsigkeyType.fields.scope;
  const command = tsigkey
    .command('import')
    .description('bring in keys from a file of a name server or tool, from PowerDNS, or from another Designate or Tsigil')
    .argument('[file]', 'the file; - is standard input')
    .addOption(new Option('--format <format>', 'the form of the file (default: what it looks like)').choices(Object.keys(IMPORT_FORMATS)))
    .addOption(new Option('--scope <scope>', 'what new keys apply to').choices((schema.enum ?? []) as string[]))
    .addOption(new Option('--resource-id <id>', 'the pool or zone that new keys apply to').argParser(readUuid))
    .option('--update', 'give keys that exist the algorithm and secret that are found')
    .option('--dry-run', 'change nothing, and tell what would be done');
  withSourceFlags(command)
    .option('--from-powerdns <url>', 'ask the API of PowerDNS, with the key in PDNS_API_KEY')
    .action(async (file: string | undefined, flags: ImportFlags) => {
      checkSources(file, flags);
      if (hasSource(flags)) {
        if (flags.update === true) throw new CommandError(EXIT.usage, 'What is copied with ids and timestamps replaces nothing: leave out --update');
        return copyFromSource(tsigkeyType, flags, terminal);
      }
      const { scope, resourceId, update = false, dryRun = false } = flags;
      if (scope === undefined || resourceId === undefined) {
        throw new CommandError(EXIT.usage, 'Only this service knows what keys apply to', 'Say it with --scope and --resource-id.');
      }
      const keys =
        file === undefined ? await askPowerdns(flags.fromPowerdns ?? '', terminal) : readKeys(await readText(file, terminal), flags.format);
      const report = createReport((line) => terminal.out.write(line));
      const connection = await connect(flags, terminal);
      const { signal, release } = catchInterrupt(terminal);
      const told = await importKeys(connection, keys, { scope, resourceId, update, dryRun }, report, signal).finally(release);
      if (told < keys.length)
        throw new CommandError(EXIT.interrupted, `Stopped after ${told} of ${keys.length} keys${told === 0 ? '' : `: ${report.summary()}`}`);
      conclude(report, dryRun, terminal);
    });
  addExamples(withConnectionFlags(command), [
    'tsigil tsigkey import /etc/bind/keys.conf --scope POOL --resource-id 794ccc2c-d751-44fe-b57f-8894c9f5c842 --dry-run',
    'tsig-keygen new-key | tsigil tsigkey import - --scope POOL --resource-id 794ccc2c-d751-44fe-b57f-8894c9f5c842',
    { command: 'tsigil tsigkey import --from https://dns.example.org --from-token-file other.token', purpose: 'with ids and timestamps' },
  ]);
}

/** Keys come from exactly one place. */
function checkSources(file: string | undefined, flags: ImportFlags): void {
  const sources = [file !== undefined, hasSource(flags), flags.fromPowerdns !== undefined].filter(Boolean);
  if (sources.length !== 1) throw new CommandError(EXIT.usage, 'Name one source: a file, - for standard input, --from or --from-powerdns');
  if (flags.format !== undefined && file === undefined) throw new CommandError(EXIT.usage, '--format is about a file');
}

function readKeys(content: string, format: string | undefined): FoundKey[] {
  const name = format ?? detectFormat(content);
  if (name === undefined) {
    const hint = `Say with --format what it is: ${Object.entries(IMPORT_FORMATS)
      .map(([each, { source }]) => `${each} (${source})`)
      .join(', ')}.`;
    throw new CommandError(EXIT.usage, 'This looks like no form of keys that is known', hint);
  }
  let entries: Entry[];
  try {
    entries = IMPORT_FORMATS[name]?.read(content) ?? [];
  } catch (error) {
    if (error instanceof KeyFileError) throw new CommandError(EXIT.refused, `Nothing was imported: ${error.message}`, undefined, error);
    throw error;
  }
  return entries.map((found) => ({ place: `line ${found.line}`, found }));
}

async function askPowerdns(url: string, { environment }: Terminal): Promise<FoundKey[]> {
  const apiKey = environment.PDNS_API_KEY ?? '';
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new CommandError(EXIT.usage, 'PDNS_API_KEY does not hold an API key');
  if (!/^https?:\/\/[^/@?#]+\/*$/.test(url)) throw new CommandError(EXIT.usage, '--from-powerdns must be an http or https URL without a path');
  return readPowerdnsKeys(url.replace(/\/+$/, ''), apiKey);
}

function readUuid(value: string): string {
  const id = normaliseUuid(value);
  if (id === undefined) throw new InvalidArgumentError('It must be a UUID.');
  return id;
}
