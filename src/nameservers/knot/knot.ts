import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { described, object, optional, withDefault } from '../../domain/model/object.ts';
import { defineDriver, DriverError, unmet, type Driver } from '../driver.ts';
import { createFileDriver } from '../file-driver.ts';
import { FILE_MEMBERS, line, ownPath } from '../include-file.ts';
import { createKnotDatabase } from './knot-database.ts';
import { knotFile, printedByKnot } from './knot-file.ts';

const options = object({
  ...FILE_MEMBERS,
  file: optional(
    described(
      ownPath(),
      'The file that Tsigil writes, for a text configuration. Knot DNS must include it.',
    ),
  ),
  configurationFile: withDefault(
    described(line(), 'The configuration file of Knot DNS, for a text configuration.'),
    '/etc/knot/knot.conf',
  ),
  controlSocket: withDefault(
    described(line(), 'The control socket of Knot DNS.'),
    '/run/knot/knot.sock',
  ),
});

/** The configuration database that Knot DNS uses by default if it exists. */
const DEFAULT_DATABASE = '/var/lib/knot/confdb';

/**
 * Knot DNS: keys and access rules in a file that a text configuration includes, or in the
 * configuration database. The driver detects which of the two the server uses.
 */
export const knot = defineDriver({
  options,
  create({ controlSocket, file, configurationFile, ...others }, id) {
    const database = createKnotDatabase(controlSocket);
    const text =
      file === undefined
        ? undefined
        : createFileDriver(knotFile(controlSocket, configurationFile), { ...others, file }, id);
    /**
     * Returns the driver for the running server. Throws `DriverError` if the option `file` is
     * missing.
     */
    const chosen = async (): Promise<Driver> => {
      const usesDatabase = (await detectDatabase(controlSocket)) ?? text === undefined;
      if (usesDatabase) return database;
      if (text !== undefined) return text;
      throw new DriverError(
        'not_included',
        'Knot DNS runs with a text configuration, but the option `file` is not set.',
        'Set `file` in the options of the name server, and include the file in the configuration.',
      );
    };
    return {
      apply: async (...given) => (await chosen()).apply(...given),
      compare: async (state, owned, signal) => (await chosen()).compare(state, owned, signal),
      stamp: async (signal) => (await chosen()).stamp(signal),
      configuration: async () => (await chosen()).configuration?.(),
      files: async (signal) => (await chosen()).files?.(signal),
      printed: (signal) => printedByKnot(controlSocket, signal),
      references: async (signal, mayBeOld) => (await chosen()).references?.(signal, mayBeOld),
      async check(signal, name) {
        try {
          return await (await chosen()).check(signal, name);
        } catch (error) {
          if (!(error instanceof DriverError)) throw error;
          const requirement = 'The options fit the configuration of Knot DNS.';
          return [unmet(requirement, error)];
        }
      },
    };
  },
});

/**
 * Returns whether the server runs with a configuration database. Returns undefined if this is
 * unknown, for example because this process cannot see the processes of other users.
 */
async function detectDatabase(controlSocket: string): Promise<boolean | undefined> {
  try {
    const id = (await readFile(join(dirname(controlSocket), 'knot.pid'), 'utf8')).trim();
    if (!/^\d+$/.test(id)) return undefined;
    const words = (await readFile(`/proc/${id}/cmdline`, 'utf8')).split('\0');
    if (!words[0]?.endsWith('knotd')) return undefined;
    if (words.some((word) => /^(?:-C|--confdb)/.test(word))) return true;
    if (words.some((word) => /^(?:-c|--config)/.test(word))) return false;
    return (await stat(DEFAULT_DATABASE)).isDirectory();
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' && path === DEFAULT_DATABASE ? false : undefined;
  }
}
