import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RightChange } from '../../domain/access/changes.ts';
import { zoneText } from '../../domain/text/dns-name.ts';
import { Confirm } from '../parts/dialog.tsx';
import type { Values } from '../parts/form.tsx';
import { Entries, FoldedEntries, Totals } from '../parts/import-report.tsx';
import { Problem } from '../parts/notices.tsx';
import { count, Name, Names, visible } from '../parts/text.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import {
  importKeys,
  planKeyImport,
  rightsIn,
  type KeyImportPlan,
  type Step,
} from './key-import-plan.ts';
import { ScopeControl } from './scope-control.tsx';

/** What an import did, without the secrets. */
interface Done {
  /** Whether the configuration says where its keys are used. */
  readonly hasAccess: boolean;
  readonly steps: readonly Step[];
  readonly of: number;
}

/** Reads the configuration of a name server, shows what its keys will open, and creates the keys. */
export function ImportKeys() {
  const [text, setText] = useState('');
  const [target, setTarget] = useState<Values>({ scope: 'POOL', resource_id: DEFAULT_POOL });
  const [plan, setPlan] = useState<KeyImportPlan>();
  const [done, setDone] = useState<Done>();
  const [error, setError] = useState<Error>();
  // What is pasted or chosen meanwhile must not be taken for what is compared.
  const reading = useRef(new AbortController());
  useEffect(() => () => reading.current.abort(), []);
  const stop = () => {
    reading.current.abort();
    setPlan(undefined);
    setError(undefined);
  };
  const { scope, resource_id: id } = target;
  const missing = plan?.configuration.missing ?? [];
  const isReady = text.trim() !== '' && typeof id === 'string';
  const compare = async () => {
    if (!isReady) return;
    stop();
    const { signal } = (reading.current = new AbortController());
    try {
      const { readConfiguration } = await import('./configuration.ts');
      const of = { scope: scope === 'ZONE' ? scope : 'POOL', resource_id: id } as const;
      const found = await planKeyImport(await readConfiguration(text), of, signal);
      if (!signal.aborted) setPlan(found);
    } catch (failure) {
      // A text that cannot be parsed says where, and quotes no secret.
      if (!signal.aborted) setError(failure as Error);
    }
  };
  if (done !== undefined) return <Result done={done} again={() => setDone(undefined)} />;
  return (
    <>
      <section class="panel" aria-label="The configuration">
        <form
          class="dialog-body"
          onSubmit={(event) => {
            event.preventDefault();
            void compare();
          }}
        >
          <div class="field">
            <label for="pasted">Configuration</label>
            <textarea
              id="pasted"
              class="input mono"
              rows={12}
              spellcheck={false}
              autocomplete="off"
              aria-describedby="pasted-hint"
              value={text}
              onInput={({ currentTarget: { value } }) => {
                stop();
                setText(value);
              }}
            />
            <p id="pasted-hint" class="hint">
              The named.conf, knot.conf or nsd.conf of the primary, with the text of each file that
              it includes in the place of the line that includes it, or a file of keys. Your browser
              reads it; nothing leaves it but the keys that you import.
            </p>
          </div>
          <fieldset class="field">
            <legend>New keys apply to</legend>
            <ScopeControl
              id="target"
              values={target}
              setAll={(values) => {
                stop();
                setTarget(values);
              }}
              describedBy={undefined}
              isInvalid={false}
            />
          </fieldset>
          <div class="row">
            <button type="submit" class="button primary" aria-disabled={!isReady}>
              Show what would change
            </button>
          </div>
        </form>
      </section>
      {error === undefined ? null : <Problem error={error} />}
      {missing.length === 0 ? null : (
        <div class="alert warn" role="alert">
          <p>
            <b>Paste these files too, in the place of the lines that include them.</b> They may
            refuse a key, so nothing is imported without them.
          </p>
          <Entries entries={missing} show={visible} />
        </div>
      )}
      {plan === undefined || missing.length > 0 ? null : (
        <Changes
          plan={plan}
          finish={(result) => {
            // Nothing keeps the secrets of the text.
            setText('');
            setPlan(undefined);
            setDone(result);
          }}
        />
      )}
    </>
  );
}

