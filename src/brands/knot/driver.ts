import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { described, object, withDefault } from '../../core/object.ts';
import { defineDriver, DriverError } from '../driver.ts';
import { createFileDriver } from '../file-driver.ts';
import { FILE_MEMBERS, OPTION_LINE } from '../include-file.ts';
import { knotFile } from './file.ts';

const options = object({
  ...FILE_MEMBERS,
  configurationFile: withDefault(
    described(OPTION_LINE, 'The configuration file of Knot DNS.'),
    '/etc/knot/knot.conf',
  ),
  controlSocket: withDefault(
    described(OPTION_LINE, 'The control socket of Knot DNS.'),
    '/run/knot/knot.sock',
  ),
});

/** The configuration database that Knot DNS uses by default if it exists. */
const DEFAULT_DATABASE = '/var/lib/knot/confdb';

/** Knot DNS: keys and access rules in a file that the configuration includes. */
export const knot = defineDriver({
  options,
  create({ controlSocket, configurationFile, ...others }, id) {
    const server = knotFile(controlSocket, configurationFile);
    const inspect = async (signal: AbortSignal) => {
      if (await usesDatabase(controlSocket))
        throw new DriverError(
          'not_included',
          'Knot DNS runs with a configuration database, which Tsigil does not change.',
          "Export it with 'knotc conf-export', start knotd with the option -c and that file, and include Tsigil's file in it.",
        );
      return server.inspect(signal);
    };
    return {
      ...createFileDriver({ ...server, inspect }, others, id),
      async loadedKeys(signal) {
        const loaded = await inspect(signal);
        return (key) => loaded.has('', new Map([[key.name, key]]));
      },
    };
  },
});

/** Returns false if unknown, for example because the processes of other users are hidden. */
async function usesDatabase(controlSocket: string): Promise<boolean> {
  try {
    const id = (await readFile(join(dirname(controlSocket), 'knot.pid'), 'utf8')).trim();
    if (!/^\d+$/.test(id)) return false;
    const words = (await readFile(`/proc/${id}/cmdline`, 'utf8')).split('\0');
    if (!words[0]?.endsWith('knotd')) return false;
    if (words.some((word) => /^(?:-C|--confdb)/.test(word))) return true;
    if (words.some((word) => /^(?:-c|--config)/.test(word))) return false;
    return (await stat(DEFAULT_DATABASE)).isDirectory();
  } catch {
    return false;
  }
}
