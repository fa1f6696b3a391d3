import { computed, signal } from '@preact/signals';

/** The path of the console on the service, with a slash at the end. Every file is in assets/. */
export const BASE = new URL('../', import.meta.url).pathname;

/** The path of the service, with a slash at the end. */
export const SERVICE = new URL('../../', import.meta.url).pathname;

interface Place {
  /** The parts of the path below the console. */
  readonly parts: readonly string[];
  readonly query: string;
}

/** Whether the person came back to the page, so that its scroll position returns. */
export const isReturning = signal(false);

/** A name of a screen, or an id. */
const PART = /^[\w-]+$/;

const place = signal<Place>(read());
export const parts = computed(() => place.value.parts);
export const query = computed(() => new URLSearchParams(place.value.query));

function read(): Place {
  const path = location.pathname.slice(BASE.length);
  const given = path.split('/').filter((part) => part !== '');
  // An id goes into the paths of requests: a link must not lead one elsewhere, as with `..%2f`.
  const isPage = given.every((part) => PART.test(part));
  return { parts: isPage ? given : [path], query: location.search };
}

/** What each screen gets. */
export interface ScreenProps {
  /** The parts of the path after the first. */
  readonly path: readonly string[];
}

/** Returns the address of a page of the console. */
export function pageOf(...path: readonly string[]): string {
  return BASE + path.map(encodeURIComponent).join('/');
}

/** Opens a page of the console. */
export function open(address: string, options: { replace?: boolean } = {}): void {
  if (options.replace === true) history.replaceState(history.state, '', address);
  else {
    history.replaceState({ scroll: scrollY }, '');
    history.pushState(null, '', address);
  }
  isReturning.value = false;
  place.value = read();
}

/** Changes members of the query. An empty value removes one. Replaces the entry in the history. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const next = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes))
    if (value === '') next.delete(name);
    else next.set(name, value);
  const text = next.toString();
  open(location.pathname + (text === '' ? '' : `?${text}`), { replace: true });
}

/** Returns where the page was scrolled to when the person left it. */
export function leftAt(): number {
  const state: unknown = history.state;
  return typeof state === 'object' && state !== null && 'scroll' in state
    ? Number(state.scroll)
    : 0;
}

/** Follows links inside the console without loading a page. */
export function startRouter(): void {
  history.scrollRestoration = 'manual';
  addEventListener('popstate', () => {
    isReturning.value = true;
    place.value = read();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.hasAttribute('download')) return;
    if (link.origin !== location.origin || !link.pathname.startsWith(BASE)) return;
    if (link.hash !== '' && link.pathname === location.pathname) return;
    event.preventDefault();
    open(link.pathname + link.search);
  });
}
