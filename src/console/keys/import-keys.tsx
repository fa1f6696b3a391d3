import { useEffect, useMemo, useState } from 'preact/hooks';
import { zoneText } from '../../core/text/dns-name.ts';
import { nameOf } from '../names.ts';
import { Button } from '../parts/button.tsx';
import { Combobox } from '../parts/combobox.tsx';
import { Grid } from '../parts/grid.tsx';
import { Changes, Entries, ImportForm, Stage, useComparison } from '../parts/import.tsx';
import { count, Name, Names, visible } from '../parts/text.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import { pageOf } from '../router.ts';
import { FILES } from '../brands.ts';
import { readConfiguration } from './configuration.ts';
import {
  importKeys,
  planKeyImport,
  rightsIn,
  type KeyImportPlan,
  type Step,
} from './key-import-plan.ts';

const HINT = `The ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(FILES)} of the primary, with the text of each file that it includes in the place of the line that includes it, or a file of keys. Your browser reads it; nothing leaves it but the keys that you import.`;

/** What an import did, without the secrets. */
interface Done {
  readonly steps: readonly Step[];
  readonly of: number;
}

/** Reads the configuration of a name server, shows what its keys will open, and creates the keys. */
export function ImportKeys() {
  const comparison = useComparison<KeyImportPlan>();
  const { text, set, plan, stop } = comparison;
  const [pool, setPool] = useState<string | undefined>(DEFAULT_POOL);
  const [done, setDone] = useState<Done>();
  const name = nameOf('pools', pool ?? DEFAULT_POOL) ?? '';
  const missing = plan?.configuration.missing ?? [];
  const read = async (of: string, signal: AbortSignal) =>
    planKeyImport(await readConfiguration(text), of, signal);
  if (done !== undefined) return <Result {...done} again={() => setDone(undefined)} />;
  return (
    <>
      <ImportForm
        label="Configuration"
        hint={HINT}
        comparison={comparison}
        read={pool === undefined ? undefined : (signal) => read(pool, signal)}
      >
        <div class="field">
          <label for="pool">Pool of the new keys</label>
          <Combobox
            collection="pools"
            inputId="pool"
            chosen={pool === undefined ? undefined : { id: pool, name }}
            onChoose={(found) => {
              stop();
              setPool(found?.id);
            }}
          />
        </div>
      </ImportForm>
      {missing.length === 0 ? null : (
        <div class="alert warn" role="alert">
          <p>
            <b>Paste these files too, in the place of the lines that include them.</b> They may
            refuse a key, so nothing is imported without them.
          </p>
          <Entries title="Files" entries={missing} show={visible} isOpen />
        </div>
      )}
      {plan === undefined || missing.length > 0 ? null : (
        <Plan
          plan={plan}
          finish={(result) => {
            set(''); // Nothing keeps the secrets of the text.
            setDone(result);
          }}
        />
      )}
    </>
  );
}

