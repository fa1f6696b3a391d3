import { freeze } from './config.ts';
import { valuesOf, type Option } from './option.ts';
import { TABLE, valueAt, type Config } from './options.ts';

/** The effect of a changed configuration on a running service. */
export interface ConfigChange {
  /** The new configuration, frozen. Settings that need a restart keep their former values. */
  readonly config: Config;
  /** The keys of the settings that have new values. */
  readonly applied: readonly string[];
  /** The keys of the settings whose new values need a restart. */
  readonly needsRestart: readonly string[];
}

/** Returns the effect of `next` on a service that runs with `current`. */
export function planChange(current: Config, next: Config): ConfigChange {
  const applied: string[] = [];
  const needsRestart: string[] = [];
  const config = valuesOf(TABLE, <T>(option: Option<T>): T => {
    const valueIn = (config: Config) => valueAt(config, option.key) as T;
    const [before, after] = [valueIn(current), valueIn(next)];
    if (JSON.stringify(before) === JSON.stringify(after)) return before;
    const isApplied = isReloadable(option, before, after);
    (isApplied ? applied : needsRestart).push(option.key);
    return isApplied ? after : before;
  });
  freeze(config);
  return { config, applied, needsRestart };
}

function isReloadable({ reload }: Option, before: unknown, after: unknown): boolean {
  return (
    reload === 'yes' || (reload === 'while set' && before !== undefined && after !== undefined)
  );
}
