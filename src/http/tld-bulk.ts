import type { FastifyInstance } from 'fastify';
import { MAX_LIST_BYTES, refusalMessage } from '../domain/bulk-request.ts';
import type { Environment } from '../domain/collection.ts';
import { changeTlds, type BulkResult, type Outcome } from '../domain/tld-bulk.ts';
import { JSON_TYPE, statusAndType, type ErrorSettings } from './errors.ts';
import { signedIn } from './gate.ts';
import { readJsonBody } from './json-body.ts';
import { addRoutes } from './routes.ts';

/** Serves the one request that changes many TLD entries. */
export function addTldBulk(
  app: FastifyInstance,
  environment: Environment,
  options: { readonly maxBodyBytes: number; readonly errors: ErrorSettings },
): void {
  addRoutes(app, '/v2/tlds/bulk', [
    {
      method: 'POST',
      right: 'tlds:create',
      maxBodyBytes: Math.max(MAX_LIST_BYTES, options.maxBodyBytes),
      async handler(request, reply) {
        const result = await changeTlds(environment, signedIn(request), readJsonBody(request));
        return reply.header('content-type', JSON_TYPE).send(JSON.stringify(showResult(result, options.errors)));
      },
    },
  ]);
}

/** A result as callers see it. What a dry run would add has no id yet. */
export function showResult({ mode, replace, dryRun, outcomes, removed }: BulkResult, errors: ErrorSettings): object {
  const counts = { added: 0, unchanged: 0, updated: 0, refused: 0, removed: removed.length };
  for (const { outcome } of outcomes) counts[outcome] += 1;
  return {
    mode,
    replace,
    dry_run: dryRun,
    counts,
    results: outcomes.map((each) => showOutcome(each, dryRun, errors)),
    removed: removed.map(({ id, name, description }) => ({ id, name, description })),
  };
}

function showOutcome(each: Outcome, dryRun: boolean, errors: ErrorSettings): object {
  const { index, outcome } = each;
  if (outcome === 'refused') return { index, outcome, type: statusAndType(each.error, errors)[1], message: refusalMessage(each.error) };
  const shown = { index, outcome, id: dryRun && outcome === 'added' ? null : each.row.id, name: each.row.name };
  return outcome === 'updated' ? { ...shown, previous: each.previous } : shown;
}