/** What the import would do, with the button that does it. */
function Plan({ plan, finish }: { plan: KeyImportPlan; finish(done: Done): void }) {
  const { fresh, known, zones } = plan;
  const { matrix, leftOut } = plan.configuration;
  const [at, setAt] = useState<number>();
  const stopping = useMemo(() => new AbortController(), []);
  // Whoever leaves the page imports no further key.
  useEffect(() => () => stopping.abort(), []);
  const of = fresh.length;
  const isWide = matrix === undefined;
  const keys = new Set(fresh.map(({ name }) => name));
  // The progress of the import must not draw them again.
  const rights = useMemo(() => <Rights plan={plan} />, [plan]);
  return (
    <Changes
      totals={[
        [of, 'new'],
        [known.length, 'here already'],
        [leftOut.length, 'left out', true],
      ]}
      changes={of}
      action={`Import ${count(of, 'key')}`}
      isDangerous={isWide}
      typed={isWide ? String(of) : undefined}
      run={async () => {
        setAt(0);
        finish({ steps: await importKeys(plan, setAt, stopping.signal), of });
      }}
      onClose={() => stopping.abort()}
      question={
        <>
          <p>They are delivered to the name servers at once.</p>
          <p role="status">{at === undefined ? '' : `${at} of ${of}…`}</p>
        </>
      }
    >
      {isWide && of > 0 ? (
        <p class="alert">
          The file does not say what its keys open. Each new key opens every zone of the pool (now{' '}
          {zones.size}). Paste the whole configuration of the name server to keep each key to its
          zones.
        </p>
      ) : null}
      {rights}
      <Entries
        title="Left in your configuration, because no grant says the same"
        entries={matrix?.kept.filter(({ key }) => keys.has(key)) ?? []}
        show={({ key, right, zones: names, reason, place }) => (
          <>
            <Name text={key} />: {right} of <Zones names={names} />:{' '}
            {visible(`${reason} (${place})`)}
          </>
        )}
        isOpen
      />
      <Entries
        title="Needs no key today"
        entries={matrix?.open ?? []}
        show={({ right, zones: names, addresses }) => (
          <>
            {right} of <Zones names={names} /> from{' '}
            {addresses === 'everyone' ? 'anywhere' : visible(addresses.join(', '))}
          </>
        )}
        isOpen
      />
      <Entries title="Left out" entries={leftOut} show={visible} isOpen />
    </Changes>
  );
}

const SHOWN = 10;

function Zones({ names }: { names: readonly string[] }) {
  if (names.length === 0) return <>nothing</>;
  return <Names names={names.slice(0, SHOWN).map(zoneText)} of={names.length} />;
}

const MAX_ROWS = 200;

/** What each new key opens today, and after the import. */
function Rights({ plan }: { plan: KeyImportPlan }) {
  const rights = rightsIn(plan);
  const isHere = (name: string) => plan.zones.has(name);
  const isAbsent = rights.some(({ zones }) => !zones.every(isHere));
  if (rights.length === 0) return null;
  return (
    <>
      <Grid
        label="What each key opens"
        heads={['Key', 'Right', 'Today', 'After the import']}
        rows={rights
          .slice(0, MAX_ROWS)
          .map(({ key, right, zones }) => [
            <Name text={zoneText(key)} />,
            right,
            <Zones names={zones} />,
            <Zones names={zones.filter(isHere)} />,
          ])}
      />
      {rights.length > MAX_ROWS ? (
        <p class="muted">And {count(rights.length - MAX_ROWS, 'more right')}.</p>
      ) : null}
      {isAbsent ? (
        <p class="alert warn">
          Tsigil lacks some of these zones, and a key opens nothing in them. To create them too, run{' '}
          <code>tsigil tsigkey import FILE --create-zones</code>.
        </p>
      ) : null}
    </>
  );
}

/** What an import has done, and what it has not. */
function Result({ steps, of, again }: Done & { again(): void }) {
  const failed = steps.filter(({ error }) => error !== undefined);
  return (
    <Stage title={`${count(steps.length - failed.length, 'key')} imported`} label="Result">
      <Entries
        title="Not created"
        entries={failed}
        show={({ name, error }) => (
          <>
            Key <Name text={name} />: {visible(error?.message ?? '')}
          </>
        )}
        isOpen
      />
      {steps.length === of ? null : (
        <p class="warn">
          ! Stopped after {steps.length} of {of}. Paste the text again to go on: what is here
          already stays as it is.
        </p>
      )}
      <p class="muted">
        A configuration still has its own clauses for these keys. On the machine of the name server,{' '}
        <code>tsigil nameserver adopt NAME</code> replaces them with those of Tsigil.
      </p>
      <div class="row">
        <a class="button primary" href={pageOf('keys')}>
          Show the keys
        </a>
        <Button onClick={again}>Import more</Button>
      </div>
    </Stage>
  );
}
