import { shownMembers, type ResourceType, type Resource } from '../domain/model/resource.ts';

/**
 * The functions that write resources of one type as JSON. Each function returns exactly the text
 * that `JSON.stringify` returns for the same members.
 */
export interface ResourceWriter {
  /** Returns one resource. `collectionUrl` is the URL of its collection. */
  write(resource: Resource, collectionUrl: string): string;
  /** Returns one resource. The members in `further` follow all other members. */
  writeWith(resource: Resource, collectionUrl: string, further: readonly string[]): string;
  /** Returns an array of resources. */
  writeList(resources: readonly Resource[], collectionUrl: string): string;
}

/** Values that the service writes itself and that need no escaping: UUIDs and timestamps. */
const PLAIN_MEMBERS = ['id', 'created_at', 'updated_at'];

/**
 * The characters that JSON escapes. JSON also escapes a lone surrogate, so text with any surrogate
 * is passed to `JSON.stringify`.
 */
const ESCAPED = /[\0-\x1f"\\\ud800-\udfff]/;

/**
 * Creates a writer for the resources of a type. Prepares the member names once, because all
 * resources of a type have the same members. Omits the members in `hidden`.
 */
export function createWriter(type: ResourceType, hidden: readonly string[] = []): ResourceWriter {
  const members = shownMembers(type).filter((name) => !hidden.includes(name));
  const [first, ...others] = members.map((name, index) =>
    memberWriter(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`, name),
  );
  const writeMembers = (resource: Resource, linkStart: string) => {
    let text = first?.(resource) ?? '';
    for (const write of others) text += write(resource);
    return `${text}${linkStart}${resource.id}"}`;
  };
  const linkStartOf = (collectionUrl: string) =>
    `,"links":{"self":${JSON.stringify(`${collectionUrl}/`).slice(0, -1)}`;
  return {
    write: (resource, collectionUrl) => `${writeMembers(resource, linkStartOf(collectionUrl))}}`,
    writeWith(resource, collectionUrl, further) {
      const members = further.map((name) =>
        memberWriter(`,${JSON.stringify(name)}:`, name)(resource),
      );
      return `${writeMembers(resource, linkStartOf(collectionUrl))}${members.join('')}}`;
    },
    writeList(resources, collectionUrl) {
      const linkStart = linkStartOf(collectionUrl);
      let text = '[';
      let separator = '';
      for (const resource of resources) {
        text += `${separator}${writeMembers(resource, linkStart)}}`;
        separator = ',';
      }
      return `${text}]`;
    },
  };
}

/**
 * Returns a function that writes the member `name` of a resource after `start`. An undefined member
 * is omitted.
 */
function memberWriter(start: string, name: string): (resource: Resource) => string {
  const startOfText = `${start}"`;
  const ofNull = `${start}null`;
  const isPlain = PLAIN_MEMBERS.includes(name);
  return (resource) => {
    const value = resource[name];
    if (typeof value === 'string')
      return isPlain || !ESCAPED.test(value)
        ? `${startOfText}${value}"`
        : start + JSON.stringify(value);
    if (value === null) return ofNull;
    return value === undefined ? '' : start + JSON.stringify(value);
  };
}
