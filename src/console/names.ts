import { signal, type Signal } from '@preact/signals';
import { get, RequestError } from './requests.ts';

/** How many names are read at a time. Browsers open six connections. */
const AT_ONCE = 4;

/** The name of a resource, null if it does not exist, or undefined while it is not known. */
type KnownName = string | null | undefined;

const known = new Map<string, Signal<KnownName>>();
const waiting: (() => Promise<void>)[] = [];
let running = 0;

/** Returns the name of a resource from its id, which it reads once. */
export function nameOf(collection: string, id: string): KnownName {
  const path = `v2/${collection}/${id}`;
  const found = known.get(path);
  if (found !== undefined) return found.value;
  const name = signal<KnownName>(undefined);
  known.set(path, name);
  waiting.push(async () => {
    try {
      name.value = (await get<{ name: string }>(path, { isBackground: true })).name;
    } catch (error) {
      if (error instanceof RequestError && error.status === 404) name.value = null;
      else known.delete(path);
    }
  });
  void work();
  return name.value;
}

async function work(): Promise<void> {
  if (running >= AT_ONCE) return;
  running += 1;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
  running -= 1;
}

/** Forgets a name after a change. */
export function forgetName(collection: string, id: string): void {
  known.delete(`v2/${collection}/${id}`);
}
