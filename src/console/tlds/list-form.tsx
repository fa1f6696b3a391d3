import { useId, useMemo } from 'preact/hooks';
import { SECTIONS, WILDCARD_CHOICES } from '../../domain/tld-lists/public-suffix.ts';
import {
  detectFormat,
  LIST_FORMATS,
  type ListFormat,
  type ListOptions,
} from '../../domain/tld-lists/read-list.ts';
import { Choice } from '../parts/choice.tsx';
import { Denied } from '../parts/notices.tsx';
import { may } from '../session.ts';

export const FORMAT_WORDS: Readonly<Record<ListFormat, string>> = {
  csv: 'CSV: a name, or a name and a description',
  iana: 'List of IANA',
  psl: 'Public Suffix List',
  plain: 'One name on each line',
  json: 'JSON of a client',
};

const SECTION_WORDS = { icann: 'ICANN', private: 'Private', all: 'Both' };
const WILDCARD_WORDS = { parent: 'becomes ck', skip: 'is left out', refuse: 'is refused' };
const DELIMITER_WORDS = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };

/** What the form holds. The text itself is read only when a person asks for the changes. */
export interface Draft {
  readonly text: string;
  readonly format: ListFormat | '';
  readonly options: ListOptions;
  readonly replace: boolean;
}

/** Returns the format that the text seems to have. */
export function formatOf({ text, options }: Draft): ListFormat {
  return detectFormat(text, options.delimiter);
}

interface ListFormProps {
  readonly draft: Draft;
  readonly isBusy: boolean;
  change(given: Partial<Draft>): void;
  compare(): Promise<void>;
}

/** The list, how to read it, and what happens to entries that are not in it. */
export function ListForm({ draft, isBusy, change, compare }: ListFormProps) {
  const id = useId();
  const detected = useMemo(() => formatOf(draft), [draft.text, draft.options.delimiter]);
  const format = draft.format === '' ? detected : draft.format;
  const option = (given: Partial<ListOptions>) =>
    change({ options: Object.assign({}, draft.options, given) });
  return (
    <section class="panel" aria-label="The list">
      <form
        class="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          void compare();
        }}
      >
        <div class="field">
          <label for={`${id}-text`}>List</label>
          <textarea
            id={`${id}-text`}
            class="input mono"
            rows={8}
            spellcheck={false}
            placeholder={'com\nco.uk,Companies'}
            aria-describedby={`${id}-hint`}
            value={draft.text}
            onInput={({ currentTarget }) => change({ text: currentTarget.value })}
          />
          <p id={`${id}-hint`} class="hint">
            Paste names, the CSV of Designate, the list of IANA, or the Public Suffix List.
          </p>
        </div>
        <div class="field">
          <label for={`${id}-file`}>Or a file</label>
          <input
            id={`${id}-file`}
            type="file"
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              void file?.text().then((text) => change({ text }));
            }}
          />
        </div>
        <div class="row">
          <Choice
            label="Format"
            value={draft.format}
            choices={[
              ['', draft.text.trim() === '' ? 'Detected' : `Detected: ${FORMAT_WORDS[detected]}`],
              ...LIST_FORMATS.map((each) => [each, FORMAT_WORDS[each]] as const),
            ]}
            choose={(chosen) => change({ format: chosen })}
          />
          {format === 'psl' ? (
            <>
              <Choice
                label="Section"
                value={draft.options.section}
                choices={SECTIONS.map((each) => [each, SECTION_WORDS[each]] as const)}
                choose={(section) => option({ section })}
              />
              <Choice
                label="A rule such as *.ck"
                value={draft.options.wildcards}
                choices={WILDCARD_CHOICES.map((each) => [each, WILDCARD_WORDS[each]] as const)}
                choose={(wildcards) => option({ wildcards })}
              />
            </>
          ) : null}
          {format === 'csv' ? (
            <Choice
              label="Between the fields"
              value={draft.options.delimiter}
              choices={Object.entries(DELIMITER_WORDS)}
              choose={(delimiter) => option({ delimiter })}
            />
          ) : null}
        </div>
        <fieldset class="field">
          <legend>Entries that are not in the list</legend>
          <div class="options">
            {[false, true].map((replace) => (
              <label class="option" key={String(replace)}>
                <input
                  type="radio"
                  name={id}
                  checked={draft.replace === replace}
                  disabled={replace && !may('tlds:delete')}
                  onChange={() => change({ replace })}
                />
                {replace ? 'Remove them: the list replaces all entries' : 'Keep them'}
              </label>
            ))}
          </div>
          <Denied right="tlds:delete" what="Removing entries" />
        </fieldset>
        <div class="row">
          <button
            type="submit"
            class="button primary"
            aria-disabled={isBusy || draft.text.trim() === ''}
          >
            Show what would change
          </button>
          {isBusy ? <span class="muted">Comparing…</span> : null}
        </div>
      </form>
    </section>
  );
}
