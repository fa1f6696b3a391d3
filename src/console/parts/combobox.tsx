import { useEffect, useId, useState } from 'preact/hooks';
import { get } from '../requests.ts';
import { Name } from './text.tsx';

interface Found {
  readonly id: string;
  readonly name: string;
}

interface ComboboxProps {
  readonly collection: string;
  readonly inputId: string;
  readonly describedBy?: string | undefined;
  readonly isInvalid?: boolean;
  readonly placeholder?: string;
  readonly chosen: Found | undefined;
  onChoose(found: Found | undefined): void;
}

const SHOWN = 8;
const TYPING_MS = 150;

/** Returns the path of the first resources whose names contain a text. */
function searchPath(collection: string, text: string): string {
  const pattern = text.includes('*') || text === '' ? text : `*${text}*`;
  const query = new URLSearchParams({ limit: String(SHOWN), sort_key: 'name' });
  if (pattern !== '') query.set('name', pattern);
  return `v2/${collection}?${query.toString()}`;
}

/** Chooses a resource by its name, which the service searches. */
export function Combobox(props: ComboboxProps) {
  const { collection, inputId, chosen, onChoose } = props;
  const [text, setText] = useState(chosen?.name ?? '');
  const [found, setFound] = useState<readonly Found[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const [isSearched, setSearched] = useState(false);
  const listId = useId();

  useEffect(() => setText(chosen?.name ?? ''), [chosen?.id, chosen?.name]);
  useEffect(() => {
    if (!isOpen) return;
    const abort = new AbortController();
    const search = async () => {
      const typed = text === chosen?.name ? '' : text.trim();
      try {
        const page = await get<Readonly<Record<string, Found[]>>>(searchPath(collection, typed), {
          signal: abort.signal,
        });
        setFound(page[collection] ?? []);
        setActive(0);
        setSearched(true);
      } catch {
        // The field stays as it is. The service refuses the form if the choice is missing.
      }
    };
    const timer = setTimeout(() => void search(), TYPING_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, isOpen]);

  const choose = (item: Found | undefined) => {
    if (item === undefined) return;
    onChoose(item);
    setText(item.name);
    setOpen(false);
  };
  const onKey = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setOpen(true);
      setActive((at) => Math.max(0, Math.min(found.length - 1, at + step)));
    } else if (event.key === 'Enter' && isOpen && found.length > 0) {
      event.preventDefault();
      choose(found[active]);
    } else if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  return (
    <div class="combo">
      <input
        id={inputId}
        class="input mono"
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-activedescendant={isOpen && found.length > 0 ? `${listId}-${active}` : undefined}
        aria-describedby={props.describedBy}
        aria-invalid={props.isInvalid}
        autocomplete="off"
        spellcheck={false}
        placeholder={props.placeholder}
        value={text}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => setOpen(true)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
          if (chosen !== undefined) onChoose(undefined);
        }}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
      />
      <ul id={listId} role="listbox" aria-label="Found" class="combo-list" hidden={!isOpen}>
        {found.map((item, index) => (
          <li
            key={item.id}
            id={`${listId}-${index}`}
            role="option"
            class="combo-item"
            aria-selected={index === active}
            onMouseDown={(event) => {
              event.preventDefault();
              choose(item);
            }}
          >
            <Name text={item.name} />
          </li>
        ))}
        {isSearched && found.length === 0 ? (
          <li role="option" aria-selected={false} aria-disabled="true" class="combo-item muted">
            No match
          </li>
        ) : null}
      </ul>
    </div>
  );
}
