import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isObject } from '../../core/field.ts';
import { parseJson } from '../../net/http.ts';
import { CommandError, EXIT, fileError } from '../../cli/output/command-error.ts';

/** The recorded hashes of batches, by batch number. */
export type Checkpoints = ReadonlyMap<number, ReadonlySet<string>>;

const HASH = /^[0-9a-f]{64}$/;
const PLAIN = /^\s*(\d{1,9})\s+([0-9a-f]{64})\s*$/;

/**
 * A checkpoint is a log line of the service, perhaps after the prefix of a log collector, or a line
 * with a batch number and a hash. Skips other lines. Throws `CommandError` if the file cannot be
 * read or contains no checkpoint.
 */
export async function readCheckpoints(path: string): Promise<Checkpoints> {
  const checkpoints = new Map<number, Set<string>>();
  try {
    for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
      const found = checkpointOf(line);
      if (found === undefined) continue;
      const hashes = checkpoints.get(found.number) ?? new Set();
      checkpoints.set(found.number, hashes.add(found.hash));
    }
  } catch (cause) {
    throw fileError(path, 'read', cause);
  }
  if (checkpoints.size === 0)
    throw new CommandError(
      EXIT.usage,
      `'${path}' contains no checkpoint of an audit trail`,
      'Use a log file of the service, or a file with a batch number and a hash on each line.',
    );
  return checkpoints;
}

function checkpointOf(
  line: string,
): { readonly number: number; readonly hash: string } | undefined {
  const plain = PLAIN.exec(line);
  if (plain !== null) return { number: Number(plain[1]), hash: plain[2] ?? '' };
  if (!line.includes('"hash"')) return undefined;
  const value = parseJson(line.slice(line.indexOf('{')));
  if (!isObject(value)) return undefined;
  const { batch, hash } = value;
  return typeof batch === 'number' && typeof hash === 'string' && HASH.test(hash)
    ? { number: batch, hash }
    : undefined;
}
