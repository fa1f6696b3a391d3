import type { Command } from 'commander';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { Connection } from '../service/client.ts';
import { findConnection, type ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { connect } from '../flags/flags.ts';
import { createReport, type Report } from '../output/import-report.ts';
import { copyResources } from './copy-resources.ts';
import type { Terminal } from '../output/terminal.ts';

export interface SourceFlags {
  readonly from?: string;
  readonly fromTokenFile?: string;
  readonly fromOsCloud?: string;
}

export function withSourceFlags(command: Command): Command {
  return command
    .option(
      '--from <url>',
      'copy from the Designate or Tsigil service at this URL, with ids and timestamps',
    )
    .option(
      '--from-token-file <file>',
      'read the token for the --from service from this file (default: TSIGIL_FROM_TOKEN)',
    )
    .option(
      '--from-os-cloud <name>',
      'copy from the service of this cloud in clouds.yaml, with the credentials of the cloud',
    );
}

export function hasSource({ from, fromOsCloud }: SourceFlags): boolean {
  return from !== undefined || fromOsCloud !== undefined;
}

/**
 * Copies every resource of `type` from the service that the flags select, and reports each outcome.
 * Throws `CommandError`, also if an item failed.
 */
export async function copyFromSource(
  type: ResourceType,
  flags: SourceFlags & ConnectionFlags & { dryRun?: boolean; force?: boolean },
  terminal: Terminal,
): Promise<void> {
  const source = await findSource(flags, terminal);
  const report = createReport((line) => terminal.out.write(line));
  await copyResources(type, source, await connect(flags, terminal), flags, report);
  conclude(report, flags.dryRun === true, terminal);
}

export function conclude(report: Report, dryRun: boolean, { out }: Terminal): void {
  const summary = `${report.summary()}${dryRun ? ' (dry run: nothing was changed)' : ''}`;
  if (!report.isClean()) throw new CommandError(EXIT.refused, summary);
  out.write(`${summary}\n`);
}

/**
 * Returns the connection to the service to copy from. This connection needs a separate token,
 * because the command never sends the token of the target to this service.
 */
async function findSource(
  { from, fromTokenFile, fromOsCloud }: SourceFlags,
  { environment }: Terminal,
): Promise<Connection> {
  const token = environment.TSIGIL_FROM_TOKEN;
  if (fromTokenFile === undefined && fromOsCloud === undefined && !token) {
    const hint = 'Set TSIGIL_FROM_TOKEN, or use --from-token-file or --from-os-cloud.';
    throw new CommandError(EXIT.usage, `No token for '${from}'`, hint);
  }
  const flags = {
    ...(from === undefined ? {} : { url: from }),
    ...(fromTokenFile === undefined ? {} : { tokenFile: fromTokenFile }),
    ...(fromOsCloud === undefined ? {} : { osCloud: fromOsCloud }),
  };
  return findConnection(flags, {
    ...environment,
    TSIGIL_TOKEN: fromOsCloud === undefined ? token : undefined,
    TSIGIL_URL: undefined,
  });
}
