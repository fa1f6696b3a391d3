import { randomBytes } from 'node:crypto';
import { rightsOf } from '../domain/brands/brand.ts';
import {
  byMember,
  byName,
  grantsOf,
  isSameSet,
  withKept,
  type DesiredKey,
  type DesiredState,
} from '../domain/delivery/desired-state.ts';
import { canonicalKey, isSameKey, isSameMaterial, type Key } from '../domain/key-formats/key.ts';
import { KeyFileError } from '../domain/key-formats/reader.ts';
import { eachInSlices, nextIfOver, type Slicer } from '../domain/scheduling/slicer.ts';
import { signalWithin } from '../net/deadline.ts';
import { digestOf } from './digest.ts';
import {
  DriverError,
  DuplicateKeyError,
  nameTaken,
  preparedHint,
  requirements,
  unmet,
  type Difference,
  type Driver,
  type KeyProblem,
  type Requirement,
} from './driver.ts';
import { readKeysOf, type FileServer, type Loaded, type StampForm } from './file-server.ts';
import { createIncludeFile, withoutHeader, type FileOptions } from './include-file.ts';
import { createServerConfiguration, type Unplaced } from './server-configuration.ts';
import { newSlicer } from './slices.ts';

/**
 * The time limits for a server to show what it has loaded, and to load its configuration. BIND
 * compares each access list with all others, which takes 10 s with thousands of zones.
 */
const [INSPECT_MS, LOAD_MS] = [5000, 60_000];

const COMMENT: StampForm = {
  pattern: /^# Stamp: ([0-9a-f]{16})\n/m,
  write: (stamp) => `# Stamp: ${stamp}\n`,
};

interface Plan {
  readonly former: string | undefined;
  readonly content: string;
  readonly keys: readonly DesiredKey[];
  /** Tsigil's keys that stay in the file although the state does not have them. */
  readonly others: readonly Key[];
  /** Removed keys whose names other lines need, with random secrets and without rights. */
  readonly disabled: readonly Key[];
  /** Keys that were left out, because other keys on the server have their names. */
  readonly taken: readonly DesiredKey[];
  readonly loaded: Loaded;
  readonly ours: ReadonlyMap<string, Key>;
  /** Why the server is not ready to load the file. Undefined if it is, or if this is not known. */
  readonly prepared: string | undefined;
}

/**
 * Creates the driver of a name server that reads its keys from a file. The driver replaces the
 * file, makes the server load it, and checks that the server has loaded it. It puts the former file
 * back if a step fails.
 */
