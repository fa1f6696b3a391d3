import { useId, useState } from 'preact/hooks';
import { Choice } from '../parts/choice.tsx';
import type { Values } from '../parts/form.tsx';
import { count, Names, visible } from '../parts/text.tsx';
import type { ChosenFile } from './configuration.ts';
import type { Target } from './key-import-plan.ts';
import { ScopeControl } from './scope-control.tsx';

/** What the form holds. It contains secrets. */
export interface Draft {
  readonly files: readonly ChosenFile[];
  /** The path of the file with which the configuration begins. */
  readonly main: string;
  readonly target: Values;
}

/** Returns the pool or zone that the form holds, or undefined if none is chosen. */
export function targetOf({ scope, resource_id: id }: Values): Target | undefined {
  if ((scope !== 'POOL' && scope !== 'ZONE') || typeof id !== 'string') return undefined;
  return { scope, resource_id: id };
}

/** Returns the file with which a name server begins, as far as the names tell. */
function mainOf(files: readonly ChosenFile[]): ChosenFile | undefined {
  const depth = ({ path }: ChosenFile) => path.split('/').length;
  const main = files.filter(({ path }) => /(?:^|\/)(?:named|knot|nsd)\.conf$/.test(path));
  return main.toSorted((one, other) => depth(one) - depth(other))[0] ?? files[0];
}

const PASTED = 'pasted text';

/** A folder may have zones and journals, too, which are larger than a configuration. */
const MAX_BYTES = 100_000_000;

/** Reads files, the smallest first, except those that cannot be read or are too large. */
async function readFiles(files: readonly File[]): Promise<readonly ChosenFile[]> {
  let bytes = 0;
  const isRead = new Set(
    files
      .toSorted((one, other) => one.size - other.size)
      .filter(({ size }) => (bytes += size) <= MAX_BYTES),
  );
  return Promise.all(
    files.map(async (file) => ({
      path: file.webkitRelativePath || file.name,
      text: isRead.has(file) ? await file.text().catch(() => undefined) : undefined,
    })),
  );
}

/** Returns the chosen folder of a path, or the name of a file without one. */
function rootOf({ path }: ChosenFile): string {
  return path.split('/', 1)[0] ?? '';
}

interface SourceFormProps {
  readonly draft: Draft;
  readonly isBusy: boolean;
  change(given: Partial<Draft>): void;
  compare(): Promise<void>;
}

/** The files, and the pool or zone of their keys. */
export function SourceForm({ draft, isBusy, change, compare }: SourceFormProps) {
  const id = useId();
  const { files, main, target } = draft;
  const choose = (chosen: readonly ChosenFile[]) =>
    change({ files: chosen, main: mainOf(chosen)?.path ?? '' });
  const [isReading, setReading] = useState(false);
  /** Adds files to those of other folders. Two folders with one name are never one folder. */
  const add = async ({ currentTarget: input }: { readonly currentTarget: HTMLInputElement }) => {
    change({});
    setReading(true);
    const chosen = await readFiles([...(input.files ?? [])]);
    setReading(false);
    input.value = '';
    const roots = new Set([...chosen.map(rootOf), PASTED]);
    choose([...files.filter((file) => !roots.has(rootOf(file))), ...chosen]);
  };
  const isReady = files.length > 0 && targetOf(target) !== undefined && !isBusy && !isReading;
  const pasted = files.find(({ path }) => path === PASTED)?.text ?? '';
  return (
    <section class="panel" aria-label="The configuration">
      <form
        class="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void compare();
        }}
      >
        <div class="halves">
          {(['Folder', 'Files'] as const).map((label) => (
            <div class="field" key={label}>
              <label for={id + label}>{label}</label>
              <input
                id={id + label}
                type="file"
                disabled={isReading}
                ref={(input) => {
                  if (input !== null && label === 'Folder') input.webkitdirectory = true;
                }}
                multiple
                aria-describedby={`${id}-hint`}
                onChange={(event) => void add(event)}
              />
            </div>
          ))}
        </div>
        <p id={`${id}-hint`} class="hint">
          The named.conf, knot.conf or nsd.conf of the primary with every file that it includes, or
          a file of keys. Your browser reads them; nothing leaves it but the keys that you import.
        </p>
        {files.length === 0 || pasted !== '' ? null : (
          <div class="row">
            <span>
              {count(files.length, 'file')}:{' '}
              <Names names={files.slice(0, 5).map(({ path }) => path)} of={files.length} />
            </span>
            <button type="button" class="button text" onClick={() => choose([])}>
              Forget {files.length === 1 ? 'it' : 'them'}
            </button>
          </div>
        )}
        <details>
          <summary class="label">Or paste a text</summary>
          <label class="hidden" for={`${id}-text`}>
            Text
          </label>
          <textarea
            id={`${id}-text`}
            class="input mono"
            rows={8}
            spellcheck={false}
            autocomplete="off"
            value={pasted}
            onInput={({ currentTarget: { value } }) =>
              choose(value.trim() === '' ? [] : [{ path: PASTED, text: value }])
            }
          />
        </details>
        {files.length < 2 ? null : (
          <Choice
            label="Begins with"
            value={main}
            choices={files.map(({ path }) => [path, visible(path)])}
            choose={(path) => change({ main: path })}
          />
        )}
        <fieldset class="field">
          <legend>New keys apply to</legend>
          <ScopeControl
            id={`${id}-scope`}
            values={target}
            setAll={(values) => change({ target: values })}
            describedBy={undefined}
            isInvalid={false}
          />
        </fieldset>
        <div class="row">
          <button type="submit" class="button primary" aria-disabled={!isReady}>
            Show what would change
          </button>
          {isBusy ? <span class="muted">Comparing…</span> : null}
        </div>
      </form>
    </section>
  );
}
