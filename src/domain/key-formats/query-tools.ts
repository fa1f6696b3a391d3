import { bindClause } from './name-servers.ts';
import { EVERY_ALGORITHM, lines, quoted, type KeyWriter } from './writer.ts';

/** The key file for `-k` of BIND's tools. */
export const nsupdate: KeyWriter = {
  consumer: 'nsupdate, dig and delv (`-k`)',
  mediaType: 'text/plain',
  extension: 'key',
  algorithms: EVERY_ALGORITHM,
  write: bindClause,
};

/** The key file for `-k` of Knot's tools. */
export const knsupdate: KeyWriter = {
  consumer: 'knsupdate and kdig (`-k`)',
  mediaType: 'text/plain',
  extension: 'key',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) => lines(`${algorithm}:${name}:${secret}`),
};

/**
 * A Python module with a `keyring`. It includes the algorithm: a keyring without one accepts
 * signatures with any algorithm.
 */
export const dnspython: KeyWriter = {
  consumer: 'dnspython',
  mediaType: 'text/x-python',
  extension: 'py',
  algorithms: EVERY_ALGORITHM,
  write: ({ name, algorithm, secret }) =>
    lines(
      'import dns.tsigkeyring',
      '',
      'keyring = dns.tsigkeyring.from_text(',
      `    {${quoted(`${name}.`)}: (${quoted(algorithm === 'hmac-md5' ? 'hmac-md5.sig-alg.reg.int' : algorithm)}, ${quoted(secret)})}`,
      ')',
    ),
};
