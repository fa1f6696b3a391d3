import { described, object, responseObject } from '../../core/object.ts';
import { ServiceError } from '../../core/errors.ts';
import { change } from '../../resources/operations/change.ts';
import { existing } from '../../resources/operations/visibility.ts';
import { grantList, GRANTS, grantsIn, type Grant, type Grants } from '../../resources/grants.ts';
import { GRANT_RIGHT } from '../../resources/limits.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { grantsOfKey } from '../../resources/grant-rules.ts';
import { defineAction } from '../../resources/operations/action.ts';
import { MAX_LIST_BYTES } from '../../core/settings.ts';

const MEMBER = {
  grants: described(
    GRANTS,
    'What the key may do, and in which zones. Null: every right of its name servers in every zone of its scope. An empty list: nothing.',
  ),
};

interface Shown {
  readonly grants: readonly Grant[] | null;
}

const EXAMPLES: Readonly<Record<string, { readonly summary: string; readonly value: Shown }>> = {
  zones: {
    summary: 'Transfers of one zone.',
    value: {
      grants: [{ rights: ['transfer'], zones: ['2c6d7e8f-9a0b-4c1d-8e2f-3a4b5c6d7e8f'] }],
    },
  },
};

const RESPONSE = {
  kind: responseObject(MEMBER),
  schemaName: 'TsigKeyGrants',
  description: 'The grants in their canonical form: sorted, and one entry for each set of rights.',
  examples: EXAMPLES,
};

const PATH = {
  path: `/v2/${tsigkey.collection}/{id}/grants`,
  type: tsigkey,
  tagged: (state: Shown) => state,
} as const;

function shown(grants: Grants | null): Shown {
  return { grants: grants && grantList(grants) };
}

/** The actions on what a key may do, which is not part of its representation. */
export const GRANT_ACTIONS = [
  defineAction({
    ...PATH,
    method: 'GET',
    right: `${tsigkey.collection}:get`,
    operationId: 'get_tsigkey_grants',
    summary: `Show what a ${tsigkey.words.one} opens`,
    description: 'Returns what the key may do on name servers, and in which zones.',
    response: RESPONSE,
    async run({ dependencies: { store }, context, id }) {
      const read = async () =>
        existing(store, tsigkey, context.caller, await store.get(tsigkey, id));
      for (let key = await read(); ;) {
        const grants = await grantsOfKey(store, key);
        const { version } = key;
        key = await read();
        // Otherwise the grants may be a mixture of those before and after a change.
        if (key.version === version) return shown(grants);
      }
    },
  }),
  defineAction({
    ...PATH,
    method: 'PUT',
    right: GRANT_RIGHT,
    operationId: 'put_tsigkey_grants',
    summary: `Change what a ${tsigkey.words.one} opens`,
    description:
      'Replaces the grants of the key. Grants only narrow: each zone must be in the scope of the key, and a key never has a right that a name server does not give. The key itself stays as it is, and its name servers get the change like every other.',
    errors: ['invalid_object', 'outside_limits', 'precondition_failed'],
    body: {
      kind: object(MEMBER),
      schemaName: 'TsigKeyGrantsUpdate',
      what: 'grants',
      examples: EXAMPLES,
      maxBytes: MAX_LIST_BYTES,
    },
    response: RESPONSE,
    run: ({ dependencies, context, id, body, expects }) =>
      change(dependencies, context, async (changes) => {
        const found = await changes.getToChange(tsigkey, id);
        const key = await existing(changes, tsigkey, context.caller, found);
        const former = expects && (await grantsOfKey(changes, key));
        if (expects?.(shown(former ?? null)) === false)
          throw new ServiceError('precondition_failed', undefined);
        const grants = body.grants && grantsIn(body.grants);
        await changes.grant(key, grants);
        return shown(grants);
      }),
  }),
];
