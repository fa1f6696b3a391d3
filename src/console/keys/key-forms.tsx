import type { Act } from '../parts/acts.tsx';
import { Radios, type ControlProps } from '../parts/form.tsx';
import { CreateResource, editing } from '../parts/resource-forms.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import type { Key } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { ScopeControl } from './scope-control.tsx';

const OLD = ['hmac-md5', 'hmac-sha1', 'hmac-sha224'];

/** The algorithms of today, and the older ones behind a heading. */
function AlgorithmControl(props: ControlProps) {
  const { field, value } = props;
  const radios = (isOld: boolean) => {
    const choices = field.choices?.filter((each) => OLD.includes(String(each.value)) === isOld);
    return (
      <Radios
        {...props}
        field={Object.assign({}, field, { choices })}
        words={(choice) => <code>{choice}</code>}
      />
    );
  };
  return (
    <div class="stack-s">
      {radios(false)}
      <details open={OLD.includes(String(value))}>
        <summary class="label">Older algorithms</summary>
        {radios(true)}
      </details>
    </div>
  );
}

const FORM = {
  collection: 'tsigkeys',
  controls: { scope: ScopeControl, algorithm: AlgorithmControl },
  /** One control is for the scope and the pool or zone. */
  without: ['resource_id'],
  words: { scope: { label: 'Applies to', description: 'The zones that it opens.' } },
};

export function CreateKey({ onClose }: { onClose(): void }) {
  return (
    <CreateResource
      {...FORM}
      values={{ algorithm: 'hmac-sha256', scope: 'POOL', resource_id: DEFAULT_POOL }}
      closed={{ heading: 'Use an existing secret', names: ['secret'] }}
      onClose={onClose}
      onCreated={({ id }) => open(`${pageOf('keys', id)}?created=1`)}
    />
  );
}

export function editingKey(resource: Key): Act {
  return editing({
    ...FORM,
    resource,
    closed: { heading: 'Replace the secret', names: ['secret'] },
  });
}
