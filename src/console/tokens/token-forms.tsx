import { useState } from 'preact/hooks';
import { Checkboxes, type ControlProps } from '../parts/form.tsx';
import { TextField } from '../parts/inputs.tsx';
import { CreateResource } from '../parts/resource-forms.tsx';
import { daysAgo } from '../parts/text.tsx';
import { open, pageOf, query } from '../router.ts';
import { NewToken } from './new-token.tsx';

/** The roles that the service knows, and what its policy gives them unless it was changed. */
const ROLES: Readonly<Record<string, string>> = {
  admin: 'everything, and creates tokens with any right',
  keymanager: 'manages keys, sees their secrets, and reads pools, zones and name servers',
  auditor: 'reads everything, and the audit trail, but no secret',
  member: 'manages the zones of its project',
  reader: 'reads the zones of its project',
  'nameserver-agent': 'the agent of a name server: limit it to name servers',
};
const CHOICES = Object.keys(ROLES).map((value) => ({ value }));

/** The known roles, and others that the policy of the service names. */
function RolesControl(props: ControlProps) {
  const chosen = Array.isArray(props.value) ? props.value.map(String) : [];
  const known = chosen.filter((role) => role in ROLES);
  const [text, setText] = useState('');
  return (
    <div class="stack-s">
      <Checkboxes
        {...props}
        field={Object.assign({}, props.field, { choices: CHOICES })}
        words={(role) => (
          <>
            {role} <span class="muted small">{ROLES[role]}</span>
          </>
        )}
      />
      <TextField
        label="Other roles of your policy, with commas between them"
        value={text}
        set={(typed) => {
          setText(typed);
          const given = typed.split(',').map((role) => role.trim());
          props.set([...known, ...given.filter((role) => role !== '')]);
        }}
      />
    </div>
  );
}

const PRESETS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
  ['', 'Never'],
] as const;
const USUAL = '90';

/** When the token expires, as a time from now. */
function ExpiryControl({ describedBy, isInvalid, set }: ControlProps) {
  const [preset, setPreset] = useState<string>(USUAL);
  return (
    <select
      class="input"
      aria-label="Expires"
      aria-describedby={describedBy}
      aria-invalid={isInvalid}
      value={preset}
      onChange={({ currentTarget: { value: chosen } }) => {
        setPreset(chosen);
        set(chosen === '' ? null : daysAgo(-Number(chosen)));
      }}
    >
      {PRESETS.map(([days, label]) => (
        <option key={days} value={days}>
          {label}
        </option>
      ))}
    </select>
  );
}

const LIMITS = ['pools', 'zones', 'keys', 'nameservers', 'addresses'];

/** Creates a token, and shows it once. A link can ask for one of an administrator. */
export function CreateToken({ onClose }: { onClose(): void }) {
  const [role] = useState(query.peek().get('new') === 'admin' ? 'admin' : 'reader');
  const [created, setCreated] = useState<{ id: string; name: string; token: string }>();
  if (created !== undefined)
    return <NewToken {...created} onClose={() => open(pageOf('tokens', created.id))} />;
  return (
    <CreateResource
      collection="tokens"
      order={['name', 'roles', 'project_id', 'expires_at']}
      words={{ expires_at: { required: true } }}
      values={{ roles: [role], expires_at: daysAgo(-Number(USUAL)) }}
      controls={{ roles: RolesControl, expires_at: ExpiryControl }}
      closed={{ heading: 'Limit it to pools, zones, keys or networks', names: LIMITS }}
      onClose={onClose}
      onCreated={({ id, name, token }) =>
        setCreated({ id, name: String(name), token: String(token) })
      }
    />
  );
}
