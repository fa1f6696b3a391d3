import { EXAMPLE_ID } from '../../core/error-entry.ts';
import { list, uuid } from '../../core/field.ts';
import { described, object } from '../../core/object.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { keyStatesWith, type KeyStatesPart } from '../key-states.ts';
import { isVisible } from '../../resources/operations/visibility.ts';
import { keyFacts, tsigkey, type KeyFacts } from '../../resources/tsigkey.ts';
import { actionsWith } from '../../resources/operations/action.ts';
import type { RotationDependencies } from '../dependencies.ts';

export function keyStatesAction<D extends RotationDependencies>(
  parts: readonly KeyStatesPart<D>[],
) {
  const members = joined(parts.map((part) => part.members));
  const example = { id: EXAMPLE_ID, ...joined(parts.map((part) => part.example)) };
  return actionsWith<D>()({
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
      kind: keyStatesWith(members),
      schemaName: 'TsigKeyStates',
      description: 'The states.',
      examples: {
        one: { summary: 'A key with a short secret.', value: { states: [example] } },
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
      const values: (readonly Readonly<Record<string, unknown>>[])[] = [];
      for (const { valuesOf } of parts) values.push(await valuesOf(dependencies, keys, places));
      return {
        states: keys.map(({ id }, index) => ({
          id,
          ...joined(values.map((each) => each[index] ?? {})),
        })),
      };
    },
  });
}

function joined<T>(objects: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> {
  return Object.fromEntries(objects.flatMap((each) => Object.entries(each)));
}
