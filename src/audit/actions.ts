import {
  actionsWith,
  type ActionDependencies,
  type ActionGroup,
} from '../resources/operations/action.ts';
import type { AuditTrail, RecordPage } from './trail.ts';
import {
  BATCH_PARAMETERS,
  filtersOf,
  formatPosition,
  RECORD_PARAMETERS,
} from './record-parameters.ts';
import {
  BATCH_PAGE,
  EXAMPLE_BATCH,
  EXAMPLE_RECORD,
  EXAMPLE_VERIFICATION,
  RECORD_PAGE,
} from './responses.ts';
import { AUDIT_RIGHT } from '../resources/policy.ts';
import { token } from '../resources/token.ts';

export interface AuditDependencies extends ActionDependencies {
  readonly audit: AuditTrail;
}

const defineAction = actionsWith<AuditDependencies>();

const GROUP: ActionGroup = {
  name: 'audit',
  description: 'The audit trail records every change, refused requests and reads of secrets.',
};

const STREAMED_AT_ONCE = 500;

const listRecords = defineAction({
  path: '/v2/audit',
  method: 'GET',
  right: AUDIT_RIGHT,
  operationId: 'list_audit_records',
  summary: 'List audit records',
  description:
    'Returns a page of the records of all projects that match every filter. To list all matching records, follow `links.next` until a page has no such link. The pages list each record once, even if records are added meanwhile. With `Accept: application/x-ndjson`, returns all matching records as JSON lines, up to `limit`.',
  type: token,
  group: GROUP,
  isLong: true,
  parameters: RECORD_PARAMETERS,
  response: {
    kind: RECORD_PAGE,
    schemaName: 'AuditRecords',
    description: 'The page.',
    examples: {
      one: {
        summary: 'A key was changed.',
        value: {
          records: [EXAMPLE_RECORD],
          links: { self: 'https://tsigil.example.com/v2/audit' },
        },
      },
    },
  },
  lines: {
    description: 'One record on each line.',
    example: EXAMPLE_RECORD,
    async *run({ dependencies, parameters }) {
      const { marker, limit = Infinity, sort_dir: order = 'asc' } = parameters;
      let left = limit;
      for (let from = marker; left > 0;) {
        const page: RecordPage = await dependencies.audit.records({
          filters: filtersOf(parameters),
          first: order === 'asc' ? 'oldest' : 'newest',
          from,
          limit: Math.min(left, STREAMED_AT_ONCE),
          maxBytes: dependencies.settings.maxPageBytes,
        });
        yield page.records;
        if (page.next === undefined) return;
        from = page.next;
        left -= page.records.length;
      }
    },
  },
  async run({ dependencies, parameters, pageLinks }) {
    const { marker: from, limit, sort_dir: order = 'desc' } = parameters;
    const { records, next } = await dependencies.audit.records({
      filters: filtersOf(parameters),
      first: order === 'asc' ? 'oldest' : 'newest',
      from,
      limit: limit ?? dependencies.settings.defaultLimit,
      maxBytes: dependencies.settings.maxPageBytes,
    });
    return {
      records,
      links: pageLinks(next === undefined ? undefined : formatPosition(next)),
    };
  },
});

const listBatches = defineAction({
  path: '/v2/audit/batches',
  method: 'GET',
  right: AUDIT_RIGHT,
  operationId: 'list_audit_batches',
  summary: 'List audit batches',
  description:
    'Returns a page of the batches that seal the audit trail. The number and the hash of a batch form a checkpoint. With a checkpoint, you can prove later that no earlier record was changed.',
  type: token,
  group: GROUP,
  parameters: BATCH_PARAMETERS,
  response: {
    kind: BATCH_PAGE,
    schemaName: 'AuditBatches',
    description: 'The page.',
    examples: {
      one: {
        summary: 'One batch.',
        value: {
          batches: [EXAMPLE_BATCH],
          links: { self: 'https://tsigil.example.com/v2/audit/batches' },
        },
      },
    },
  },
  async run({ dependencies, parameters, pageLinks }) {
    const { marker: from, limit, sort_dir: order = 'desc' } = parameters;
    const wanted = limit ?? dependencies.settings.defaultLimit;
    const batches = await dependencies.audit.batches({
      first: order === 'asc' ? 'oldest' : 'newest',
      from,
      limit: wanted,
    });
    const last = batches.length < wanted ? undefined : batches.at(-1);
    return { batches, links: pageLinks(last === undefined ? undefined : String(last.number)) };
  },
});

const verifyTrail = defineAction({
  path: '/v2/audit/verify',
  method: 'GET',
  right: AUDIT_RIGHT,
  operationId: 'verify_audit_trail',
  summary: 'Verify the audit trail',
  description:
    'Recomputes all hashes and MACs, and returns a JSON line for each part of the trail. `problems` lists every problem, such as a changed or missing batch. The last line has the member `head`. A response without that line is incomplete.',
  type: token,
  group: GROUP,
  lines: {
    description: 'The result for one part of the trail on each line.',
    example: EXAMPLE_VERIFICATION,
    async *run({ dependencies }) {
      for await (const part of dependencies.audit.verify()) yield [part];
    },
  },
});

export const AUDIT_ACTIONS = [listRecords, listBatches, verifyTrail];
