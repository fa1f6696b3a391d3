import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { canonicalKey, isSameKey, type Key } from '../formats/key.ts';
import type { Entry, Origin } from '../formats/reader.ts';
import { faultOf } from '../net/faults.ts';
import { readConfiguration, type ConfigurationFiles } from './configuration-files.ts';
import type { KeyReferences } from './driver.ts';
import type { FileServer, Loaded } from './file-server.ts';

/** The keys that the configuration of a server defines outside the file, by name. */
type Definitions = ReadonlyMap<string, { readonly key: Key; readonly origin: Origin }>;

/** Why the configuration of a server does not show where its keys are from, and what to do. */
export interface Unplaced {
  readonly message: string;
  readonly hint: string;
}

/** What the files of a name server say besides Tsigil's file, as far as this process can read them. */
export function createServerConfiguration(server: FileServer, own: string) {
  const { title: program } = server.brand;
  let main: string | undefined;

  /** The keys that other files define, and the state of these files. */
  let defined: { readonly state: string; readonly keys: Definitions } | undefined;

  /** The lines that name keys, and the state of the files in which they were found. */
  let found: { readonly state: string; readonly references: KeyReferences } | undefined;

  /** The configuration as it was last read. A pass needs it several times. */
  let configuration: ConfigurationFiles | undefined;

  const filesOf = async (signal: AbortSignal) => {
    main ??= await server.configurationFile(signal).catch(() => undefined);
    configuration =
      main === undefined ? undefined : await readConfiguration(main, own, configuration);
    return configuration;
  };

  const references = async (signal: AbortSignal): Promise<KeyReferences | undefined> => {
    const files = await filesOf(signal);
    if (files === undefined || main === undefined) return (found = undefined);
    const { state, text, include } = files;
    try {
      if (found?.state !== state)
        found = { state, references: server.references(text, include, main) };
    } catch {
      found = undefined;
    }
    return found?.references;
  };

  /**
   * Returns which keys the other files of the server define, and why it is not ready to load the file
   * with this content: no file includes it, or, in the middle of an edit, one still defines a key that
   * it has too. Returns undefined if this is not known, or if the server has certainly loaded it.
   */
  const definitions = async (
    content: string,
    ours: ReadonlyMap<string, Key>,
    loaded: Loaded,
    signal: AbortSignal,
  ): Promise<{ readonly reason?: string; readonly keys: Definitions } | undefined> => {
    const isLoaded = loaded.has(content, ours);
    if (isLoaded && loaded.certain) return undefined;
    const files = await filesOf(signal);
    if (files === undefined || main === undefined) return (defined = undefined);
    const { state, text, include, ownPaths } = files;
    const includesOwn = ownPaths.size > 0;
    if (defined?.state !== state)
      try {
        defined = { state, keys: definitionsIn(server.readKeys(text, include)) };
      } catch {
        return (defined = undefined);
      }
    const { keys } = defined;
    // Only the file can have given the server a key that no other file defines.
    const isProven = isLoaded && [...ours.keys()].some((name) => !keys.has(name));
    if (isProven) return includesOwn ? { keys } : undefined;
    if (!includesOwn && !isOfServer(keys, loaded)) return undefined;
    if (!includesOwn)
      return {
        reason: `The configuration '${main}' of ${program} does not include '${own}'.`,
        keys,
      };
    for (const [name, key] of ours) {
      const { key: other, origin } = keys.get(name) ?? {};
      if (other === undefined || origin === undefined || !isSameKey(key, other)) continue;
      const place = `${origin.file?.path ?? main}:${origin.line}`;
      const reason = `'${place}' defines the key '${name}', which is also in '${own}'.`;
      return { reason, keys };
    }
    return { keys };
  };

  let isRead = false;

  /**
   * Returns whether the server reads the configuration: BIND itself says which file it reads, and the
   * others have loaded a key that the configuration defines. An operator may take this key away later.
   */
  const isOfServer = (definitions: Definitions, loaded: Loaded): boolean => {
    const names = loaded.names();
    isRead ||= names === undefined || [...definitions.keys()].some((name) => names.has(name));
    return isRead;
  };

  /**
   * Returns why the configuration does not show which keys the server has from it, and what to do, as
   * far as an option names it. Returns undefined if it does.
   */
  const unplaced = async (loaded: Loaded, signal: AbortSignal): Promise<Unplaced | undefined> => {
    const { configurationOption: option } = server;
    const files = await filesOf(signal);
    if (option === undefined || main === undefined) return undefined;
    const hint = `Set the option \`${option}\` to the configuration with which ${program} runs, which this process must be able to read.`;
    if (files === undefined) return { message: `${await unreadText(main)}.`, hint };
    const { text, include, ownPaths } = files;
    let keys: Definitions;
    try {
      keys = definitionsIn(server.readKeys(text, include));
    } catch {
      return undefined;
    }
    if (ownPaths.size > 0 || isOfServer(keys, loaded) || loaded.names()?.size === 0)
      return undefined;
    return { message: `'${main}' defines none of the keys that ${program} has.`, hint };
  };

  return {
    /** Returns the path of the main configuration file. Throws `DriverError`. */
    main: async (signal: AbortSignal) => (main ??= await server.configurationFile(signal)),

    /** Returns a text that changes whenever one of the files changes. */
    state: async (signal: AbortSignal) => (await filesOf(signal))?.state,

    /** As `Driver.references`. */
    references: async (signal: AbortSignal, mayBeOld = false) =>
      mayBeOld && found !== undefined ? found.references : references(signal),

    definitions,
    unplaced,
  };
}

/** Returns that a configuration cannot be read, and why, as a clause. */
async function unreadText(main: string): Promise<string> {
  return access(main, constants.R_OK).then(
    () => `A file that '${main}' includes cannot be read`,
    (error: unknown) => `'${main}' cannot be read: ${faultOf(error).message}`,
  );
}

function definitionsIn(entries: readonly Entry[]): Definitions {
  return new Map(
    entries
      .flatMap((entry) => ('key' in entry ? [{ key: canonicalKey(entry.key), origin: entry }] : []))
      .map((each) => [each.key.name, each]),
  );
}
