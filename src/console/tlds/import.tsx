import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { BulkResponse } from '../../domain/actions/bulk-request.ts';
import { readTldList, type ListFormat } from '../../domain/tld-lists/read-list.ts';
import { Confirm } from '../parts/dialog.tsx';
import { FoldedEntries, Totals, type Total } from '../parts/import-report.tsx';
import { Denied, Problem } from '../parts/notices.tsx';
import { PageHead, useTitle } from '../parts/page.tsx';
import { count, download, Name, visible } from '../parts/text.tsx';
import { asRequestError, type RequestError } from '../requests.ts';
import type { Tld } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import { csvOf, dryRun, presentList, send, type Outcome } from './bulk.ts';
import { formatOf, FORMAT_WORDS, ListForm, type Draft } from './list-form.tsx';

const WORDS: readonly [one: string, many: string] = ['domain', 'domains'];

/** Above this number of entries that change or go, a person types how many. */
const MANY = 10;

interface Plan extends Outcome {
  readonly format: ListFormat;
  readonly replace: boolean;
  /** The lines that the format leaves out. */
  readonly leftOut: number;
}

interface Done {
  readonly response: BulkResponse;
  readonly former: readonly Tld[];
}

/** Compares a list with the entries, shows what would change, and applies it. */
export function ImportTlds() {
  useTitle('Import domains');
  const [draft, setDraft] = useState<Draft>({
    text: '',
    format: '',
    options: { delimiter: ',', section: 'icann', wildcards: 'parent' },
    replace: false,
  });
  const [plan, setPlan] = useState<Plan>();
  const [done, setDone] = useState<Done>();
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const leaving = useMemo(() => new AbortController(), []);
  useEffect(() => () => leaving.abort(), []);

  const change = (given: Partial<Draft>) => {
    setPlan(undefined);
    setError(undefined);
    setDraft((before) => Object.assign({}, before, given));
  };
  const compare = async () => {
    if (isBusy || draft.text.trim() === '') return;
    setBusy(true);
    setError(undefined);
    const format = draft.format === '' ? formatOf(draft) : draft.format;
    const { replace } = draft;
    const { entries, refused, leftOut } = readTldList(draft.text, format, draft.options);
    try {
      const outcome = await dryRun(entries, replace, leaving.signal);
      const lines = [...refused, ...outcome.refused];
      lines.sort((one, other) => one.line - other.line);
      setPlan(Object.assign({}, outcome, { refused: lines, format, replace, leftOut }));
    } catch (failure) {
      if (leaving.signal.aborted) return;
      setError(asRequestError(failure));
    }
    setBusy(false);
  };
  const apply = async ({ entries, replace }: Plan) => {
    const former = await presentList();
    const response = await send(entries, { replace, dry_run: false });
    setPlan(undefined);
    setDone({ response, former });
  };
  return (
    <>
      <PageHead
        title="Import domains"
        crumb={{ label: 'Top-level domains', href: pageOf('tlds') }}
      />
      <div class="stack">
        {!may('tlds:create') ? (
          <Denied right="tlds:create" what="Importing a list" />
        ) : done === undefined ? (
          <>
            <ListForm draft={draft} isBusy={isBusy} change={change} compare={compare} />
            {error === undefined ? null : <Problem error={error} />}
            {plan === undefined ? null : <Changes plan={plan} apply={() => apply(plan)} />}
          </>
        ) : (
          <Result done={done} again={() => setDone(undefined)} />
        )}
      </div>
    </>
  );
}

const NONE = { added: 0, updated: 0, removed: 0, unchanged: 0 };

/** What the list would change, with the button that does it. */
function Changes({ plan, apply }: { plan: Plan; apply(): Promise<void> }) {
  const { response, entries, refused, format, replace, leftOut } = plan;
  const [isAsking, setAsking] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [plan]);
  const { added, updated, removed } = response?.counts ?? NONE;
  const changes = added + updated + removed;
  const results = [...(response?.results ?? [])];
  const gone = [...(response?.removed ?? [])];
  const named = (outcome: string) => results.filter((result) => result.outcome === outcome);
  const button = `Apply ${count(changes, 'change', 'changes')}`;
  return (
    <section class="panel stack" aria-label="What would change">
      <h2 ref={heading} tabIndex={-1}>
        {changes === 0 ? 'Nothing would change' : 'What would change'}
      </h2>
      <Totals totals={[...totalsOf(response?.counts ?? NONE), [refused.length, 'refused', true]]} />
      <p class="muted">
        Read as: {FORMAT_WORDS[format]}.
        {leftOut === 0 ? '' : ` ${count(leftOut, 'line', 'lines')} left out.`}
      </p>
      <FoldedEntries
        title="Refused lines"
        entries={refused}
        show={({ line, text, reason }) => (
          <>
            Line {line}: <Name text={text} />: {visible(reason)}
          </>
        )}
        isOpen
      />
      <FoldedEntries title="Removed" entries={gone} show={showName} />
      <FoldedEntries
        title="Changed"
        entries={named('updated')}
        show={({ name, index, previous }) => (
          <>
            <Name text={name} />: {quoted(previous?.description)} →{' '}
            {quoted(entries[index]?.description)}
          </>
        )}
      />
      <FoldedEntries title="Added" entries={named('added')} show={showName} />
      {changes === 0 ? null : (
        <div class="row">
          <button type="button" class="button primary" onClick={() => setAsking(true)}>
            {button}…
          </button>
          {refused.length === 0 ? null : <span class="muted">The refused lines are left out.</span>}
        </div>
      )}
      {isAsking ? (
        <Confirm
          title={`${button}?`}
          action={button}
          isDangerous={removed > 0}
          typed={replace || updated + removed > MANY ? String(changes) : undefined}
          run={apply}
          onClose={() => setAsking(false)}
        >
          <p>
            {removed === 0
              ? 'New zones are checked against the changed entries at once. Zones that exist stay.'
              : `${count(removed, ...WORDS)} will be removed, and no new zone can end in one of them. Zones that exist stay.`}
          </p>
        </Confirm>
      ) : null}
    </section>
  );
}

function quoted(description: string | null | undefined): string {
  return description === null || description === undefined ? 'none' : `‘${visible(description)}’`;
}

function totalsOf({ added, updated, removed, unchanged }: typeof NONE): readonly Total[] {
  return [
    [added, 'added'],
    [updated, 'changed'],
    [removed, 'removed'],
    [unchanged, 'left alone'],
  ];
}

function showName({ name }: { readonly name: string }) {
  return <Name text={name} />;
}

/** What an import has changed, and the way back. */
function Result({ done: { response, former }, again }: { done: Done; again(): void }) {
  const file = `tlds-${new Date().toISOString().slice(0, 10)}.csv`;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section class="panel stack" aria-label="Result">
      <h2 ref={heading} tabIndex={-1}>
        Imported
      </h2>
      <Totals totals={totalsOf(response.counts)} />
      <p class="muted">
        The former list has {count(former.length, ...WORDS)}. Keep it: importing it in the place of
        all entries takes this import back.
      </p>
      <div class="row">
        <a class="button primary" href={pageOf('tlds')}>
          Show the domains
        </a>
        <button type="button" class="button" onClick={() => download(file, csvOf(former))}>
          Download the former list
        </button>
        <button type="button" class="button text" onClick={again}>
          Import another list
        </button>
      </div>
    </section>
  );
}