interface ChangesProps {
  readonly plan: KeyImportPlan;
  finish(done: Done): void;
}

/** What the import would do, with the button that does it. */
function Changes({ plan, finish }: ChangesProps) {
  const { configuration, fresh, known, absent, target, zones } = plan;
  const { matrix, leftOut } = configuration;
  const mayCreate = target.scope === 'POOL' && absent.length > 0 && may('zones:create');
  const [wantsZones, setWantsZones] = useState(true);
  const createsZones = mayCreate && wantsZones;
  const [isAsking, setAsking] = useState(false);
  const [at, setAt] = useState<number>();
  const stopping = useMemo(() => new AbortController(), []);
  // Whoever leaves the page imports no further key.
  useEffect(() => () => stopping.abort(), []);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [plan]);
  const changes = useMemo(() => rightsIn(plan, createsZones), [plan, createsZones]);
  // The progress of the import must not draw it again.
  const table = useMemo(() => <Rights changes={changes} />, [changes]);
  const created = createsZones ? absent.length : 0;
  const button = `Import ${count(fresh.length, 'key')}`;
  const keys = new Set(fresh.map(({ name }) => name));
  const kept = matrix?.kept.filter(({ key }) => keys.has(key)) ?? [];
  const apply = async () => {
    setAt(0);
    const progress = (made: readonly Step[]) => setAt(made.length);
    const steps = await importKeys(plan, createsZones, progress, stopping.signal);
    finish({ hasAccess: matrix !== undefined, steps, of: created + fresh.length });
  };
  return (
    <section class="panel stack" aria-label="What would change">
      <h2 ref={heading} tabIndex={-1}>
        {fresh.length === 0 ? 'Nothing would change' : 'What would change'}
      </h2>
      <Totals
        totals={[
          [fresh.length, 'new'],
          [known.length, 'here already'],
          [leftOut.length, 'left out', true],
        ]}
      />
      {matrix !== undefined || fresh.length === 0 ? null : (
        <div class="alert">
          <p>
            <b>The file does not say what its keys open.</b> Each new key opens{' '}
            {target.scope === 'ZONE'
              ? 'the zone'
              : `every zone of the pool (now ${zones.size.toLocaleString('en')})`}
            . Paste the whole configuration of the name server to keep each key to its zones.
          </p>
        </div>
      )}
      {changes.length === 0 ? null : table}
      {absent.length === 0 ? null : mayCreate ? (
        <label class="option">
          <input
            type="checkbox"
            checked={createsZones}
            onChange={({ currentTarget }) => setWantsZones(currentTarget.checked)}
          />
          Create the {count(absent.length, 'zone')} that Tsigil does not have. Otherwise no key
          opens {absent.length === 1 ? 'it' : 'them'}.
        </label>
      ) : (
        <FoldedEntries
          title="Zones in which no key gets a right"
          entries={absent}
          show={(name) => visible(zoneText(name))}
          note={
            target.scope === 'ZONE' ? 'They are not the zone of the keys.' : 'Tsigil lacks them.'
          }
        />
      )}
      <FoldedEntries
        title="Left in your configuration"
        note="No grant says the same, so these lines stay as they are, and the key does not get the right."
        entries={kept}
        show={({ key, right, zones: of, reason, place }) => (
          <>
            <Name text={key} />: {right} of <Some names={of.map(zoneText)} />:{' '}
            {visible(`${reason} (${place})`)}
          </>
        )}
        isOpen
      />
      <FoldedEntries
        title="Needs no key today"
        note="The name server accepts these requests without a signature."
        entries={matrix?.open ?? []}
        show={({ right, zones: of, addresses }) => (
          <>
            {right} of <Some names={of.map(zoneText)} /> from{' '}
            {addresses === 'everyone' ? 'anywhere' : <Some names={addresses} />}
          </>
        )}
        isOpen
      />
      <FoldedEntries
        title="Here already"
        note="They stay as they are."
        entries={known}
        show={({ name }) => <Name text={name} />}
      />
      <FoldedEntries title="Left out" entries={leftOut} show={visible} isOpen />
      {fresh.length === 0 ? null : (
        <div class="row">
          <button type="button" class="button primary" onClick={() => setAsking(true)}>
            {button}…
          </button>
        </div>
      )}
      {isAsking ? (
        <Confirm
          title={`${button}?`}
          action={button}
          keep={at === undefined ? 'Cancel' : 'Stop'}
          isDangerous={matrix === undefined}
          typed={matrix === undefined && target.scope === 'POOL' ? String(fresh.length) : undefined}
          run={apply}
          onClose={() => (at === undefined ? setAsking(false) : stopping.abort())}
        >
          <p>
            {matrix === undefined
              ? 'Each opens every zone that it applies to, and is delivered to the name servers at once.'
              : 'Each opens what the table says, and is delivered to the name servers at once.'}
            {created === 0 ? '' : ` ${count(created, 'zone')} will be created first.`}
          </p>
          <p role="status" class="muted">
            {at === undefined ? '' : `${at} of ${created + fresh.length}…`}
          </p>
        </Confirm>
      ) : null}
    </section>
  );
}

