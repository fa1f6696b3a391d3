import type { Command } from 'commander';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { Connection } from '../service/client.ts';
import { findConnection, type ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { connect } from '../flags/flags.ts';
import { createReport, type Report } from '../output/import-report.ts';
import { copyResources } from './copy-resources.ts';
import type { Terminal } from '../output/terminal.ts';

/** Which other service resources are copied from, as asked on the command line. */
export interface SourceFlags {
  readonly from?: string;
  readonly fromTokenFile?: string;
  readonly fromOsCloud?: string;
}

/** Adds the flags that say which other service is meant. */
export function withSourceFlags(command: Command): Command {
  return command
    .option('--from <url>', 'copy from this other Designate or Tsigil, with ids and timestamps')
    .option('--from-token-file <file>', 'a file that holds the token for it (default: TSIGIL_FROM_TOKEN)')
    .option('--from-os-cloud <name>', 'a cloud in clouds.yaml, for it and the token');
}

/** Tells whether another service was named. */
export function hasSource({ from, fromOsCloud }: SourceFlags): boolean {
  return from !== undefined || fromOsCloud !== undefined;
}

/** Copies every resource of `type` from the service that the flags name, and tells of each. Throws `CommandError`, also unless all went well. */
export async function copyFromSource(
  type: ResourceType,
  flags: SourceFlags & ConnectionFlags & { dryRun?: boolean },
  terminal: Terminal,
): Promise<void> {
  const source = await findSource(flags, terminal);
  const report = createReport((line) => terminal.out.write(line));
  await copyResources(type, source, await connect(flags, terminal), flags.dryRun === true, report);
  conclude(report, flags.dryRun === true, terminal);
}

/** Prints the counts of a report. Throws `CommandError` unless everything is as it was wanted. */
export function conclude(report: Report, dryRun: boolean, { out }: Terminal): void {
  const summary = `${report.summary()}${dryRun ? '; nothing was changed: this was a dry run' : ''}`;
  if (!report.isClean()) throw new CommandError(EXIT.refused, summary);
  out.write(`${summary}\n`);
}

/** The token of this service is never shown to another: the other's own must be given. */
async function findSource({ from, fromTokenFile, fromOsCloud }: SourceFlags, { environment }: Terminal): Promise<Connection> {
  const token = environment.TSIGIL_FROM_TOKEN;
  if (fromTokenFile === undefined && fromOsCloud === undefined && !token) {
    const hint = 'Set TSIGIL_FROM_TOKEN, or name a file with --from-token-file or a cloud with --from-os-cloud.';
    throw new CommandError(EXIT.usage, `There is no token for ${from}`, hint);
  }
  const flags = {
    ...(from === undefined ? {} : { url: from }),
    ...(fromTokenFile === undefined ? {} : { tokenFile: fromTokenFile }),
    ...(fromOsCloud === undefined ? {} : { osCloud: fromOsCloud }),
  };
  return findConnection(flags, { ...environment, TSIGIL_TOKEN: fromOsCloud === undefined ? token : undefined, TSIGIL_URL: undefined });
}
