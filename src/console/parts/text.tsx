import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { nameOf } from '../names.ts';
import { pageOf } from '../router.ts';
import type { Found } from '../rows.ts';
import { wordOf } from '../session.ts';
import { Button } from './button.tsx';
import { showToast } from './toasts.tsx';

/** Characters that show nothing, or change the order of what follows them. */
const INVISIBLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Returns a text from others with its invisible characters as escapes, such as `\u202e`. */
export function visible(text: string): string {
  return text.replaceAll(
    INVISIBLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const MIDDLE_AT = 48;

/** A name from others. A long one shows both ends, and all of it in its title. */
export function Name({ text, isWhole = false }: { text: string; isWhole?: boolean }) {
  const shown = visible(text);
  const isLong = !isWhole && shown.length > MIDDLE_AT;
  return (
    <bdi class="mono" title={isLong ? shown : undefined}>
      {isLong ? `${shown.slice(0, 26)}…${shown.slice(-20)}` : shown}
    </bdi>
  );
}

/** The screen of each collection that has one. */
export const PAGES: Readonly<Record<string, string>> = {
  tsigkeys: 'keys',
  tlds: 'tlds',
  zones: 'zones',
  nameservers: 'nameservers',
  pools: 'pools',
  tokens: 'tokens',
};

/** A resource by its id, as a link to its page with its name. */
export function Reference({ collection, id }: { collection: string; id: string }) {
  const name = nameOf(collection, id);
  const page = PAGES[collection];
  if (name === null) return <span class="warn">! {id.slice(0, 8)} does not exist</span>;
  if (name === undefined) return <span class="muted mono">{id.slice(0, 8)}</span>;
  return <Link page={page} id={id} name={name} />;
}

/** The name of a resource, as a link to its page if it has one. */
export function Link({ page, id, name }: Named & { page: string | undefined }) {
  if (page === undefined) return <Name text={name} />;
  return (
    <a href={pageOf(page, id)}>
      <Name text={name} />
    </a>
  );
}

/** Several resources of a collection. */
export function References({ collection, ids }: { collection: string; ids: readonly string[] }) {
  return (
    <>{ids.map((id, index) => [index === 0 ? '' : ', ', <Reference {...{ collection, id }} />])}</>
  );
}

/** The time, in steps of 5 s. */
const clock = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === 'visible') clock.value = Date.now();
}, 5000);

/** Returns the milliseconds of a timestamp of the API, which is in UTC. */
export function timeOf(timestamp: string): number {
  return Date.parse(timestamp.endsWith('Z') ? timestamp : `${timestamp}Z`);
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/** Returns a time some days ago, in whole minutes, so that the same list has the same address. */
export function daysAgo(days: number): string {
  const minute = Math.floor(Date.now() / MINUTE_MS - days * DAY_MINUTES);
  return new Date(minute * MINUTE_MS).toISOString().slice(0, 19);
}

const UNITS = [
  ['y', 31_536_000],
  ['mo', 2_592_000],
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** Returns a time as people say it: `12 s ago`, `in 3 d`. */
export function relative(milliseconds: number): string {
  const seconds = Math.round((milliseconds - clock.value) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return 'just now';
  const [unit, length] = UNITS.find(([, each]) => size >= each) ?? ['s', 1];
  const amount = `${Math.floor(size / length)} ${unit}`;
  return seconds < 0 ? `${amount} ago` : `in ${amount}`;
}

export function Ago({ at, none = '–' }: { at: string | null; none?: string }) {
  if (at === null) return <span class="muted">{none}</span>;
  return (
    <time dateTime={`${at}Z`} title={`${at.slice(0, 19).replace('T', ' ')} UTC`}>
      {relative(timeOf(at))}
    </time>
  );
}

/** Returns what people call the list of a collection. */
export function listOf(collection: string): string {
  return capitalised(`${wordOf(collection)}s`);
}

/** Returns the pattern for names with a text. Those of zones end in a dot, which patterns do not have. */
export function patternOf(text: string): string {
  const part = text.trim().replace(/\.$/, '');
  return part.includes('*') ? part : `*${part}*`;
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns a message of the service as a sentence. */
export function sentence(text: string): string {
  const shown = visible(text);
  return capitalised(shown) + (/[.!?]$/.test(shown) ? '' : '.');
}

export function count(number: number, word: string): string {
  return `${number.toLocaleString('en')} ${word}${number === 1 ? '' : 's'}`;
}

/** Returns how many rows there are, as far as that is known. */
export function countOf(
  { rows, total, hasMore }: Pick<Found<unknown>, 'rows' | 'total' | 'hasMore'>,
  word: string,
): string {
  if (total === undefined && hasMore) return `${count(rows.length, word)} and more`;
  return count(total ?? rows.length, word);
}

/** A button that copies a text. */
export function Copy({ text, what }: { text: () => string | Promise<string>; what: string }) {
  return (
    <Button onClick={() => void copy(text, what)}>
      Copy<span class="hidden"> {what}</span>
    </Button>
  );
}

export async function copy(text: () => string | Promise<string>, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(await text());
    showToast(`Copied ${what}. The clipboard keeps it.`);
  } catch {
    showToast(`The browser did not allow to copy ${what}.`);
  }
}

/** Offers a text as a file. */
export function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Shows its content after 200 ms, so that fast answers don't flash. */
export function Later({ children }: { children: ComponentChildren }) {
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return isDue ? <>{children}</> : null;
}

export interface Named {
  readonly id: string;
  readonly name: string;
}

/** The first of some resources as links to their pages, and how many more there are. */
export function Links<T extends Named>(props: {
  page: string;
  rows: readonly T[];
  more: number | undefined;
  /** What the list says about each. */
  note?(row: T): string;
}) {
  const { page, rows, more, note } = props;
  return (
    <>
      <ul class="stack-s">
        {rows.map((row) => (
          <li key={row.id}>
            <Link page={page} id={row.id} name={row.name} />
            {note === undefined ? null : <span class="muted"> {note(row)}</span>}
          </li>
        ))}
      </ul>
      {more === 0 ? null : <p class="muted">And {more?.toLocaleString('en')} more.</p>}
    </>
  );
}

/** The first names of a number of resources. */
export function Names({ names, of }: { names: readonly string[]; of: number }) {
  return (
    <span>
      {names.map((name, index) => [index === 0 ? '' : ', ', <Name text={name} />])}
      {of > names.length ? ` and ${(of - names.length).toLocaleString('en')} more` : ''}
    </span>
  );
}
