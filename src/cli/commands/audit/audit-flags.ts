import { Option, type Command } from 'commander';
import { OUTCOMES } from '../../../domain/audit/record.ts';
import { RECORD_FILTERS } from '../../../domain/audit/trail.ts';
import { RECORD_PARAMETERS } from '../../../domain/operations/audit-list.ts';
import { tsigkey } from '../../../domain/resources/tsigkey.ts';
import type { ConnectionFlags } from '../../service/connection.ts';
import { readPastTime } from '../../flags/time.ts';

/** Returns the flag for a filter of the API: `--resource-id <id>` for `resource_id`. */
function filterFlag(name: (typeof RECORD_FILTERS)[number]): Option {
  const flag = name === 'actor_name' ? 'actor' : name.replaceAll('_', '-');
  const flags = `--${flag} <${name.split('_').at(-1)}>`;
  const [condition = ''] = RECORD_PARAMETERS[name].description.replace('Only', 'only').split(':');
  const option = new Option(flags, `select ${condition.replaceAll('`', '"').replace(/\.$/, '')}`);
  return name === 'outcome' ? option.choices(OUTCOMES) : option;
}

export type RecordFlags = ConnectionFlags &
  Readonly<Record<string, unknown>> & {
    readonly key?: string;
    readonly after?: string;
    readonly before?: string;
  };

export function withRecordFlags(command: Command): Command {
  for (const name of RECORD_FILTERS) command.addOption(filterFlag(name));
  return command
    .addOption(
      new Option(
        '--key <name>',
        'select only records about tsigkeys that had this name at that time, even if they no longer exist: short for --resource-type tsigkeys --resource-name <name>',
      ).conflicts(['resourceType', 'resourceName']),
    )
    .option(
      '--after <time>',
      'select only records at or after this time: a timestamp, or a duration before now (90d, 12h, 30m)',
    )
    .option(
      '--before <time>',
      'select only records before this time: a timestamp, or a duration before now (90d, 12h, 30m)',
    );
}

export function recordParameters(flags: RecordFlags, now: number): [name: string, value: string][] {
  const filters = RECORD_FILTERS.flatMap((name): [string, string][] => {
    const value = flags[filterFlag(name).attributeName()];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const ofKey: [string, string][] =
    flags.key === undefined
      ? []
      : [
          ['resource_type', tsigkey.collection],
          ['resource_name', flags.key],
        ];
  const times = (['after', 'before'] as const).flatMap((name): [string, string][] => {
    const value = flags[name];
    return value === undefined ? [] : [[name, readPastTime(value, now)]];
  });
  return [...filters, ...ofKey, ...times];
}
