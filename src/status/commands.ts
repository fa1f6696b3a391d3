import { STATUS_RESPONSE, type Status } from './response.ts';
import { MAX_LIMIT } from '../core/settings.ts';
import { millisecondsOf } from '../core/text/timestamps.ts';
import { defineCommand } from '../cli/flags/command.ts';
import { configFile } from '../cli/flags/flag.ts';
import { CommandError, EXIT } from '../cli/output/command-error.ts';
import { plainCell, printItem, printList, type OutputFlags } from '../cli/output/output.ts';
import { wrap } from '../cli/output/table.ts';
import { bold, coloured, marked, textStyleOf, type Terminal } from '../cli/output/terminal.ts';
import { callFor } from '../cli/service/client.ts';
import { ageOf } from '../rotation/commands/key-states.ts';

const COLUMNS = [
  'url',
  'version',
  'problems',
  'nameservers',
  'tsigkeys',
  'tokens',
  'encryption',
  'backup',
  'zones',
  'tlds',
];

/** What is found on this machine, besides what the service reports, and needs no person. */
export interface LocalNote {
  readonly member: string;
  readonly section: string;
  /** What `--config` also shows. */
  readonly flag: string;
  find(config: string | undefined): Promise<readonly string[]>;
  describe(found: readonly string[]): string;
}

interface Shown extends Status {
  readonly url: string;
  readonly notes: readonly (LocalNote & { readonly found: readonly string[] })[];
}

export const status = (local: readonly LocalNote[]) =>
  defineCommand({
    name: 'status',
    description:
      'show the name servers, keys, tokens, secrets, backups and zones at a glance; exit with 1 if something needs a person',
    summary: 'show what needs a person',
    flags: {
      ...(local.length > 0 && {
        config: configFile(`also show ${local.map(({ flag }) => flag).join(' and ')}`),
      }),
    },
    columns: [...COLUMNS, ...local.map(({ member }) => member)],
    examples: ['tsigil status', 'tsigil status -f json'],
    async run({ columns, connect, flags, terminal }) {
      const connection = await connect();
      const reported = await callFor(STATUS_RESPONSE, connection, 'GET', '/v2/status');
      const notes = await Promise.all(
        local.map(async (note) => ({
          ...note,
          found: await note.find(flags.config).catch(() => []),
        })),
      );
      const shown = { ...reported, url: connection.url };
      const found = Object.fromEntries(notes.map((note) => [note.member, note.found]));
      const isTable = (flags.format ?? 'table') === 'table' && flags.column === undefined;
      if (isTable) print({ ...shown, notes }, flags, terminal);
      else printItem(terminal, { ...shown, ...found }, columns, flags);
      conclude(reported);
    },
  });

/** A part of the service, and what is known about it. Null if the token may not see it. */
interface Section {
  readonly name: string;
  readonly member: string;
  summary(status: Status, now: number): string | null;
}

const SECTIONS: readonly Section[] = [
  {
    name: 'name servers',
    member: 'nameservers',
    summary: ({ nameservers: all }) => all && ofAll(all.live, all.total, 'live'),
  },
  {
    name: 'keys',
    member: 'tsigkeys',
    summary({ tsigkeys }) {
      if (tsigkeys === null) return null;
      const { total, failing, weak } = tsigkeys;
      return `${totalOf(total)}, ${numberOf(failing)} failing on a working name server, ${numberOf(weak)} weak`;
    },
  },
  {
    name: 'tokens',
    member: 'tokens',
    summary: ({ tokens: all }) =>
      all && `${totalOf(all.total)}, ${numberOf(all.expiring.length)} expiring within 14 days`,
  },
  {
    name: 'secrets',
    member: 'encryption',
    summary: ({ encryption: all }) => all && `${numberOf(all.clear_text)} in clear text`,
  },
  {
    name: 'last backup',
    member: 'backup',
    summary({ backup }, now) {
      if (backup === null) return null;
      const { last_at: at, restored } = backup;
      const last =
        at === null ? "not recorded, because 'tsigil backup' has not written one" : timeOf(at, now);
      return restored === null ? last : `${last}. ${restoredText(restored, now)}`;
    },
  },
  {
    name: 'zones',
    member: 'zones',
    summary({ zones }) {
      if (zones === null) return null;
      const { total, outside_tlds: outside } = zones;
      const outsiders = outside === null ? '' : `, ${numberOf(outside)} outside the TLD entries`;
      return `${totalOf(total)}${outsiders}`;
    },
  },
];

