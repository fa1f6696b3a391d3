import { withoutFinalDot } from './dns-name.ts';
import { ServiceError } from './errors.ts';
import { isStorableText } from './field.ts';
import type { Reader } from './resource.ts';
import type { Settings } from './settings.ts';
import { findTldEntries, refuseZoneName, type Refusal, type TldEntries } from './zone-name.ts';
import { zoneNameProblem } from './zone.ts';

/** The most names that one request may ask about. */
export const MAX_NAMES = 1000;

/** Whether a zone of one name might be created now, and if not, by which rule. */
export interface NameCheck {
  readonly name: string;
  readonly allowed: boolean;
  /** Null for a name that is allowed. */
  readonly rule: Refusal['rule'] | 'domain_name' | null;
  readonly message: string | null;
}

/**
 * Checks the names in a body `{"names": [...]}` as the creation of a zone would, a final dot aside, and changes nothing.
 * Other zones, quotas and rights are not looked at. Throws `invalid_object`, `unavailable`.
 */
export async function checkZoneNames(reader: Reader, settings: Settings, body: unknown): Promise<NameCheck[]> {
  const names = readNames(body);
  const wellFormed = names.filter((name) => spellingProblem(name) === undefined);
  const entries = await findTldEntries(reader, wellFormed, settings.tldRule);
  return names.map((name) => checkName(name, entries, settings));
}

function checkName(name: string, entries: TldEntries, settings: Settings): NameCheck {
  const problem = spellingProblem(name);
  const refusal =
    problem === undefined ? refuseZoneName(name, entries, settings.tldRule) : ({ rule: 'domain_name', message: `The name ${problem}` } as const);
  return { name, allowed: refusal === undefined, rule: refusal?.rule ?? null, message: refusal?.message ?? null };
}

function spellingProblem(name: string): string | undefined {
  return zoneNameProblem(`${withoutFinalDot(name)}.`);
}

/** The names in a body `{"names": [...]}`. Throws `invalid_object`. */
export function readNames(body: unknown): string[] {
  const { names, ...others } = (typeof body === 'object' && body !== null ? body : {}) as { names?: unknown };
  const isList = Array.isArray(names) && names.length >= 1 && names.length <= MAX_NAMES;
  if (!isList || !names.every((name): name is string => typeof name === 'string' && isStorableText(name))) {
    throw invalidNames(`'names' must be an array of 1 to ${MAX_NAMES} strings`);
  }
  if (Object.keys(others).length > 0) throw invalidNames("'names' is the only property");
  return names;
}

function invalidNames(message: string): ServiceError {
  return new ServiceError('invalid_object', `Invalid check: ${message}`, { problems: [{ path: ['names'], message, validator: 'type' }] });
}
