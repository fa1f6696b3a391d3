import { boolean, enumeration, integer, list, nullable, timestamp } from '../../core/field.ts';
import { described, object, optional, withDefault } from '../../core/object.ts';
import {
  ABORT_RIGHT,
  CONFIRM_RIGHT,
  RESTORE_RIGHT,
  RETIRE_RIGHT,
  ROTATE_RIGHT,
} from '../../resources/limits.ts';
import { CONSUMERS, RETIREMENTS } from '../../resources/lineage.ts';
import { line } from '../../core/shared-fields.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { describedState, describeKey } from '../edit-description.ts';
import { rotateKey } from '../rotate.ts';
import { LIFECYCLE, LIFECYCLE_EXAMPLE, showLifecycle } from '../lifecycle-response.ts';
import { abortRotation, confirmRotation, restoreKey, retireKey } from '../steps-by-hand.ts';
import type { RotationDependencies } from '../dependencies.ts';
import { actionsWith, type ActionRequest } from '../../resources/operations/action.ts';

const defineAction = actionsWith<RotationDependencies>();

type Request = ActionRequest<RotationDependencies>;

const { algorithm } = tsigkey.fields;

const ROTATION = object({
  name: described(
    optional(line(255)),
    'The name of the successor. The default has `-r2`, `-r3` and so on after the first label.',
  ),
  algorithm: described(
    optional(algorithm),
    'The TSIG algorithm of the successor. The default is that of the key.',
  ),
  secret: described(optional(line(255)), 'The secret, in base64. The default is a random secret.'),
  overlap_seconds: described(
    optional(integer(0, 31_536_000)),
    'How long the key works beside its successor after all clients could move to it. The default is `tsigkeys.overlapSeconds`.',
  ),
  retire: described(
    optional(enumeration(RETIREMENTS)),
    '`manual`: only a request retires the key. `automatic`: the service does, even if it cannot know whether all clients have moved. The default is automatic if it knows, and otherwise waits for a confirmation.',
  ),
  strategy: described(
    withDefault(enumeration(['successor', 'in_place']), 'successor'),
    '`in_place` gives the key another secret under the same name, for clients that cannot use another name. They fail until they get it.',
  ),
  compromised: described(
    withDefault(boolean(), false),
    'Whether others know the secret. The key is then deleted at once, and cannot be restored.',
  ),
});

function at(action: string) {
  return { path: `/v2/${tsigkey.collection}/{id}/${action}`, type: tsigkey } as const;
}

const RESPONSE = {
  kind: LIFECYCLE,
  schemaName: 'TsigKeyLifecycle',
  description: 'The key and those that it replaced or that replaced it.',
  examples: { one: { summary: 'A key that is being replaced.', value: LIFECYCLE_EXAMPLE } },
};

function shown({ dependencies, context, id }: Request) {
  return showLifecycle(dependencies, context.caller, id);
}

function forced({ context, isForced }: Request) {
  return { ...context, force: isForced };
}

