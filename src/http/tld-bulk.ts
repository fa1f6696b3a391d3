import type { FastifyInstance } from 'fastify';
import { MAX_LIST_BYTES, refusalMessage } from '../domain/operations/bulk-request.ts';
import type { Dependencies } from '../domain/operations/change.ts';
import type { Slicer } from '../domain/scheduling/slicer.ts';
import { changeTlds, type BulkResult } from '../domain/operations/tld-bulk.ts';
import type { Outcome } from '../domain/operations/tld-bulk-plan.ts';
import { JSON_TYPE, statusAndType, type ErrorSettings } from './request/errors.ts';
import { changeContext } from './request/guard.ts';
import { readLongJsonBody } from './request/json-body.ts';
import { writeLongJson, type RunLongWork } from './sharing/long-work.ts';
import { addRoutes } from './request/routes.ts';

/** Serves the one request that changes many TLD entries. */
export function addTldBulk(
  app: FastifyInstance,
  dependencies: Dependencies,
  options: { readonly maxBodyBytes: number; readonly errors: ErrorSettings; readonly runLongWork: RunLongWork },
): void {
  addRoutes(app, '/v2/tlds/bulk', [
    {
      method: 'POST',
      right: 'tlds:create',
      maxBodyBytes: Math.max(MAX_LIST_BYTES, options.maxBodyBytes),
      async handler(request, reply) {
        const json = await options.runLongWork(request, async (slicer) => {
          const body = await readLongJsonBody(request, slicer);
          return writeResult(await changeTlds(dependencies, changeContext(request), body, slicer), options.errors, slicer);
        });
        return reply.header('content-type', JSON_TYPE).send(json);
      },
    },
  ]);
}

/** A result as callers see it. What a dry run would add has no id yet. */
function writeResult({ mode, replace, dryRun, outcomes, removed }: BulkResult, errors: ErrorSettings, slicer: Slicer): Promise<Buffer> {
  const counts = { added: 0, unchanged: 0, updated: 0, refused: 0, removed: removed.length };
  for (const { outcome } of outcomes) counts[outcome] += 1;
  const lists = {
    results: mapped(outcomes, (each) => showOutcome(each, dryRun, errors)),
    removed: mapped(removed, ({ id, name, description }) => ({ id, name, description })),
  };
  return writeLongJson(slicer, { mode, replace, dry_run: dryRun, counts }, lists);
}

/** What `show` makes of each of `items`, one at a time. */
function* mapped<T>(items: readonly T[], show: (item: T) => object): Generator<object> {
  for (const item of items) yield show(item);
}

function showOutcome(each: Outcome, dryRun: boolean, errors: ErrorSettings): object {
  const { index, outcome } = each;
  if (outcome === 'refused') return { index, outcome, type: statusAndType(each.error, errors)[1], message: refusalMessage(each.error) };
  const shown = { index, outcome, id: dryRun && outcome === 'added' ? null : each.id, name: each.name };
  return outcome === 'updated' ? { ...shown, previous: each.previous } : shown;
}
