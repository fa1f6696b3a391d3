import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { query, setQuery } from '../router.ts';
import { Choice } from './choice.tsx';

interface FilterProps {
  /** The parameter in the address of the page. */
  readonly name: string;
  readonly label: string;
  /** Parameters that a change removes, because they are about the former list. */
  readonly resets?: readonly string[];
}

const NONE: readonly string[] = [];
const TYPING_MS = 150;

function change(name: string, value: string, resets: readonly string[]): void {
  const removed = resets.map((each) => [each, ''] as const);
  setQuery(Object.fromEntries([...removed, [name, value] as const]));
}

/** The text stays what the person typed. The list follows 150 ms after the last key. */
export function TextFilter(
  props: FilterProps & {
    readonly placeholder: string;
    readonly choices?: readonly string[];
    /** Whether the key for filters goes here. */
    readonly isFirst?: boolean;
    readonly isWide?: boolean;
  },
) {
  const { name, label, resets = NONE, placeholder, choices = [], isFirst, isWide } = props;
  const given = query.value.get(name) ?? '';
  const [text, setText] = useState(given);
  const sent = useRef(given);
  const id = useId();
  useEffect(() => {
    if (given !== sent.current) setText(given);
    sent.current = given;
  }, [given]);
  useEffect(() => {
    if (text.trim() === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text.trim();
      change(name, sent.current, resets);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class={isWide === true ? 'field grow' : 'field'}>
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        type="search"
        data-filter={isFirst === true ? '' : undefined}
        list={choices.length === 0 ? undefined : `${id}-list`}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {choices.length === 0 ? null : (
        <datalist id={`${id}-list`}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </div>
  );
}

export function SelectFilter(
  props: FilterProps & { readonly choices: readonly (readonly [value: string, text: string])[] },
) {
  const { name, label, resets = NONE, choices } = props;
  return (
    <Choice
      label={label}
      value={query.value.get(name) ?? ''}
      choices={choices}
      choose={(value) => change(name, value, resets)}
    />
  );
}
