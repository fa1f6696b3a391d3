import { ENTRY_COLUMNS, type AuditRecord } from '../../core/audit-record.ts';
import { isObject } from '../../core/field.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { RECORD, RECORD_PAGE } from '../responses.ts';
import { GRANT_RIGHT } from '../../resources/limits.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { parsed, text, toggle } from '../../cli/flags/flag.ts';
import { readLimit } from '../../cli/flags/flags.ts';
import { printList } from '../../cli/output/output.ts';
import { plainText } from '../../cli/output/plain-text.ts';
import { createFile } from '../../cli/output/save-file.ts';
import { callForLines, type Connection } from '../../cli/service/client.ts';
import { pagesOf, pathWith, type Query } from '../../cli/service/resource-requests.ts';
import { RECORD_FLAGS, recordParameters } from './audit-flags.ts';
import { auditVerify } from './audit-verify.ts';

const SUMMARY_COLUMNS = ['time', 'actor', 'action', 'resource', 'outcome', 'changes'] as const;

const COLUMNS = ['seq', 'batch', ...ENTRY_COLUMNS];
const DEFAULT_COUNT = 100;

const auditList = defineCommand({
  name: 'list',
  aliases: ['ls'],
  description: 'list the newest audit records, in the order of time',
  flags: {
    limit: parsed(
      '<number>',
      `list at most this number of records (default: ${DEFAULT_COUNT})`,
      readLimit,
    ),
    long: toggle('list all columns, including ids and changes'),
    ...RECORD_FLAGS,
  },
  columns: [...SUMMARY_COLUMNS, ...COLUMNS],
  examples: [
    'tsigil audit list',
    'tsigil audit list --after 1h --action "tsigkeys:*"',
    'tsigil audit list --key transfer-key  # list what happened to a key',
    'tsigil audit list --actor ci  # list what a token did',
    'tsigil audit list --outcome denied -f json  # list refused requests',
  ],
  async run({ connect, flags, terminal }) {
    const { limit = DEFAULT_COUNT, long = false, format } = flags;
    const wanted = recordParameters(flags, terminal.now());
    const records = await newestRecords(await connect(), wanted, limit);
    const isTable = (format === undefined || format === 'table') && !long;
    const rows = records.map((record) => ({ ...record, ...summaryOf(record) }));
    printList(terminal, rows, isTable ? SUMMARY_COLUMNS : COLUMNS, flags);
  },
});

const auditExport = defineCommand({
  name: 'export',
  description: 'write all sealed audit records as JSON lines, the oldest first',
  flags: {
    output: text('<file>', 'write to a new file with mode 0600; - is standard output (default)', {
      short: '-o',
    }),
    overwrite: toggle('replace an existing file'),
    ...RECORD_FLAGS,
  },
  examples: [
    'tsigil audit export > audit.jsonl',
    'tsigil audit export --after 30d -o audit.jsonl  # export the last 30 days',
  ],
  async run({ connect, flags, terminal }) {
    const { output = '-', overwrite = false } = flags;
    const path = pathWith('/v2/audit', recordParameters(flags, terminal.now()));
    const parts = callForLines(RECORD, await connect(), path);
    const textOf = (records: readonly object[]) =>
      records.map((record) => `${plainText(JSON.stringify(record))}\n`).join('');
    if (output === '-') {
      for await (const records of parts) terminal.out.write(textOf(records));
      return;
    }
    const file = createFile(output, overwrite);
    try {
      for await (const records of parts) file.write(textOf(records));
    } catch (error) {
      file.discard();
      throw error;
    }
    file.close();
  },
});

export const AUDIT = {
  name: 'audit',
  description: 'read and verify the audit trail: who changed what, and who read secrets',
  summary: 'list, export and verify the audit trail',
  examples: [
    'tsigil audit list --after 1h',
    'tsigil audit export -o audit.jsonl',
    'tsigil audit verify',
  ],
  commands: [auditList, auditExport, auditVerify],
};

async function newestRecords(
  connection: Connection,
  wanted: Query,
  limit: number,
): Promise<AuditRecord[]> {
  const parameters = [...wanted, ['limit', String(Math.min(limit, MAX_LIMIT))] as const];
  const records: AuditRecord[] = [];
  for await (const page of pagesOf(RECORD_PAGE, connection, '/v2/audit', parameters)) {
    records.push(...page.records);
    if (records.length >= limit) break;
  }
  return records.slice(0, limit).toSorted((one, other) => {
    if (one.at === other.at) return one.seq - other.seq;
    return one.at < other.at ? -1 : 1;
  });
}

function summaryOf(
  record: AuditRecord,
): Readonly<Record<(typeof SUMMARY_COLUMNS)[number], string>> {
  const { at, actor_name: actor, action, outcome, detail } = record;
  const { resource_type: type, resource_id: id, resource_name: name } = record;
  const resource = name ?? id ?? type ?? '';
  return {
    time: at.slice(0, 19),
    actor,
    action,
    resource,
    outcome,
    changes: changesOf(action, detail),
  };
}

/** Returns the members that an update changed, or what a record says of another event, in one line. */
function changesOf(action: string, { changes, ...others }: AuditRecord['detail']): string {
  if (!isObject(changes))
    return Object.entries(others)
      .filter(([, value]) => typeof value !== 'object')
      .map(([name, value]) => `${name}: ${String(value)}`)
      .join('; ');
  if (action === GRANT_RIGHT && Array.isArray(changes.grants)) {
    const [before, after] = changes.grants.map(grantsText);
    return `opens: ${before} -> ${after}`;
  }
  if (!action.endsWith(':update')) return '';
  return Object.entries(changes)
    .filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]))
    .map(([name, [before, after]]) => `${name}: ${textOf(before)} -> ${textOf(after)}`)
    .join('; ');
}

/** Returns grants as a record has them: with the names of few zones, or the number of many. */
function grantsText(grants: unknown): string {
  if (!Array.isArray(grants)) return 'all of its scope';
  const parts = grants.filter(isObject).map(({ rights, zones }) => {
    const places = Array.isArray(zones) ? zones.join(', ') : `${String(zones)} zones`;
    return `${Array.isArray(rights) ? rights.join(', ') : ''} in ${places}`;
  });
  return parts.join('; ') || 'nothing';
}

function textOf(value: unknown): string {
  if (value === null) return '(none)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
