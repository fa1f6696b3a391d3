import { shownMembers, type ResourceType, type Resource } from '../core/resource.ts';

/** Each function returns exactly the text that `JSON.stringify` returns for the same members. */
export interface ResourceWriter {
  write(resource: Resource, collectionUrl: string): string;
  /** Returns one resource. The members in `further` follow all other members. */
  writeWith(resource: Resource, collectionUrl: string, further: readonly string[]): string;
  writeList(resources: readonly Resource[], collectionUrl: string): string;
}

/** The timestamps. The service writes them itself, so they need no escaping, and neither do ids. */
const PLAIN_MEMBERS = ['created_at', 'updated_at'];

/**
 * The characters that JSON escapes. JSON also escapes a lone surrogate, so text with any surrogate
 * is passed to `JSON.stringify`.
 */
const ESCAPED = /[\0-\x1f"\\\ud800-\udfff]/;

/** A member of a resource, and the texts before its value. */
interface Member {
  readonly name: string;
  /** Whether the value needs no escaping. */
  readonly isPlain: boolean;
  readonly start: string;
  /** `start` after a string that lacks its closing quote. */
  readonly startAfterString: string;
}

/** Prepares the member names once, because all resources of a type have the same members. */
export function createWriter(
  type: ResourceType,
  hiddenMembers: readonly string[] = [],
): ResourceWriter {
  const names = shownMembers(type).filter((name) => name !== 'id' && !hiddenMembers.includes(name));
  const members = names.map(memberOf);
  const linkStartOf = (collectionUrl: string) =>
    `,"links":{"self":${JSON.stringify(`${collectionUrl}/`).slice(0, -1)}`;
  const writeOne = (resource: Resource, linkStart: string) =>
    `${appendMembers(`{"id":"${resource.id}`, true, members, resource)}${linkStart}${resource.id}"}`;
  return {
    write: (resource, collectionUrl) => `${writeOne(resource, linkStartOf(collectionUrl))}}`,
    writeWith(resource, collectionUrl, further) {
      const text = writeOne(resource, linkStartOf(collectionUrl));
      return `${appendMembers(text, false, further.map(memberOf), resource)}}`;
    },
    writeList(resources, collectionUrl) {
      const linkStart = linkStartOf(collectionUrl);
      let text = '[';
      let start = '{"id":"';
      // Appending each part to the whole text is faster than joining the texts of the resources.
      for (const resource of resources) {
        text += start;
        text += resource.id;
        text = appendMembers(text, true, members, resource);
        text += linkStart;
        text += resource.id;
        start = '"}},{"id":"';
      }
      return resources.length === 0 ? '[]' : `${text}"}}]`;
    },
  };
}

function memberOf(name: string): Member {
  const start = `,${JSON.stringify(name)}:`;
  return { name, isPlain: PLAIN_MEMBERS.includes(name), start, startAfterString: `"${start}` };
}

/**
 * Returns `begin` followed by members of a resource. Omits undefined members. If `isInString`,
 * `begin` ends with a string that lacks its closing quote.
 */
function appendMembers(
  begin: string,
  isInString: boolean,
  members: readonly Member[],
  resource: Resource,
): string {
  let text = begin;
  let inString = isInString;
  for (const { name, isPlain, start, startAfterString } of members) {
    const value = resource[name];
    if (value === undefined) continue;
    text += inString ? startAfterString : start;
    inString = typeof value === 'string' && (isPlain || !ESCAPED.test(value));
    if (inString) text += `"${value as string}`;
    else text += value === null ? 'null' : JSON.stringify(value);
  }
  return inString ? `${text}"` : text;
}