export function createFileDriver(given: FileServer, options: FileOptions, id: string): Driver {
  const server = withTimeLimits(given);
  const { brand, stamp: stampForm = COMMENT } = server;
  const { title: program } = brand;
  const file = createIncludeFile(options, id);
  /** The digest of the content that the server has loaded, as this process last checked it. */
  let digest: string | undefined;

  /** The content that was read or written last, and its keys. Reading 10,000 keys takes 100 ms. */
  let last: { readonly content: string; readonly keys: ReadonlyMap<string, Key> } | undefined;

  /** The last comparison, if nothing differed. `digest` is that of what the server had loaded. */
  let same:
    | {
        readonly content: string;
        readonly state: Pick<DesiredState, 'zones' | 'keys'>;
        readonly digest?: string | undefined;
        /** The state of the configuration files, if only they show whether the file is loaded. */
        readonly files: string | undefined;
      }
    | undefined;

  const configuration = createServerConfiguration(server, options.file);

  /** Why it is not known from where the server has keys of Tsigil, if the last pass found such keys. */
  let unplaced: Unplaced | undefined;

  /** The names that the server refused, because its configuration has other keys with them. */
  let refused: ReadonlySet<string> = new Set();

  /**
   * Forgets the refused names that the configuration no longer has. Without an answer of the
   * server, `otherwise` are the refused names.
   */
  const recheckRefused = async (signal: AbortSignal, otherwise: ReadonlySet<string>) => {
    if (refused.size === 0) return;
    const names = await server.configured?.(signal).catch(() => otherwise);
    refused = new Set([...refused].filter((name) => names?.has(name)));
  };

  /**
   * Returns the keys of the file by name. Returns no keys for a file that an operator has made
   * invalid.
   */
  const keysIn = async (content: string, slicer: Slicer): Promise<ReadonlyMap<string, Key>> => {
    if (last?.content === content) return last.keys;
    try {
      const keys = keysByName(await readKeysOf(server, content, slicer));
      last = { content, keys };
      return keys;
    } catch (error) {
      if (error instanceof KeyFileError) return new Map();
      throw error;
    }
  };

  const plan = async (
    state: DesiredState,
    owned: ReadonlySet<string>,
    signal: AbortSignal,
    isComparison = false,
  ): Promise<Plan> => {
    const former = await file.read();
    const loaded = await server.inspect(signal);
    const slicer = newSlicer();
    const ours = await keysIn(former ?? '', slicer);
    await nextIfOver(slicer);
    const loadedNames = loaded.names();
    const { reason: prepared, keys: definitions } =
      (await configuration.definitions(former ?? '', ours, loaded, signal)) ?? {};
    const wanted = withKept(state, ours);
    const isOthers = (key: DesiredKey) => {
      const { name } = key;
      const other = definitions?.get(name)?.key;
      if (prepared !== undefined) return other !== undefined && !isSameKey(key, other);
      // Loading the file also takes away the keys that the operator has deleted from other files.
      const isLoaded = loadedNames?.has(name) === true;
      const isDefined = isLoaded && (definitions === undefined || other !== undefined);
      return refused.has(name) || (isDefined && !ours.has(name) && !owned.has(name));
    };
    const isTaken = (key: DesiredKey) => server.isReserved?.(key.name) === true || isOthers(key);
    const taken = wanted.filter(isTaken);
    unplaced =
      definitions === undefined && taken.some((key) => isLoadedSame(loaded, key))
        ? await configuration.unplaced(loaded, signal)
        : undefined;
    const keys = taken.length === 0 ? wanted : wanted.filter((key) => !taken.includes(key));
    await nextIfOver(slicer);
    const names = new Set(wanted.map(({ name }) => name));
    const isElsewhere = (name: string) =>
      refused.has(name) || (prepared !== undefined && definitions?.has(name) === true);
    const isOther = ({ name }: Key) => !names.has(name) && !owned.has(name) && !isElsewhere(name);
    const others = state.isHeld === true ? [...ours.values()].filter(isOther) : [];
    const staying = new Set([...names, ...others.map(({ name }) => name)]);
    const gone = [...ours.values()].filter(({ name }) => !staying.has(name) && !isElsewhere(name));
    const disabled = await disabledOf(gone, disabledIn(former ?? ''), isComparison, signal);
    const sorted = { ...state, keys: keys.toSorted(byName) };
    await nextIfOver(slicer);
    const content = await render(sorted, others, disabled, former ?? '', slicer);
    return { former, content, keys, others, disabled, taken, loaded, ours, prepared };
  };

  /**
   * Returns those of the removed keys that other lines name, with secrets that no one knows. `before`
   * are the names of keys that have such a secret already. In a comparison, these stay until the
   * next change, because a line that no longer names them is no change of the keys.
   */
  const disabledOf = async (
    gone: readonly Key[],
    before: ReadonlySet<string>,
    isComparison: boolean,
    signal: AbortSignal,
  ): Promise<readonly Key[]> => {
    const stays = ({ name }: Key) => isComparison && before.has(name);
    const needed = gone.every(stays) ? undefined : await configuration.references(signal);
    return gone
      .filter((key) => stays(key) || (needed?.has(key.name) ?? before.has(key.name)))
      .map((key) =>
        before.has(key.name) ? key : { ...key, secret: randomBytes(32).toString('base64') },
      )
      .toSorted(byName);
  };

  const render = async (
    state: DesiredState,
    others: readonly Key[],
    disabled: readonly Key[],
    former: string,
    slicer: Slicer,
  ): Promise<string> => {
    const parts = disabled.length === 0 ? [] : [writeDisabled(disabled)];
    const lists = grantsOf(state, {
      rights: rightsOf(brand),
      zoneRights: server.zoneRights ?? rightsOf(brand),
      lists: server.lists(former),
      others: new Set(others.map(({ name }) => name)),
    });
    await nextIfOver(slicer);
    const rendered = server.render([...state.keys, ...others, ...disabled], lists);
    await eachInSlices(slicer, rendered, (part) => parts.push(part));
    await nextIfOver(slicer);
    const content = parts.join('');
    await nextIfOver(slicer);
    const { stamps = [] } = state;
    const [line = '', carried] = stampForm.pattern.exec(former) ?? [];
    const isKnown = carried !== undefined && (stamps.includes(carried) || stamps[0] === undefined);
    if (isKnown && former === `${file.header}\n${line}${content}`) return former;
    const stamp = stamps[0] ?? randomBytes(8).toString('hex');
    return `${file.header}\n${stampForm.write(stamp)}${content}`;
  };

  const isLoaded = ({ former, content, loaded, ours }: Plan) =>
    former === content &&
    loaded.has(content, ours) &&
    (loaded.certain || digest === digestOf(content));

  /**
   * Replaces and loads the file. If the server refuses the file because of the names of keys,
   * returns these names.
   */
  const replace = async (
    planned: Plan,
    state: DesiredState,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> => {
    const { former, content } = planned;
    digest = undefined;
    if (content !== former) await file.replace(content);
    const keys = keysByName([...planned.keys, ...planned.others, ...planned.disabled]);
    last = { content, keys };
    try {
      await server.load(signal);
      if (!(await server.inspect(signal)).has(content, keys)) throw notLoaded();
      digest = digestOf(content);
      return new Set();
    } catch (error) {
      const isRefused = error instanceof DriverError && error.code === 'refused_by_server';
      let names: ReadonlySet<string> = new Set();
      try {
        const twice = isRefused ? await server.duplicates?.(signal).catch(() => undefined) : null;
        names = new Set([...keys.keys()].filter((name) => twice?.has(name)));
        if (names.size === 0 && error instanceof DuplicateKeyError)
          names = await refusedOf(planned, state, signal);
      } finally {
        if (content !== former) {
          await file.replace(former);
          // A server may have loaded a part of the file.
          if (isRefused) await server.load(signal).catch(() => undefined);
        }
      }
      if (names.size === 0) throw error;
      return names;
    }
  };

  /**
   * Returns the names of the keys that the server refuses. Loads files with more and more keys, and
   * begins with the keys that the server has, so that none of these is missing meanwhile.
   */
  const refusedOf = async (
    { former, keys, others, disabled, ours }: Plan,
    state: DesiredState,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> => {
    const accepted: DesiredKey[] = [];
    const names = new Set<string>();
    const add = async (some: readonly DesiredKey[]): Promise<void> => {
      if (some.length === 0) return;
      const more = { ...state, keys: [...accepted, ...some] };
      await file.replace(await render(more, others, disabled, former ?? '', newSlicer()));
      try {
        await server.load(signal);
        accepted.push(...some);
      } catch (error) {
        if (!(error instanceof DuplicateKeyError)) throw error;
        const [first] = some;
        const middle = Math.floor(some.length / 2);
        if (middle === 0 && first !== undefined) names.add(first.name);
        else for (const half of [some.slice(0, middle), some.slice(middle)]) await add(half);
      }
    };
    await add(keys.filter(({ name }) => ours.has(name)));
    await add(keys.filter(({ name }) => !ours.has(name)));
    return names;
  };

  /** Returns whether neither the state nor the server has changed since the last comparison. */
  const isSame = async (
    { zones, keys, kept = [], stamps = [], isHeld }: DesiredState,
    signal: AbortSignal,
  ): Promise<boolean> => {
    if (same?.state.keys !== keys || same.state.zones !== zones) return false;
    if (refused.size + kept.length > 0 || isHeld === true) return false;
    const { content } = same;
    const [, carried] = stampForm.pattern.exec(content) ?? [];
    if (carried === undefined || !(stamps.length === 0 || stamps.includes(carried))) return false;
    if ((await file.read()) !== content) return false;
    const loaded = await server.inspect(signal);
    if (!loaded.certain && (await configuration.state(signal)) !== same.files) return false;
    if (loaded.digest !== undefined && loaded.digest === same.digest) return true;
    if (!loaded.has(content, await keysIn(content, newSlicer()))) return false;
    same = { ...same, digest: loaded.digest };
    return true;
  };

  const takenProblem = ({ loaded }: Plan, key: DesiredKey): KeyProblem =>
    unplaced === undefined || !isLoadedSame(loaded, key)
      ? nameTaken(brand, key)
      : { id: key.id, code: 'name_taken', message: `${unplaced.message} ${unplaced.hint}` };

  const notLoaded = () =>
    unplaced === undefined
      ? notIncluded()
      : new DriverError('not_included', unplaced.message, unplaced.hint);

  const notIncluded = () =>
    new DriverError(
      'not_included',
      `${program} read its configuration again but has not loaded '${options.file}'.`,
      `Include '${options.file}' in the configuration of ${program}.`,
    );

  return {
    async apply(state, owned, signal, intend) {
      await recheckRefused(signal, new Set());
      for (let isFirst = true; ; isFirst = false) {
        const planned = await plan(state, owned, signal);
        const problems = planned.taken.map((key) => takenProblem(planned, key));
        const names = planned.disabled.map(({ name }) => name);
        const disabled = names.length === 0 ? {} : { disabled: names };
        if (planned.prepared !== undefined) {
          const changed = planned.content !== planned.former;
          digest = undefined;
          if (changed) await intend?.(planned.keys);
          if (changed) await file.replace(planned.content);
          return { changed, problems, prepared: planned.prepared, ...disabled };
        }
        if (isLoaded(planned)) return { changed: false, problems, ...disabled };
        if (isFirst) await intend?.(planned.keys);
        const others = await replace(planned, state, signal).catch(async (error: unknown) => {
          const isMissing = error instanceof DriverError && error.code === 'not_included';
          if (isMissing && (await plan(state, owned, signal)).prepared !== undefined) return null;
          throw error;
        });
        if (others === null) continue;
        if (others.size === 0) return { changed: true, problems, ...disabled };
        refused = new Set([...refused, ...others]);
      }
    },

    async compare(state, owned, signal) {
      await recheckRefused(signal, refused);
      if (await isSame(state, signal)) return [];
      const planned = await plan(state, owned, signal, true);
      const { former, content, keys, others, disabled, loaded, ours: present } = planned;
      const slicer = newSlicer();
      const loadedNames = loaded.names();
      const differences: Difference[] = [];
      const hasOtherLists =
        former === content ? () => false : comparingLists(former ?? '', content);
      await nextIfOver(slicer);
      await eachInSlices(slicer, keys, (key) => {
        const isLoadedKey = planned.prepared !== undefined || (loadedNames?.has(key.name) ?? true);
        const found = differenceOf(key, present.get(key.name), isLoadedKey);
        differences.push(...found);
        if (found.length > 0 || !hasOtherLists(key.name)) return;
        const message = `'${options.file}' has the key with other rights or zones.`;
        differences.push({ kind: 'changed', key: key.name, message });
      });
      const names = new Set([...keys, ...others, ...disabled].map(({ name }) => name));
      for (const name of present.keys()) {
        const message = `'${options.file}' still has the key.`;
        if (!names.has(name)) differences.push({ kind: 'extra', key: name, message });
      }
      if (differences.length > 0) return differences;
      if (former !== content)
        return [
          {
            kind: 'other',
            message: `'${options.file}' differs from the content that Tsigil would write.`,
          },
        ];
      if (planned.prepared !== undefined) return [{ kind: 'other', message: planned.prepared }];
      // `digest` is not known after a restart. A pass that was interrupted applies without comparing.
      const isWhole = planned.taken.length + (state.kept?.length ?? 0) === 0 && !state.isHeld;
      const files = loaded.certain ? undefined : await configuration.state(signal);
      same = isWhole ? { content, state, files } : undefined;
      return loaded.has(content, present)
        ? []
        : [{ kind: 'other', message: `${program} may not have loaded '${options.file}'.` }];
    },

    async stamp() {
      return stampForm.pattern.exec((await file.read()) ?? '')?.[1];
    },

    configuration: () => configuration.state(AbortSignal.timeout(INSPECT_MS)),
    references: (signal, mayBeOld) => configuration.references(signal, mayBeOld),

    printed: (signal, zones) => server.printed(signal, zones),
    async files(signal) {
      const main = await configuration.main(signal);
      const loaded = await server.inspect(signal).catch(() => undefined);
      const fault = loaded && (await configuration.unplaced(loaded, signal));
      if (fault !== undefined) throw new DriverError('not_permitted', fault.message, fault.hint);
      const { format, checker } = server;
      const load = () => server.load(AbortSignal.timeout(LOAD_MS));
      const plain = (content: string) => withoutHeader(content).replace(stampForm.pattern, '');
      if (main !== undefined) return { format, own: options.file, main, checker, plain, load };
      throw new DriverError(
        'not_permitted',
        `${program} does not state the path of its configuration file.`,
      );
    },
    async check(signal, name = id) {
      const replaceable = await file.check();
      const requirement = `The control channel of ${program} accepts commands.`;
      const others = await requirements(requirement, async () => {
        const loaded = await server.inspect(signal);
        const more = (await server.check?.(signal)) ?? [];
        return [...(await checkInclude(loaded, name, signal)), ...more];
      });
      return [replaceable, ...others];
    },
  };

  /** Returns a function that returns whether two contents have a key in different lists. */
  function comparingLists(former: string, content: string): (name: string) => boolean {
    const [before, after] = [former, content].map((each) => byMember(server.lists(each)));
    return (name) => !isSameSet(before?.get(name), after?.get(name));
  }

  function differenceOf(key: DesiredKey, present: Key | undefined, isLoaded: boolean) {
    const difference = (kind: 'missing' | 'changed', message: string): Difference[] => [
      { kind, key: key.name, message },
    ];
    if (present === undefined) return difference('missing', `'${options.file}' lacks the key.`);
    if (!isLoaded) return difference('missing', `${program} has not loaded the key.`);
    if (!isSameMaterial(key, present))
      return difference(
        'changed',
        `'${options.file}' has the key with another algorithm or secret.`,
      );
    return [];
  }

  /**
   * Checks that the server has loaded the file. Returns no requirement for a file without keys,
   * because a server shows only keys.
   */
  async function checkInclude(
    loaded: Loaded,
    name: string,
    signal: AbortSignal,
  ): Promise<readonly Requirement[]> {
    const content = (await file.read().catch(() => undefined)) ?? '';
    const keys = await keysIn(content, newSlicer());
    if (keys.size === 0) return [];
    const requirement = `${program} has loaded '${options.file}'.`;
    const { reason } = (await configuration.definitions(content, keys, loaded, signal)) ?? {};
    if (reason !== undefined)
      return [unmet(requirement, { message: reason, hint: preparedHint(name) })];
    return [
      loaded.has(content, keys) ? { requirement, ok: true } : unmet(requirement, notLoaded()),
    ];
  }
}

/** Returns whether a server has loaded a key with the same name, algorithm and secret. */
function isLoadedSame(loaded: Loaded, key: Key): boolean {
  return (
    loaded.names()?.has(key.name) === true &&
    loaded.has('', new Map([[key.name, canonicalKey(key)]]))
  );
}

/** Returns a server whose commands fail with `timeout` if the program does not respond in time. */
function withTimeLimits(server: FileServer): FileServer {
  return {
    ...server,
    configurationFile: (signal) => server.configurationFile(signalWithin(INSPECT_MS, signal)),
    inspect: (signal) => server.inspect(signalWithin(INSPECT_MS, signal)),
    load: (signal) => server.load(signalWithin(LOAD_MS, signal)),
  };
}

/** The comment with the names of removed keys that have secrets no one knows. */
const DISABLED = '# Disabled, because other lines name these keys: ';

function writeDisabled(keys: readonly Key[]): string {
  return `${DISABLED}${keys.map(({ name }) => name).join(' ')}\n`;
}

function disabledIn(content: string): ReadonlySet<string> {
  const start = content.indexOf(`\n${DISABLED}`) + 1;
  if (start === 0) return new Set();
  const end = content.indexOf('\n', start);
  return new Set(content.slice(start + DISABLED.length, end).split(' '));
}

function keysByName(keys: readonly Key[]): ReadonlyMap<string, Key> {
  return new Map(keys.map((key) => canonicalKey(key)).map((key) => [key.name, key]));
}
