import type { Act } from '../parts/acts.tsx';
import { CreateResource, editing } from '../parts/resource-forms.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import type { Key } from '../resources.ts';
import { open, pageOf } from '../router.ts';

const FORM = {
  collection: 'tsigkeys',
  order: ['name', 'algorithm', 'scope', 'resource_id'],
  words: { resource_id: { description: 'The pool or zone in which the key opens something.' } },
  closed: { heading: 'Use an existing secret', names: ['secret'] },
};

export function CreateKey({ onClose }: { onClose(): void }) {
  return (
    <CreateResource
      {...FORM}
      values={{ algorithm: 'hmac-sha256', scope: 'POOL', resource_id: DEFAULT_POOL }}
      onClose={onClose}
      onCreated={({ id }) => open(`${pageOf('keys', id)}?created=1`)}
    />
  );
}

export function editingKey(resource: Key): Act {
  return editing({ ...FORM, resource });
}
