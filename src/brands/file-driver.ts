import { isSameSet, byMember, type DesiredKey, type DesiredState } from './desired-state.ts';
import { isSameMaterial, type Key } from '../formats/key.ts';
import { eachInSlices, nextIfOver } from '../core/scheduling/slicer.ts';
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
  type Intend,
  type KeyProblem,
  type Requirement,
} from './driver.ts';
import {
  createKeyReader,
  keysByName,
  plainContent,
  renderContent,
  stampIn,
} from './file-content.ts';
import { createFilePlanner, isLoadedSame, type FilePlan } from './file-plan.ts';
import type { FileServer, Loaded } from './file-server.ts';
import { createIncludeFile, type FileOptions } from './include-file.ts';
import { createServerConfiguration, type Unplaced } from './server-configuration.ts';
import { newSlicer } from '../net/slices.ts';

/**
 * The time limits for a server to show what it has loaded, and to load its configuration. BIND
 * compares each access list with all others, which takes 10 s with thousands of zones.
 */
const [INSPECT_MS, LOAD_MS] = [5000, 60_000];

/** A comparison in which nothing differed. */
interface Sameness {
  readonly content: string;
  readonly state: Pick<DesiredState, 'zones' | 'keys'>;
  /** The digest of what the server had loaded. */
  readonly digest?: string | undefined;
  /** The state of the configuration files, if only they show whether the file is loaded. */
  readonly files: string | undefined;
}

/**
 * Creates the driver of a name server that reads its keys from a file. The driver replaces the
 * file, makes the server load it, and checks that the server has loaded it. It puts the former file
 * back if a step fails.
 */
