import { CreateResource, EditResource } from '../parts/resource-forms.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import type { Zone } from '../resources.ts';
import { open, pageOf } from '../router.ts';

/** What a person asks first stands first. Which fields a type needs, the service says. */
const FORM = {
  collection: 'zones',
  order: ['name', 'type', 'email', 'masters', 'pool_id', 'ttl', 'description'],
};

export function CreateZone({ onClose }: { onClose(): void }) {
  return (
    <CreateResource
      {...FORM}
      title="New zone"
      action="Create zone"
      values={{ pool_id: DEFAULT_POOL }}
      closed={{ heading: 'More', names: ['masters', 'ttl', 'description', 'attributes'] }}
      onClose={onClose}
      onCreated={({ id }) => open(pageOf('zones', id))}
    />
  );
}

export function EditZone(props: {
  zone: Zone;
  parameters: string;
  onClose(): void;
  onSaved(): void;
}) {
  return (
    <EditResource
      {...FORM}
      without={props.zone.type === 'SECONDARY' ? ['email', 'ttl'] : ['masters']}
      parameters={props.parameters}
      resource={props.zone}
      title="Edit zone"
      action="Save changes"
      onClose={props.onClose}
      onSaved={props.onSaved}
    />
  );
}
