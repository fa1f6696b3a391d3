import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { zoneText } from '../../domain/text/dns-name.ts';
import { Confirm } from '../parts/dialog.tsx';
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
import { RightsMatrix } from './rights-matrix.tsx';
import { SourceForm, targetOf, type Draft } from './source-form.tsx';

const EMPTY: Draft = {
  files: [],
  main: '',
  target: { scope: 'POOL', resource_id: DEFAULT_POOL },
};

/** What an import did, without the secrets. */
interface Done {
  /** Whether the configuration says where its keys are used. */
  readonly hasAccess: boolean;
  readonly steps: readonly Step[];
  readonly of: number;
}

/** Reads the configuration of a name server, shows what its keys will open, and creates the keys. */
export function ImportKeys() {
  const [draft, setDraft] = useState(EMPTY);
  const [plan, setPlan] = useState<KeyImportPlan>();
  const [done, setDone] = useState<Done>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const leaving = useMemo(() => new AbortController(), []);
  useEffect(() => () => leaving.abort(), []);
  const changes = useRef(0);

  const change = (given: Partial<Draft>) => {
    changes.current += 1;
    setPlan(undefined);
    setError(undefined);
    setDraft((before) => Object.assign({}, before, given));
  };
  const compare = async () => {
    const main = draft.files.find(({ path }) => path === draft.main);
    const target = targetOf(draft.target);
    if (isBusy || main === undefined || target === undefined) return;
    setBusy(true);
    setError(undefined);
    // What was chosen meanwhile must not be taken for what is compared.
    const seen = changes.current;
    const isSame = () => changes.current === seen && !leaving.signal.aborted;
    try {
      const { readConfiguration } = await import('./configuration.ts');
      const configuration = await readConfiguration(main, draft.files);
      const found = await planKeyImport(configuration, target, leaving.signal);
      if (isSame()) setPlan(found);
    } catch (failure) {
      // A file that cannot be parsed says where, and quotes no secret.
      if (isSame()) setError(failure as Error);
    }
    setBusy(false);
  };
  if (done !== undefined) return <Result done={done} again={() => setDone(undefined)} />;
  return (
    <>
      <SourceForm draft={draft} isBusy={isBusy} change={change} compare={compare} />
      {error === undefined ? null : <Problem error={error} />}
      {plan === undefined ? null : (
        <Changes
          plan={plan}
          finish={(result) => {
            // Nothing keeps the secrets of the files.
            setDraft(EMPTY);
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
  const { matrix, leftOut, missing } = configuration;
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
  const table = useMemo(() => <RightsMatrix changes={changes} />, [changes]);
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
      {missing.length === 0 ? null : (
        <div class="alert">
          <p>
            <b>Some included files are not here, or it is not certain which of yours they are.</b>{' '}
            They may refuse a key, so no key gets a right. Choose the folder, or the missing files.
          </p>
          <Entries entries={missing} show={visible} />
        </div>
      )}
      {matrix !== undefined || fresh.length === 0 ? null : (
        <div class="alert">
          <p>
            <b>The file does not say what its keys open.</b> Each new key opens{' '}
            {target.scope === 'ZONE'
              ? 'the zone'
              : `every zone of the pool (now ${zones.size.toLocaleString('en')})`}
            . Choose the main configuration of the name server to keep each key to its zones.
          </p>
        </div>
      )}
      {changes.length === 0 ? null : (
        <>
          <p class="muted">What each new key opens, today and after the import.</p>
          {table}
        </>
      )}
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
          ! Stopped after {steps.length} of {of}. Choose the files again to go on: what is here
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
