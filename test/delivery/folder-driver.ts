import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { DesiredKey, DesiredState } from '../../src/brands/desired-state.ts';
import type { Fault } from '../../src/core/fault.ts';
import { DriverError, type Driver } from '../../src/brands/driver.ts';
import type { Verify } from '../../src/delivery/reconciler/verification.ts';

/** A fake name server: a folder with one file for each key. */
export interface FolderServer {
  readonly folder: string;
  readonly driver: Driver;
  /** Verifies keys by the files in the folder. */
  readonly verify: Verify;
  /** Returns the number of applies that changed a file. */
  applies(): number;
  /** Returns the versions of the keys on the name server, by the name of the key. */
  keys(): Readonly<Record<string, number>>;
  /** Makes the next applies fail with this error, or succeed if the error is undefined. */
  fail(error: DriverError | undefined): void;
  /** Sets the work that each apply does before it changes a file. */
  onApply(work: () => Promise<void>): void;
}

/** Creates a fake name server in a folder. Each apply takes `applyMs` milliseconds. */
export function folderServer(folder: string, applyMs = 0): FolderServer {
  mkdirSync(folder, { recursive: true });
  let applies = 0;
  let failure: DriverError | undefined;
  let before = () => Promise.resolve();
  const contentOf = ({ version, secret, algorithm, access }: DesiredKey) =>
    JSON.stringify({ version, secret, algorithm, access });
  const read = () =>
    new Map(
      readdirSync(folder)
        .filter((name) => name.endsWith('.key'))
        .map((name) => [name.slice(0, -4), readFileSync(join(folder, name), 'utf8')]),
    );
  const carried = () => {
    const file = join(folder, 'stamp');
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  };
  const isStamped = ({ stamps = [] }: DesiredState) =>
    stamps.length === 0 || stamps.includes(carried() ?? '');
  const wantedBy = ({ keys, kept = [], isHeld }: DesiredState, owned: ReadonlySet<string>) => {
    const wanted = new Map(keys.map((key) => [key.name, contentOf(key)]));
    for (const { name } of kept) {
      const present = read().get(name);
      if (present !== undefined) wanted.set(name, present);
    }
    if (isHeld === true)
      for (const [name, content] of read())
        if (!wanted.has(name) && !owned.has(name)) wanted.set(name, content);
    return wanted;
  };
  const driver: Driver = {
    async apply(state, owned, signal, intend) {
      if (failure === undefined) await intend?.(state.keys);
      await before();
      if (failure !== undefined) throw failure;
      if (applyMs > 0) await pause(applyMs, undefined, { signal });
      const wanted = wantedBy(state, owned);
      const present = read();
      let changed = false;
      for (const [name, content] of wanted)
        if (present.get(name) !== content) {
          writeFileSync(join(folder, `${name}.new`), content);
          renameSync(join(folder, `${name}.new`), join(folder, `${name}.key`));
          changed = true;
        }
      for (const name of present.keys())
        if (!wanted.has(name)) {
          rmSync(join(folder, `${name}.key`));
          changed = true;
        }
      if (changed) applies += 1;
      const [stamp] = state.stamps ?? [];
      if (stamp !== undefined && (changed || !isStamped(state)))
        writeFileSync(join(folder, 'stamp'), stamp);
      return { changed, problems: [] };
    },
    compare(state, owned) {
      if (failure !== undefined) return Promise.reject(failure);
      const wanted = wantedBy(state, owned);
      const present = read();
      const names = new Set([...wanted.keys(), ...present.keys()]);
      const differences = [...names]
        .filter((name) => wanted.get(name) !== present.get(name))
        .map((key) => {
          const there = wanted.has(key) ? 'changed' : 'extra';
          const kind = present.has(key) ? there : 'missing';
          return { kind, key, message: `The key '${key}' differs.` } as const;
        });
      const other = { kind: 'other', message: 'The stamp differs.' } as const;
      return Promise.resolve(isStamped(state) ? differences : [...differences, other]);
    },
    stamp: () => (failure === undefined ? Promise.resolve(carried()) : Promise.reject(failure)),
    check: () => Promise.resolve([{ requirement: 'The folder exists.', ok: true }]),
  };
  const verify: Verify = (_server, _zones, { acceptedKeys, removedKeys }) => {
    const present = read();
    const failures = new Map<string, Fault>();
    const error = { code: 'not_verified', message: 'the folder differs' };
    for (const key of acceptedKeys)
      if (present.get(key.name) !== contentOf(key)) failures.set(key.id, error);
    for (const { id, name, former } of removedKeys)
      if (former === undefined ? present.has(name) : present.get(name) === contentOf(former))
        failures.set(id, error);
    return Promise.resolve({ failures, open: undefined });
  };
  return {
    folder,
    driver,
    verify,
    applies: () => applies,
    keys: () =>
      Object.fromEntries(
        [...read()].map(([name, text]) => [name, (JSON.parse(text) as DesiredKey).version]),
      ),
    fail(error) {
      failure = error;
    },
    onApply(work) {
      before = work;
    },
  };
}
