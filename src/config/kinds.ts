/**
 * The kinds of values that only settings have. `src/core/field.ts` defines the kinds that
 * resources share.
 */
import { parseDatabaseUrl } from '../core/text/database-url.ts';
import { parseMasterKeys } from '../core/master-key.ts';
import { isObject, list, map, text, type Kind } from '../core/field.ts';
import { CONFIGURABLE_RIGHTS, DEFAULT_POLICY } from '../resources/policy.ts';
import { readNetwork } from '../core/text/networks.ts';
import { suggestion } from '../core/text/suggestion.ts';

/** The `format` in the schema of a path, by which `fileProblems` finds settings that name files. */
export const PATH_FORMAT = 'path';

/**
 * Text that `convert` accepts. `values` describes valid text and follows "must be" in messages.
 * `convert` returns the value, or undefined for invalid text.
 */
function textOf(
  values: string,
  convert: (value: string) => string | undefined,
  hint = '',
): Kind<string> {
  return {
    schema: { type: 'string', description: values },
    parse(given) {
      const value = typeof given === 'string' ? convert(given) : undefined;
      return value === undefined
        ? { problem: `must be ${values}${hint}`, validator: 'format' }
        : { value };
    },
  };
}

function matching(values: string, expression: RegExp, hint?: string): Kind<string> {
  return textOf(values, (value) => (expression.test(value) ? value : undefined), hint);
}

export function line(): Kind<string> {
  return matching('1 to 255 characters without control characters', /^\P{Cc}{1,255}$/u);
}

/** A password for another server. The service does not know that server's rules for passwords. */
export function password(): Kind<string> {
  return matching('text without control characters', /^\P{Cc}+$/u);
}

/** A token that an operator chooses: long enough that no one can guess it. */
export function tokenText(): Kind<string> {
  const values = '32 to 512 printable ASCII characters without blanks';
  return matching(values, /^[\x21-\x7e]{32,512}$/, '. Create one with: openssl rand -hex 32');
}

export function masterKeys(): Kind<string> {
  const values = 'a master key';
  const hint = '. Create one with: tsigil encryption new-master-key --file FILE';
  return textOf(values, (value) => ('keys' in parseMasterKeys(value) ? value : undefined), hint);
}

/** The path of a file. `fileProblems` checks that the service can read the file. */
export function path(): Kind<string> {
  const kind = matching('the path of a file', /^\P{Cc}+$/u);
  return { ...kind, schema: { ...kind.schema, format: PATH_FORMAT } };
}

export function address(): Kind<string> {
  return textOf('`host:port`', (value) => {
    const port = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(value)?.[1];
    return port !== undefined && Number(port) <= 65_535 ? value : undefined;
  });
}

/** A host as headers contain it: an ASCII name, an IPv4 address, or an IPv6 address in brackets. */
const ASCII_HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/;

/**
 * Returns the ASCII form of a base URL (https://url.spec.whatwg.org/), with a final slash if
 * `value` has one. Returns undefined if `value` is not a base URL.
 */
function asciiUrl(value: string): string | undefined {
  if (!URL.canParse(value)) return undefined;
  const { protocol, hostname, username, password: secret, href } = new URL(value);
  const isBase =
    ['http:', 'https:'].includes(protocol) &&
    ASCII_HOST.test(hostname) &&
    username + secret === '' &&
    !/[?#]/.test(href);
  if (!isBase) return undefined;
  return value.endsWith('/') ? href : href.replace(/\/$/, '');
}

/** A base URL. The parsed value is in ASCII, so every header and response can contain it. */
export function url(): Kind<string> {
  return textOf(
    'an http or https URL with a host name or address, without query, fragment or user',
    asciiUrl,
  );
}

/** An origin in the form in which browsers send it (RFC 6454 section 6.2). */
export function origin(): Kind<string> {
  return textOf('an origin such as `https://console.example`, without a path', (value) => {
    const ascii = asciiUrl(value);
    return ascii !== undefined && new URL(ascii).origin === ascii ? ascii : undefined;
  });
}

/** An IP address, or a network in CIDR notation whose address has no host bits. */
export function network(): Kind<string> {
  return textOf('an IP address or a network such as `10.0.0.0/8`', (value) =>
    'problem' in readNetwork(value) ? undefined : value,
  );
}

export function databaseUrl(): Kind<string> {
  const values = '`sqlite:PATH` or `postgres://USER@HOST/NAME`';
  return textOf(values, (value) => (parseDatabaseUrl(value) === undefined ? undefined : value));
}

/**
 * One value of the kind `item`, or a list of up to `max` different values. The parsed value is
 * always a list.
 */
export function oneOrMore<T>(item: Kind<T>, max: number): Kind<readonly T[]> {
  const several = list(item, 1, max);
  return {
    schema: { anyOf: [item.schema, several.schema] },
    parse(value) {
      if (Array.isArray(value)) return several.parse(value);
      const parsed = item.parse(value);
      return 'value' in parsed
        ? { value: [parsed.value] }
        : { ...parsed, problem: `${parsed.problem}, or a list of these` };
    },
  };
}

const isRight = (word: string) => Object.hasOwn(DEFAULT_POLICY, word);

function operation(): Kind<string> {
  return {
    schema: { type: 'string', enum: CONFIGURABLE_RIGHTS },
    parse(value) {
      const right = String(value);
      if (CONFIGURABLE_RIGHTS.includes(right)) return { value: right };
      const problem = isRight(right)
        ? 'is a right to tokens, which cannot be changed'
        : `is not a right${suggestion(right, CONFIGURABLE_RIGHTS)}`;
      return { problem, validator: 'enum' };
    },
  };
}

export function policy(): Kind<Readonly<Record<string, readonly string[]>>> {
  const kind = map(operation(), list(text({ min: 1, max: 255 }), 1, 100), 1000);
  return {
    schema: { ...kind.schema, description: 'a map from rights to lists of roles' },
    parse(value) {
      const parsed = kind.parse(value);
      if (!('problems' in parsed) || !isObject(value) || Object.keys(value).every(isRight))
        return parsed;
      const message = `the rights are ${CONFIGURABLE_RIGHTS.join(', ')}`;
      return {
        ...parsed,
        problems: [...parsed.problems, { path: [], message, validator: 'enum' }],
      };
    },
  };
}
