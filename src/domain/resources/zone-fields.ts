import { isIP } from 'node:net';
import {
  isAbsoluteName,
  isOverlongName,
  isRelativeName,
  MAX_NAME_LENGTH,
  toAsciiName,
  withoutFinalDot,
} from '../text/dns-name.ts';
import {
  boolean,
  enumeration,
  integer,
  list,
  map,
  nullable,
  text,
  timestamp,
  uuid,
  type Kind,
} from '../model/field.ts';
import { defineFields, type ResourceOf } from '../model/resource.ts';

/** The e-mail address of SECONDARY zones, whose own is their primary's affair. */
const SECONDARY_EMAIL = 'hostmaster@example.com';

/** What is wrong with the spelling of a zone's name, or undefined. */
export function zoneNameProblem(name: string): string | undefined {
  if (isAbsoluteName(name)) return undefined;
  if (isOverlongName(name)) return `must be at most ${MAX_NAME_LENGTH} characters long`;
  if (isRelativeName(name) && name.length < MAX_NAME_LENGTH)
    return `must end in a period: send '${name}.'`;
  const ascii = toAsciiName(withoutFinalDot(name));
  if (ascii !== undefined && isAbsoluteName(`${ascii}.`))
    return `must be in its ASCII form: send '${ascii}.'`;
  return 'must be labels of 1 to 63 letters, digits, hyphens and underscores, each followed by a period, no label with a hyphen at either end';
}

/** The mailbox of an SOA record (RFC 1035 section 3.3.13): with its @ read as a dot it is a domain name. */
function emailProblem(email: string): string | undefined {
  const parts = email.split('@');
  return parts.length === 2 && isRelativeName(parts.join('.'))
    ? undefined
    : 'must be an e-mail address such as hostmaster@example.org';
}

/** A port from 1 to 65535, as text. */
function isPort(text: string): boolean {
  return Number(text) >= 1 && Number(text) <= 65_535;
}

/** An IPv6 address without a zone id (RFC 4007 section 11), which means nothing on another machine. */
function isIPv6(text: string): boolean {
  return isIP(text) === 6 && !text.includes('%');
}

/** An IPv4 address or a domain name that cannot be mistaken for one (RFC 3696 section 2). */
function isHost(text: string): boolean {
  return (
    isIP(text) === 4 || (isRelativeName(withoutFinalDot(text)) && !/(?:^|\.)\d+\.?$/.test(text))
  );
}

/** The most characters of the address of a primary: a name and a port. */
const MAX_MASTER_LENGTH = MAX_NAME_LENGTH + ':65535'.length;

/** The address of a primary, with a port unless it is 53. */
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

/** A field that the service sets, from `value` on. */
function own<T>(kind: Kind<T>, value: T, description: string, example: T) {
  return {
    ...kind,
    description,
    example,
    onCreate: { default: value },
    set: 'by the service',
  } as const;
}

/** The fields of a zone. */
export const zoneFields = defineFields({
  pool_id: {
    ...nullable(uuid()),
    description:
      'The pool whose name servers serve the zone. Only administrators may choose one; others get the default pool.',
    example: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
    onCreate: { default: null },
    set: 'once',
  },
  project_id: own(
    text({ min: 1, max: 64 }),
    '',
    'The project that owns the zone.',
    '5f2d6a9d0c8a4d8d9d7d0b1f3e7c2a11',
  ),
  name: {
    ...text({ min: 1, max: MAX_NAME_LENGTH, problemOf: zoneNameProblem }),
    description:
      'The domain name, with a final period; unique in its pool without regard to case and kept as it was spelt.',
    example: 'example.com.',
    otherExample: 'example.org.',
    onCreate: 'required',
    set: 'once',
  },
  email: {
    ...text({ min: 3, max: 255, problemOf: emailProblem }),
    description:
      'Whom to write to about the zone. Required for PRIMARY zones; SECONDARY zones have none of their own.',
    example: 'hostmaster@example.com',
    onCreate: { default: SECONDARY_EMAIL },
  },
  description: {
    ...nullable(text({ min: 0, max: 160 })),
    description: 'Anything worth noting about the zone.',
    example: 'The web site',
    onCreate: { default: null },
  },
  ttl: {
    ...integer(0, 2_147_483_647),
    description:
      'Seconds that resolvers may keep records for which nothing else is said. Not for SECONDARY zones.',
    example: 3600,
    onCreate: { default: 3600 },
  },
  serial: own(
    integer(1, 4_294_967_295),
    1,
    "The serial number of the zone's SOA record (RFC 1035 section 3.3.13).",
    1_795_219_200,
  ),
  shared: own(boolean(), false, 'Whether other projects may use the zone; always false.', false),
  status: own(
    enumeration(['ACTIVE', 'PENDING', 'ERROR']),
    'ACTIVE',
    'Whether the name servers have what the service holds.',
    'ACTIVE',
  ),
  action: own(
    enumeration(['NONE', 'CREATE', 'UPDATE', 'DELETE']),
    'NONE',
    'What is being done about the zone.',
    'NONE',
  ),
  version: own(
    integer(1, Number.MAX_SAFE_INTEGER),
    1,
    'How often the zone was changed, its creation included.',
    1,
  ),
  attributes: {
    ...map(shortText, shortText, 100),
    description: 'Names and values by which a pool is chosen: `pool_id` names one.',
    example: {},
    onCreate: { default: {} },
    set: 'once',
  },
  type: {
    ...enumeration(['PRIMARY', 'SECONDARY', 'CATALOG']),
    description:
      'PRIMARY for zones that are edited here, SECONDARY for copies of a primary elsewhere. CATALOG zones are made by the service alone.',
    example: 'PRIMARY',
    onCreate: { default: 'PRIMARY' },
    set: 'once',
  },
  masters: {
    ...list(master, 0, 50),
    description: 'The primaries that a SECONDARY zone is transferred from.',
    example: [],
    onCreate: { default: [] },
  },
  transferred_at: own(
    nullable(timestamp()),
    null,
    'When a SECONDARY zone was last transferred.',
    null,
  ),
});

/** A zone as the store holds it. */
export type Zone = ResourceOf<typeof zoneFields>;

/** What a zone shows when it has been deleted. */
export const DELETED = { status: 'PENDING', action: 'DELETE' } as const;

/** The right to choose a pool for a zone. */
export const CHOOSE_POOL = 'zones:choose_pool';