function restoredText(
  { from, backup_at: written, at }: NonNullable<NonNullable<Status['backup']>['restored']>,
  now: number,
): string {
  const backup = written === null ? `'${from}'` : `'${from}' of ${written.slice(0, 19)}`;
  return `Restored from ${backup}, ${timeOf(at, now)}`;
}

function timeOf(at: string, now: number): string {
  return `${ageOf(now - millisecondsOf(at))} ago, at ${at.slice(0, 19)}`;
}

function ofAll(count: number, total: number, word: string): string {
  if (total === 0) return 'none';
  return count === total ? `${total} ${word}` : `${count} of ${total} ${word}`;
}

function numberOf(count: number): string {
  return count === 0 ? 'none' : totalOf(count);
}

function totalOf(count: number): string {
  return count < MAX_LIMIT ? String(count) : `${MAX_LIMIT} or more`;
}

const MIN_WIDTH = 20;

const HIDDEN = 'not visible to this token';

function print({ url, notes, ...status }: Shown, flags: OutputFlags, terminal: Terminal): void {
  const { out, environment } = terminal;
  const style = textStyleOf(out, environment);
  const rows = SECTIONS.flatMap(({ name, member, summary }) => {
    const detail = summary(status, terminal.now());
    const problems = status.problems.filter(({ section }) => section === member);
    const isKnown = detail !== null && !(member === 'backup' && status.backup?.last_at === null);
    const found = problems.length > 0 ? 'problem' : 'ok';
    const result = isKnown ? found : 'unknown';
    return [
      { section: name, result, detail: detail ?? HIDDEN, run: '' },
      ...problems.map(({ message, run }) => ({ section: '', result: '', detail: message, run })),
    ];
  });
  for (const { section, describe, found } of notes)
    if (found.length > 0) rows.push({ section, result: 'note', detail: describe(found), run: '' });
  if (!style.decorated) {
    const filled = rows.map((row) => (row.section === '' ? { ...row, result: 'problem' } : row));
    printList(terminal, filled, ['section', 'result', 'detail', 'run'], flags);
    return;
  }
  const width = Math.max(...SECTIONS.map(({ name }) => name.length));
  out.write(`${bold(plainCell(`Tsigil ${status.version} at ${url}`), style)}\n\n`);
  const indent = ' '.repeat(width + 4);
  for (const { section, result, detail, run } of rows) {
    const [first = '', ...more] = [detail, ...(run === '' ? [] : [`Run: ${run}`])]
      .map(plainCell)
      .flatMap((text) => wrap(text, Math.max(MIN_WIDTH, style.width - indent.length)));
    const text = `${section.padEnd(width)}  ${first}`;
    const line =
      result === 'ok' || result === 'problem'
        ? marked(text, result === 'ok' ? 'good' : 'bad', style)
        : `${result === 'unknown' ? '-' : ' '} ${text}`;
    out.write(`${coloured(line, line, style)}\n`);
    for (const each of more) out.write(`${indent}${each}\n`);
  }
}

/** Throws `CommandError` if something needs a person, or if the token may not see everything. */
function conclude(status: Status): void {
  const count = status.problems.length;
  if (count > 0)
    throw new CommandError(
      EXIT.refused,
      count === 1 ? '1 problem needs a person' : `${count} problems need a person`,
    );
  const unseen = SECTIONS.filter(({ summary }) => summary(status, 0) === null);
  if (unseen.length > 0 || status.zones?.outside_tlds === null)
    throw new CommandError(
      EXIT.unchecked,
      `No problem found, but the token may not see everything: ${
        unseen.map(({ name }) => name).join(', ') || 'zones outside the TLD entries'
      }`,
      'Use a token with the role auditor or admin, without limits.',
    );
}
