import { ServiceError } from '../model/errors.ts';
import type { Reader } from '../model/ports.ts';
import type { Admission, Admitted, Change, ResourceType } from '../model/resource.ts';
import { generateSecret, SCOPES, type Target, type tsigkey } from '../resources/tsigkey.ts';

type TsigkeyFields = (typeof tsigkey)['fields'];

/**
 * Applies the rules about a change to a key. Its pool or zone must exist if the settings require
 * it. A key without a secret gets one. Throws `invalid_tsigkey`.
 */
export async function admitTsigkey(
  change: Change<TsigkeyFields>,
  transaction: Reader,
  { settings, randomBytes }: Admission,
): Promise<Admitted<TsigkeyFields>> {
  const { resource } = change;
  const refers =
    change.operation === 'create' ||
    (change.operation === 'update' && ('scope' in change.given || 'resource_id' in change.given));
  if (settings.requireResource && refers) await assertResourceExists(resource, transaction);
  return {
    resource: {
      ...resource,
      secret: resource.secret ?? generateSecret(resource.algorithm, randomBytes),
    },
  };
}

async function assertResourceExists(
  { scope, resource_id: id }: Target,
  transaction: Reader,
): Promise<void> {
  const type: ResourceType = SCOPES[scope];
  if ((await transaction.get(type, id)) === undefined) {
    throw new ServiceError('invalid_tsigkey', { id, noun: type.noun, scope });
  }
}
