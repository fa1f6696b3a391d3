import type { Consumer } from '../../resources/lineage.ts';
import type { Description } from '../edit-description.ts';
import { InvalidArgumentError, parsed, text, toggle } from '../../cli/flags/flag.ts';
import { readExpiry } from '../../cli/flags/time.ts';

/** The values of the flags about the use of a key. False takes a value away. */
interface DescriptionValues extends Readonly<Record<string, unknown>> {
  readonly owner?: string | false;
  readonly purpose?: string | false;
  readonly consumer?: readonly Consumer[] | false;
  readonly expires?: string | false;
}

export const DESCRIPTION_FLAGS = {
  owner: text('<text>', 'who answers for the key and its successors'),
  noOwner: toggle('forget the owner'),
  purpose: text('<text>', 'what the key and its successors are for'),
  noPurpose: toggle('forget the purpose'),
  consumer: parsed(
    '<name[=address[,contact]]>',
    'who uses the key and its successors; a rotation waits for each; replaces the list; repeat the flag for more consumers',
    collectConsumer,
  ),
  noConsumer: toggle('forget all consumers'),
  expires: text(
    '<time>',
    'when the key should be replaced: a timestamp, or a duration such as 365d; the service warns before',
  ),
  noExpires: toggle('forget the expiry'),
};

/** Returns what the flags say about a key, or undefined if no flag is set. Throws `CommandError`. */
export function readDescription(
  { owner, purpose, consumer, expires }: DescriptionValues,
  now: number,
): Description | undefined {
  const description = {
    ...(owner === undefined ? {} : { owner: owner === false ? null : owner }),
    ...(purpose === undefined ? {} : { purpose: purpose === false ? null : purpose }),
    ...(consumer === undefined ? {} : { consumers: consumer === false ? [] : consumer }),
    ...(expires === undefined
      ? {}
      : { expires_at: expires === false ? null : readExpiry(expires, now) }),
  };
  return Object.keys(description).length === 0 ? undefined : description;
}

function collectConsumer(
  given: string,
  earlier: readonly Consumer[] | undefined | false,
): readonly Consumer[] {
  const [, name = '', address = '', contact = ''] =
    /^([^=,]+)(?:=([^,]*)(?:,(.*))?)?$/.exec(given) ?? [];
  if (name === '')
    throw new InvalidArgumentError('Use NAME, NAME=ADDRESS or NAME=ADDRESS,CONTACT.');
  const consumer = { name, address: orNull(address), contact: orNull(contact) };
  return [...(earlier === undefined || earlier === false ? [] : earlier), consumer];
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}
