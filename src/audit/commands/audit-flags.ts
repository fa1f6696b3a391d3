import { OUTCOMES } from '../../core/audit-record.ts';
import { RECORD_FILTERS } from '../trail.ts';
import { RECORD_PARAMETERS } from '../record-parameters.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { text, type Flag, type ValuesOf } from '../../cli/flags/flag.ts';
import { readPastTime } from '../../cli/flags/time.ts';

const DURATION = 'a timestamp, or a duration before now (90d, 12h, 30m)';

/** The flags for the filters of the API: `--resource-id <id>` for `resource_id`. */
const FILTER_FLAGS: Readonly<Record<string, Flag<string>>> = Object.fromEntries(
  RECORD_FILTERS.map((name) => {
    const { description } = RECORD_PARAMETERS[name];
    const [condition = ''] = description.replace('Only', 'only').split(':');
    const about = `select ${condition.replaceAll('`', '"').replace(/\.$/, '')}`;
    const flag = text(`<${name.split('_').at(-1)}>`, about);
    return [memberOf(name), name === 'outcome' ? { ...flag, choices: OUTCOMES } : flag];
  }),
);

function memberOf(name: (typeof RECORD_FILTERS)[number]): string {
  if (name === 'actor_name') return 'actor';
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export const RECORD_FLAGS = {
  ...FILTER_FLAGS,
  key: text(
    '<name>',
    'select only records about tsigkeys that had this name at that time, even if they no longer exist: short for --resource-type tsigkeys --resource-name <name>',
    { conflicts: ['resourceType', 'resourceName'] },
  ),
  after: text('<time>', `select only records at or after this time: ${DURATION}`),
  before: text('<time>', `select only records before this time: ${DURATION}`),
};

export function recordParameters(
  flags: Readonly<Record<string, unknown>> & ValuesOf<typeof RECORD_FLAGS>,
  now: number,
): [name: string, value: string][] {
  const filters = RECORD_FILTERS.flatMap((name): [string, string][] => {
    const value = flags[memberOf(name)];
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
