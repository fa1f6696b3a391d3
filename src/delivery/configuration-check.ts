import { ACCESS_READERS } from '../brands/access-readers.ts';
import { policyZonesText, zonesWithoutList } from '../access/zones-without-list.ts';
import { zonesText } from '../access/warnings.ts';
import { listName } from '../access/rights.ts';
import { KeyFileError } from '../formats/reader.ts';
import type { NameServer } from '../resources/name-server.ts';
import { DriverError, type Driver, type Requirement } from '../brands/driver.ts';
import { keptBeside, openFiles } from '../brands/edited-files.ts';

/**
 * Says in which of these zones no key of Tsigil gets a right, because the configuration names no list
 * for it, in which a policy decides instead, unless it does not include Tsigil's file, and which
 * former files adoptions and releases have left there. All can be intended, so none is a fault. Says
 * nothing about a configuration that this process cannot read.
 */
export async function checkConfiguration(
  driver: Driver,
  { rights }: Pick<NameServer, 'rights'>,
  zones: readonly string[],
  signal: AbortSignal,
): Promise<readonly Requirement[]> {
  const { configured = [], formerFiles = [] } = (await configurationOf(driver, signal)) ?? {};
  const served = new Set(zones);
  const ours = configured.filter(({ name }) => served.has(name));
  const lists = rights.flatMap((right): Requirement[] => {
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
  const policies = rights.includes('update') ? policyZonesText(ours) : undefined;
  if (policies !== undefined)
    lists.push({
      requirement: 'Lists of Tsigil decide who may update.',
      ok: true,
      problem: `\`update-policy\` decides instead in: ${policies}.`,
      hint: 'Let it name each successor of a key that it names.',
    });
  if (formerFiles.length === 0) return lists;
  const left: Requirement = {
    requirement: 'No former configuration is left.',
    ok: true,
    problem: `Adoptions have kept: ${formerFiles.map((path) => `'${path}'`).join(', ')}.`,
    hint: 'These files contain secrets. Delete them once all is well.',
  };
  return [...lists, left];
}

export async function formerFilesOf(
  driver: Driver,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return (await configurationOf(driver, signal))?.formerFiles ?? [];
}

async function configurationOf(driver: Driver, signal: AbortSignal) {
  try {
    const files = await driver.files?.(signal);
    if (files === undefined) return undefined;
    const { source, texts, includesOwn } = await openFiles(files);
    const read = includesOwn ? ACCESS_READERS[files.format] : undefined;
    return {
      configured: read?.(source.text, source.include, source.path).zones ?? [],
      formerFiles: await keptBeside([source.path, ...texts.keys()]),
    };
  } catch (error) {
    // Another requirement reports a configuration that cannot be read.
    if (error instanceof DriverError || error instanceof KeyFileError) return undefined;
    throw error;
  }
}
