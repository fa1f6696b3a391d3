import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { query, setQuery } from '../router.ts';
import { Choice } from './choice.tsx';

interface FilterProps {
  /** The parameter in the address of the page. */
  readonly name: string;
  readonly label: string;
}

const TYPING_MS = 150;

/** The text stays what the person typed. The list follows 150 ms after the last key. */
export function TextFilter(
  props: FilterProps & {
    readonly placeholder: string;
    /** Whether the key for filters goes here. */
    readonly isFirst?: boolean;
  },
) {
  const { name, label, placeholder, isFirst } = props;
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
      setQuery({ [name]: sent.current });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        type="search"
        data-filter={isFirst === true ? '' : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </div>
  );
}

export function SelectFilter(
  props: FilterProps & { readonly choices: readonly (readonly [value: string, text: string])[] },
) {
  const { name, label, choices } = props;
  return (
    <Choice
      label={label}
      value={query.value.get(name) ?? ''}
      choices={choices}
      choose={(value) => setQuery({ [name]: value })}
    />
  );
}
