import { useState } from 'preact/hooks';
import { Ask } from '../parts/acts.tsx';
import { TextField, Tick } from '../parts/inputs.tsx';
import { Name } from '../parts/text.tsx';
import type { Key } from '../resources.ts';

/** Starts the replacement of a key. */
export function Rotate({ keyData, onClose }: { keyData: Key; onClose(): void }) {
  const [name, setName] = useState('');
  const [isCompromised, setCompromised] = useState(false);
  return (
    <Ask
      title={
        <>
          Rotate <Name text={keyData.name} />
        </>
      }
      action={isCompromised ? 'Replace and delete' : 'Rotate key'}
      isDangerous={isCompromised}
      path={`v2/tsigkeys/${keyData.id}/rotate`}
      body={{
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        ...(isCompromised ? { compromised: true } : {}),
      }}
      done="Rotation started"
      text={
        <>
          <p class="muted">
            A successor with the same scope and rights is created and delivered. Both keys work
            until all clients have moved and the overlap is over.
          </p>
          <TextField
            label="New name"
            hint="Without one, the first label gets -r2, -r3 and so on."
            value={name}
            set={setName}
          />
          <Tick isOn={isCompromised} set={setCompromised}>
            Others know the secret
          </Tick>
          {isCompromised ? (
            <p class="alert warn">
              The old key is deleted at once. Its clients fail until they have the new one.
            </p>
          ) : null}
        </>
      }
      onClose={onClose}
    />
  );
}
