import { Option, type Command } from 'commander';
import { ENTRY_COLUMNS, type AuditRecord } from '../../../domain/audit/record.ts';
import { MAX_LIMIT } from '../../../domain/model/settings.ts';
import {
  checkColumns,
  connect,
  readLimit,
  withConnectionFlags,
  withOutputFlags,
} from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { printList, type OutputFlags } from '../../output/output.ts';
import type { Terminal } from '../../output/terminal.ts';
import { addExport } from './audit-export.ts';
import { recordParameters, withRecordFlags, type RecordFlags } from './audit-flags.ts';
import { addFollow } from './audit-follow.ts';
import { getRecords } from './audit-requests.ts';
import { SUMMARY_COLUMNS, summaryOf } from './audit-summary.ts';
import { addVerify } from './audit-verify.ts';

const COLUMNS = ['seq', 'batch', ...ENTRY_COLUMNS];
const DEFAULT_COUNT = 100;

/** Adds the commands for the audit trail. */
export function addAuditCommands(program: Command, terminal: Terminal): void {
  const parent = program
    .command('audit')
    .description('read and verify the audit trail: who changed what, and who read secrets');
  addList(parent, terminal);
  addFollow(parent, terminal);
  addExport(parent, terminal);
  addVerify(parent, terminal);
  parent.summary('list, follow, export and verify the audit trail');
  addExamples(parent, [
    'tsigil audit list --after 1h',
    'tsigil audit export --format cef -o audit.cef',
    'tsigil audit verify',
  ]);
}

function addList(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('list')
    .alias('ls')
    .description('list audit records, the newest first')
    .addOption(
      new Option(
        '--limit <number>',
        `list at most this number of records (default: ${DEFAULT_COUNT})`,
      ).argParser(readLimit),
    )
    .option('--long', 'list all columns, including ids and changes');
  withRecordFlags(command, ['after', 'before']);
  withConnectionFlags(withOutputFlags(command)).action(
    async (
      flags: RecordFlags & OutputFlags & { readonly limit?: number; readonly long?: boolean },
    ) => {
      checkColumns(flags, [...SUMMARY_COLUMNS, ...COLUMNS]);
      const { limit = DEFAULT_COUNT, long = false, format } = flags;
      const wanted = recordParameters(flags, terminal.now());
      const connection = await connect(flags, terminal);
      const records: AuditRecord[] = [];
      for (let marker: string | undefined = ''; marker !== undefined && records.length < limit;) {
        const page = await getRecords(connection, [
          ...wanted,
          ['limit', String(Math.min(limit - records.length, MAX_LIMIT))],
          ...(marker === '' ? [] : [['marker', marker] as const]),
        ]);
        records.push(...page.records);
        marker = page.next;
      }
      const isTable = (format === undefined || format === 'table') && !long;
      const rows = records.map((record) => ({ ...record, ...summaryOf(record) }));
      printList(terminal, rows, isTable ? SUMMARY_COLUMNS : COLUMNS, flags);
    },
  );
  addExamples(command, [
    'tsigil audit list',
    'tsigil audit list --after 1h --action "tsigkeys:*"',
    { command: 'tsigil audit list --outcome denied -f json', purpose: 'list refused requests' },
  ]);
}
