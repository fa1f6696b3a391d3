import { ANSWER_EXAMPLE, JOB_EXAMPLE } from '../agent-examples.ts';
import { ANSWER, JOB, MAX_ANSWER_BYTES, RENEWAL, type AgentDelivery } from '../agent-protocol.ts';
import { CONFIGURED_ID, type Caller } from '../../core/caller.ts';
import { boolean, integer } from '../../core/field.ts';
import { described, responseObject } from '../../core/object.ts';
import type { Dependencies } from '../../resources/operations/change.ts';
import { getResource } from '../../resources/operations/collection.ts';
import { AGENT_RIGHTS } from '../../resources/limits.ts';
import { nameServer } from '../../resources/name-server.ts';
import { hostName } from '../../core/shared-fields.ts';
import { isGenuine, token } from '../../resources/token.ts';
import { actionsWith, type ActionDependencies } from '../../resources/operations/action.ts';
import { MAX_WAIT_SECONDS } from './servers.ts';

export interface AgentDependencies extends ActionDependencies {
  readonly agents: AgentDelivery;
}

const defineAction = actionsWith<AgentDependencies>();

const MAX_IDS = 100;

const [DESIRED_RIGHT, OBSERVE_RIGHT] = AGENT_RIGHTS;

export const AGENT_ACTIONS = [
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/desired`,
    method: 'GET',
    right: DESIRED_RIGHT,
    operationId: 'get_nameserver_desired',
    summary: 'Get the keys that a name server should have, as its agent',
    description:
      'Begins a pass, and returns the keys with their secrets. With `If-None-Match`, waits up to `wait` seconds for work, and returns 304 if there is none. Acquires or renews the lease of the agent: another agent gets 409.',
    type: nameServer,
    errors: ['agent_conflict', 'unreadable_secret'],
    parameters: {
      agent: {
        ...hostName(),
        description: 'The name of the agent: the host that it runs on.',
        example: 'ns1.example.org',
      },
      wait: {
        ...integer(0, MAX_WAIT_SECONDS),
        description: 'How many seconds to wait for work.',
        example: 30,
        isOptional: true,
      },
    },
    isConditional: true,
    response: {
      kind: described(JOB, 'One pass for a name server.'),
      schemaName: 'NameServerDesired',
      description: 'The keys.',
      examples: { one: { summary: 'One key.', value: JOB_EXAMPLE } },
    },
    async run({ dependencies, context, id, parameters, knownTag, connection }) {
      const server = await getResource(dependencies, nameServer, context.caller, id);
      const pass = {
        agent: parameters.agent,
        waitMs: (parameters.wait ?? 0) * 1000,
        knownTag,
        disconnected: connection.disconnected(),
        isValid: () => isValid(dependencies, context.caller),
      };
      const desired = await connection.waitFor(() => dependencies.agents.desired(id, pass));
      const keys = [...(desired?.state?.keys ?? []), ...(desired?.withheld?.keys ?? [])];
      const ids = keys.map((key) => key.id);
      if (ids.length > 0)
        await dependencies.recording.secretsRead({
          caller: context.caller,
          source: context.source,
          action: DESIRED_RIGHT,
          type: nameServer,
          id,
          name: String(server.name),
          count: ids.length,
          origin: () => context,
          detail: () => ({ fence: desired?.fence, ids: ids.slice(0, MAX_IDS) }),
        });
      return desired;
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/observed`,
    method: 'PUT',
    right: OBSERVE_RIGHT,
    operationId: 'put_nameserver_observed',
    summary: 'Record the result of a pass, as the agent of a name server',
    description:
      'Ends a pass: records what the agent found, and deletes the changes that the agent has applied. Returns 409 if a later pass has begun.',
    type: nameServer,
    errors: ['agent_conflict'],
    body: {
      kind: ANSWER,
      schemaName: 'NameServerObserved',
      what: 'result',
      examples: { one: { summary: 'One key was delivered.', value: ANSWER_EXAMPLE } },
      maxBytes: MAX_ANSWER_BYTES,
    },
    response: {
      kind: responseObject({ recorded: described(boolean(), 'Always true.') }),
      schemaName: 'NameServerObservedResult',
      description: 'The result was recorded.',
      examples: { one: { summary: 'The result was recorded.', value: { recorded: true } } },
    },
    async run({ dependencies, context, id, body }) {
      await getResource(dependencies, nameServer, context.caller, id);
      await dependencies.agents.observed(id, body);
      return { recorded: true };
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/lease`,
    method: 'PUT',
    right: OBSERVE_RIGHT,
    type: nameServer,
    operationId: 'put_nameserver_lease',
    summary: 'Renew the lease of a name server, as its agent',
    description:
      'Extends the lease of a pass to 8 seconds from now. After that time, another agent can acquire the lease. Returns 409 if a later pass has begun.',
    errors: ['agent_conflict'],
    body: {
      kind: RENEWAL,
      schemaName: 'NameServerLease',
      what: 'lease',
      examples: { one: { summary: 'A pass.', value: { agent: 'ns1.example.org', fence: 42 } } },
    },
    response: {
      kind: responseObject({ changes: described(integer(0), 'The number of pending changes.') }),
      schemaName: 'NameServerLeaseResult',
      description: 'The lease was renewed.',
      examples: { one: { summary: 'No change is pending.', value: { changes: 0 } } },
    },
    async run({ dependencies, context, id, body }) {
      await getResource(dependencies, nameServer, context.caller, id);
      return { changes: await dependencies.agents.renew(id, body) };
    },
  }),
];

async function isValid({ store, clock }: Dependencies, caller: Caller): Promise<boolean> {
  const { id, scope, expiresAt } = caller;
  if (typeof expiresAt === 'string' && expiresAt <= clock()) return false;
  if (scope !== undefined || id === CONFIGURED_ID) return true;
  const stored = await store.get(token, id);
  return stored !== undefined && isGenuine(stored);
}
