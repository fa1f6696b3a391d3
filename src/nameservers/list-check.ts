import { ACCESS_READERS } from '../domain/access/readers.ts';
import { zonesWithoutList } from '../domain/access/unnamed.ts';
import { zonesText } from '../domain/access/warnings.ts';
import { listName } from '../domain/brands/brand.ts';
import { KeyFileError } from '../domain/key-formats/reader.ts';
import type { NameServer } from '../domain/resources/name-server.ts';
import { DriverError, type Driver, type Requirement } from './driver.ts';
import { openFiles } from './edited-files.ts';

/**
 * Says in which of these zones no key of Tsigil gets a right, because the configuration names no list
 * for it. That can be intended, so it is no fault. Says nothing about a configuration that this process
 * cannot read, or that does not include Tsigil's file.
 */
export async function checkLists(
  driver: Driver,
  { rights }: Pick<NameServer, 'rights'>,
  zones: readonly string[],
  signal: AbortSignal,
): Promise<readonly Requirement[]> {
  const configured = await configuredZones(driver, signal);
  const known = new Set(zones);
  const ours = configured.filter(({ name }) => known.has(name));
  return rights.flatMap((right) => {
    const without = zonesWithoutList(ours, right);
    if (without.length === 0) return [];
    return [
      {
        requirement: `The zones name a list for the right to ${right}.`,
        ok: true,
        problem: `No key gets the right in: ${zonesText(without)}.`,
        hint: `If a key should, name the list '${listName(right)}' in the configuration of these zones.`,
      },
    ];
  });
}

async function configuredZones(driver: Driver, signal: AbortSignal) {
  try {
    const files = await driver.files?.(signal);
    if (files === undefined) return [];
    const { source, includesOwn } = await openFiles(files);
    if (!includesOwn) return [];
    return ACCESS_READERS[files.format]?.(source.text, source.include, source.path).zones ?? [];
  } catch (error) {
    // Another requirement reports a configuration that cannot be read.
    if (error instanceof DriverError || error instanceof KeyFileError) return [];
    throw error;
  }
}
