import type { Kind } from '../core/field.ts';

interface Details<T> {
  /** The default with `compatibility: designate`, if it differs. */
  readonly designate?: T;
  /** What the setting does, for `docs/configuration.md`. */
  readonly meaning: string;
  /**
   * True for values that `check-config` hides. A variable that ends in `_FILE` may name a file with
   * the value.
   */
  readonly secret?: boolean;
  /** The environment variable, if its name does not follow from the key. */
  readonly variable?: string;
  /** True for a secret whose file has a separate setting. */
  readonly hasFileSetting?: boolean;
  /** The systemd credential whose path is the value if the setting is not set. */
  readonly credential?: string;
  readonly reload?: Reload;
}

interface Definition<T = unknown> extends Details<T> {
  readonly kind: Kind<T>;
  readonly default: T;
}

/**
 * Whether a running service applies a new value of a setting at SIGHUP: always, or only if the
 * setting has a value before and after.
 */
type Reload = 'yes' | 'while set';

interface Section {
  readonly [name: string]: Definition | Section;
}

export type ValuesOf<S> = {
  readonly [Name in keyof S]: S[Name] extends Definition<infer T> ? T : ValuesOf<S[Name]>;
};

/** A setting with its key in the configuration file: names joined by dots. */
export interface Option<T = unknown> extends Definition<T> {
  readonly key: string;
}

export function option<T>(
  kind: Kind<T>,
  details: Details<NoInfer<T>> & { readonly default: NoInfer<T> },
): Definition<T>;
export function option<T>(kind: Kind<T>, details: Details<NoInfer<T>>): Definition<T | undefined>;
export function option<T>(
  kind: Kind<T>,
  details: Details<T> & { readonly default?: T },
): Definition<T | undefined> {
  return { default: undefined, ...details, kind };
}

/**
 * Calls `visit` for each setting of a section and of its nested sections. Returns the results as an
 * object with the same structure.
 */
export function mapOptions(
  section: Section,
  visit: (option: Option) => unknown,
  prefix = '',
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(section).map(([name, node]) => {
      const key = prefix + name;
      return [
        name,
        isDefinition(node) ? visit({ ...node, key }) : mapOptions(node, visit, `${key}.`),
      ];
    }),
  );
}

/** The signature states the type: the compiler cannot infer it through a loop over names. */
export function valuesOf<S extends Section>(
  section: S,
  valueOf: <T>(option: Option<T>) => T,
): ValuesOf<S>;
export function valuesOf(section: Section, valueOf: (option: Option) => unknown): unknown {
  return mapOptions(section, valueOf);
}

export function listOptions(section: Section): readonly Option[] {
  const options: Option[] = [];
  mapOptions(section, (each) => options.push(each));
  return options;
}

/** The default is `TSIGIL_` and the key's words in capitals, joined by underscores. */
export function variableOf({ key, variable }: Pick<Option, 'key' | 'variable'>): string {
  return variable ?? `TSIGIL_${key.replaceAll('.', '_').replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`;
}

/** Returns the variable that names a file with the value, if the option is secret. */
export function fileVariableOf(option: Option): string | undefined {
  return option.secret && !option.hasFileSetting ? `${variableOf(option)}_FILE` : undefined;
}

/** Returns whether `node` is a definition. A section has no member `meaning` that is text. */
function isDefinition(node: Definition | Section): node is Definition {
  return typeof node.meaning === 'string';
}

/** The service's own defaults (`none`), or those of OpenStack Designate. */
export const COMPATIBILITIES = ['none', 'designate'] as const;
type Compatibility = (typeof COMPATIBILITIES)[number];

export function defaultOf<T>(option: Definition<T>, compatibility: Compatibility): T {
  return compatibility === 'designate' ? (option.designate ?? option.default) : option.default;
}
