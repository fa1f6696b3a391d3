import { CONFIGURABLE_RIGHTS } from './domain/policy.ts';
import { DATABASES, isDatabase } from './store/databases.ts';

/** A value that was read, or what is wrong with it, worded to follow the option's name. */
export type Read = { readonly value: unknown } | { readonly problem: string };

/** How the values of a setting are told for people, and read. */
export interface Reading {
  /** What values it takes, for people. */
  readonly type: string;
  /** Reads a value from the file, or one that the environment's text stood for. */
  read(value: unknown): Read;
}

function reading(type: string, accepts: (value: unknown) => boolean): Reading {
  return { type, read: (value) => (accepts(value) ? { value } : { problem: `must be ${type}` }) };
}

function pattern(type: string, expression: RegExp): Reading {
  return reading(type, (value) => typeof value === 'string' && expression.test(value));
}

/** An integer in a range. */
export function integer(min: number, max: number): Reading {
  return reading(`an integer from ${min} to ${max}`, (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max);
}

/** One of a few integers. */
export function integerIn(values: number[]): Reading {
  return reading(values.join(' or '), (value) => values.includes(value as number));
}

/** One of a few words. */
export function oneOf(words: readonly string[]): Reading {
  return reading(words.join(', '), (value) => words.includes(value as string));
}

/** A switch. */
export function yesOrNo(): Reading {
  return reading('true or false', (value) => typeof value === 'boolean');
}

/** A word of letters, as it is part of a name. */
export function word(): Reading {
  return pattern('a word of letters', /^[A-Za-z]+$/);
}

/** A file's path; nothing is opened. */
export function file(): Reading {
  return pattern('the path of a file', /^\P{Cc}+$/u);
}

/** What a token may look like. */
export function tokenText(): Reading {
  return pattern('1 to 512 printable ASCII characters without blanks', /^[\x21-\x7e]{1,512}$/);
}

/** Where to listen. */
export function address(): Reading {
  return reading('`host:port`', (value) => {
    const port = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(String(value))?.[1];
    return typeof value === 'string' && port !== undefined && Number(port) <= 65_535;
  });
}

function isHttpUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, search, hash, username } = new URL(value);
  return ['http:', 'https:'].includes(protocol) && search + hash + username === '';
}

/** A base URL. */
export function url(): Reading {
  return reading('an http or https URL without query, fragment or user', isHttpUrl);
}

/** Origins as browsers send them. */
export function origins(): Reading {
  return reading(
    'a list of origins',
    (value) => Array.isArray(value) && value.every((item) => isHttpUrl(item) && new URL(item as string).origin === item),
  );
}

/** A database by the scheme of its URL. */
export function database(): Reading {
  const schemes = Object.keys(DATABASES).map((scheme) => `\`${scheme}:\``);
  return reading(`${schemes.join(' or ')} and a location`, isDatabase);
}

/** The roles of operations. */
export function policy(): Reading {
  return {
    type: 'a map from operations to lists of roles',
    read(value) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: 'must be a map from operations to lists of roles' };
      const problems = Object.entries(value).flatMap(([right, roles]) => {
        if (!CONFIGURABLE_RIGHTS.includes(right)) return [`'${right}' is not an operation (${CONFIGURABLE_RIGHTS.join(', ')})`];
        const isList = Array.isArray(roles) && roles.length > 0 && roles.every((role) => typeof role === 'string' && role !== '');
        return isList ? [] : [`'${right}' must be a list of roles`];
      });
      return problems.length === 0 ? { value } : { problem: problems.join('; ') };
    },
  };
}

/** Any text without control characters. */
export function text(): Reading {
  return pattern('1 to 255 characters without control characters', /^\P{Cc}{1,255}$/u);
}

/** One or more of a few words: a word by itself, or a list without repetitions. The value is a list. */
export function someOf(words: readonly string[]): Reading {
  const type = `${words.join(', ')}, or a list of these`;
  return {
    type,
    read(value) {
      const list: unknown[] = Array.isArray(value) ? value : [value];
      const valid = list.length > 0 && list.every((item) => words.includes(item as string)) && new Set(list).size === list.length;
      return valid ? { value: list } : { problem: `must be ${type}` };
    },
  };
}
