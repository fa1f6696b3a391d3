import { useState } from 'preact/hooks';
import type { FieldDefinition } from '../definitions.ts';
import type { ControlProps } from '../parts/form.tsx';
import { CreateResource } from '../parts/resource-forms.tsx';
import { open, pageOf, query } from '../router.ts';
import { NewToken } from './new-token.tsx';

/** The roles that the service knows, and what its policy gives them unless it was changed. */
const ROLES = [
  ['admin', 'everything, and creates tokens with any right'],
  ['keymanager', 'manages keys, sees their secrets, and reads pools, zones and name servers'],
  ['auditor', 'reads everything, and the audit trail, but no secret'],
  ['member', 'manages the zones of its project'],
  ['reader', 'reads the zones of its project'],
  ['nameserver-agent', 'the agent of a name server: limit it to name servers'],
] as const;

/** The known roles, and others that the policy of the service names. */
function RolesControl({ id, value, describedBy, isInvalid, set }: ControlProps) {
  const chosen = Array.isArray(value) ? value.map(String) : [];
  const isKnown = (role: string) => ROLES.some(([name]) => name === role);
  const others = chosen.filter((role) => !isKnown(role));
  const [text, setText] = useState(others.join(', '));
  const known = chosen.filter(isKnown);
  return (
    <div class="stack-s" aria-describedby={describedBy}>
      <div>
        {ROLES.map(([name, meaning]) => (
          <label class="option" key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={({ currentTarget: { checked } }) =>
                set([
                  ...(checked ? [...known, name] : known.filter((each) => each !== name)),
                  ...others,
                ])
              }
            />
            <span>
              {name} <span class="muted small">{meaning}</span>
            </span>
          </label>
        ))}
      </div>
      <label class="small muted" for={id}>
        Other roles of your policy, with commas between them
      </label>
      <input
        id={id}
        class="input mono"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={isInvalid}
        value={text}
        onInput={({ currentTarget: { value: typed } }) => {
          setText(typed);
          const given = typed.split(',').map((role) => role.trim());
          set([...known, ...given.filter((role) => role !== '')]);
        }}
      />
    </div>
  );
}

const DAY_MS = 86_400_000;
const PRESETS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
  ['', 'Never'],
  ['at', 'At a time…'],
] as const;
const USUAL = '90';

/** Returns the time some days from now. */
function inDays(days: string): string {
  return new Date(Date.now() + Number(days) * DAY_MS).toISOString().slice(0, 19);
}

/** When the token expires, as a time from now. */
function ExpiryControl({ id, value, describedBy, isInvalid, set }: ControlProps) {
  const [preset, setPreset] = useState<string>(USUAL);
  return (
    <div class="row">
      <select
        class="input fit"
        aria-label="Expires"
        aria-describedby={describedBy}
        aria-invalid={isInvalid}
        value={preset}
        onChange={({ currentTarget: { value: chosen } }) => {
          setPreset(chosen);
          if (chosen === '') set(null);
          else if (chosen !== 'at') set(inDays(chosen));
        }}
      >
        {PRESETS.map(([days, label]) => (
          <option key={days} value={days}>
            {label}
          </option>
        ))}
      </select>
      {preset === 'at' ? (
        <input
          id={id}
          class="input mono fit"
          aria-label="Time in UTC"
          aria-invalid={isInvalid}
          placeholder="2030-01-31T12:00:00"
          autocomplete="off"
          value={typeof value === 'string' ? value : ''}
          onInput={({ currentTarget: { value: text } }) => set(text)}
        />
      ) : typeof value === 'string' ? (
        <span class="muted small">{value.replace('T', ' ').slice(0, 16)} UTC</span>
      ) : (
        <span class="warn small">! It works until somebody deletes it.</span>
      )}
    </div>
  );
}

/** The words of this form, where those of the API say more than the form needs. */
const WORDS: Readonly<Record<string, Partial<FieldDefinition>>> = {
  name: { description: 'Who or what uses the token. The log and the audit trail show it.' },
  roles: { description: 'What the token may do, unless the policy of the service says otherwise.' },
  project_id: { description: 'Its zones. Without a project, a token cannot create zones.' },
  expires_at: {
    label: 'Expires',
    required: true,
    description: 'It never outlives the token that created it.',
  },
  pools: { description: 'These pools, their name servers, zones and keys.' },
  zones: { description: 'These zones and their keys.' },
  keys: { description: 'These keys. The token cannot create others.' },
  nameservers: {
    label: 'Name servers',
    description: 'Only for agents: the keys of these servers.',
  },
  addresses: { description: 'Addresses and networks from which the token works, one a line.' },
};

/** Creates a token, and shows it once. A link can ask for one of an administrator. */
export function CreateToken({ onClose }: { onClose(): void }) {
  const [role] = useState(query.peek().get('new') === 'admin' ? 'admin' : 'reader');
  const [created, setCreated] = useState<{ id: string; name: string; token: string }>();
  if (created !== undefined)
    return <NewToken {...created} onClose={() => open(pageOf('tokens', created.id))} />;
  return (
    <CreateResource
      collection="tokens"
      title="New token"
      action="Create token"
      order={Object.keys(WORDS)}
      words={WORDS}
      values={{ roles: [role], expires_at: inDays(USUAL) }}
      controls={{ roles: RolesControl, expires_at: ExpiryControl }}
      closed={{
        heading: 'Limit it to pools, zones, keys or networks',
        names: ['pools', 'zones', 'keys', 'nameservers', 'addresses'],
      }}
      onClose={onClose}
      onCreated={({ id, name, token }) =>
        setCreated({ id, name: String(name), token: String(token) })
      }
    />
  );
}
