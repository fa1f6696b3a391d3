// Requests a transfer of a zone with dig, or with this project's client if dig is not installed.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkRequest } from '../../dist/domain/dns/key-check.js';
import { decodeMessage, rcodeOf } from '../../dist/domain/dns/message.js';
import { canonicalKey } from '../../dist/domain/key-formats/key.js';
import { IMPORT_FORMATS } from '../../dist/domain/key-formats/readers.js';
import { firstResponse, sendSigned } from '../../dist/net/signed-request.js';
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
  const server = { host: '127.0.0.1', port };
  return async (keyFile) => {
    const request = { server, zone: `${zone}.`, check: 'transfer' };
    if (keyFile === undefined) {
      const octets = checkRequest('transfer', zone, randomInt(0x1_0000), '');
      const code = rcodeOf(decodeMessage(await firstResponse(server, octets, 'tcp', TIMEOUTS)));
      return { output: `The response is ${code} (without dig).\n`, sent: code === 'NOERROR' };
    }
    const [{ key }] = IMPORT_FORMATS.bind.read(readFileSync(join(folder, keyFile), 'utf8'));
    const signing = { ...canonicalKey(key), secret: Buffer.from(key.secret, 'base64') };
    const { verdict, reason } = await sendSigned({ ...request, key: signing }, Date.now, TIMEOUTS);
    return { output: `${verdict} (without dig): ${reason}\n`, sent: verdict === 'good' };
  };
}
