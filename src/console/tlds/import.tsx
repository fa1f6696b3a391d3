import { useId, useState } from 'preact/hooks';
import type { BulkResponse } from '../../domain/actions/bulk-request.ts';
import { detectFormat, readTldList, type ListFormat } from '../../domain/tld-lists/read-list.ts';
import { Changes, Entries, ImportForm, Stage, Totals, useComparison } from '../parts/import.tsx';
import type { Total } from '../parts/import.tsx';
import { Denied } from '../parts/notices.tsx';
import { PageHead } from '../parts/page.tsx';
import { count, download, Name, visible } from '../parts/text.tsx';
import type { Tld } from '../resources.ts';
import { pageOf } from '../router.ts';
import { readAll } from '../rows.ts';
import { may } from '../session.ts';
import { apply, csvOf, dryRun, type Outcome } from './bulk.ts';

/** Above this number of entries that change or go, a person types how many. */
const MANY = 10;

/** How the command reads a list unless it is told otherwise. */
const OPTIONS = { delimiter: ',', section: 'icann', wildcards: 'parent' } as const;

const FORMATS: Readonly<Record<ListFormat, string>> = {
  csv: 'CSV: a name, or a name and a description',
  iana: 'the list of IANA',
  psl: 'the Public Suffix List, its ICANN section',
  plain: 'one name on each line',
  json: 'the JSON of a client',
};

interface Plan extends Outcome {
  readonly format: ListFormat;
  readonly replace: boolean;
}

interface Done {
  readonly response: BulkResponse;
  readonly former: readonly Tld[];
}

async function compareList(text: string, replace: boolean, signal: AbortSignal): Promise<Plan> {
  const format = detectFormat(text, OPTIONS.delimiter);
  const { entries, refused } = readTldList(text, format, OPTIONS);
  const outcome = await dryRun(entries, replace, signal);
  const lines = [...refused, ...outcome.refused].sort((one, other) => one.line - other.line);
  return { ...outcome, refused: lines, format, replace };
}

/** Compares a list with the entries, shows what would change, and applies it. */
export function ImportTlds() {
  const [replace, setReplace] = useState(false);
  const { text, set, plan, error, isBusy, stop, compare } = useComparison<Plan>();
  const [done, setDone] = useState<Done>();
  const id = useId();
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
            <ImportForm
              label="List"
              hint="Names, the CSV of Designate, the list of IANA, or the Public Suffix List."
              isReady={!isBusy}
              compare={() => void compare((signal) => compareList(text, replace, signal))}
              {...{ text, set, error }}
            >
              <fieldset class="field">
                <legend>Entries that are not in the list</legend>
                <div class="options">
                  {[false, true].map((value) => (
                    <label class="option" key={String(value)}>
                      <input
                        type="radio"
                        name={id}
                        checked={replace === value}
                        disabled={value && !may('tlds:delete')}
                        onChange={() => {
                          stop();
                          setReplace(value);
                        }}
                      />
                      {value ? 'Remove them: the list replaces all entries' : 'Keep them'}
                    </label>
                  ))}
                </div>
                <Denied right="tlds:delete" what="Removing entries" />
              </fieldset>
            </ImportForm>
            {plan === undefined ? null : (
              <ListChanges
                plan={plan}
                finish={(result) => {
                  stop();
                  setDone(result);
                }}
              />
            )}
          </>
        ) : (
          <Result done={done} again={() => setDone(undefined)} />
        )}
      </div>
    </>
  );
}

const NONE = { added: 0, updated: 0, removed: 0, unchanged: 0 };

function totalsOf({ added, updated, removed, unchanged }: typeof NONE): readonly Total[] {
  return [
    [added, 'added'],
    [updated, 'changed'],
    [removed, 'removed'],
    [unchanged, 'left alone'],
  ];
}

/** What the list would change, with the button that does it. */
function ListChanges({ plan, finish }: { plan: Plan; finish(done: Done): void }) {
  const { response, entries, refused, format, replace } = plan;
  const counts = response?.counts ?? NONE;
  const { added, updated, removed } = counts;
  const changes = added + updated + removed;
  const results = [...(response?.results ?? [])];
  return (
    <Changes
      totals={[...totalsOf(counts), [refused.length, 'refused', true]]}
      changes={changes}
      action={`Apply ${count(changes, 'change')}`}
      isDangerous={removed > 0}
      typed={replace || updated + removed > MANY ? String(changes) : undefined}
      run={async () => {
        const former = await readAll<Tld>('tlds', { sort_key: 'name' });
        finish({ response: await apply(entries, { replace }), former });
      }}
      question={
        <p>
          New zones are checked against the changed entries at once. Zones that exist stay as they
          are.
        </p>
      }
    >
      <p class="muted">Read as: {FORMATS[format]}.</p>
      <Entries
        title="Refused lines, which are left out"
        entries={refused}
        show={({ line, text, reason }) => (
          <>
            Line {line}: <Name text={text} />: {visible(reason)}
          </>
        )}
        isOpen
      />
      <Entries title="Removed" entries={[...(response?.removed ?? [])]} show={showName} />
      <Entries
        title="Changed"
        entries={results.filter(({ outcome }) => outcome === 'updated')}
        show={({ name, index, previous }) => (
          <>
            <Name text={name} />: {quoted(previous?.description)} →{' '}
            {quoted(entries[index]?.description)}
          </>
        )}
      />
      <Entries
        title="Added"
        entries={results.filter(({ outcome }) => outcome === 'added')}
        show={showName}
      />
    </Changes>
  );
}

function quoted(description: string | null | undefined): string {
  return description === null || description === undefined ? 'none' : `‘${visible(description)}’`;
}

function showName({ name }: { readonly name: string }) {
  return <Name text={name} />;
}

/** What an import has changed, and the way back. */
function Result({ done: { response, former }, again }: { done: Done; again(): void }) {
  const file = `tlds-${new Date().toISOString().slice(0, 10)}.csv`;
  return (
    <Stage title="Imported" label="Result">
      <Totals totals={totalsOf(response.counts)} />
      <p class="muted">
        The former list has {count(former.length, 'domain')}. Keep it: importing it in the place of
        all entries takes this import back.
      </p>
      <div class="row">
        <a class="button primary" href={pageOf('tlds')}>
          Show the domains
        </a>
        <button type="button" class="button" onClick={() => download(file, csvOf(former))}>
          Download the former list
        </button>
        <button type="button" class="button" onClick={again}>
          Import another list
        </button>
      </div>
    </Stage>
  );
}