export function createFileDriver(fileServer: FileServer, options: FileOptions, id: string): Driver {
  const server = withTimeLimits(fileServer);
  const { title: program } = server.brand;
  const file = createIncludeFile(options, id);
  const configuration = createServerConfiguration(server, options.file);
  const keyReader = createKeyReader(server);
  const planFile = createFilePlanner(server, file, configuration, keyReader);

  /** The digest of the content that the server has loaded, as this process last checked it. */
  let digest: string | undefined;

  /** The last comparison, if nothing differed. */
  let same: Sameness | undefined;

  let unplaced: Unplaced | undefined;

  let refusedNames: ReadonlySet<string> = new Set();

  /**
   * Forgets the refused names that the configuration no longer has. Without an answer of the
   * server, `otherwise` are the refused names.
   */
  const recheckRefused = async (signal: AbortSignal, otherwise: ReadonlySet<string>) => {
    if (refusedNames.size === 0) return;
    const names = await server.configured?.(signal).catch(() => otherwise);
    refusedNames = new Set([...refusedNames].filter((name) => names?.has(name)));
  };

  const plan = async (
    state: DesiredState,
    ownNames: ReadonlySet<string>,
    signal: AbortSignal,
    isComparison = false,
  ): Promise<FilePlan> => {
    const planned = await planFile(state, ownNames, signal, { refusedNames, isComparison });
    ({ unplaced } = planned);
    return planned;
  };

  const isLoaded = ({ former, content, loaded, formerKeys }: FilePlan) =>
    former === content &&
    loaded.has(content, formerKeys) &&
    (loaded.certain || digest === digestOf(content));

  /** Returns the names of keys because of which the server refuses the new file. */
  const replace = async (
    planned: FilePlan,
    state: DesiredState,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> => {
    const { former, content } = planned;
    digest = undefined;
    if (content !== former) await file.replace(content);
    const keys = keysByName([...planned.keys, ...planned.stayingKeys, ...planned.disabledKeys]);
    keyReader.note(content, keys);
    try {
      await server.load(signal);
      if (!(await server.inspect(signal)).has(content, keys)) throw notLoaded();
      digest = digestOf(content);
      return new Set();
    } catch (error) {
      const isRefused = error instanceof DriverError && error.code === 'refused_by_server';
      const restore = async () => {
        if (content === former) return;
        await file.replace(former);
        // A server may have loaded a part of the file.
        if (isRefused) await server.load(signal).catch(() => undefined);
      };
      const names = await namesRefused(planned, state, keys, error, signal).finally(restore);
      if (names.size === 0) throw error;
      return names;
    }
  };

  const namesRefused = async (
    planned: FilePlan,
    state: DesiredState,
    keys: ReadonlyMap<string, Key>,
    error: unknown,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> => {
    if (!(error instanceof DriverError) || error.code !== 'refused_by_server') return new Set();
    const duplicates = await server.duplicates?.(signal).catch(() => undefined);
    const names = new Set([...keys.keys()].filter((name) => duplicates?.has(name)));
    if (names.size > 0 || !(error instanceof DuplicateKeyError)) return names;
    return namesFoundByLoading(planned, state, signal);
  };

  /**
   * Returns the names of the keys that the server refuses. Loads files with more and more keys, and
   * begins with the keys that the server has, so that none of these is missing meanwhile.
   */
  const namesFoundByLoading = async (
    { former = '', keys, stayingKeys, disabledKeys, formerKeys }: FilePlan,
    state: DesiredState,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> => {
    const accepted: DesiredKey[] = [];
    const names = new Set<string>();
    const add = async (some: readonly DesiredKey[]): Promise<void> => {
      if (some.length === 0) return;
      const more = { state: { ...state, keys: [...accepted, ...some] }, stayingKeys, disabledKeys };
      await file.replace(await renderContent(server, file.header, more, former, newSlicer()));
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
    await add(keys.filter(({ name }) => formerKeys.has(name)));
    await add(keys.filter(({ name }) => !formerKeys.has(name)));
    return names;
  };

  /** Returns whether neither the state nor the server has changed since the last comparison. */
  const isSame = async (
    { zones, keys, kept = [], stamps = [], isHeld }: DesiredState,
    signal: AbortSignal,
  ): Promise<boolean> => {
    if (same?.state.keys !== keys || same.state.zones !== zones) return false;
    if (refusedNames.size + kept.length > 0 || isHeld === true) return false;
    const { content } = same;
    const carried = stampIn(server, content);
    if (carried === undefined || !(stamps.length === 0 || stamps.includes(carried))) return false;
    if ((await file.read()) !== content) return false;
    const loaded = await server.inspect(signal);
    if (!loaded.certain && (await configuration.state(signal)) !== same.files) return false;
    if (loaded.digest !== undefined && loaded.digest === same.digest) return true;
    if (!loaded.has(content, await keyReader.read(content, newSlicer()))) return false;
    same = { ...same, digest: loaded.digest };
    return true;
  };

  const takenProblem = ({ loaded }: FilePlan, key: DesiredKey): KeyProblem =>
    unplaced === undefined || !isLoadedSame(loaded, key)
      ? nameTaken(server.brand, key)
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

  /** Writes the file for a server that is not ready to load it. */
  const prepare = async (
    { former, content, keys }: FilePlan,
    intend: Intend | undefined,
  ): Promise<boolean> => {
    digest = undefined;
    if (content === former) return false;
    await intend?.(keys);
    await file.replace(content);
    return true;
  };

  const apply: Driver['apply'] = async (state, ownNames, signal, intend) => {
    await recheckRefused(signal, new Set());
    for (let isFirst = true; ; isFirst = false) {
      const planned = await plan(state, ownNames, signal);
      const { prepared } = planned;
      const problems = planned.takenKeys.map((key) => takenProblem(planned, key));
      const disabled = planned.disabledKeys.map(({ name }) => name);
      const result = { problems, ...(disabled.length === 0 ? {} : { disabled }) };
      if (prepared !== undefined)
        return { changed: await prepare(planned, intend), prepared, ...result };
      if (isLoaded(planned)) return { changed: false, ...result };
      if (isFirst) await intend?.(planned.keys);
      const names = await replace(planned, state, signal).catch(async (error: unknown) => {
        const isMissing = error instanceof DriverError && error.code === 'not_included';
        if (isMissing && (await plan(state, ownNames, signal)).prepared !== undefined) return null;
        throw error;
      });
      if (names === null) continue; // the next plan says why the server is not ready
      if (names.size === 0) return { changed: true, ...result };
      refusedNames = new Set([...refusedNames, ...names]);
    }
  };

  const compare: Driver['compare'] = async (state, ownNames, signal) => {
    await recheckRefused(signal, refusedNames);
    if (await isSame(state, signal)) return [];
    const planned = await plan(state, ownNames, signal, true);
    const { former, content, loaded, formerKeys, prepared } = planned;
    const other = (message: string): Difference[] => [{ kind: 'other', message }];
    const differences = await keyDifferences(planned);
    if (differences.length > 0) return differences;
    if (former !== content)
      return other(`'${options.file}' differs from the content that Tsigil would write.`);
    if (prepared !== undefined) return other(prepared);
    // `digest` is not known after a restart. A pass that was interrupted applies without comparing.
    const isWhole = planned.takenKeys.length + (state.kept?.length ?? 0) === 0 && !state.isHeld;
    const files = loaded.certain ? undefined : await configuration.state(signal);
    same = isWhole ? { content, state, files } : undefined;
    if (loaded.has(content, formerKeys)) return [];
    return other(`${program} may not have loaded '${options.file}'.`);
  };

  const keyDifferences = async (planned: FilePlan): Promise<readonly Difference[]> => {
    const { former, content, keys, stayingKeys, disabledKeys, loaded, formerKeys, prepared } =
      planned;
    const slicer = newSlicer();
    const loadedNames = loaded.names();
    const differences: Difference[] = [];
    const hasOtherLists = former === content ? () => false : comparingLists(former ?? '', content);
    await nextIfOver(slicer);
    await eachInSlices(slicer, keys, (key) => {
      const { name } = key;
      const isKeyLoaded = prepared !== undefined || (loadedNames?.has(name) ?? true);
      const difference = differenceOf(key, formerKeys.get(name), isKeyLoaded);
      if (difference !== undefined) differences.push(difference);
      else if (hasOtherLists(name)) {
        const message = `'${options.file}' has the key with other rights or zones.`;
        differences.push({ kind: 'changed', key: name, message });
      }
    });
    const names = new Set([...keys, ...stayingKeys, ...disabledKeys].map(({ name }) => name));
    for (const name of formerKeys.keys())
      if (!names.has(name))
        differences.push({
          kind: 'extra',
          key: name,
          message: `'${options.file}' still has the key.`,
        });
    return differences;
  };

  const differenceOf = (
    key: DesiredKey,
    present: Key | undefined,
    isKeyLoaded: boolean,
  ): Difference | undefined => {
    const of = (kind: 'missing' | 'changed', message: string) => ({ kind, key: key.name, message });
    if (present === undefined) return of('missing', `'${options.file}' lacks the key.`);
    if (!isKeyLoaded) return of('missing', `${program} has not loaded the key.`);
    if (isSameMaterial(key, present)) return undefined;
    return of('changed', `'${options.file}' has the key with another algorithm or secret.`);
  };

  /** Returns a function that returns whether two contents have a key in different lists. */
  const comparingLists = (former: string, content: string): ((name: string) => boolean) => {
    const [before, after] = [former, content].map((each) => byMember(server.lists(each)));
    return (name) => !isSameSet(before?.get(name), after?.get(name));
  };

  const files: Driver['files'] = async (signal) => {
    const main = await configuration.main(signal);
    const loaded = await server.inspect(signal).catch(() => undefined);
    const fault = loaded && (await configuration.unplaced(loaded, signal));
    if (fault !== undefined) throw new DriverError('not_permitted', fault.message, fault.hint);
    if (main === undefined)
      throw new DriverError(
        'not_permitted',
        `${program} does not state the path of its configuration file.`,
      );
    return {
      format: server.format,
      own: options.file,
      main,
      checker: server.checker,
      plain: (content) => plainContent(server, content),
      load: () => server.load(AbortSignal.timeout(LOAD_MS)),
    };
  };

  /** Returns no requirement for a file without keys, because a server shows only keys. */
  const checkInclude = async (
    loaded: Loaded,
    name: string,
    signal: AbortSignal,
  ): Promise<readonly Requirement[]> => {
    const content = (await file.read().catch(() => undefined)) ?? '';
    const keys = await keyReader.read(content, newSlicer());
    if (keys.size === 0) return [];
    const requirement = `${program} has loaded '${options.file}'.`;
    const { reason } = (await configuration.definitions(content, keys, loaded, signal)) ?? {};
    if (reason !== undefined)
      return [unmet(requirement, { message: reason, hint: preparedHint(name) })];
    return [
      loaded.has(content, keys) ? { requirement, ok: true } : unmet(requirement, notLoaded()),
    ];
  };

  return {
    apply,
    compare,
    stamp: async () => stampIn(server, (await file.read()) ?? ''),
    references: (signal, mayBeOld) => configuration.references(signal, mayBeOld),
    printed: (signal, zones) => server.printed(signal, zones),
    files,
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
