import { EXPORT_FORMATS, exportKey, readPrimary, type KeyFile } from '../export-formats/formats.ts';
import { integer, text, timestamp, type ValueOf } from '../model/field.ts';
import type { LinkFault } from '../model/error-table.ts';
import { ServiceError } from '../model/errors.ts';
import { described, object, optional, withDefault } from '../model/object.ts';
import { readable } from '../model/unreadable.ts';
import type { AuditOrigin } from '../operations/audit-entry.ts';
import { change, type Changes, type Dependencies } from '../operations/change.ts';
import { existing, requireShown } from '../operations/visibility.ts';
import { keyShare, type KeyShare } from '../resources/key-share.ts';
import { SHARE_RIGHT } from '../resources/limits.ts';
import { isGenuine } from '../resources/token.ts';
import { hashToken } from '../resources/token-hash.ts';
import { tsigkey, type Tsigkey } from '../resources/tsigkey.ts';
import { millisecondsOf, timestampOf } from '../text/timestamps.ts';
import { defineAction, type ActionRequest } from './action.ts';
import { EXPORT_PARAMETERS } from './key-export.ts';

/** The longest life of a link, in seconds. */
const MAX_SECONDS = 7 * 86_400;

/** The stored links to one key. A further one replaces one that is void, or else the oldest. */
const MAX_LINKS = 100;

const TOKEN_OCTETS = 32;

export const SHARED = object({
  url: described(
    text({ min: 1, max: 2048 }),
    'The address of the link. It is shown only here, and not stored.',
  ),
  expires_at: described(timestamp(), 'The time at which the link expires.'),
});

export const WITHDRAWN = object({
  count: described(integer(0), 'The number of links that worked until now.'),
});

const { format, for: side, primary, zone } = EXPORT_PARAMETERS;

/** The actions that hand a key over by a link that works once. */
export const SHARE_ACTIONS = [
  defineAction({
    path: `/v2/${tsigkey.collection}/{id}/share`,
    method: 'POST',
    right: SHARE_RIGHT,
    operationId: 'share_tsigkey',
    summary: `Create a link that shows a ${tsigkey.words.one} once`,
    description:
      'Returns an address for someone without a token. Its page shows the exported key once, after a click, so that programs that preview links do not use it up. The link is void once it was opened, has expired or was withdrawn, or the key was changed, rotated in place, retired or deleted. Also requires the right `tsigkeys:reveal`. A key has 100 links at most: a further one replaces one that is void, or else the oldest.',
    type: tsigkey,
    errors: ['invalid_object', 'not_exportable', 'unreadable_secret'],
    body: {
      kind: object({
        format: described(format, format.description),
        for: described(optional(side), side.description),
        primary: described(optional(primary), primary.description),
        zone: described(optional(zone), zone.description),
        expires_seconds: described(
          withDefault(integer(60, MAX_SECONDS), MAX_SECONDS),
          'How long the link works, in seconds.',
        ),
      }),
      schemaName: 'TsigKeyShare',
      what: 'link',
      examples: {
        one: {
          summary: 'For a secondary on Knot DNS, for two days.',
          value: {
            format: 'knot',
            for: 'secondary',
            primary: '192.0.2.53',
            expires_seconds: 172_800,
          },
        },
      },
    },
    response: {
      kind: SHARED,
      schemaName: 'TsigKeyLink',
      description: 'The link.',
      examples: {
        one: {
          summary: 'The link.',
          value: {
            url: 'https://dns.example.org/share/tsigkey/pZ1x0s4q7vYk2WcB8uJmQe5tRh9nLd3gFa6iXo0zKyE',
            expires_at: '2030-01-31T12:00:00.000000',
          },
        },
      },
    },
    run: shareKey,
  }),
  defineAction({
    path: `/v2/${tsigkey.collection}/{id}/unshare`,
    method: 'POST',
    right: SHARE_RIGHT,
    operationId: 'unshare_tsigkey',
    summary: `Withdraw all links to a ${tsigkey.words.one}`,
    description: 'Voids every link to the key that still works.',
    type: tsigkey,
    response: {
      kind: WITHDRAWN,
      schemaName: 'TsigKeyLinksWithdrawn',
      description: 'How many links were withdrawn.',
      examples: { one: { summary: 'One link.', value: { count: 1 } } },
    },
    run: unshareKey,
  }),
];

interface ShareRequest {
  readonly format: string;
  readonly for?: KeyShare['side'] | undefined;
  readonly primary?: string | undefined;
  readonly zone?: string | undefined;
  readonly expires_seconds: number;
}

async function shareKey({
  dependencies,
  context,
  base,
  id,
  body,
}: ActionRequest<ShareRequest>): Promise<ValueOf<typeof SHARED>> {
  const { newId, randomBytes, clock } = dependencies;
  requireShown(dependencies, context.caller, tsigkey);
  const secret = randomBytes(TOKEN_OCTETS).toString('base64url');
  const linkId = newId();
  const expiresAt = timestampOf(millisecondsOf(clock()) + body.expires_seconds * 1000);
  await change(dependencies, { ...context, right: SHARE_RIGHT }, async (changes) => {
    const found = await changes.getToChange(tsigkey, id);
    const key = await existing(changes, tsigkey, context.caller, found);
    exportKey(
      body.format,
      { name: key.name, algorithm: key.algorithm, secret: readable(key.secret) },
      readPrimary(body.format, body),
    );
    const now = changes.now();
    const ended = await endOldest(changes, key, now);
    await changes.put(keyShare, {
      id: linkId,
      hash: hashToken(secret),
      key_id: id,
      key_version: key.version,
      format: body.format,
      side: body.for ?? 'primary',
      primary_address: body.primary ?? null,
      zone: body.zone ?? null,
      expires_at: expiresAt,
      opened_at: null,
      created_at: now,
      updated_at: null,
    });
    changes.event({
      action: SHARE_RIGHT,
      type: tsigkey,
      id,
      name: key.name,
      detail: {
        link: linkId,
        format: body.format,
        for: body.for,
        expires_at: expiresAt,
        ...(ended.length === 0 ? {} : { ended }),
      },
    });
  });
  return { url: `${base}${SHARE_PATH}${secret}`, expires_at: expiresAt };
}

