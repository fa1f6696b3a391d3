import { useEffect, useId, useState } from 'preact/hooks';
import { searchPath } from '../parts/combobox.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Name, PAGES, visible } from '../parts/text.tsx';
import { get } from '../requests.ts';
import { open, pageOf } from '../router.ts';
import { may, signOut } from '../session.ts';
import { shownScreens } from './navigation.tsx';
import { nextTheme, theme } from './preferences.ts';
import { isPaletteOpen, isSheetOpen } from './shortcuts.tsx';

interface Item {
  readonly group: string;
  readonly label: string;
  readonly isName?: boolean;
  run(): void;
}

const PER_KIND = 5;
const TYPING_MS = 150;

/** What the caller may do, without the resources. */
function commands(): readonly Item[] {
  const screens = shownScreens();
  return [
    ...screens.map(({ path, title }) => ({
      group: 'Go to',
      label: title,
      run: () => open(pageOf(...(path === '' ? [] : [path]))),
    })),
    ...screens
      .filter(({ collection }) => collection !== undefined && may(`${collection}:create`))
      .map(({ path, title }) => ({
        group: 'Actions',
        label: `New: ${title.toLowerCase()}`,
        run: () => open(`${pageOf(path)}?new=1`),
      })),
    { group: 'Actions', label: 'Keyboard shortcuts', run: () => (isSheetOpen.value = true) },
    { group: 'Actions', label: 'Change the theme', run: () => (theme.value = nextTheme()) },
    { group: 'Actions', label: 'Sign out', run: () => void signOut() },
  ];
}

async function search(text: string, abort: AbortSignal): Promise<readonly Item[]> {
  const kinds = shownScreens().filter(({ collection }) => collection !== undefined);
  const found = await Promise.all(
    kinds.map(async ({ collection = '', title }) => {
      try {
        const page = await get<Readonly<Record<string, { id: string; name: string }[]>>>(
          searchPath(collection, text, PER_KIND),
          { signal: abort },
        );
        return (page[collection] ?? []).map(({ id, name }) => ({
          group: title,
          label: name,
          isName: true,
          run: () => open(pageOf(PAGES[collection] ?? collection, id)),
        }));
      } catch {
        return []; // the other kinds are still worth showing
      }
    }),
  );
  return found.flat();
}

/** Finds pages, actions and resources by name. */
export function Palette() {
  const [text, setText] = useState('');
  const [found, setFound] = useState<readonly Item[]>([]);
  const [active, setActive] = useState(0);
  const id = useId();
  const typed = text.trim().toLowerCase();
  const items = [
    ...commands().filter(({ label }) => label.toLowerCase().includes(typed)),
    ...(typed === '' ? [] : found),
  ];
  const close = () => (isPaletteOpen.value = false);
  const run = (item: Item | undefined) => {
    if (item === undefined) return;
    close();
    // After the dialog has returned the focus.
    setTimeout(() => item.run());
  };
  useEffect(() => {
    setActive(0);
    if (typed === '') {
      setFound([]);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        void search(typed, abort.signal).then((all) => {
          if (!abort.signal.aborted) setFound(all);
        }),
      TYPING_MS,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [typed]);
  useEffect(
    () => document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' }),
    [active],
  );
  return (
    <Dialog title="Search and commands" size="palette" hasTitle={false} onClose={close}>
      <input
        class="input"
        data-first=""
        role="combobox"
        aria-label="Search and commands"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={items.length === 0 ? undefined : `${id}-${active}`}
        placeholder="Search keys, or type a command"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined) {
            event.preventDefault();
            setActive((active + step + items.length) % Math.max(1, items.length));
          } else if (event.key === 'Enter') {
            event.preventDefault();
            run(items[active]);
          }
        }}
      />
      <div id={id} role="listbox" aria-label="Results" class="palette-list" tabIndex={-1}>
        {items.map((item, index) => (
          <Entry
            key={`${item.group} ${item.label}`}
            item={item}
            id={`${id}-${index}`}
            isActive={index === active}
            isFirst={items[index - 1]?.group !== item.group}
            run={() => run(item)}
          />
        ))}
        {items.length === 0 ? (
          <div class="combo-item muted" role="option" aria-selected={false} aria-disabled="true">
            Nothing found for “{visible(text)}”
          </div>
        ) : null}
      </div>
    </Dialog>
  );
}

function Entry(props: {
  item: Item;
  id: string;
  isActive: boolean;
  isFirst: boolean;
  run(): void;
}) {
  const { item, id, isActive, isFirst, run } = props;
  return (
    <>
      {isFirst ? (
        <div class="palette-group" role="presentation">
          {item.group}
        </div>
      ) : null}
      <div
        id={id}
        role="option"
        aria-selected={isActive}
        class="combo-item"
        onMouseDown={(event) => {
          event.preventDefault();
          run();
        }}
      >
        {item.isName === true ? <Name text={item.label} /> : item.label}
      </div>
    </>
  );
}
