import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrandName } from '../../src/brands/brands.ts';
import type { Brand } from './brands/brand.ts';

/** What an operator adds to the configuration so that the log shows the use of keys. */
const SWITCHED_ON: Readonly<Record<BrandName, (text: string) => string>> = {
  bind: (text) => text.replace('options {\n', 'options {\n  querylog yes;\n'),
  knot: (text) => `log:\n  - target: stderr\n    any: debug\n${text}`,
  nsd: (text) => text.replace('server:\n', 'server:\n    verbosity: 1\n'),
  powerdns: (text) => `${text}loglevel=5\n`,
};

/** The name of the configuration file of a server. */
export const CONFIGURATIONS: Readonly<Record<BrandName, string>> = {
  bind: 'named.conf',
  knot: 'knot.conf',
  nsd: 'nsd.conf',
  powerdns: 'pdns.conf',
};

/** Returns the path of the log of a server in `folder`. */
function logOf(folder: string): string {
  return join(folder, 'server.log');
}

/**
 * Returns a brand whose servers append their log to a file that the driver follows. With
 * `isSwitchedOn`, the log shows the use of keys.
 */
export function logging(brand: Brand, isSwitchedOn = true): Brand {
  return {
    ...brand,
    configure(folder, ...others) {
      brand.configure(folder, ...others);
      writeFileSync(logOf(folder), '');
      const file = join(folder, CONFIGURATIONS[brand.driver]);
      const text = readFileSync(file, 'utf8');
      if (isSwitchedOn) writeFileSync(file, SWITCHED_ON[brand.driver](text));
    },
    command: (folder) => [
      ...(['sh', '-c', `exec "$@" >>"${logOf(folder)}" 2>&1`, 'sh'] as const),
      ...brand.command(folder),
    ],
    options: (server) => ({ ...brand.options(server), log: logOf(server.folder) }),
  };
}
