import { InvalidArgumentError, Option } from 'commander';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { Consumer } from '../../domain/resources/lineage.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import type { Description } from '../../domain/rotation/describe.ts';
import { readExpiry } from './time.ts';

/** The flags about the use of a key. False takes a value away. */
export interface DescriptionFlags {
  readonly owner?: string | false;
  readonly purpose?: string | false;
  readonly consumer?: readonly Consumer[] | false;
  readonly expires?: string | false;
}

/** Returns the flags that say who uses a key, and until when. Empty for other resources. */
export function descriptionOptions(type: ResourceType): Option[] {
  if (type !== tsigkey) return [];
  return [
    new Option('--owner <text>', 'who answers for the key and its successors'),
    new Option('--no-owner', 'forget the owner'),
    new Option('--purpose <text>', 'what the key and its successors are for'),
    new Option('--no-purpose', 'forget the purpose'),
    new Option(
      '--consumer <name[=address[,contact]]>',
      'who uses the key and its successors; a rotation waits for each; replaces the list; repeat the flag for more consumers',
    ).argParser(collectConsumer),
    new Option('--no-consumer', 'forget all consumers'),
    new Option(
      '--expires <time>',
      'when the key should be replaced: a timestamp, or a duration such as 365d; the service warns before',
    ),
    new Option('--no-expires', 'forget the expiry'),
  ];
}

/** Returns what the flags say about a key, or undefined if no flag is set. Throws `CommandError`. */
export function readDescription(
  { owner, purpose, consumer, expires }: DescriptionFlags,
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

function collectConsumer(text: string, earlier: readonly Consumer[] | false | undefined) {
  const [, name = '', address = '', contact = ''] =
    /^([^=,]+)(?:=([^,]*)(?:,(.*))?)?$/.exec(text) ?? [];
  if (name === '')
    throw new InvalidArgumentError('Use NAME, NAME=ADDRESS or NAME=ADDRESS,CONTACT.');
  const consumer = { name, address: orNull(address), contact: orNull(contact) };
  return [...(earlier === undefined || earlier === false ? [] : earlier), consumer];
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}
