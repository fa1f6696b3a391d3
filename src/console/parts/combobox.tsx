import { useEffect, useState } from 'preact/hooks';
import { get } from '../requests.ts';
import { patternOf, type Named } from './text.tsx';

interface ComboboxProps {
  readonly collection: string;
  readonly inputId: string;
  readonly describedBy?: string | undefined;
  readonly isInvalid?: boolean;
  readonly chosen: Named | undefined;
  onChoose(found: Named | undefined): void;
}

const SHOWN = 8;
const TYPING_MS = 150;

/** Chooses a resource by its name, which the service searches while a person types. */
export function Combobox(props: ComboboxProps) {
  const { collection, inputId, chosen, onChoose } = props;
  const [text, setText] = useState(chosen?.name ?? '');
  const [found, setFound] = useState<readonly Named[]>([]);
  const [isUsed, setUsed] = useState(false);

  useEffect(() => {
    if (chosen !== undefined) setText(chosen.name);
  }, [chosen?.id, chosen?.name]);
  useEffect(() => {
    if (!isUsed) return;
    const abort = new AbortController();
    const search = async () => {
      const query = new URLSearchParams({ limit: String(SHOWN), sort_key: 'name' });
      if (text !== '') query.set('name', patternOf(text));
      const path = `v2/${collection}?${query.toString()}`;
      const page = await get<Record<string, Named[]>>(path, { signal: abort.signal });
      setFound(page[collection] ?? []);
    };
    // After a failure, the field stays as it is. The service refuses a form without the choice.
    const timer = setTimeout(() => void search().catch(() => undefined), TYPING_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, isUsed]);
  useEffect(() => {
    if (!isUsed || text === chosen?.name) return;
    const named = found.find(({ name }) => name === text.trim());
    if (named?.id !== chosen?.id) onChoose(named);
  }, [text, found]);

  return (
    <>
      <input
        id={inputId}
        class="input mono"
        list={`${inputId}-found`}
        aria-describedby={props.describedBy}
        aria-invalid={props.isInvalid}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onFocus={({ currentTarget }) => {
          currentTarget.select();
          setUsed(true);
        }}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <datalist id={`${inputId}-found`}>
        {found.map(({ id, name }) => (
          <option key={id} value={name} />
        ))}
      </datalist>
    </>
  );
}
