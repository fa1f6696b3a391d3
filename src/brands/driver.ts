import type { PrintedConfiguration } from '../access/access.ts';
import type { Brand } from './brand.ts';
import type { Fault } from '../core/fault.ts';
import type { Kind } from '../core/field.ts';
import type { DesiredKey, DesiredState } from './desired-state.ts';

/** Gives one running name server exactly the keys of a desired state. Changes only Tsigil's. */
export interface Driver {
  /**
   * Makes the server hold exactly the keys of `state`, with their rights. May be called again after
   * any failure and with the same state. `owned` are the names of keys, in comparison form, that
   * Tsigil may have put on the server before. Keys on the server with other names are not Tsigil's,
   * and the driver never changes or removes them. If a key of `state` has such a name, the driver
   * leaves the key out and reports it in `Applied.problems`. The driver applies the other keys. A
   * key of `state.kept` that the server has from Tsigil keeps its algorithm and its secret. With
   * `state.isHeld`, Tsigil's other keys on the server stay, except those that are owned. After a
   * failure, the server has its former keys. Exception: a PowerDNS server may have some of the
   * changes. The call ends when the signal aborts. Throws `DriverError`, and what `intend` throws.
   */
  apply(
    state: DesiredState,
    ownNames: ReadonlySet<string>,
    signal: AbortSignal,
    intend?: Intend,
  ): Promise<Applied>;
  /**
   * Compares the server with `state` and changes nothing. The result also lists changes that other
   * programs have made to the server. Throws `DriverError`.
   */
  compare(
    state: DesiredState,
    ownNames: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<readonly Difference[]>;
  /** Returns the stamp that the last delivery wrote on the server. Throws `DriverError`. */
  stamp(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Returns the names of keys on the server that are neither Tsigil's nor the server's own, in
   * comparison form. Drivers have this function if Tsigil's keys on the server can only be told
   * from other keys by the database. Throws `DriverError`.
   */
  unknownKeys?(ownNames: ReadonlySet<string>, signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Reads the configuration of the running server, with its secrets. `zones` returns the names of
   * zones in comparison form that the server may have besides those in its files. Throws
   * `DriverError`, and what `zones` throws.
   */
  printed?(
    signal: AbortSignal,
    zones?: () => Promise<readonly string[]>,
  ): Promise<PrintedConfiguration>;
  /**
   * Returns the files of a server that reads its keys from a file, and undefined for a server that
   * stores them in a database. Throws `DriverError`.
   */
  files?(signal: AbortSignal): Promise<ServerFiles | undefined>;
  /**
   * Returns the keys that the configuration of the server names outside Tsigil's part, such that the
   * server would not load it or not work as before without them, each with the first place. With
   * `mayBeOld`, may return what it returned last. Returns undefined if this process cannot read the
   * configuration. A pass compares or applies before it calls this function.
   */
  references?(signal: AbortSignal, mayBeOld: boolean): Promise<KeyReferences | undefined>;
  /**
   * Returns a function that returns whether the running server has a key, with its secret. Drivers
   * have this function if the server also denies to know a key that no list of a zone names. Throws
   * `DriverError`.
   */
  loadedKeys?(signal: AbortSignal): Promise<(key: DesiredKey) => boolean>;
  /**
   * Checks all requirements of the driver on this server. Commands to run name the server `name`, by
   * default its id. Throws only `signal.reason`.
   */
  check(signal: AbortSignal, name?: string): Promise<readonly Requirement[]>;
}

/** The places that name keys, by the names of the keys in comparison form. */
export type KeyReferences = ReadonlyMap<string, string>;

/** The files of a server whose configuration includes Tsigil's, and how to check and load them. */
export interface ServerFiles {
  /** The import format of the configuration. */
  readonly format: string;
  /** The path of Tsigil's file. */
  readonly own: string;
  /** The path of the main configuration file. */
  readonly main: string;
  /** Returns the command that checks a configuration. It prints nothing, or something harmless. */
  checker(file: string): readonly [program: string, ...parameters: string[]];
  /** Returns the keys and lists of Tsigil's file, without what makes it Tsigil's. */
  plain(content: string): string;
  /** Makes the server read its configuration again. Throws `DriverError`. */
  load(): Promise<void>;
}

/**
 * A driver calls this function before its first change, with the keys that it does not leave out.
 * From then on, these keys count as Tsigil's, even if the process ends during `apply`.
 */
export type Intend = (keys: readonly DesiredKey[]) => Promise<void>;

export interface Applied {
  /** False if the server already held the state. */
  readonly changed: boolean;
  /** The keys that the driver left out, and the reasons. */
  readonly problems: readonly KeyProblem[];
  /** The names of removed keys that the server still has, with secrets that no one knows. */
  readonly disabled?: readonly string[];
  /**
   * Set if the file is complete, but the configuration of the server, which was read, is not ready
   * to load it: the reason in a sentence. The driver then makes the server load nothing.
   */
  readonly prepared?: string;
}

/** Returns what the operator of a prepared server does next. `server` is its name or its id. */
export function preparedHint(server: string): string {
  return `The file is complete. Include it in one edit that removes other definitions of its keys. To see this edit, run on the host: tsigil nameserver adopt ${server}`;
}

export interface KeyProblem extends Fault {
  readonly id: string;
  readonly code: 'name_taken' | 'undeliverable_key';
}

/** Returns the problem of a key whose name another key on the server has. `advice` is sentences. */
export function nameTaken(
  { title }: Brand,
  { id, name }: DesiredKey,
  advice = 'Rename one of the two keys.',
): KeyProblem {
  const message = `${title} already has a key '${name}' that is not Tsigil's. ${advice}`;
  return { id, code: 'name_taken', message };
}

export interface Difference {
  /**
   * Tsigil would add, change or remove something. `other` is a difference that concerns no single
   * key.
   */
  readonly kind: 'missing' | 'changed' | 'extra' | 'other';
  /** The name of the key in comparison form. Absent for `other`. */
  readonly key?: string;
  /** What differs, as a sentence without secrets. */
  readonly message: string;
}

/** One requirement of a driver, for `tsigil nameserver check`. */
export interface Requirement {
  /** What the driver needs, as a sentence: "The control channel accepts the key." */
  readonly requirement: string;
  readonly ok: boolean;
  /** What is wrong, as a sentence. Absent if the requirement is met. */
  readonly problem?: string;
  /** What to do next, as a sentence. */
  readonly hint?: string;
}

export function unmet(
  requirement: string,
  { message: problem, hint }: Omit<Fault, 'code'>,
): Requirement {
  return { requirement, ok: false, problem, ...(hint === undefined ? {} : { hint }) };
}

/**
 * Returns a requirement as met, and then the requirements that `work` returns. Returns it as unmet
 * if `work` throws `DriverError`.
 */
export async function requirements(
  requirement: string,
  work: () => Promise<readonly Requirement[]>,
): Promise<readonly Requirement[]> {
  try {
    return [{ requirement, ok: true }, ...(await work())];
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return [unmet(requirement, error)];
  }
}

export type DriverErrorCode =
  /** Nothing listens at the address of the control channel or API. */
  | 'unreachable'
  /** No response within the time limit. The server may have completed the request. */
  | 'timeout'
  /** The server refuses the control key, the API key, or access to the control socket. */
  | 'not_permitted'
  /** The server refuses the new configuration or the request, and keeps its former keys. */
  | 'refused_by_server'
  /** The file cannot be written: the disk is full, or its folder is missing or not writable. */
  | 'not_writable'
  /** The file exists and Tsigil has not written it for this name server. */
  | 'foreign_file'
  /** The server read its configuration, which this process cannot read, and did not load the file. */
  | 'not_included'
  /** The clocks of this machine and of the server differ too much for the control channel. */
  | 'clock_skew';

/** A failure of a driver. Its message is a sentence for operators, without secrets. */
export class DriverError extends Error implements Fault {
  readonly code: DriverErrorCode;
  /** What to do next, as a sentence. */
  readonly hint: string | undefined;

  constructor(code: DriverErrorCode, message: string, hint?: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DriverError';
    this.code = code;
    this.hint = hint;
  }
}

/** The refusal of a key whose name exists, or of a configuration with two keys of one name. */
export class DuplicateKeyError extends DriverError {}

export interface DriverDefinition {
  /** The options that are local to a host: control channel, credentials, files. */
  readonly options: Kind;
  /**
   * Creates the driver of one name server with `options`, which `options.parse` accepts. `id` is
   * the id of the name server's resource. The driver writes this id into its files, and refuses
   * files with another id. Performs no I/O. Throws `TypeError` for invalid options.
   */
  create(options: unknown, id: string): Driver;
}

export function defineDriver<Options>(definition: {
  readonly options: Kind<Options>;
  create(options: Options, id: string): Driver;
}): DriverDefinition {
  const { options, create } = definition;
  return {
    options,
    create(given, id) {
      const parsed = options.parse(given);
      if ('problem' in parsed) throw new TypeError(`The options of a driver ${parsed.problem}`);
      return create(parsed.value, id);
    },
  };
}
