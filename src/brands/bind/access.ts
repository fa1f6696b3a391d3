import { OF_SESSION } from '../../formats/read-bind.ts';
import type { ReadIncluded } from '../../formats/reader.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import type { ServerConfiguration } from '../../access/access.ts';
import { blockOf, named, wordsOf, type Statement } from './access-lists.ts';
import { openPolicies, otherZones, referencesIn, undefinedKeys } from './access-references.ts';
import { readBindRights } from './access-rights.ts';

/** Reads `named.conf` with included files, or `named-checkconf -p`. Throws `KeyFileError`. */
export function readBindAccess(
  text: string,
  include: ReadIncluded = () => [],
  path = 'named.conf',
): ServerConfiguration {
  const { rights, top, find, at, uses } = readBindRights(text, include, path);
  const references = [...referencesIn(top, find, at), ...rights.references];
  // named itself makes the key of its session.
  const made = [...uses].flatMap(([name, use]) => (use === OF_SESSION ? [name] : []));
  const findings = [
    ...undefinedKeys(new Set([...clauseNames(top), ...made]), rights.zones, references),
    ...openPolicies(top, at),
    ...otherZones(top, at),
  ];
  return { ...rights, references, findings };
}

/** Returns the names of all key clauses in comparison form, also of those with a fault. */
function clauseNames(top: readonly Statement[]): string[] {
  const scopes = [top, ...named(top, 'view').map(blockOf)];
  return scopes
    .flatMap((statements) => named(statements, 'key'))
    .map((statement) => nameForm(wordsOf(statement)[1] ?? ''));
}
