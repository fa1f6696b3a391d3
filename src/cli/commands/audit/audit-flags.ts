import { Option, type Command } from 'commander';
import { RECORD_FILTERS } from '../../../domain/audit/trail.ts';
import type { ConnectionFlags } from '../../service/connection.ts';
import { readPastTime } from '../../flags/time.ts';

/** A filter on the command line, by its parameter in the API. */
const FILTER_FLAGS: Readonly<Record<(typeof RECORD_FILTERS)[number], readonly [string, string]>> = {
  actor_id: ['--actor-id <id>', 'select only records of the caller with this id'],
  action: [
    '--action <action>',
    'select only this action, such as "tsigkeys:*"; * matches any characters',
  ],
  resource_type: ['--resource-type <type>', 'select only records about this collection'],
  resource_id: ['--resource-id <id>', 'select only records about the resource with this id'],
  project_id: ['--project-id <id>', 'select only records of callers in this project'],
  outcome: ['--outcome <outcome>', 'select only this outcome'],
  request_id: ['--request-id <id>', 'select only records of the request with this id'],
};

const OUTCOMES = ['success', 'denied', 'failed'];

/** The flags that select records. */
export type RecordFlags = ConnectionFlags &
  Readonly<Record<string, unknown>> & { readonly after?: string; readonly before?: string };

/** Adds the flags that select records. `times` are those of `--after` and `--before` to add. */
export function withRecordFlags(command: Command, times: readonly ('after' | 'before')[]): Command {
  for (const [flags, description] of Object.values(FILTER_FLAGS)) {
    const option = new Option(flags, description);
    command.addOption(flags.startsWith('--outcome') ? option.choices(OUTCOMES) : option);
  }
  if (times.includes('after'))
    command.option(
      '--after <time>',
      'select only records at or after this time: a timestamp, or a duration before now (90d, 12h, 30m)',
    );
  if (times.includes('before'))
    command.option('--before <time>', 'select only records before this time, in the same forms');
  return command;
}

/** Returns the query parameters for the flags that select records. Throws `CommandError`. */
export function recordParameters(flags: RecordFlags, now: number): [name: string, value: string][] {
  const filters = RECORD_FILTERS.flatMap((name): [string, string][] => {
    const value = flags[new Option(FILTER_FLAGS[name][0]).attributeName()];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const times = (['after', 'before'] as const).flatMap((name): [string, string][] => {
    const value = flags[name];
    return value === undefined ? [] : [[name, readPastTime(value, now)]];
  });
  return [...filters, ...times];
}