function Some({ names }: { names: readonly string[] }) {
  return <Names names={names.slice(0, 10)} of={names.length} />;
}

const MAX_ROWS = 200;

/** What each new key opens today, and after the import. */
function Rights({ changes }: { changes: readonly RightChange[] }) {
  return (
    <div class="table">
      <table class="wrap" aria-label="What each key opens">
        <thead>
          <tr>
            {['Key', 'Right', 'Today', 'After the import'].map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {changes.slice(0, MAX_ROWS).map(({ key, right, before, limited, after }) => (
            <tr key={`${key} ${right}`}>
              <td>
                <Name text={zoneText(key)} />
              </td>
              <td>{right}</td>
              <td>
                <Some names={before.map(zoneText)} />
                {limited.length === 0 ? null : (
                  <>
                    {before.length === 0 ? '' : ', '}limited in{' '}
                    <Some names={limited.map(zoneText)} />
                  </>
                )}
              </td>
              <td>{after.length === 0 ? 'nothing' : <Some names={after.map(zoneText)} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {changes.length > MAX_ROWS ? (
        <p class="muted">
          And {count(changes.length - MAX_ROWS, 'more right')}:{' '}
          <code>tsigil tsigkey import FILE --dry-run</code> prints all.
        </p>
      ) : null}
    </div>
  );
}

/** What an import has done, and what it has not. */
function Result({ done, again }: { done: Done; again(): void }) {
  const { hasAccess, steps, of } = done;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const failed = steps.filter(({ error }) => error !== undefined);
  const made = (kind: Step['what']) =>
    steps.filter(({ what, error }) => what === kind && error === undefined).length;
  const [keys, zones] = [made('key'), made('zone')];
  return (
    <section class="panel stack" aria-label="Result">
      <h2 ref={heading} tabIndex={-1}>
        {count(keys, 'key')} imported
        {zones === 0 ? '' : `, ${count(zones, 'zone')} created`}
      </h2>
      {failed.length === 0 ? null : (
        <div class="alert bad" role="alert">
          <p>
            <b>Not created: {failed.length}.</b>
          </p>
          <Entries
            entries={failed}
            show={({ what, name, error }) => (
              <>
                {what === 'key' ? 'Key' : 'Zone'} <Name text={name} />:{' '}
                {visible(error?.message ?? '')}
              </>
            )}
          />
        </div>
      )}
      {steps.length === of ? null : (
        <p class="warn">
          ! Stopped after {steps.length} of {of}. Paste the text again to go on: what is here
          already stays as it is.
        </p>
      )}
      {!hasAccess || keys === 0 ? null : (
        <p class="muted">
          Your configuration still has its own clauses for these keys. On the machine of the name
          server, <code>tsigil nameserver adopt NAME</code> replaces them with those of Tsigil.
        </p>
      )}
      <div class="row">
        <a class="button primary" href={pageOf('keys')}>
          Show the keys
        </a>
        <button type="button" class="button text" onClick={again}>
          Import more
        </button>
      </div>
    </section>
  );
}
