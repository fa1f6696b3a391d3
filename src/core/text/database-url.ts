export interface DatabaseForm {
  /** Whether several processes may use one database. */
  readonly shared: boolean;
  /** Returns whether `location`, the part after the scheme, is valid. */
  accepts(location: string): boolean;
}

const sqlite: DatabaseForm = {
  shared: false,
  accepts: (location) => !/^:memory:$|^\/\/[^/]/.test(location),
};
const postgres: DatabaseForm = {
  shared: true,
  accepts: (location) => URL.canParse(`postgres:${location}`) && /^\/\/[^/]/.test(location),
};

const SCHEMES = ['sqlite', 'postgres', 'postgresql'] as const;

export type DatabaseScheme = (typeof SCHEMES)[number];

/** The forms of database URLs by scheme: `sqlite:var/tsigil.db`, `postgres://user@host/tsigil`. */
export const DATABASE_FORMS: Readonly<Record<DatabaseScheme, DatabaseForm>> = {
  sqlite,
  postgres,
  postgresql: postgres,
};

interface DatabaseUrl {
  readonly scheme: DatabaseScheme;
  /** The part after the scheme and its colon. */
  readonly location: string;
}

export function parseDatabaseUrl(text: string): DatabaseUrl | undefined {
  const [, name, location = ''] = /^([a-z]+):(.+)$/.exec(text) ?? [];
  const scheme = SCHEMES.find((each) => each === name);
  return scheme !== undefined && DATABASE_FORMS[scheme].accepts(location)
    ? { scheme, location }
    : undefined;
}

/** Hides the passwords in a database URL, before the host and in the parameters. */
export function withoutPassword(url: string): string {
  return url
    .replace(/(:\/\/[^/?#:]*:)[^/?#]*@/, '$1(hidden)@')
    .replaceAll(/([?&](?:ssl)?password=)[^&#]*/gi, '$1(hidden)');
}
