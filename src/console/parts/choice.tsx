import { useId } from 'preact/hooks';

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly (readonly [value: T, text: string])[];
  choose(value: T): void;
}

/** A list to choose one value from, with its label. */
export function Choice<T extends string>({ label, value, choices, choose }: ChoiceProps<T>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="input"
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = choices.find(([each]) => each === currentTarget.value);
          if (chosen !== undefined) choose(chosen[0]);
        }}
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
