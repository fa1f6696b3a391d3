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

/** One setting: its key in the configuration file, from which the environment variable's name follows. */
export interface Option extends Reading {
  readonly key: string;
  readonly default: unknown;
  readonly meaning: string;
  /** True for values that `check-config` must hide. They can also be given as a file. */
  readonly secret?: boolean;
  /** The environment variable, where it does not follow from the key. */
  readonly variable?: string;
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

/** A word of letters, as it is part of a header's name. */
export function word(): Reading {
  return pattern('a word of 1 to 64 letters', /^[A-Za-z]{1,64}$/);
}

/** A file's path; nothing is opened. */
export function file(): Reading {
  return pattern('the path of a file', /^\P{Cc}+$/u);
}

/** A token that an operator chooses: long enough that no one can guess it. */
export function tokenText(): Reading {
  const type = '32 to 512 printable ASCII characters without blanks';
  const isToken = (value: unknown) => typeof value === 'string' && /^[\x21-\x7e]{32,512}$/.test(value);
  return { type, read: (value) => (isToken(value) ? { value } : { problem: `must be ${type}. Make one with: openssl rand -hex 32` }) };
}

/** A password for a server that sets its own rules. */
export function password(): Reading {
  return pattern('text without control characters', /^\P{Cc}+$/u);
}

/** Where to listen. */
export function address(): Reading {
  return reading('`host:port`', (value) => {
    const port = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(String(value))?.[1];
    return typeof value === 'string' && port !== undefined && Number(port) <= 65_535;
  });
}

/** A host as a header can carry it: a name in ASCII form, an IPv4 address, or an IPv6 address in brackets. */
const ASCII_HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/;

/** The ASCII form of a base URL (https://url.spec.whatwg.org/), with a final slash where `value` has one; undefined if it is no base URL. */
function asciiUrl(value: unknown): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
  const { protocol, hostname, username, password, href } = new URL(value);
  const isBase = ['http:', 'https:'].includes(protocol) && ASCII_HOST.test(hostname) && username + password === '' && !/[?#]/.test(href);
  if (!isBase) return undefined;
  return value.endsWith('/') ? href : href.replace(/\/$/, '');
}

/** A base URL. The value is its ASCII form, which any header and answer can carry. */
export function url(): Reading {
  const type = 'an http or https URL with a host name or address, without query, fragment or user';
  return {
    type,
    read(given) {
      const value = asciiUrl(given);
      return value === undefined ? { problem: `must be ${type}` } : { value };
    },
  };
}

/** Origins in the form in which browsers send them (RFC 6454 section 6.2). */
export function origins(): Reading {
  const type = 'a list of origins such as `https://console.example`, without a path';
  return {
    type,
    read(given) {
      const value = Array.isArray(given) ? given.map(asciiUrl) : [undefined];
      return value.every((item) => item !== undefined && new URL(item).origin === item) ? { value } : { problem: `must be ${type}` };
    },
  };
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
