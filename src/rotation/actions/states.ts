import { KEY_DELIVERY_STATES } from '../../delivery/responses.ts';
import { EXAMPLE_ID } from '../../core/error-entry.ts';
import { anyText, enumeration, list, nullable, timestamp, uuid } from '../../core/field.ts';
import { described, list as objects, object, responseObject } from '../../core/object.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { keysUnused } from '../../uses/clients.ts';
import { describedKeys, FLAWS, keyStates } from '../key-states.ts';
import { isVisible } from '../../resources/operations/visibility.ts';
import { keyFacts, tsigkey, type KeyFacts } from '../../resources/tsigkey.ts';
import { actionsWith } from '../../resources/operations/action.ts';
import type { RotationDependencies } from '../dependencies.ts';
import type { UsesDependencies } from '../../uses/actions.ts';

const defineAction = actionsWith<RotationDependencies & UsesDependencies>();

export const KEY_STATES = responseObject({
  states: described(
    objects(
      responseObject({
        id: described(anyText(), 'The id of the key.'),
        state: described(
          enumeration(KEY_DELIVERY_STATES),
          'The worst state on any name server. `none` if the pool of the key has no name server.',
        ),
        weakness: described(
          list(enumeration(FLAWS), 0, FLAWS.length),
          'What is wrong with the key: `md5` or `sha1` for its algorithm, `short` for a secret shorter than the output of the algorithm, `published` for one of a manual or an example, `unusable` if no name server can use it.',
        ),
        secret_set_at: described(timestamp(), 'The time when the key got its present secret.'),
        owner: described(nullable(anyText()), 'Who answers for the key.'),
        expires_at: described(
          nullable(timestamp()),
          'When the key should be replaced. Null without an expiry, or if it is being replaced.',
        ),
        unused_since: described(
          nullable(timestamp()),
          'The time since when the logs of all its name servers show every use, and none of this key. Null if it may be in use.',
        ),
        uses_unknown_on: described(
          objects(anyText()),
          'The names of the name servers whose logs do not show every use.',
        ),
        uses_known_since: described(
          objects(
            responseObject({
              name_server: described(anyText(), 'The name of the name server.'),
              since: described(timestamp(), 'The time since when its log shows every use.'),
            }),
          ),
          'How far the logs of the other name servers reach back.',
        ),
      }),
    ),
    'The keys that the caller can see, in the order of the request.',
  ),
});

export const keyStatesAction = defineAction({
  path: `/v2/${tsigkey.collection}/states`,
  method: 'POST',
  right: `${tsigkey.collection}:list`,
  operationId: 'list_tsigkey_states',
  summary: 'Show the delivery and the weakness of many TSIG keys',
  description:
    'Returns the state of each key on all its name servers, without secrets. Leaves out keys that do not exist or that the caller cannot see. Changes nothing.',
  type: tsigkey,
  body: {
    kind: object({
      ids: described(list(uuid(), 1, MAX_LIMIT), 'The ids of the keys.'),
    }),
    schemaName: 'TsigKeyStatesRequest',
    what: 'request',
    examples: { one: { summary: 'One key.', value: { ids: [EXAMPLE_ID] } } },
  },
  response: {
    kind: KEY_STATES,
    schemaName: 'TsigKeyStates',
    description: 'The states.',
    examples: {
      one: {
        summary: 'A key with a short secret.',
        value: {
          states: [
            {
              id: EXAMPLE_ID,
              state: 'delivered',
              weakness: ['short'],
              secret_set_at: '2030-01-31T12:00:00.000000',
              owner: 'netops',
              expires_at: null,
              unused_since: null,
              uses_unknown_on: ['ns1'],
              uses_known_since: [{ name_server: 'ns2', since: '2030-01-01T12:00:00.000000' }],
            },
          ],
        },
      },
    },
  },
  async run({ dependencies, context: { caller }, body }) {
    const { store, delivery } = dependencies;
    const ids = [...new Set(body.ids)];
    const found = new Map<string, KeyFacts>();
    for (const key of await store.find(keyFacts, 'id', ids))
      if (await isVisible(store, tsigkey, caller, key)) found.set(key.id, key);
    const keys = ids.flatMap((id) => found.get(id) ?? []);
    const places = await delivery.ofKeys(keys);
    const states = keyStates(keys, places);
    const unused = await keysUnused(dependencies, keys, places);
    const about = await describedKeys(dependencies, keys);
    return {
      states: states.map((state, index) => ({
        ...state,
        owner: about[index]?.owner ?? null,
        expires_at: about[index]?.expires_at ?? null,
        unused_since: unused[index]?.since ?? null,
        uses_unknown_on: unused[index]?.unknownServers ?? [],
        uses_known_since: unused[index]?.knownServers ?? [],
      })),
    };
  },
});
