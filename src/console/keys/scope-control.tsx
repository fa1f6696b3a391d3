import { useState } from 'preact/hooks';
import { nameOf } from '../names.ts';
import { Combobox } from '../parts/combobox.tsx';
import type { ControlProps } from '../parts/form.tsx';

const KINDS = [
  ['POOL', 'pools', 'Every zone of a pool'],
  ['ZONE', 'zones', 'One zone'],
] as const;

type ScopeProps = Pick<ControlProps, 'id' | 'values' | 'setAll' | 'describedBy' | 'isInvalid'>;

/** Chooses the pool or the zone of a key, by name. */
export function ScopeControl({ id, values, setAll, describedBy, isInvalid }: ScopeProps) {
  const given = typeof values.resource_id === 'string' ? values.resource_id : undefined;
  const [scope, setScope] = useState(values.scope === 'ZONE' ? 'ZONE' : 'POOL');
  const collection = scope === 'ZONE' ? 'zones' : 'pools';
  const name = given === undefined ? undefined : nameOf(collection, given);
  return (
    <div class="stack-s">
      <div class="options">
        {KINDS.map(([value, , label]) => (
          <label class="option" key={value}>
            <input
              type="radio"
              name={id}
              checked={scope === value}
              onChange={() => {
                setScope(value);
                setAll({ scope: value, resource_id: undefined });
              }}
            />
            {label}
          </label>
        ))}
      </div>
      <label class="hidden" for={id}>
        {scope === 'ZONE' ? 'Zone' : 'Pool'}
      </label>
      <Combobox
        key={collection}
        collection={collection}
        inputId={id}
        describedBy={describedBy}
        isInvalid={isInvalid}
        placeholder={scope === 'ZONE' ? 'Name of the zone' : 'Name of the pool'}
        chosen={given === undefined ? undefined : { id: given, name: name ?? given }}
        onChoose={(found) => setAll({ scope, resource_id: found?.id })}
      />
    </div>
  );
}
