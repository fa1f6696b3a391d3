import { isSameKey, type Key } from '../formats/key.ts';
import { comparisonForm, zoneText } from '../core/text/dns-name.ts';
import { firstOf } from '../core/text/first-of.ts';
import { type DefinedKey, type Finding, type Matrix, type ServerConfiguration } from './access.ts';
import { publicationOf } from './published-secrets.ts';

const SHOWN_ZONES = 10;

/** Returns the first names of a list of zones, and how many more there are. */
export function zonesText(zones: readonly string[]): string {
  return firstOf(zones, SHOWN_ZONES, zoneText).join(', ');
}

/**
 * Returns what needs a person in the keys themselves. `weaknessesOf` returns the weaknesses of a key
 * that the service warns about, and `others` are the keys of the service. No text contains a secret.
 */
export function keyFindings(
  keys: readonly DefinedKey[],
  serviceKeys: readonly Pick<Key, 'name' | 'secret'>[],
  weaknessesOf: (key: Key) => readonly string[],
): Finding[] {
  return [
    ...keys.flatMap(({ key, place }) =>
      [...weaknessesOf(key), ...guessable(key)].map((text) =>
        finding('weak_key', place, key, text),
      ),
    ),
    ...keys.flatMap(({ key, place }) => {
      const source = publicationOf(key.secret);
      const text = `its secret is published (${source ?? ''}), so anyone can sign with it`;
      return source === undefined ? [] : [finding('published_secret', place, key, text)];
    }),
    ...keys.flatMap(({ key, place }, index) => {
      const here = keys
        .slice(0, index)
        .find((other) => other.key.secret === key.secret && !isSameKey(other.key, key));
      const there = serviceKeys.find(
        ({ name, secret }) =>
          secret === key.secret && comparisonForm(name) !== comparisonForm(key.name),
      );
      const same = here?.key.name ?? (there && `${there.name}, which the service has`);
      const text = `it has the same secret as ${same ?? ''}`;
      return same === undefined ? [] : [finding('same_secret', place, key, text)];
    }),
  ];
}

const NO_ZONES =
  'the configuration contains no zone with data, so its keys get no rights: if the name server has its zones elsewhere, import them too, or read the running server';

export function useFindings(configuration: ServerConfiguration, { open }: Matrix): Finding[] {
  const { keys, zones, findings, unread } = configuration;
  const used = usedKeys(configuration);
  const unused =
    unread.length > 0 ? [] : keys.filter(({ key }) => !used.has(comparisonForm(key.name)));
  const [first] = unused;
  return [
    // Without zones, a list may name the keys that no zone here uses.
    ...(zones.length === 0 && first !== undefined
      ? [{ kind: 'no_zones', place: first.place, text: NO_ZONES }]
      : unused.map(({ key, place }) =>
          finding('unused_key', place, key, 'the configuration uses it nowhere'),
        )),
    ...findings,
    ...open.map(({ right, zones, addresses }) => ({
      kind: 'open',
      place: '',
      text: `${right} of ${zonesText(zones)} needs no key from ${addresses === 'everyone' ? 'anywhere' : firstOf(addresses, SHOWN_ZONES, String).join(', ')}`,
    })),
  ];
}

function finding(kind: string, place: string, { name }: Key, text: string): Finding {
  return { kind, place, text: `${name}: ${text}` };
}

/** Returns why a secret can be guessed, besides its length. */
function guessable({ name, secret }: Key): string[] {
  const octets = Buffer.from(secret, 'base64');
  if (octets.length === 0) return [];
  if (new Set(octets).size <= octets.length / 4) return ['its secret repeats a few octets'];
  if (octets.toString('latin1').toLowerCase() === comparisonForm(name))
    return ['its secret is its name'];
  return octets.every((octet) => octet >= 0x20 && octet < 0x7f) ? ['its secret is text'] : [];
}

function usedKeys({ zones, references }: ServerConfiguration): Set<string> {
  const lists = new Set(zones.flatMap(({ lists: { transfer, update } }) => [transfer, update]));
  return new Set([
    ...[...lists].flatMap((list) => list?.keys ?? []),
    ...references.map(({ key }) => key),
  ]);
}
