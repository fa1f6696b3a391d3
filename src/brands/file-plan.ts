import { randomBytes } from 'node:crypto';
import { byName, withKept, type DesiredKey, type DesiredState } from './desired-state.ts';
import { canonicalKey, isSameKey, type Key } from '../formats/key.ts';
import { nextIfOver } from '../core/scheduling/slicer.ts';
import { disabledIn, renderContent, type FileKeys, type KeyReader } from './file-content.ts';
import type { FileServer, Loaded } from './file-server.ts';
import type { IncludeFile } from './include-file.ts';
import type { createServerConfiguration, Unplaced } from './server-configuration.ts';
import { newSlicer } from '../net/slices.ts';

/** What Tsigil's file and its server have, and what the file should have. */
export interface FilePlan extends Omit<FileKeys, 'state'> {
  readonly former: string | undefined;
  readonly content: string;
  readonly keys: readonly DesiredKey[];
  /** Keys that were left out, because other keys on the server have their names. */
  readonly takenKeys: readonly DesiredKey[];
  readonly loaded: Loaded;
  readonly formerKeys: ReadonlyMap<string, Key>;
  /** Why the server is not ready to load the file. Undefined if it is, or if this is not known. */
  readonly prepared: string | undefined;
  /** Why it is not known from where the server has keys of Tsigil, if it has such keys. */
  readonly unplaced: Unplaced | undefined;
}

interface PlanOptions {
  /** The names that the server refused, because its configuration has other keys with them. */
  readonly refusedNames: ReadonlySet<string>;
  /** Whether nothing is changed. Removed keys that have random secrets then stay. */
  readonly isComparison?: boolean;
}

/** Plans the content of Tsigil's file. Throws `DriverError`. */
type PlanFile = (
  state: DesiredState,
  ownNames: ReadonlySet<string>,
  signal: AbortSignal,
  options: PlanOptions,
) => Promise<FilePlan>;

export function createFilePlanner(
  server: FileServer,
  file: IncludeFile,
  configuration: ReturnType<typeof createServerConfiguration>,
  keyReader: KeyReader,
): PlanFile {
  /**
   * Returns those of the removed keys that other lines name, with secrets that no one knows. `before`
   * are the names of keys that have such a secret already. In a comparison, these stay until the
   * next change, because a line that no longer names them is no change of the keys.
   */
  const disabledOf = async (
    removals: readonly Key[],
    before: ReadonlySet<string>,
    isComparison: boolean,
    signal: AbortSignal,
  ): Promise<readonly Key[]> => {
    const stays = ({ name }: Key) => isComparison && before.has(name);
    const places = removals.every(stays) ? undefined : await configuration.references(signal);
    return removals
      .filter((key) => stays(key) || (places?.has(key.name) ?? before.has(key.name)))
      .map((key) =>
        before.has(key.name) ? key : { ...key, secret: randomBytes(32).toString('base64') },
      )
      .toSorted(byName);
  };

  return async (state, ownNames, signal, { refusedNames, isComparison = false }) => {
    const former = await file.read();
    const loaded = await server.inspect(signal);
    const slicer = newSlicer();
    const formerKeys = await keyReader.read(former ?? '', slicer);
    await nextIfOver(slicer);
    const { reason: prepared, keys: definitions } =
      (await configuration.definitions(former ?? '', formerKeys, loaded, signal)) ?? {};
    const loadedNames = loaded.names();
    const isOthers = (key: DesiredKey) => {
      const { name } = key;
      const other = definitions?.get(name)?.key;
      if (prepared !== undefined) return other !== undefined && !isSameKey(key, other);
      // Loading the file also takes away the keys that the operator has deleted from other files.
      const isLoaded = loadedNames?.has(name) === true;
      const isDefined = isLoaded && (definitions === undefined || other !== undefined);
      return refusedNames.has(name) || (isDefined && !formerKeys.has(name) && !ownNames.has(name));
    };
    const isTaken = (key: DesiredKey) => server.isReserved?.(key.name) === true || isOthers(key);
    const wanted = withKept(state, formerKeys);
    const takenKeys = wanted.filter(isTaken);
    const isPlaceKnown =
      definitions !== undefined || !takenKeys.some((key) => isLoadedSame(loaded, key));
    const unplaced = isPlaceKnown ? undefined : await configuration.unplaced(loaded, signal);
    const keys = takenKeys.length === 0 ? wanted : wanted.filter((key) => !takenKeys.includes(key));
    await nextIfOver(slicer);
    const names = new Set(wanted.map(({ name }) => name));
    const isElsewhere = (name: string) =>
      refusedNames.has(name) || (prepared !== undefined && definitions?.has(name) === true);
    const unwanted = [...formerKeys.values()].filter(
      ({ name }) => !names.has(name) && !isElsewhere(name),
    );
    const stays = ({ name }: Key) => state.isHeld === true && !ownNames.has(name);
    const stayingKeys = unwanted.filter(stays);
    const removals = unwanted.filter((key) => !stays(key));
    const disabledKeys = await disabledOf(removals, disabledIn(former ?? ''), isComparison, signal);
    const sorted = { ...state, keys: keys.toSorted(byName) };
    await nextIfOver(slicer);
    const fileKeys = { state: sorted, stayingKeys, disabledKeys };
    const content = await renderContent(server, file.header, fileKeys, former ?? '', slicer);
    return {
      former,
      content,
      keys,
      stayingKeys,
      disabledKeys,
      takenKeys,
      loaded,
      formerKeys,
      prepared,
      unplaced,
    };
  };
}

/** Returns whether a server has loaded a key with the same name, algorithm and secret. */
export function isLoadedSame(loaded: Loaded, key: Key): boolean {
  return (
    loaded.names()?.has(key.name) === true &&
    loaded.has('', new Map([[key.name, canonicalKey(key)]]))
  );
}
