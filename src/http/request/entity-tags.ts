import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/**
 * Entity tags of single resources (RFC 9110 section 8.8.3). A tag contains the revision of the
 * resource. Representations that differ at the same revision have a variant after the revision.
 */

const ENTITY_TAGS = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

/** Separates the id, the time of the last change, and the variant. */
const SEPARATOR = '/';

export function entityTag(revision: string, variant?: string): string {
  return `"${revision}${variant === undefined ? '' : SEPARATOR + variant}"`;
}

/** Returns a variant for members that change without a new revision. */
export function variantOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** Returns the tag of the state that the caller has, without its quotes. */
export function knownTag({ headers }: FastifyRequest): string | undefined {
  const given = headers['if-none-match'];
  return given === undefined ? undefined : ([...given.matchAll(ENTITY_TAGS)][0]?.[2] ?? given);
}

/** Returns whether the caller already has the representation with this tag. */
export function isKnown({ headers }: FastifyRequest, tag: string): boolean {
  const given = headers['if-none-match'];
  if (given === undefined) return false;
  return (
    given.trim() === '*' ||
    [...given.matchAll(ENTITY_TAGS)].some(([, , each]) => `"${each}"` === tag)
  );
}

/**
 * Returns the revisions of which the resource must have one, or undefined if it may have any. A
 * weak tag matches no resource (RFC 9110 section 13.1.1).
 */
export function expectedRevisions({ headers }: FastifyRequest): readonly string[] | undefined {
  const given = headers['if-match'];
  if (given === undefined || given.trim() === '*') return undefined;
  return [...given.matchAll(ENTITY_TAGS)].flatMap(([, weak, tag = '']) =>
    weak === undefined ? [tag.split(SEPARATOR).slice(0, 2).join(SEPARATOR)] : [],
  );
}
