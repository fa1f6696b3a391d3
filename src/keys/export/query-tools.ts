import { bindClause } from '../../brands/bind/brand.ts';
import type { Key } from '../../formats/key.ts';
import {
  EVERY_ALGORITHM,
  lines,
  quoted,
  type KeyListWriter,
  type KeyWriter,
} from '../../formats/writer.ts';

export const nsupdate: KeyWriter = {
  consumer: 'nsupdate, dig and delv (`-k`)',
  extension: 'key',
  algorithms: EVERY_ALGORITHM,
  write: bindClause,
};

export const knsupdate: KeyWriter = {
  consumer: 'knsupdate and kdig (`-k`)',
  extension: 'key',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) => lines(`${algorithm}:${name}:${secret}`),
};

/**
 * A Python module with a `keyring`. The keyring includes the algorithms, because a keyring without
 * algorithms accepts signatures with any algorithm.
 */
export const dnspython: KeyListWriter = {
  consumer: 'dnspython',
  extension: 'py',
  algorithms: EVERY_ALGORITHM,
  writeAll: (keys) =>
    lines(
      'import dns.tsigkeyring',
      '',
      'keyring = dns.tsigkeyring.from_text(',
      `    {${keys.map(keyringEntry).join(',\n     ')}}`,
      ')',
    ),
};

function keyringEntry({ name, algorithm, secret }: Key): string {
  const algorithmName = algorithm === 'hmac-md5' ? 'hmac-md5.sig-alg.reg.int' : algorithm;
  return `${quoted(`${name}.`)}: (${quoted(algorithmName)}, ${quoted(secret)})`;
}
