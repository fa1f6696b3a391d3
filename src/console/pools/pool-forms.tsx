import { LinesControl, type ControlProps } from '../parts/form.tsx';
import { CreateResource, EditResource } from '../parts/resource-forms.tsx';
import type { Pool } from '../resources.ts';
import { open, pageOf } from '../router.ts';

/** NS records, one a line. A line that is no record is sent as it is, and refused. */
function RecordsControl(control: ControlProps) {
  const records = (control.value ?? []) as Pool['ns_records'];
  return (
    <LinesControl
      control={control}
      lines={records.map(({ priority, hostname }) => `${priority} ${hostname}`)}
      label="NS records"
      placeholder="1 ns1.example.org."
      read={(lines) =>
        lines.map((line) => {
          const [priority = '', hostname = ''] = line.split(/\s+/);
          return { priority: Number(priority) || priority, hostname };
        })
      }
    />
  );
}

const FORM = {
  collection: 'pools',
  controls: { ns_records: RecordsControl },
  words: {
    ns_records: {
      description:
        "The NS records of the pool's zones. One a line: priority and host name, such as 1 ns1.example.org.",
    },
    project_id: { required: false },
  },
};

export function CreatePool({ onClose }: { onClose(): void }) {
  return (
    <CreateResource
      {...FORM}
      title="New pool"
      action="Create pool"
      closed={{ heading: 'More', names: ['project_id', 'attributes'] }}
      onClose={onClose}
      onCreated={({ id }) => open(pageOf('pools', id))}
    />
  );
}

export function EditPool(props: { pool: Pool; onClose(): void; onSaved(): void }) {
  return (
    <EditResource
      {...FORM}
      resource={props.pool}
      title="Edit pool"
      action="Save changes"
      onClose={props.onClose}
      onSaved={props.onSaved}
    />
  );
}
