import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { editMain, type Brand } from '../harness/brands/brand.ts';

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
      if (isSwitchedOn) editMain(brand, folder, brand.logUses);
    },
    command: (folder) => [
      ...(['sh', '-c', `exec "$@" >>"${logOf(folder)}" 2>&1`, 'sh'] as const),
      ...brand.command(folder),
    ],
    options: (server) => ({ ...brand.options(server), log: logOf(server.folder) }),
  };
}
