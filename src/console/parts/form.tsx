import { h, type ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { FieldDefinition } from '../resources.ts';
import { nameOf } from '../names.ts';
import type { RequestError } from '../requests.ts';
import { definitionOf, targetOf } from '../session.ts';
import { Button } from './button.tsx';
import { Combobox } from './combobox.tsx';
import { Tick } from './inputs.tsx';
import { Problem } from './notices.tsx';
import { useSubmit } from './submit.ts';
import { Name, type Named } from './text.tsx';

export type Values = Readonly<Record<string, unknown>>;

export interface ControlProps {
  readonly field: FieldDefinition;
  readonly id: string;
  readonly value: unknown;
  readonly describedBy: string | undefined;
  readonly isInvalid: boolean;
  set(value: unknown): void;
  /** All members of the resource, of which a reference may need another one. */
  readonly values: Values;
}

export interface FormProps {
  readonly collection: string;
  readonly fields: readonly FieldDefinition[];
  readonly values: Values;
  readonly action: string;
  /** Controls of the screen in the place of the general ones, by the names of the fields. */
  readonly controls?:
    Readonly<Record<string, (props: ControlProps) => ComponentChildren>> | undefined;
  /** Fields that the screen shows closed, under this heading. */
  readonly closed?: { readonly heading: string; readonly names: readonly string[] } | undefined;
  submit(values: Values): Promise<void>;
  onCancel(): void;
}

/** A form from the definition of its fields. The service judges, and its errors return to the fields. */
export function Form(props: FormProps) {
  const { collection, fields, action, controls = {}, closed, submit } = props;
  const [values, setValues] = useState<Values>(props.values);
  const { error, isBusy, onSubmit } = useSubmit(() => submit(values));
  const form = useRef<HTMLFormElement>(null);
  const problems = problemsOf(error, definitionOf(collection)?.unique ?? 'name');
  const known = fields.map(({ name }) => name);
  const isElsewhere =
    error !== undefined &&
    (problems.size === 0 || [...problems.keys()].some((name) => !known.includes(name)));

  useEffect(() => {
    if (error !== undefined)
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  const control = (field: FieldDefinition) => (
    <FieldControl
      key={field.name}
      field={field}
      value={values[field.name]}
      problem={problems.get(field.name)}
      control={controls[field.name]}
      values={values}
      set={(given) => setValues((before) => Object.assign({}, before, { [field.name]: given }))}
    />
  );
  const isClosed = ({ name }: FieldDefinition) => closed?.names.includes(name) === true;
  return (
    <form ref={form} class="stack" noValidate onSubmit={onSubmit}>
      {fields.filter((field) => !isClosed(field)).map(control)}
      {closed === undefined || !fields.some(isClosed) ? null : (
        <details open={closed.names.some((name) => problems.has(name))}>
          <summary class="label">{closed.heading}</summary>
          <div class="stack closed">{fields.filter(isClosed).map(control)}</div>
        </details>
      )}
      {error !== undefined && isElsewhere ? <Problem error={error} /> : null}
      <div class="dialog-actions">
        <Button onClick={props.onCancel}>Cancel</Button>
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          {action}
        </button>
      </div>
    </form>
  );
}

/** Returns a value that a person can type. */
function typedOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function problemsOf(error: RequestError | undefined, unique: string): ReadonlyMap<string, string> {
  if (error === undefined) return new Map();
  if (error.type.startsWith('duplicate_') || error.type === 'reserved_name')
    return new Map([[unique, error.message]]);
  return new Map(error.problems.map(({ path, message }) => [path[0] ?? '', message]));
}

/** What descriptions say to programs, and not to people. */
const NULLS = / Null (?:if|for) [^.]*\./g;

interface FieldControlProps extends Pick<ControlProps, 'field' | 'value' | 'values' | 'set'> {
  readonly problem: string | undefined;
  readonly control: ((props: ControlProps) => ComponentChildren) | undefined;
}

function FieldControl({ problem, control, ...props }: FieldControlProps) {
  const { field } = props;
  const id = useId();
  const hint = `${id}-hint`;
  const Control = control ?? controlOf(field);
  const isGroup = control !== undefined || field.kind === 'boolean' || field.choices !== undefined;
  const Box = isGroup ? 'fieldset' : 'div';
  return (
    <Box class="field">
      {h(
        isGroup ? 'legend' : 'label',
        isGroup ? null : { for: id },
        field.label,
        field.required ? null : <span class="muted small"> optional</span>,
      )}
      <Control {...props} id={id} describedBy={hint} isInvalid={problem !== undefined} />
      <p id={hint} class={problem === undefined ? 'hint' : 'problem'}>
        {problem ?? field.description.replaceAll(NULLS, '')}
      </p>
    </Box>
  );
}

function controlOf(field: FieldDefinition): (props: ControlProps) => ComponentChildren {
  const { kind, choices = [] } = field;
  const isReference = typeof field.refers_to === 'string';
  if (kind === 'boolean') return Switch;
  if (kind === 'enumeration') return Radios;
  if (kind === 'reference') return ReferenceControl;
  if (kind === 'list' && isReference) return ReferencesControl;
  if (kind === 'list') return choices.length > 0 ? Checkboxes : Lines;
  if (kind === 'map') return Pairs;
  return Input;
}

function Input({ field, id, value, describedBy, isInvalid, set }: ControlProps) {
  const isNumber = field.kind === 'number';
  return (
    <input
      id={id}
      class={['description', 'email'].includes(field.name) ? 'input' : 'input mono'}
      inputMode={isNumber ? 'numeric' : undefined}
      autocomplete="off"
      spellcheck={false}
      placeholder={typedOf(field.example)}
      aria-describedby={describedBy}
      aria-invalid={isInvalid}
      aria-required={field.required}
      value={typedOf(value)}
      onInput={({ currentTarget: { value: text } }) => {
        if (text === '') set(field.nullable ? null : undefined);
        else set(isNumber && /^\d+$/.test(text) ? Number(text) : text);
      }}
    />
  );
}

type Words = (choice: string) => ComponentChildren;

/** One of the choices. `words` returns what the form shows in the place of a choice. */
export function Radios({ words = String, ...props }: ControlProps & { words?: Words }) {
  const { field, id, value, describedBy, set } = props;
  return (
    <div class="options" aria-describedby={describedBy}>
      {(field.choices ?? []).map(({ value: choice, note }) => (
        <label class="option" key={String(choice)}>
          <input
            type="radio"
            name={id}
            checked={(value ?? field.default) === choice}
            onChange={() => set(choice)}
          />
          <span>
            {words(String(choice))}
            {note === undefined ? null : <span class="warn small"> {note}</span>}
          </span>
        </label>
      ))}
    </div>
  );
}

function Switch({ field, value, set }: ControlProps) {
  return (
    <Tick isOn={(value ?? field.default) === true} set={set}>
      {field.label}
    </Tick>
  );
}

/** Some of the choices. */
export function Checkboxes({ words = String, ...props }: ControlProps & { words?: Words }) {
  const { field, value, describedBy, set } = props;
  const chosen = (value ?? field.default ?? []) as readonly unknown[];
  return (
    <div class="options" aria-describedby={describedBy}>
      {field.choices?.map(({ value: choice }) => (
        <Tick
          key={String(choice)}
          isOn={chosen.includes(choice)}
          set={(isOn) => set(isOn ? [...chosen, choice] : chosen.filter((each) => each !== choice))}
        >
          {words(String(choice))}
        </Tick>
      ))}
    </div>
  );
}

/** A value that a person types as lines, without blank ones. */
export function LinesControl(props: {
  readonly control: ControlProps;
  readonly lines: readonly string[];
  readonly label?: string;
  readonly placeholder?: string;
  read(lines: readonly string[]): unknown;
}) {
  const { control, label, placeholder, read } = props;
  const [text, setText] = useState(props.lines.join('\n'));
  return (
    <textarea
      id={control.id}
      class="input mono"
      rows={3}
      aria-label={label}
      placeholder={placeholder}
      aria-describedby={control.describedBy}
      aria-invalid={control.isInvalid}
      value={text}
      onInput={({ currentTarget: { value: typed } }) => {
        setText(typed);
        const lines = typed.split('\n').map((line) => line.trim());
        control.set(read(lines.filter((line) => line !== '')));
      }}
    />
  );
}

/** A list of texts, one a line. */
function Lines(control: ControlProps) {
  return (
    <LinesControl
      control={control}
      lines={Array.isArray(control.value) ? control.value.map(String) : []}
      read={(lines) => (lines.length === 0 ? undefined : lines)}
    />
  );
}

/** Names with values, as `name = value` lines. */
function Pairs(control: ControlProps) {
  const pairs = Object.entries((control.value ?? {}) as Record<string, string>);
  return (
    <LinesControl
      control={control}
      lines={pairs.map(([name, each]) => `${name} = ${each}`)}
      placeholder="name = value"
      read={(lines) => Object.fromEntries(lines.map((line) => line.split(/ *= *(.*)/s, 2)))}
    />
  );
}

function ReferenceControl(props: ControlProps) {
  const { field, id, value, values, describedBy, isInvalid, set } = props;
  const collection = targetOf(field, values) ?? '';
  const given = typeof value === 'string' && value !== '' ? value : undefined;
  const name = given === undefined ? undefined : (nameOf(collection, given) ?? given);
  const chosen = given === undefined || name === undefined ? undefined : { id: given, name };
  const before = useRef(collection);
  useEffect(() => {
    if (before.current !== collection) set(undefined);
    before.current = collection;
  }, [collection]);
  return (
    <Combobox
      key={collection}
      {...{ collection, describedBy, isInvalid, chosen }}
      inputId={id}
      onChoose={(found) => set(found?.id)}
    />
  );
}

/** Chooses several resources by their names. */
function ReferencesControl({ field, id, value, describedBy, isInvalid, set }: ControlProps) {
  const collection = targetOf(field, {}) ?? '';
  const ids = Array.isArray(value) ? value.map(String) : [];
  const [next, setNext] = useState<Named>();
  return (
    <div class="stack-s">
      {ids.map((each) => (
        <Tick
          key={each}
          isOn
          set={() => set(ids.length === 1 ? null : ids.filter((other) => other !== each))}
        >
          <Name text={nameOf(collection, each) ?? each} />
        </Tick>
      ))}
      <Combobox
        key={ids.length}
        {...{ collection, describedBy, isInvalid }}
        inputId={id}
        chosen={next}
        onChoose={setNext}
      />
      <div>
        <Button
          aria-disabled={next === undefined}
          onClick={() => {
            if (next !== undefined) set([...new Set([...ids, next.id])]);
            setNext(undefined);
          }}
        >
          Add<span class="hidden"> to {field.label}</span>
        </Button>
      </div>
    </div>
  );
}
