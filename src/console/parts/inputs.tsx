import { h, type ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { query, setQuery } from '../router.ts';

interface TextFieldProps {
  readonly label: ComponentChildren;
  readonly value: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly isProse?: boolean;
  /** Whether the key for filters goes here. */
  readonly isFilter?: boolean;
  readonly isSecret?: boolean;
  /** How many lines it has. Absent: one. */
  readonly rows?: number;
  set(value: string): void;
}

/** A text, with its label. */
export function TextField(props: TextFieldProps) {
  const { label, value, hint, placeholder, rows, set } = props;
  const { isProse = false, isFilter = false, isSecret = false } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {h(rows === undefined ? 'input' : 'textarea', {
        id,
        rows,
        class: isProse ? 'input' : 'input mono',
        type: isSecret ? 'password' : undefined,
        'data-filter': isFilter ? '' : undefined,
        autocomplete: isSecret ? 'current-password' : 'off',
        spellcheck: false,
        placeholder,
        'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
        value,
        onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
      })}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** A value of a list to choose from, with what the list shows. */
export type Option = readonly [value: string, text: string];

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Option[];
  choose(value: string): void;
}

/** A list to choose one value from, with its label. */
export function Choice({ label, value, choices, choose }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="input"
        value={value}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

interface TickProps {
  readonly isOn: boolean;
  readonly children: ComponentChildren;
  set(isOn: boolean): void;
}

/** A box to tick, with its label. */
export function Tick({ isOn, children, set }: TickProps) {
  return (
    <label class="option">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => set(currentTarget.checked)}
      />
      <span>{children}</span>
    </label>
  );
}

const TYPING_MS = 150;

interface FilterProps {
  /** The parameter in the address of the page. */
  readonly name: string;
  readonly label: string;
}

/** The text stays what the person typed. The list follows 150 ms after the last key. */
export function TextFilter(
  props: FilterProps & { readonly placeholder: string; readonly isFirst?: boolean },
) {
  const { name, label, placeholder, isFirst = false } = props;
  const given = query.value.get(name) ?? '';
  const [text, setText] = useState(given);
  const sent = useRef(given);
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
    <TextField {...{ label, placeholder }} value={text} set={setText} isFilter={isFirst} isProse />
  );
}

export function SelectFilter(props: FilterProps & { readonly choices: readonly Option[] }) {
  const { name, label, choices } = props;
  const value = query.value.get(name) ?? '';
  return (
    <Choice {...{ label, value, choices }} choose={(chosen) => setQuery({ [name]: chosen })} />
  );
}
