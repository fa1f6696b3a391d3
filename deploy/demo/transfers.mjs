// Requests a transfer of a zone with dig, or with this project's client if dig is not installed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IMPORT_FORMATS } from '../../dist/formats/readers.js';
import { findOpenRights, probeKey } from '../../dist/net/probe.js';
import { findProgram } from './processes.mjs';

const TIMEOUTS = { tries: 3, seconds: 3 };

/**
 * Returns a function that requests a transfer, and signs the request with the key in `keyFile`, if
 * given. The function returns the output, whether the server sent the zone, and the dig command if
 * dig is installed.
 */
export function createTransfers({ folder, zone, port, run }) {
  const dig = findProgram('dig');
  if (dig !== undefined)
    return async (keyFile) => {
      const words = [`@127.0.0.1`, '-p', String(port), '+nocmd', '+nostats', zone, 'AXFR'];
      const all = [...words, ...(keyFile === undefined ? [] : ['-k', keyFile])];
      const { output } = await run(dig, all);
      const lines = output.split('\n').filter((line) => line.trim() !== '');
      const sent = lines.some((line) => line.includes('\tSOA\t'));
      return { command: `dig ${all.join(' ')}`, output: `${lines.join('\n')}\n`, sent };
    };
  const target = { server: { host: '127.0.0.1', port }, zone: `${zone}.` };
  return async (keyFile) => {
    if (keyFile === undefined) {
      const sent = (await findOpenRights(target, TIMEOUTS)).includes('transfer');
      return { output: `The server ${sent ? 'sent' : 'refuses'} the zone (without dig).\n`, sent };
    }
    const [{ key }] = IMPORT_FORMATS.bind.read(readFileSync(join(folder, keyFile), 'utf8'));
    const { verdict, reason } = await probeKey(key, 'transfer', target, Date.now, TIMEOUTS);
    return { output: `${verdict} (without dig): ${reason}\n`, sent: verdict === 'good' };
  };
}