export const ROTATION_ACTIONS = [
  defineAction({
    ...at('rotate'),
    method: 'POST',
    right: ROTATE_RIGHT,
    operationId: 'rotate_tsigkey',
    summary: `Replace a ${tsigkey.words.one}`,
    description:
      'Creates a successor with the scope and the grants of the key, and delivers it. Both keys work until all clients have moved and the overlap is over; then the service retires the key. `Location` is the successor, or with `in_place` the key itself.',
    errors: [
      ...(['invalid_object', 'outside_limits', 'duplicate', 'invalid_tsigkey'] as const),
      ...(['reserved_name', 'rotation_state', 'key_is_referenced'] as const),
    ],
    body: {
      kind: ROTATION,
      schemaName: 'TsigKeyRotation',
      what: 'rotation',
      examples: {
        minimal: { summary: 'A successor with the default name.', value: {} },
        full: {
          summary: 'Another algorithm, for a day.',
          value: { name: 'transfer-2030', algorithm: 'hmac-sha512', overlap_seconds: 86_400 },
        },
      },
    },
    creates: { description: 'Created: the successor.' },
    run: (request) => {
      const { dependencies, id, body } = request;
      return rotateKey(dependencies, forced(request), id, body);
    },
  }),
  defineAction({
    ...at('retire'),
    method: 'POST',
    right: RETIRE_RIGHT,
    operationId: 'retire_tsigkey',
    summary: `Retire a ${tsigkey.words.one} that has a successor`,
    description:
      'Removes the key from all name servers now. It can be restored for `tsigkeys.graceSeconds`. Refuses while a client may need the key, except by force.',
    errors: ['rotation_state', 'key_is_referenced'],
    response: RESPONSE,
    async run(request) {
      // Without a grace time, only the successor is left.
      const id = await retireKey(request.dependencies, forced(request), request.id);
      return shown({ ...request, id });
    },
  }),
  defineAction({
    ...at('abort'),
    method: 'POST',
    right: ABORT_RIGHT,
    operationId: 'abort_tsigkey_rotation',
    summary: `Withdraw the successor of a ${tsigkey.words.one}`,
    description:
      'Deletes the successor of the key, which then works on as before. Refuses if a client may use the successor already, except by force.',
    errors: ['rotation_state', 'key_is_referenced'],
    response: RESPONSE,
    async run(request) {
      await abortRotation(request.dependencies, forced(request), request.id);
      return shown(request);
    },
  }),
  defineAction({
    ...at('confirm'),
    method: 'POST',
    right: CONFIRM_RIGHT,
    operationId: 'confirm_tsigkey_rotation',
    summary: `Confirm that clients use the successor of a ${tsigkey.words.one}`,
    description:
      'Ends the wait for the named consumers, or for all clients. The overlap begins once nobody is missing.',
    errors: ['invalid_object', 'rotation_state'],
    body: {
      kind: object({
        consumers: described(
          optional(list(line(255), 1, 100)),
          'The names of consumers in the lineage. Without this member, all clients.',
        ),
      }),
      schemaName: 'TsigKeyConfirmation',
      what: 'confirmation',
      examples: { one: { summary: 'All clients.', value: {} } },
    },
    response: RESPONSE,
    async run(request) {
      const { dependencies, context, id, body } = request;
      await confirmRotation(dependencies, context, id, body.consumers);
      return shown(request);
    },
  }),
  defineAction({
    ...at('restore'),
    method: 'POST',
    right: RESTORE_RIGHT,
    operationId: 'restore_tsigkey',
    summary: `Restore a retired ${tsigkey.words.one}`,
    description:
      'Makes a retired key valid again, with the same id, name, secret and grants, and delivers it. Its clients then have time again to move to its successor.',
    errors: ['invalid_tsigkey', 'outside_limits', 'duplicate', 'rotation_state'],
    response: RESPONSE,
    async run(request) {
      const { dependencies, context, id } = request;
      await restoreKey(dependencies, context, id);
      return shown(request);
    },
  }),
  defineAction({
    ...at('lifecycle'),
    tagged: describedState,
    method: 'GET',
    right: `${tsigkey.collection}:get`,
    operationId: 'get_tsigkey_lifecycle',
    summary: `Show the rotations of a ${tsigkey.words.one}`,
    description:
      'Returns the key, those that it replaced and those that replaced it, with what a rotation waits for. The id can be that of a retired key.',
    response: RESPONSE,
    run: shown,
  }),
  defineAction({
    ...at('lifecycle'),
    tagged: describedState,
    method: 'PATCH',
    right: `${tsigkey.collection}:update`,
    operationId: 'patch_tsigkey_lifecycle',
    summary: `Say who uses a ${tsigkey.words.one}, and until when`,
    description:
      'Changes who answers for the key and its successors, what they are for and who uses them, and when this key should be replaced. Members that are left out stay. A rotation waits for each consumer: until a log shows it with the successor, or it is confirmed. The expiry warns, and cuts nobody off.',
    errors: ['invalid_object', 'precondition_failed'],
    body: {
      kind: object({
        owner: described(optional(nullable(line(255))), 'Who answers for the keys.'),
        purpose: described(optional(nullable(line(255))), 'What the keys are for.'),
        consumers: described(optional(CONSUMERS), 'Who uses the keys: the whole list.'),
        expires_at: described(
          optional(nullable(timestamp())),
          'The time when this key should be replaced. Null: only `tsigkeys.maxAgeDays` counts.',
        ),
      }),
      schemaName: 'TsigKeyDescription',
      what: 'lifecycle',
      examples: {
        one: {
          summary: 'A secondary of a partner.',
          value: {
            owner: 'netops',
            consumers: [{ name: 'ns3.partner.example', address: '192.0.2.7', contact: null }],
          },
        },
      },
    },
    response: RESPONSE,
    async run(request) {
      const { dependencies, context, id, body, expects } = request;
      await describeKey(dependencies, context, id, body, expects);
      return shown(request);
    },
  }),
];
