import { shorten } from './body.ts';
import { withoutFinalDot } from '../model/dns-name.ts';
import { ERRORS, ServiceError, type ZoneNameRefusal } from '../model/errors.ts';
import { isStorableText } from '../model/field.ts';
import type { Reader } from '../model/ports.ts';
import type { Settings, TldRule } from '../model/settings.ts';
import { eachInSlices, type Slicer } from '../scheduling/slicer.ts';
import { findTldEntries, refuseZoneName, type TldEntries } from '../resources/tld-rule.ts';
import { zoneNameProblem } from '../resources/zone-fields.ts';

/** The most names that one request may ask about. */
export const MAX_NAMES = 1000;

/** Whether a zone of one name might be created now, and if not, by which rule. */
export interface NameCheck {
  readonly name: string;
  readonly allowed: boolean;
  /** Null for a name that is allowed. */
  readonly rule: ZoneNameRefusal['rule'] | 'domain_name' | null;
  readonly message: string | null;
}

/**
 * Checks the names in a body `{"names": [...]}` as the creation of a zone would, a final dot aside, and changes nothing.
 * Works in slices. Other zones, quotas and rights are not looked at, and entries that change meanwhile may count for some names only.
 * Throws `invalid_object`, `unavailable`.
 */
export async function checkZoneNames(reader: Reader, settings: Settings, body: unknown, slicer: Slicer): Promise<NameCheck[]> {
  const names = readNames(body);
  const wellFormed: string[] = [];
  await eachInSlices(slicer, names, (name) => {
    if (spellingProblem(name) === undefined) wellFormed.push(name);
  });
  const entries = await findTldEntries(reader, wellFormed, settings.tldRule);
  const checks: NameCheck[] = [];
  await eachInSlices(slicer, names, (name) => checks.push(checkName(name, entries, settings.tldRule)));
  return checks;
}

/** Checks one zone name against the TLD entries. */
export function checkName(name: string, entries: TldEntries, rule: TldRule): NameCheck {
  const problem = spellingProblem(name);
  if (problem !== undefined) return { name, allowed: false, rule: 'domain_name', message: `The name ${problem}` };
  const refusal = refuseZoneName(name, entries, rule);
  if (refusal === undefined) return { name, allowed: true, rule: null, message: null };
  return { name, allowed: false, rule: refusal.rule, message: ERRORS.invalid_zone_name.message(refusal) };
}

function spellingProblem(name: string): string | undefined {
  return zoneNameProblem(`${withoutFinalDot(name)}.`);
}

/** The names in a body `{"names": [...]}`. Throws `invalid_object`. */
export function readNames(body: unknown): string[] {
  const { names, ...others } = (typeof body === 'object' && body !== null ? body : {}) as { names?: unknown };
  if (!Array.isArray(names)) throw invalidCheck('names', 'must be an array of strings', 'type');
  if (names.length < 1 || names.length > MAX_NAMES) throw invalidCheck('names', `must hold 1 to ${MAX_NAMES} items`, 'items');
  if (!names.every((name): name is string => typeof name === 'string' && isStorableText(name))) {
    throw invalidCheck('names', 'must hold nothing but valid Unicode text without U+0000', 'type');
  }
  const [other] = Object.keys(others);
  if (other !== undefined) throw invalidCheck(shorten(other), 'is not a known property', 'additionalProperties');
  return names;
}

function invalidCheck(member: string, problem: string, validator: string): ServiceError {
  const message = `'${member}' ${problem}`;
  return new ServiceError('invalid_object', { what: 'check', messages: [message] }, { problems: [{ path: [member], message, validator }] });
}
