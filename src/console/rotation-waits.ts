import { visible } from './parts/text.tsx';
import type { Waiting } from './resources.ts';

/** What a rotation waits for, with the names of whom it waits for. */
const WAITS: Readonly<Record<Waiting['reason'], (who: string) => string>> = {
  not_verified: (who) => `These name servers have not verified the new key yet: ${who}.`,
  unconfirmed: (who) =>
    `These clients were not seen with the new key, and nobody confirmed them: ${who}.`,
  unknown_consumers: (who) =>
    `The log of ${who} does not show every client. Confirm once all of them have the new key.`,
  in_use: (who) => `These clients still use the old key: ${who}.`,
  referenced: (who) => `A configuration still names the old key: ${who}.`,
  manual: () => 'The old key works until somebody retires it.',
};

export function waitText({ reason, who }: Pick<Waiting, 'reason' | 'who'>): string {
  return WAITS[reason](who.length === 0 ? 'any name server' : who.map(visible).join(', '));
}
