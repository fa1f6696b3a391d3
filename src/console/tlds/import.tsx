import { useState } from 'preact/hooks';
import { detectFormat, readTldList, type ListFormat } from '../../tlds/read-list.ts';
import { Changes, Entries, ImportForm, useComparison } from '../parts/import.tsx';
import { Tick } from '../parts/inputs.tsx';
import { Denied } from '../parts/notices.tsx';
import { PageHead } from '../parts/page.tsx';
import { count, Name, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { open, pageOf } from '../router.ts';
import { may } from '../session.ts';
import { apply, dryRun, type Outcome } from './bulk.ts';

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
  const comparison = useComparison<Plan>();
  const { text, plan, stop } = comparison;
  return (
    <>
      <PageHead title="Import domains" of="tlds" />
      <div class="stack">
        <Denied right="tlds:create" what="Importing a list" />
        {may('tlds:create') ? (
          <ImportForm
            label="List"
            hint="Names, the CSV of Designate, the list of IANA, or the Public Suffix List."
            comparison={comparison}
            read={(signal) => compareList(text, replace, signal)}
          >
            <Denied right="tlds:delete" what="Removing entries that are not in the list" />
            {may('tlds:delete') ? (
              <Tick
                isOn={replace}
                set={(isOn) => {
                  stop();
                  setReplace(isOn);
                }}
              >
                Remove the entries that are not in the list
              </Tick>
            ) : null}
          </ImportForm>
        ) : null}
        {plan === undefined ? null : <ListChanges plan={plan} />}
      </div>
    </>
  );
}

const NONE = { added: 0, updated: 0, removed: 0, unchanged: 0 };

/** What the list would change, with the button that does it. */
function ListChanges({ plan }: { plan: Plan }) {
  const { response, entries, refused, format, replace } = plan;
  const { added, updated, removed, unchanged } = response?.counts ?? NONE;
  const changes = added + updated + removed;
  const results = [...(response?.results ?? [])];
  return (
    <Changes
      totals={[
        [added, 'added'],
        [updated, 'changed'],
        [removed, 'removed'],
        [unchanged, 'left alone'],
        [refused.length, 'refused', true],
      ]}
      changes={changes}
      action={`Apply ${count(changes, 'change')}`}
      isDangerous={removed > 0}
      typed={replace || updated + removed > MANY ? String(changes) : undefined}
      run={async () => {
        await apply(entries, { replace });
        showToast(`${count(changes, 'change')} applied`);
        open(pageOf('tlds'));
      }}
      question={
        <p>
          New zones are checked against the changed entries at once. Zones that exist stay as they
          are. To keep the present list, run <code>tsigil tld list -f csv</code> first.
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
