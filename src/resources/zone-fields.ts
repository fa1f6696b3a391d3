import { isIP } from 'node:net';
import {
  isAbsoluteName,
  isOverlongName,
  isRelativeName,
  MAX_NAME_LENGTH,
  toAsciiName,
  withoutFinalDot,
} from '../core/text/dns-name.ts';
import {
  boolean,
  enumeration,
  integer,
  list,
  map,
  nullable,
  text,
  uuid,
  type Kind,
} from '../core/field.ts';
import { defineFields, type ResourceOf } from '../core/resource.ts';
import { note, serviceField, serviceTime } from '../core/shared-fields.ts';

/**
 * The e-mail address that responses show for SECONDARY zones. The SOA record of the primary has the
 * real address.
 */
const SECONDARY_EMAIL = 'hostmaster@example.com';

export function zoneNameProblem(name: string): string | undefined {
  if (isAbsoluteName(name)) return undefined;
  if (isOverlongName(name)) return `must be at most ${MAX_NAME_LENGTH} characters long`;
  if (isRelativeName(name) && name.length < MAX_NAME_LENGTH)
    return `must end in a period: send '${name}.'`;
  const ascii = toAsciiName(withoutFinalDot(name));
  if (ascii !== undefined && isAbsoluteName(`${ascii}.`))
    return `must be in its ASCII form: send '${ascii}.'`;
  return 'must consist of labels of 1 to 63 letters, digits, hyphens and underscores, each followed by a period. No label can begin or end with a hyphen';
}

/** With its @ replaced by a dot, a mailbox must be a domain name (RFC 1035 section 3.3.13). */
function emailProblem(email: string): string | undefined {
  const parts = email.split('@');
  return parts.length === 2 && isRelativeName(parts.join('.'))
    ? undefined
    : 'must be an e-mail address such as hostmaster@example.org';
}

function isPort(text: string): boolean {
  return Number(text) >= 1 && Number(text) <= 65_535;
}

/** A zone id is valid only on one machine (RFC 4007 section 11). */
function isIPv6(text: string): boolean {
  return isIP(text) === 6 && !text.includes('%');
}

/** The last label of a domain name must not be a number (RFC 3696 section 2). */
function isHost(text: string): boolean {
  return (
    isIP(text) === 4 || (isRelativeName(withoutFinalDot(text)) && !/(?:^|\.)\d+\.?$/.test(text))
  );
}

const MAX_MASTER_LENGTH = MAX_NAME_LENGTH + ':65535'.length;

/** The address of a primary, with the port if the port is not 53. */
const master: Kind<string> = {
  schema: {
    type: 'string',
    maxLength: MAX_MASTER_LENGTH,
    examples: ['192.0.2.1', '192.0.2.1:5300', '[2001:db8::1]:5300'],
  },
  parse(value) {
    const address = typeof value === 'string' ? value : '';
    if (address.length > MAX_MASTER_LENGTH)
      return {
        problem: `must be at most ${MAX_MASTER_LENGTH} characters long`,
        validator: 'maxLength',
      };
    if (isIPv6(address)) return { value: address };
    const [, bracketed, plain = '', port = '53'] =
      /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(address) ?? [];
    const valid = bracketed === undefined ? isHost(plain) : isIPv6(bracketed);
    if (!valid || !isPort(port))
      return { problem: 'must be a host or host:port', validator: 'format' };
    if (Number(port) === 53) return { value: bracketed ?? plain };
    return { value: `${bracketed === undefined ? plain : `[${bracketed}]`}:${Number(port)}` };
  },
};

const shortText = text({ min: 0, max: 50 });

export const zoneFields = defineFields({
  pool_id: {
    ...nullable(uuid()),
    description:
      'The pool whose name servers serve the zone. Only administrators may choose a pool. The zones of other callers get the default pool.',
    example: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
    onCreate: { default: null },
    refersTo: 'pools',
    set: 'once',
  },
  project_id: serviceField(
    text({ min: 1, max: 64 }),
    '',
    'The project that owns the zone.',
    '5f2d6a9d0c8a4d8d9d7d0b1f3e7c2a11',
  ),
  name: {
    ...text({ min: 1, max: MAX_NAME_LENGTH, problemOf: zoneNameProblem }),
    description:
      'The domain name, in its original spelling and with a trailing dot. The name must be unique in the pool, ignoring case.',
    example: 'example.com.',
    onCreate: 'required',
    set: 'once',
  },
  email: {
    ...text({ min: 3, max: 255, problemOf: emailProblem }),
    description:
      'The e-mail address of the contact for the zone. Required for PRIMARY zones. Not allowed for SECONDARY zones.',
    example: 'hostmaster@example.com',
    onCreate: { default: SECONDARY_EMAIL },
  },
  description: note('A note about the zone.', 'The web site'),
  ttl: {
    ...integer(0, 2_147_483_647),
    description: 'The default TTL of records, in seconds. Not allowed for SECONDARY zones.',
    example: 3600,
    onCreate: { default: 3600 },
  },
  serial: serviceField(
    integer(1, 4_294_967_295),
    1,
    "The serial number of the zone's SOA record (RFC 1035 section 3.3.13).",
    1_795_219_200,
  ),
  shared: serviceField(
    boolean(),
    false,
    'Whether other projects may use the zone. Always false.',
    false,
  ),
  status: serviceField(
    enumeration(['ACTIVE', 'PENDING', 'ERROR']),
    'ACTIVE',
    'Whether the name servers have the current state of the zone.',
    'ACTIVE',
  ),
  action: serviceField(
    enumeration(['NONE', 'CREATE', 'UPDATE', 'DELETE']),
    'NONE',
    'The action in progress on the zone.',
    'NONE',
  ),
  version: serviceField(
    integer(1, Number.MAX_SAFE_INTEGER),
    1,
    'The number of changes to the zone, including its creation.',
    1,
  ),
  attributes: {
    ...map(shortText, shortText, 100),
    description: 'Names and values that select a pool. The value of `pool_id` is the id of a pool.',
    example: {},
    onCreate: { default: {} },
    set: 'once',
  },
  type: {
    ...enumeration(['PRIMARY', 'SECONDARY', 'CATALOG']),
    description:
      'PRIMARY for zones with their own data, SECONDARY for copies of zones on other servers. The service refuses CATALOG.',
    example: 'PRIMARY',
    onCreate: { default: 'PRIMARY' },
    set: 'once',
  },
  masters: {
    ...list(master, 0, 50),
    description: 'The primaries from which a SECONDARY zone is transferred.',
    example: [],
    onCreate: { default: [] },
  },
  transferred_at: serviceTime('The time of the last transfer of a SECONDARY zone.', null),
});

export type Zone = ResourceOf<typeof zoneFields>;

/** The members in which the response to the deletion of a zone differs from the stored zone. */
export const DELETED = { status: 'PENDING', action: 'DELETE' } as const;

export const CHOOSE_POOL = 'zones:choose_pool';
