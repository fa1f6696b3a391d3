import { count, References, visible } from '../parts/text.tsx';
import type { Token } from '../resources.ts';

type Limited = Pick<Token, 'pools' | 'zones' | 'keys' | 'nameservers' | 'addresses'>;

/** The limits of tokens, with the collections of their ids. */
const LIMITS = [
  ['pools', 'pools', 'pool'],
  ['zones', 'zones', 'zone'],
  ['keys', 'tsigkeys', 'key'],
  ['nameservers', 'nameservers', 'name server'],
] as const;

/** Returns the limits of a token in a few words, or undefined if it has none. */
export function limitsInWords(token: Limited): string | undefined {
  const parts = LIMITS.flatMap(([name, , word]) => {
    const ids = token[name];
    return ids === null ? [] : [count(ids.length, word)];
  });
  const only = parts.length === 0 ? '' : `only ${parts.join(', ')}`;
  const from = token.addresses === null ? '' : `from ${count(token.addresses.length, 'network')}`;
  const words = [only, from].filter((text) => text !== '').join(', ');
  return words === '' ? undefined : words.charAt(0).toUpperCase() + words.slice(1);
}

/** The limits of a token, each with the names of its resources. */
export function Limits({ token, none }: { token: Limited; none: string }) {
  const { addresses } = token;
  if (limitsInWords(token) === undefined) return <span>{none}</span>;
  return (
    <ul>
      {LIMITS.map(([name, collection, word]) => {
        const ids = token[name];
        return ids === null ? null : (
          <li key={name}>
            Only the {ids.length === 1 ? word : `${word}s`}{' '}
            <References collection={collection} ids={ids} />
          </li>
        );
      })}
      {addresses === null ? null : (
        <li>
          Only from <bdi class="mono">{visible(addresses.join(', '))}</bdi>
        </li>
      )}
    </ul>
  );
}
