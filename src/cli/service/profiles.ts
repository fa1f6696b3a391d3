import { join } from 'node:path';
import { isObject } from '../../core/field.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { readWholeFile } from '../../net/files.ts';
import { writeSyncedFile } from '../../net/synced-file.ts';
import { codeOf, faultOf } from '../../net/faults.ts';
import { parseJson } from '../../net/http.ts';
import { CommandError, EXIT } from '../output/command-error.ts';

/** The address of a service and a token for it, as `tsigil login` stores them. */
export interface Profile {
  readonly url: string;
  readonly token: string;
  /** A file with CA certificates. */
  readonly cacert?: string | undefined;
}

interface Profiles {
  readonly current: string | undefined;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const NONE: Profiles = { current: undefined, profiles: {} };

/** Returns undefined if the user has no folder for configuration. */
function profilesPath({ HOME, XDG_CONFIG_HOME }: NodeJS.ProcessEnv): string | undefined {
  const folder = XDG_CONFIG_HOME || (HOME ? join(HOME, '.config') : undefined);
  return folder === undefined ? undefined : join(folder, 'tsigil', 'profiles.json');
}

/** Returns no profiles if there is no file. Throws `CommandError` if it cannot be read. */
export function readProfiles(environment: NodeJS.ProcessEnv): Profiles {
  const path = profilesPath(environment);
  if (path === undefined) return NONE;
  let text: string;
  try {
    text = readWholeFile(path).toString();
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(cause))) return NONE;
    throw unusable(path, `cannot be read: ${faultOf(cause).message}`);
  }
  const content = parseJson(text);
  if (!isObject(content) || !isObject(content.profiles))
    throw unusable(path, 'contains no profiles');
  const { current, profiles } = content;
  const known = Object.entries(profiles).map(([name, profile]) => {
    if (!isProfile(profile)) throw unusable(path, 'contains a profile without url or token');
    return [name, profile] as const;
  });
  return {
    current: typeof current === 'string' ? current : undefined,
    profiles: Object.fromEntries(known),
  };
}

function isProfile(value: unknown): value is Profile {
  return isObject(value) && typeof value.url === 'string' && typeof value.token === 'string';
}

/**
 * Stores the profiles in a new file with mode 0600, which replaces the old file. Returns the path.
 * Throws `CommandError`.
 */
export function writeProfiles(environment: NodeJS.ProcessEnv, content: Profiles): string {
  const path = profilesPath(environment);
  if (path === undefined)
    throw new CommandError(
      EXIT.usage,
      'No folder for the profile: HOME and XDG_CONFIG_HOME are not set',
      'Set XDG_CONFIG_HOME to a folder that you can write to.',
    );
  try {
    writeSyncedFile(path, `${JSON.stringify(content, null, 2)}\n`);
  } catch (cause) {
    throw unusable(path, `cannot be written: ${faultOf(cause).message}`);
  }
  return path;
}

/** Returns the profile with this name. Throws `CommandError` with `hint` for an unknown profile. */
export function profileNamed(
  { profiles }: Profiles,
  name: string,
  hint = `To store it, run: tsigil login --profile ${shellWord(name)}`,
): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  throw new CommandError(
    EXIT.usage,
    `Unknown profile '${name}'. Use one of: ${Object.keys(profiles).join(', ') || '(none stored)'}.`,
    hint,
  );
}

function unusable(path: string, problem: string): CommandError {
  return new CommandError(
    EXIT.usage,
    `The profiles in '${path}' cannot be used: the file ${problem}`,
    "Correct or remove the file, then run 'tsigil login'.",
  );
}
