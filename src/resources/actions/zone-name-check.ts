import { defineAction, type ActionBody } from '../operations/action.ts';
import { comparisonForm, withoutFinalDot } from '../../core/text/dns-name.ts';
import { ERRORS } from '../../core/errors.ts';
import { anyText, array, boolean, enumeration, nullable, type ValueOf } from '../../core/field.ts';
import { described, list, object, responseObject } from '../../core/object.ts';
import type { Reader } from '../../core/ports.ts';
import type { Settings, TldRule } from '../../core/settings.ts';
import { eachInSlices, type Slicer } from '../../core/scheduling/slicer.ts';
import { tld } from '../tld.ts';
import { findTldEntries, findZoneNameRefusal, type TldEntries } from '../zone-name-rule.ts';
import { zoneNameProblem } from '../zone-fields.ts';

const MAX_NAMES = 1000;

const RULES = ['domain_name', 'more_than_one_label', 'tld_entry', 'not_a_tld'] as const;

const RESPONSE = responseObject({
  checks: described(
    list(
      responseObject({
        name: described(anyText(), 'The name in the request.'),
        allowed: described(boolean(), 'Whether a zone with this name passes the name checks.'),
        rule: described(
          nullable(enumeration(RULES)),
          'The first rule that the name breaks. Null for an allowed name. A zone name must be a domain name of at least two labels. It must end in a TLD entry and must not be a TLD entry.',
        ),
        message: described(
          nullable(anyText()),
          'Why the name is not allowed. Null for an allowed name.',
        ),
      }),
    ),
    'The result for each name, in the order of the request.',
  ),
});

type NameCheck = ValueOf<typeof RESPONSE>['checks'][number];

/**
 * The trailing dot is optional. Does not check other zones, quotas or rights. If TLD entries change
 * during the check, the results may reflect both old and new entries. Throws `unavailable`.
 */
export async function checkZoneNames(
  reader: Reader,
  settings: Settings,
  names: readonly string[],
  slicer: Slicer,
): Promise<NameCheck[]> {
  const forms = new Map<string, string>();
  await eachInSlices(slicer, names, (name) => {
    if (spellingProblem(name) === undefined) forms.set(name, comparisonForm(name));
  });
  const entries = await findTldEntries(reader, [...forms.values()], settings.tldRule);
  const checks: NameCheck[] = [];
  await eachInSlices(slicer, names, (name) =>
    checks.push(checkName(name, forms.get(name), entries, settings.tldRule)),
  );
  return checks;
}

/** `form` is the comparison form of the name, or undefined for an invalid domain name. */
function checkName(
  name: string,
  form: string | undefined,
  entries: TldEntries,
  rule: TldRule,
): NameCheck {
  if (form === undefined)
    return {
      name,
      allowed: false,
      rule: 'domain_name',
      message: `The name ${spellingProblem(name)}`,
    };
  const refusal = findZoneNameRefusal(form, entries, rule);
  if (refusal === undefined) return { name, allowed: true, rule: null, message: null };
  return {
    name,
    allowed: false,
    rule: refusal.rule,
    message: ERRORS.invalid_zone_name.message(refusal),
  };
}

function spellingProblem(name: string): string | undefined {
  return zoneNameProblem(`${withoutFinalDot(name)}.`);
}

const REQUEST = object({
  names: described(
    array(anyText(), 1, MAX_NAMES),
    'The zone names to check. The trailing dot is optional.',
  ),
});

const CHECKS: readonly NameCheck[] = [
  { name: 'example.com.', allowed: true, rule: null, message: null },
  {
    name: 'com',
    allowed: false,
    rule: 'more_than_one_label',
    message: 'More than one label is required. A zone name must be below a top-level domain.',
  },
];

const NAMES_BODY: ActionBody<ValueOf<typeof REQUEST>> = {
  kind: described(REQUEST, 'The zone names to check.'),
  schemaName: 'ZoneNames',
  what: 'check',
  examples: { names: { summary: 'Two names.', value: { names: CHECKS.map(({ name }) => name) } } },
};

export const zoneNameCheck = defineAction({
  path: '/v2/tlds/check',
  method: 'POST',
  right: 'zones:create',
  operationId: 'check_zone_names',
  summary: 'Check zone names against the TLD entries',
  description: `Checks up to ${MAX_NAMES} names, and returns whether a zone with each name is allowed. Does not check other zones, quotas or rights, and changes nothing.`,
  type: tld,
  body: NAMES_BODY,
  response: {
    kind: described(RESPONSE, 'The results of the checks.'),
    schemaName: 'ZoneNameChecks',
    description: 'The result for each name.',
    examples: {
      names: { summary: 'One allowed name and one rejected name.', value: { checks: CHECKS } },
    },
  },
  async run({ dependencies: { store, settings }, body, slicer }) {
    return { checks: await checkZoneNames(store, settings, body.names, slicer) };
  },
});