/** Deletes links to a key, so that one more is within the limit. Returns those that worked. */
async function endOldest(changes: Changes, key: Tsigkey, now: string): Promise<string[]> {
  const works = (link: KeyShare) => faultOf(link, key, now) === undefined;
  const links = await changes.find(keyShare, 'key', [key.id]);
  links.sort((one, other) =>
    works(one) === works(other)
      ? one.created_at.localeCompare(other.created_at)
      : Number(works(one)) - Number(works(other)),
  );
  const dropped = links.slice(0, Math.max(0, links.length - MAX_LINKS + 1));
  for (const { id } of dropped) await changes.drop(keyShare, id);
  return dropped.filter(works).map(({ id }) => id);
}

async function unshareKey({
  dependencies,
  context,
  id,
}: ActionRequest): Promise<ValueOf<typeof WITHDRAWN>> {
  return change(dependencies, { ...context, right: SHARE_RIGHT }, async (changes) => {
    const found = await changes.getToChange(tsigkey, id);
    const key = await existing(changes, tsigkey, context.caller, found);
    const now = changes.now();
    const links = await changes.find(keyShare, 'key', [id]);
    const open = links.filter((link) => faultOf(link, key, now) === undefined);
    for (const { id: linkId } of open) await changes.drop(keyShare, linkId);
    if (open.length > 0)
      changes.event({
        action: 'tsigkeys:unshare',
        type: tsigkey,
        id,
        name: key.name,
        detail: { links: open.map((link) => link.id) },
      });
    return { count: open.length };
  });
}

/** Where links are, below the base URL. The secret of the link follows. */
export const SHARE_PATH = '/share/tsigkey/';

/** What a link shows, before it is opened. */
export interface LinkPreview {
  readonly name: string;
  /** The program that reads the text. */
  readonly consumer: string;
  readonly side: KeyShare['side'];
  readonly expiresAt: string;
}

/** Returns what a link is for, without using it. Throws `not_found` and `link_gone`. */
export async function previewLink(
  { store, clock }: Pick<Dependencies, 'store' | 'clock'>,
  secret: string,
): Promise<LinkPreview> {
  const link = await findLink(store, secret);
  const key = await store.get(tsigkey, link.key_id);
  const { name } = usableKey(link, key, clock());
  return {
    name,
    consumer: EXPORT_FORMATS[link.format]?.consumer ?? link.format,
    side: link.side,
    expiresAt: link.expires_at,
  };
}

/**
 * Uses a link, and returns the exported key. Of several requests, one gets it. Throws `not_found`,
 * `link_gone`, and the errors of an export.
 */
export function openLink(
  dependencies: Dependencies,
  origin: Omit<AuditOrigin, 'caller' | 'actorKind'>,
  secret: string,
): Promise<KeyFile> {
  const caller = { id: 'link', name: 'link', roles: [], projectId: null, allProjects: false };
  const context = { ...origin, caller, actorKind: 'link' } as const;
  return change(dependencies, context, async (changes) => {
    const { id } = await findLink(changes, secret);
    const link = await changes.getToChange(keyShare, id);
    if (link === undefined || !isGenuine(link)) throw new ServiceError('not_found');
    const now = changes.now();
    const key = usableKey(link, await changes.get(tsigkey, link.key_id), now);
    const { name, algorithm } = key;
    const file = exportKey(
      link.format,
      { name, algorithm, secret: readable(key.secret) },
      readPrimary(link.format, {
        for: link.side,
        primary: link.primary_address ?? undefined,
        zone: link.zone ?? undefined,
      }),
    );
    await changes.put(keyShare, { ...link, opened_at: now, updated_at: now });
    changes.event({
      action: 'tsigkey.link.opened',
      type: tsigkey,
      id: key.id,
      name,
      detail: { link: id, format: link.format },
    });
    return file;
  });
}

/** Returns the link with this secret. Throws `not_found`, also for a row of another program. */
async function findLink(reader: Pick<Changes, 'find'>, secret: string): Promise<KeyShare> {
  const [link] = await reader.find(keyShare, 'hash', [hashToken(secret)]);
  if (link === undefined || !isGenuine(link)) throw new ServiceError('not_found');
  return link;
}

/** Returns the key of a link that works. Throws `link_gone`. */
function usableKey(link: KeyShare, key: Tsigkey | undefined, now: string): Tsigkey {
  const fault = faultOf(link, key, now);
  if (fault !== undefined) throw new ServiceError('link_gone', fault);
  if (key === undefined) throw new ServiceError('link_gone', 'changed');
  return key;
}

/** Returns why a link does not work any more, or undefined. */
function faultOf(
  link: KeyShare,
  key: Pick<Tsigkey, 'version'> | undefined,
  now: string,
): LinkFault | undefined {
  if (link.opened_at !== null) return 'opened';
  if (link.expires_at <= now) return 'expired';
  return key?.version === link.key_version ? undefined : 'changed';
}
