import type { FastifyRequest } from 'fastify';
import type { Parameter } from '../resources/operations/list-query.ts';
import { secretFields } from '../core/response.ts';
import type { Resource, ResourceType } from '../core/resource.ts';
import { withoutTokens } from '../core/text/token-form.ts';
import { parametersOf } from './request/context.ts';
import { changeContext, signedIn } from './request/guard.ts';

/** Returns a promise if the response must wait for the record in the audit trail. */
type RecordSecretReads = (
  request: FastifyRequest,
  operation: 'get' | 'list',
  resources: readonly Resource[],
) => Promise<void> | undefined;

const MAX_IDS = 100;

export function secretReadsOf(type: ResourceType): RecordSecretReads {
  if (secretFields(type).length === 0) return () => undefined;
  const actions = { get: `${type.collection}:get`, list: `${type.collection}:list` };
  const nameField = type.unique?.field ?? 'id';
  return (request, operation, resources) => {
    const { recording } = request.settings.dependencies;
    const [first] = resources;
    if (first === undefined) return undefined;
    const isOne = resources.length === 1;
    return recording.secretsRead({
      caller: signedIn(request),
      source: request.address,
      action: actions[operation],
      type,
      id: isOne ? first.id : undefined,
      name: isOne ? String(first[nameField]) : undefined,
      count: resources.length,
      origin: () => changeContext(request),
      detail: () => (operation === 'get' ? {} : listDetail(parametersOf(request), resources)),
    });
  };
}

function listDetail(
  parameters: readonly Parameter[],
  resources: readonly Resource[],
): Readonly<Record<string, unknown>> {
  return {
    filter: Object.fromEntries(parameters.map(([name, value]) => [name, withoutTokens(value)])),
    ids: resources.slice(0, MAX_IDS).map(({ id }) => id),
  };
}
